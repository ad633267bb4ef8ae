"""Fixtures of tests that need pseudo-terminals, which only POSIX has."""

from __future__ import annotations

import os
from typing import Iterator

import pytest

collect_ignore_glob = [] if os.name == 'posix' else ['test_*.py']

if os.name == 'posix':
    from tests.e2e.monitor import Monitors, machine_with_two_users

    # Package scope, because other tests count the children of this process.
    @pytest.fixture(scope='package')
    def monitors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Monitors]:
        """Provide a running monitor to many tests."""
        with machine_with_two_users(tmp_path_factory.mktemp('machine')) as machine:
            lender = Monitors(machine)
            yield lender
            lender.close()
