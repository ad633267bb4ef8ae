# SPDX-License-Identifier: Apache-2.0
"""A simulated NVML: one plain Python function for each symbol, grouped by NVML's own subjects."""

from __future__ import annotations
