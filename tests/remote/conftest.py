"""A stand-in for ssh."""

from __future__ import annotations

import os
import pathlib
from typing import Callable

import pytest

from tests.programs import ROOT
from tests.remote.stand_in import add_nvitop


@pytest.fixture
def stand_in(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Replace ssh by a script that gets the name of the host in ``$host`` and the command in ``$*``."""
    programs = tmp_path / 'programs'
    programs.mkdir()
    add_nvitop(programs)
    monkeypatch.setenv('PATH', f'{programs}:{os.environ["PATH"]}')
    monkeypatch.setenv('PYTHONPATH', str(ROOT))

    def replace(script: str) -> None:
        path = tmp_path / 'ssh'
        path.write_text(
            f'#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done; host=$2; shift 2\n{script}\n'
        )
        path.chmod(0o755)
        monkeypatch.setenv('NVITOP_SSH', str(path))

    return replace
