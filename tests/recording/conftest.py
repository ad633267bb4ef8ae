"""Fixtures: simulated machines on a manual clock, and patience with slow machines."""

from __future__ import annotations

import pytest

from nvitop.gui import replay_command
from tests.sampling.conftest import bench
from tests.waiting import PATIENCE

__all__ = ['bench']


@pytest.fixture(autouse=True)
def no_notice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a replay not print that reading takes long, which depends on the machine."""
    monkeypatch.setattr(replay_command, 'NOTICE_SECONDS', PATIENCE)
