"""PIDs that are used again between display and key press: the wrong process is never signalled."""

from __future__ import annotations

import errno
import json
import random
import shutil
import signal
import subprocess
import sys
from unittest import mock

import pytest

from nvitop.gui.model.effects import SendSignal
from nvitop.gui.signals import send_signal
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.events import (
    Event,
    FrameDrawn,
    InputAwaited,
    KeyPressed,
    Resized,
    SampleArrived,
)
from nvitop.gui.state.update import update
from nvitop.sampling.types import HostSample, ProcessKey, Sample
from tests.sampling.fakes import device_key, device_sample, process_sample

UNSHARE = shutil.which('unshare') or ''
NAMESPACE = [UNSHARE, '--pid', '--fork', '--kill-child', '--mount-proc']
#: The functions of tests.faults.recycle, which needs Linux.
WAYS = ('by_monitor', 'by_library', 'by_library_once_gone')


def has_namespaces() -> bool:
    """Whether PIDs can be chosen in a namespace that may be made here."""
    check = 'test -w /proc/sys/kernel/ns_last_pid'
    command = [*NAMESPACE, '/bin/sh', '-c', check]
    return bool(UNSHARE) and subprocess.run(command, capture_output=True).returncode == 0


def said_by(program: str, *arguments: object) -> dict[str, object]:
    """What a program prints that runs in a PID namespace of its own."""
    if not has_namespaces():
        pytest.skip('no PID namespace can be made here')
    done = subprocess.run(
        [*NAMESPACE, sys.executable, '-m', f'tests.faults.{program}', *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    said: dict[str, object] = json.loads(done.stdout)
    return said


def recycle(way: str, count: int) -> None:
    said = said_by('recycle', count, way)
    assert said == {'recycled': count, 'signalled': 0, 'outcomes': {'reused': count}}


@pytest.mark.parametrize('way', WAYS)
def test_a_recycled_pid_is_not_signalled(way: str) -> None:
    recycle(way, 20)


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize('way', WAYS)
def test_no_recycled_pid_is_signalled_of_a_thousand(way: str) -> None:
    recycle(way, 1000)


def recycle_shown(rounds: int) -> None:
    assert said_by('recycle_shown', rounds) == {
        'recycled': rounds * 20,
        'signalled': 0,
        'sent': rounds,
        'status': 0,
    }


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_no_pid_of_a_thousand_that_pass_on_under_the_running_monitor_is_signalled() -> None:
    recycle_shown(50)


# The monitor, with a table of processes that changes under its hands

PIDS = range(1000, 1006)


class Table:
    """The processes of a machine; PIDs pass from one to another."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.now = 100.0
        self.starts = {pid: float(pid) / 100 for pid in PIDS}
        #: Who was signalled.
        self.signalled: list[tuple[int, float]] = []
        self.sequence = 0

    def recycle(self) -> None:
        """Some PIDs pass on, at most a hundredth of a second after anything else happened."""
        self.now += 0.01
        for pid in self.random.sample(PIDS, self.random.randrange(3)):
            self.starts[pid] = self.now

    def sample(self) -> Sample:
        """What is to be seen now."""
        self.sequence += 1
        processes = tuple(
            process_sample(pid)._replace(
                key=ProcessKey(pid, start, device_key()), username='ada', is_own=True, command='x'
            )
            for pid, start in self.starts.items()
        )
        return Sample(
            timestamp=1.7e9 + self.now,
            monotonic=self.now,
            sequence=self.sequence,
            devices=(device_sample(),),
            processes=processes,
            host=HostSample(username='ada', is_superuser=True),
        )

    def kill(self, pid: int, number: int) -> None:
        """What the system does."""
        assert number in (signal.SIGTERM, signal.SIGKILL, signal.SIGINT)
        self.signalled.append((pid, self.starts[pid]))


_KEYS = ('Down', 'Down', 'Up', 'Space', 'k', 'T', 'Ctrl-C', 'Esc', 'Tab', 'Right', 'Left')


def play(seed: int, steps: int = 60) -> int:
    """Keys and samples in any order; how many signals were sent."""
    table = Table(seed)
    state = AppState()
    named: set[tuple[int, float]] = set()
    events: list[Event] = [Resized(120, 50), SampleArrived(table.sample())]
    for _ in range(steps):
        for event in events:
            before = state
            state, effects = update(state, event)
            if before.dialog is not None:
                named = {(t.key.pid, t.key.start_time) for t in before.dialog.targets}
            for effect in effects:
                if not isinstance(effect, SendSignal):
                    continue
                already = len(table.signalled)
                for key in effect.targets:
                    if table.random.random() < 0.5:
                        table.recycle()
                    send_signal(
                        key,
                        effect.signal,
                        start_time_of=table.starts.__getitem__,
                        status_of=lambda _: 'running',
                        kill=table.kill,
                    )
                assert {*table.signalled[already:]} <= named
        if table.random.random() < 0.3:
            table.recycle()
        if table.random.random() < 0.3:
            events = [SampleArrived(table.sample())]
        elif state.dialog is not None and table.random.random() < 0.6:
            # The dialog was on the screen long enough to be answered.
            answer = KeyPressed(table.random.choice(('t', 'k', 'i', 'Enter')))
            events = [FrameDrawn(table.now), InputAwaited(table.now + 1.0), answer]
        else:
            events = [KeyPressed(table.random.choice(_KEYS))]
    return len(table.signalled)


def play_all(seeds: range) -> None:
    # None of these processes exists, so none has a descriptor.
    forbidden = OSError(errno.EPERM, 'a sandbox')
    with mock.patch('os.pidfd_open', create=True, side_effect=forbidden):
        sent = [play(seed) for seed in seeds]
    assert sum(sent) > len(seeds) / 2


def test_only_who_stood_in_the_dialog_is_signalled() -> None:
    play_all(range(25))


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_only_who_stood_in_the_dialog_is_signalled_of_a_thousand_games() -> None:
    play_all(range(1000))
