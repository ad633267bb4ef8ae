# SPDX-License-Identifier: Apache-2.0
"""Live devices: physical GPUs, MIG devices, and both as CUDA sees them."""
