"""Fixtures: simulated machines on a manual clock."""

from __future__ import annotations

from tests.sampling.conftest import bench

__all__ = ['bench']
