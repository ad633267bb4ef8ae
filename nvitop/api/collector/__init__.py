# SPDX-License-Identifier: Apache-2.0
"""Snapshots of everything at once, and metrics collected over time."""

from __future__ import annotations

from nvitop.api.collector.snapshots import SnapshotResult, take_snapshots

__all__ = ['SnapshotResult', 'take_snapshots']

# Where users find them is where they say they are, in reprs, pickles and documents.
for _public in (SnapshotResult, take_snapshots):
    _public.__module__ = __name__
del _public
