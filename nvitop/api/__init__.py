# SPDX-License-Identifier: Apache-2.0
"""Measuring: live objects over NVML, CUDA and psutil; the public library."""
