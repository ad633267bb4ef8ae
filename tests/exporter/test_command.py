"""The commands, run as programs on simulated machines."""

from __future__ import annotations

import contextlib
import pathlib
import re
import signal
import socket
import ssl
import subprocess
import sys
from typing import Iterator

import pytest

from nvitop.console.lifecycle import RELEASED_EXPORTER
from nvitop.exporter.command import make_parser, parse
from tests.command_run import CommandRun
from tests.exporter.serving import get
from tests.waiting import wait_until

START = {
    'nvitop exporter': ['-m', 'nvitop', 'exporter'],
    'nvitop-exporter': [
        '-c',
        'from nvitop.console.lifecycle import nvitop_exporter as main; main()',
    ],
}


@contextlib.contextmanager
def running(
    *arguments: str, program: str = 'nvitop exporter'
) -> Iterator[tuple[subprocess.Popen[str], tuple[str, int], str]]:
    """Run the exporter; yield the process, its address and its path."""
    process = subprocess.Popen(
        [sys.executable, *START[program], '--demo', *arguments], stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    try:
        for line in process.stderr:
            match = re.search(r'listening on https?://\[?(.*?)\]?:(\d+)(/\S*)', line)
            if match:
                break
        else:
            pytest.fail('the exporter ended')
        yield process, (match[1], int(match[2])), match[3]
    finally:
        process.kill()
        process.communicate()


@pytest.mark.skipif(sys.platform == 'win32', reason='needs signals')
@pytest.mark.parametrize(
    ('program', 'options', 'name'),
    [
        ('nvitop exporter', '--listen=localhost:0 --names=dcgm,own,dcgm', b'nvitop_gpu_up'),
        ('nvitop-exporter', '--port=0', b'gpu_utilization_Percentage'),
    ],
)
def test_program_serves_until_it_is_terminated(
    tmp_path: pathlib.Path, program: str, options: str, name: bytes
) -> None:
    textfile = tmp_path / 'nvitop.prom'
    more = [f'--textfile={textfile}', '--interval=0.5', '--owners']
    with running(*options.split(), *more, program=program) as (process, address, path):
        while get(address, '/-/ready')[0] != 200:
            pass
        assert name in get(address, path)[1]
        wait_until(lambda: name in textfile.read_bytes(), 'no series')
        assert b'\nprocess_cpu_seconds' not in textfile.read_bytes()  # node_exporter has it
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    assert not textfile.exists()


def test_address_in_use_is_one_line_and_status_1(capfd: pytest.CaptureFixture[str]) -> None:
    from nvitop.exporter.command import main

    with socket.socket() as taken:
        taken.bind(('127.0.0.1', 0))
        taken.listen()
        port = taken.getsockname()[1]
        ran = CommandRun(main, '--listen', f'127.0.0.1:{port}')
    assert ran.status == 1
    assert ran.err == (
        f'nvitop exporter: error: 127.0.0.1:{port} is in use by another program; '
        'choose another port\n'
    )
    ran = CommandRun(main, '--listen', '203.0.113.1:9836')
    assert (ran.status, ran.err.count('(')) == (1, 0)
    assert 'cannot serve on 203.0.113.1:9836: ' in ran.err


def test_defaults() -> None:
    ours, theirs = parse(make_parser(), []), parse(make_parser(RELEASED_EXPORTER), [])
    assert (ours.names, ours.address, ours.interval) == (('own',), ('127.0.0.1', 9836), 5.0)
    assert (theirs.names, theirs.address) == (('nvitop-exporter',), ('127.0.0.1', 8000))
    assert theirs.interval == 1.0
    assert re.fullmatch(r'[\d.]+', theirs.series.hostname)
    assert ours.series.hostname == ''


def test_pods_have_the_name_of_their_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('NODE_NAME', 'gpu07')
    monkeypatch.delenv('KUBERNETES_SERVICE_HOST', raising=False)
    assert parse(make_parser(), []).series.hostname == ''
    monkeypatch.setenv('KUBERNETES_SERVICE_HOST', '10.0.0.1')
    assert parse(make_parser(), []).series.hostname == 'gpu07'
    assert parse(make_parser(), ['--hostname', 'h']).series.hostname == 'h'


def test_options_of_the_released_program() -> None:
    given = (
        '--host h --bind 0.0.0.0 -p 5050 --interval 2 --certfile c --keyfile k '
        '--client-capath d --client-auth-required'
    )
    settings = parse(make_parser(RELEASED_EXPORTER), given.split())
    assert settings.address == ('0.0.0.0', 5050)
    assert settings.series.hostname == 'h'
    assert (settings.client_capath, settings.client_check) == ('d', ssl.CERT_REQUIRED)
    files = ['--certfile=c', '--keyfile=k', '--client-cafile=a']
    checks = [
        parse(make_parser(*program), files).client_check for program in ([], [RELEASED_EXPORTER])
    ]
    assert checks == [ssl.CERT_REQUIRED, ssl.CERT_NONE]


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        (':1', ('', 1)),
        ('h:2', ('h', 2)),
        ('h', ('h', 9836)),
        ('[::1]:3', ('::1', 3)),
        ('[::]', ('::', 9836)),
    ],
)
def test_addresses(text: str, expected: tuple[str, int]) -> None:
    assert parse(make_parser(), ['--listen', text]).address == expected
