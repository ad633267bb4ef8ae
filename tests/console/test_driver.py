"""Commands without a working driver: one message that says what to do, and status 1."""

from __future__ import annotations

import pathlib
import threading
from typing import Callable

import pytest

from nvitop import cli, select, simulation
from nvitop.api import libnvml
from nvitop.console.driver import start_driver
from nvitop.console.lifecycle import CommandFailure
from nvitop.query import command as query

MAINS: dict[str, Callable[[list[str]], int]] = {
    'nvitop': lambda arguments: cli.main(['-1', '--no-config', *arguments]),
    'nvitop query': query.main,
    'nvisel': select.main,
}


@pytest.mark.parametrize('name', MAINS)
@pytest.mark.parametrize(
    ('code', 'words'),
    [
        ('DRIVER_NOT_LOADED', 'not loaded'),
        ('NO_PERMISSION', 'may not access'),
        ('UNKNOWN', 'Unknown'),
    ],
)
def test_a_driver_that_fails_to_start_is_explained(
    machine: simulation.Machine,
    capfd: pytest.CaptureFixture[str],
    tmp_path: pathlib.Path,
    name: str,
    code: str,
    words: str,
) -> None:
    machine.fail('nvmlInit*', code)
    path = tmp_path / 'rows'
    path.write_text('previous', encoding='utf-8')
    # The file is not truncated without a driver.
    assert MAINS[name](['-f', str(path)] if name == 'nvitop query' else []) == 1
    assert path.read_text(encoding='utf-8') == 'previous'
    captured = capfd.readouterr()
    assert captured.out == ''
    assert captured.err.startswith(f'{name}: error: ')
    assert captured.err.count('error: ') == 1
    assert words.lower() in captured.err.lower()
    assert len(captured.err.splitlines()) >= 2  # the reason, and what to do


def test_a_driver_that_does_not_respond_is_explained(
    machine: simulation.Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    released = threading.Event()
    monkeypatch.setattr(libnvml, 'nvmlInit', released.wait)
    with pytest.raises(CommandFailure, match='not responded'):
        start_driver('nvitop', libnvml.nvmlInit, limit=0.01)
    released.set()
