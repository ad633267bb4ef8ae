# SPDX-License-Identifier: Apache-2.0
"""The screens of nvitop 1.7, which were internal. Importing this says what to use instead."""

from __future__ import annotations

raise ImportError(
    'nvitop.tui was an internal package of nvitop 1.7 and is gone. Use the library instead: '
    'nvitop.Device and nvitop.take_snapshots() for values, nvitop.ResourceMetricCollector for '
    'values over time'
)
