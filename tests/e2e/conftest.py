"""A machine for tests that need pseudo-terminals, which only POSIX has."""

from __future__ import annotations

import os
import pathlib

import pytest

collect_ignore_glob = [] if os.name == 'posix' else ['test_*.py']


@pytest.fixture
def steady(tmp_path: pathlib.Path) -> pathlib.Path:
    """Write a scenario with constant values; return its path."""
    from tests.e2e.monitor import describe_machine

    path = tmp_path / 'steady.toml'
    path.write_text(describe_machine(), encoding='utf-8')
    return path
