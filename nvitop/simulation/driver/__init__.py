# SPDX-License-Identifier: Apache-2.0
"""NVML, made of plain Python functions: one for each symbol, cut by NVML's own subjects."""

from __future__ import annotations
