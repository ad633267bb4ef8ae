# SPDX-License-Identifier: Apache-2.0
"""An NVML and CUDA driver made of Python, and scenario files."""
