# SPDX-License-Identifier: Apache-2.0
"""Metrics collected over time, and snapshots of everything at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvitop.api.snapshots import SnapshotResult, take_snapshots
from nvitop.basics.lazy import lazy_names

if TYPE_CHECKING:
    from nvitop.collector.collector import ResourceMetricCollector, collect_in_background

__all__ = ['ResourceMetricCollector', 'SnapshotResult', 'collect_in_background', 'take_snapshots']

if not TYPE_CHECKING:  # it would hide misspelled names
    __getattr__, __dir__ = lazy_names(
        __name__, {'nvitop.collector.collector': 'ResourceMetricCollector collect_in_background'}
    )
