"""A stand-in for ssh, and a real sshd."""

from __future__ import annotations

import os
import pathlib
import shutil
import socket
import subprocess
import sys
import time
from typing import Callable, Iterator

import pytest

from nvitop.remote.source import RemoteSource
from nvitop.sampling.types import Demand, Sample
from tests.programs import ROOT
from tests.waiting import PATIENCE, wait_until


def add_nvitop(folder: pathlib.Path) -> None:
    nvitop = folder / 'nvitop'
    nvitop.write_text(f'#!/bin/sh\nexec {sys.executable} -m nvitop "$@"\n')
    nvitop.chmod(0o755)


def until(source: RemoteSource, condition: Callable[[Sample], object], demand: Demand) -> Sample:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        sample = source.sample(demand)
        if condition(sample):
            return sample
    raise AssertionError(f'still {source.origin}, {sample.sequence}')


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


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(('127.0.0.1', port)) == 0


@pytest.fixture(scope='module')
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run sshd on the loopback interface; return the ssh command that reaches it."""
    server = shutil.which('sshd', path=f'{os.environ["PATH"]}:/usr/sbin')
    if server is None or shutil.which('ssh') is None:
        pytest.skip('NOT RUN with a real sshd: openssh-server is not installed')
    folder = tmp_path_factory.mktemp('sshd')
    add_nvitop(folder)
    for name in ('host', 'user'):
        command = ['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', str(folder / name)]
        subprocess.run(command, check=True)
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        port = probe.getsockname()[1]
    if os.geteuid() == 0:
        os.makedirs('/run/sshd', exist_ok=True)
    config = folder / 'config'
    config.write_text(
        f'ListenAddress 127.0.0.1:{port}\nHostKey {folder}/host\n'
        'PidFile none\nStrictModes no\nUsePAM no\nPasswordAuthentication no\n'
        f'AuthorizedKeysFile {folder}/user.pub\n'
        f'SetEnv PYTHONPATH={ROOT} PATH={folder}:{os.environ["PATH"]}\n'
    )
    process = subprocess.Popen([server, '-D', '-E', str(folder / 'log'), '-f', str(config)])
    try:
        wait_until(lambda: answers(port), 'sshd answers')
        options = f'-i {folder}/user -o StrictHostKeyChecking=no -F none'
        yield f'ssh -p {port} {options} -o UserKnownHostsFile={folder}/known'
    finally:
        process.terminate()
        process.wait()
