"""Commands that need no GPU work without a usable NVML binding."""

from __future__ import annotations

import pathlib

import pytest

from tests.programs import run_program

COMMANDS = """
    --help
    --version
    usage --help
    replay --help
    record --help
    query --help
    exporter --help
    fleet --help
    fleet --demo -1
    doctor --help
"""


@pytest.fixture
def broken(tmp_path: pathlib.Path) -> str:
    """A directory with a ``pynvml`` that cannot be imported."""
    (tmp_path / 'pynvml.py').write_text("raise RuntimeError('no such symbol')")
    return str(tmp_path)


def run(broken: str, *arguments: str) -> tuple[int, str, str]:
    code = f'import sys; sys.path.insert(0, {broken!r}); from nvitop.__main__ import run; run()'
    done = run_program('-c', code, *arguments)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize('arguments', [line.split() for line in COMMANDS.split('\n') if line])
def test_commands_without_a_gpu_need_no_binding(broken: str, arguments: list[str]) -> None:
    status, printed, errors = run(broken, *arguments)
    assert (status, errors) == (0, '')
    assert printed


def test_doctor_checks_the_rest(broken: str) -> None:
    status, printed, errors = run(broken, 'doctor')
    assert (status, errors) == (1, '')
    assert 'failed   NVML binding   The module pynvml cannot be imported' in printed
    assert 'ok       configuration' in printed
