# SPDX-License-Identifier: Apache-2.0
"""Snapshots of everything at once, and metrics collected over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvitop.api.collector.snapshots import SnapshotResult, take_snapshots
from nvitop.lazy import lazy_names

if TYPE_CHECKING:
    from nvitop.api.collector.resource import ResourceMetricCollector, collect_in_background

__all__ = [
    'ResourceMetricCollector',
    'SnapshotResult',
    'collect_in_background',
    'take_snapshots',
]

# Where users find them is where they say they are, in reprs, pickles and documents.
for _public in (SnapshotResult, take_snapshots):
    _public.__module__ = __name__
del _public

if not TYPE_CHECKING:  # it would hide misspelled names
    __getattr__, __dir__ = lazy_names(
        __name__,
        {'nvitop.api.collector.resource': ['ResourceMetricCollector', 'collect_in_background']},
    )
