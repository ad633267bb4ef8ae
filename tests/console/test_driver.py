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
        ('LIB_RM_VERSION_MISMATCH', 'version'),
        ('NO_PERMISSION', 'may not access'),
        ('GPU_IS_LOST', 'lost'),
        ('UNKNOWN', 'Unknown'),
    ],
)
def test_a_driver_that_fails_to_start_is_explained(
    machine: simulation.Machine, capfd: pytest.CaptureFixture[str], name: str, code: str, words: str
) -> None:
    machine.fail('nvmlInit*', code)
    assert MAINS[name]([]) == 1
    captured = capfd.readouterr()
    assert captured.out == ''
    assert captured.err.startswith(f'{name}: error: ')
    assert captured.err.count('error: ') == 1
    assert words.lower() in captured.err.lower()
    assert len(captured.err.splitlines()) >= 2  # the reason, and what to do


@pytest.mark.parametrize('name', ['nvisel', 'nvitop query'])
@pytest.mark.parametrize('arguments', ['', '-i 0'])
def test_nothing_is_printed_if_gpus_cannot_be_counted(
    machine: simulation.Machine, capfd: pytest.CaptureFixture[str], name: str, arguments: str
) -> None:
    machine.fail('nvmlDeviceGetCount*', 'DRIVER_NOT_LOADED')
    assert MAINS[name](arguments.split()) == 1
    captured = capfd.readouterr()
    assert captured.out == ''
    assert 'kernel module is not loaded' in captured.err


def test_an_output_file_is_not_truncated_without_a_driver(
    machine: simulation.Machine, tmp_path: pathlib.Path
) -> None:
    path = tmp_path / 'rows'
    path.write_text('previous', encoding='utf-8')
    machine.fail('nvmlInit*', 'DRIVER_NOT_LOADED')
    assert query.main(['-f', str(path)]) == 1
    assert path.read_text(encoding='utf-8') == 'previous'


def test_a_driver_that_does_not_respond_is_explained(
    machine: simulation.Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    released = threading.Event()
    monkeypatch.setattr(libnvml, 'nvmlInit', released.wait)
    with pytest.raises(CommandFailure, match='not responded'):
        start_driver('nvitop', libnvml.nvmlInit, limit=0.01)
    released.set()
