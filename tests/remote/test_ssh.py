"""Another machine over ssh: a stand-in for ssh that fails in every way, and a real sshd."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from typing import Callable

import psutil
import pytest

from nvitop.cli import main
from nvitop.console.lifecycle import CommandFailure
from nvitop.console.options import Options
from nvitop.remote import source as remote
from nvitop.remote.command import connected
from nvitop.remote.source import RemoteError, RemoteSource, explain, ssh_command
from nvitop.sampling.serialization import dumps_demand, loads_demand
from nvitop.sampling.types import Demand, DeviceKey, ProcessKey
from tests.command_run import CommandRun
from tests.remote.conftest import until
from tests.waiting import PATIENCE, wait_until

pytestmark = pytest.mark.skipif(os.name != 'posix', reason='needs a POSIX shell')

SAMPLES = ['query', '--samples', '--demo=half-busy', '-l', '0.5']


def watchers() -> list[psutil.Process]:
    """Processes below this one that take or carry samples."""
    return [
        child
        for child in psutil.Process().children(recursive=True)
        if child.status() != psutil.STATUS_ZOMBIE and '--samples' in ' '.join(child.cmdline())
    ]


def test_samples_arrive_after_greetings_and_what_is_shown_is_measured(
    stand_in: Callable[[str], None],
) -> None:
    stand_in('echo "Welcome to $host"; echo "{\\"not\\": \\"a sample\\"}"; exec sh -c "$*"')
    source = RemoteSource('gpu07', SAMPLES, interval=0.5)
    try:
        sample = source.first_sample(Demand(), PATIENCE)
        assert sample.simulated == 'half-busy'
        assert abs(sample.monotonic - time.monotonic()) < PATIENCE
        assert source.origin.host == 'gpu07'
        assert not source.origin.can_signal
        demand = Demand(shown_metrics=('encoder_utilization',))
        until(source, lambda s: s.devices[0].encoder_utilization_percent is not None, demand)
    finally:
        source.close()
    assert watchers() == []


def test_a_broken_connection_is_reported_and_replaced(
    stand_in: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in('exec sh -c "$*"')
    source = RemoteSource('gpu07', SAMPLES, interval=0.5)
    try:
        before = source.first_sample(Demand(), PATIENCE)
        for process in watchers():
            process.send_signal(signal.SIGKILL)
        stale = until(source, lambda _: source.origin.trouble, Demand())
        assert stale.sequence >= before.sequence  # the last values stay
        assert not stale.is_late
        monkeypatch.setattr(remote, 'STALE_SECONDS', 0.0)
        assert source.sample(Demand()).is_late  # nothing is free now
        monkeypatch.setattr(remote, 'STALE_SECONDS', 120.0)
        after = until(source, lambda s: not source.origin.trouble, Demand())
        assert after.sequence > stale.sequence
        assert not after.is_late
    finally:
        source.close()


def test_a_terminal_shows_which_machine_is_connected_to(
    stand_in: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    stand_in('exit 3')
    for is_terminal in (True, False):
        monkeypatch.setattr('sys.stderr.isatty', [is_terminal].pop)
        with pytest.raises(CommandFailure), connected(Options(ssh='gpu07'), once=True):
            pass
    assert capsys.readouterr().err.count('connecting to gpu07 ...') == 1


#: What ssh does, and words of the message.
FAILURES = """
echo "ssh: Could not resolve hostname $host" >&2; exit 255  |  Could not resolve hostname
echo "Host key verification failed." >&2; exit 255  |  Run "ssh gpu07" once
echo "root@gpu07: Permission denied (publickey)." >&2; exit 255  |  Permission denied
echo "Warning: Permanently added it to the known hosts." >&2; exit 255  |  ssh cannot connect to gpu07
echo "sh: 1: exec: nvitop: not found" >&2; exit 127  |  nvitop is not installed on gpu07
echo "nvitop query: error: unrecognized arguments: --samples" >&2; exit 2  |  nvitop on gpu07 is too old
echo "nvitop query: error: no \033[31mdriver" >&2; exit 1  |  no �[31mdriver
printf "hello\\nnvitop query: error: NVML was not found\\n  Install it.\\n  Or not.\\n" >&2; exit 1  |  NVML was not found\\nInstall it.\\nOr not.
echo "nvitop query: error: the CUDA driver was not found" >&2; exit 1  |  the CUDA driver was not found
echo "{\\"nvitop_sample\\": 99}"; exit 1  |  a newer version of nvitop
exit 3  |  nvitop on gpu07 ended with status 3
"""


@pytest.mark.parametrize('row', FAILURES.strip().splitlines())
def test_failures_are_explained(stand_in: Callable[[str], None], row: str) -> None:
    script, _, words = row.partition('  |  ')
    stand_in(script)
    source = RemoteSource('gpu07', SAMPLES)
    with pytest.raises(RemoteError) as caught:
        source.first_sample(Demand(), PATIENCE)
    source.close()
    assert words.replace('\\n', '\n') in str(caught.value)


@pytest.mark.parametrize(
    ('host', 'message'),
    [
        ('', 'not the name of a host'),
        ('-oProxyCommand=touch x', 'not the name of a host'),
        ('a\nb', 'not the name of a host'),
        ('ann@', "no host name in 'ann@'"),
    ],
)
def test_hosts_cannot_be_options(host: str, message: str) -> None:
    with pytest.raises(RemoteError, match=message):
        ssh_command(host, SAMPLES)


@pytest.mark.parametrize(
    ('program', 'message'),
    [
        ('/missing -v', 'cannot run /missing: No such file or directory'),
        ('ssh "', 'NVITOP_SSH is not a command line: No closing quotation'),
    ],
)
@pytest.mark.parametrize('arguments', [['query'], ['-1', '--no-config']])
def test_the_ssh_program_of_the_user_is_named_if_it_cannot_be_run(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], program: str, message: str
) -> None:
    monkeypatch.setenv('NVITOP_SSH', program)
    assert CommandRun(main, '--ssh', 'gpu07', *arguments).err == f'nvitop: error: {message}\n'


def test_arguments_pass_any_shell() -> None:
    command = ssh_command('gpu07', ['query', '--id=$(touch x)', "it's"], {})
    assert command[0] == 'ssh'
    words = subprocess.run(
        ['sh', '-c', command[-1].replace('exec nvitop', 'printf "%s|"').replace('exec sh', 'sh')],
        stdout=subprocess.PIPE,
        check=True,
    ).stdout
    assert words == b"query|--id=$(touch x)|it's|"
    assert explain('gpu07', 3, ()) == 'nvitop on gpu07 ended with status 3'


def test_demand_is_read_as_it_was_sent() -> None:
    demand = Demand(
        shown_metrics=('fan_speed',),
        visible_processes=(ProcessKey(4, 1.5, DeviceKey(0)),),
        owners=True,
    )
    assert loads_demand(dumps_demand(demand)) == demand


def test_a_real_sshd(sshd: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('NVITOP_SSH', sshd)
    source = RemoteSource('127.0.0.1', SAMPLES, interval=0.5)
    try:
        sample = source.first_sample(Demand(), PATIENCE)
        assert len(sample.devices) == 8
        pid = sample.processes[0].key.pid
        before = sample.sequence
        assert until(source, lambda s: s.sequence > before, Demand()).simulated == 'half-busy'
    finally:
        source.close()
    wait_until(lambda: not psutil.pid_exists(pid), 'nvitop on the far side ended')
