"""Programs with type annotations pass ``mypy --strict`` and run."""

from __future__ import annotations

import pathlib

from tests import typed_client
from tests.api.machines import machine

ROOT = pathlib.Path(__file__).parent.parent


def test_typed_client_runs() -> None:
    with machine(clock=lambda: 0.0):
        typed_client.main()
