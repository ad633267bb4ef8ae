# SPDX-License-Identifier: Apache-2.0
"""Snapshots of everything at once, and metrics collected over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvitop.api.collector.snapshots import SnapshotResult, take_snapshots

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

#: Imported when they are first used: most programs collect nothing.
_ON_USE = ('ResourceMetricCollector', 'collect_in_background')

if not TYPE_CHECKING:  # where it would hide misspelled names

    def __getattr__(name):
        if name not in _ON_USE:
            raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
        from nvitop.api.collector import resource

        value = globals()[name] = getattr(resource, name)
        return value

    def __dir__():
        return sorted({*globals(), *__all__})
