"""PIDs that are reused between display and key press: the wrong process is never signaled."""

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

from nvitop.gui.effect_runner import send_signal
from nvitop.gui.monitor_screens import MONITOR
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.events import (
    Event,
    FrameDrawn,
    InputAwaited,
    KeyPressed,
    Resized,
    SampleArrived,
    SendSignal,
)
from nvitop.gui.state.update import update
from nvitop.sampling.types import HostSample, ProcessKey, Sample
from tests.sampling.fakes import device_key, device_sample, process_sample

UNSHARE = shutil.which('unshare') or ''
NAMESPACE = [UNSHARE, '--pid', '--fork', '--kill-child', '--mount-proc']
#: Functions of tests.faults.pid_reuse, which can only be imported on Linux.
WAYS = ('by_monitor', 'by_library', 'by_library_once_gone')


def has_namespaces() -> bool:
    """Whether a PID namespace can be created in which PIDs can be chosen."""
    check = 'test -w /proc/sys/kernel/ns_last_pid'
    command = [*NAMESPACE, '/bin/sh', '-c', check]
    return bool(UNSHARE) and subprocess.run(command, capture_output=True).returncode == 0


@pytest.mark.parametrize('way', WAYS)
def test_reused_pid_is_not_signaled(way: str) -> None:
    if not has_namespaces():
        pytest.skip('NOT TESTED: cannot create a PID namespace')
    done = subprocess.run(
        [*NAMESPACE, sys.executable, '-m', 'tests.faults.pid_reuse', '20', way],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {'reused': 20, 'signaled': 0, 'outcomes': {'reused': 20}}


PIDS = range(1000, 1006)


class Table:
    """The processes of a machine, which reuse PIDs."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.now = 100.0
        self.starts = {pid: float(pid) / 100 for pid in PIDS}
        #: PID and start time of the signaled processes.
        self.signaled: list[tuple[int, float]] = []
        self.sequence = 0

    def reuse_pids(self) -> None:
        """Reuse some PIDs 0.01 s after the last change."""
        self.now += 0.01
        for pid in self.random.sample(PIDS, self.random.randrange(3)):
            self.starts[pid] = self.now

    def sample(self) -> Sample:
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
        assert number in (signal.SIGTERM, signal.SIGKILL, signal.SIGINT)
        self.signaled.append((pid, self.starts[pid]))


_KEYS = ('Down', 'Down', 'Up', 'Space', 'K', 'T', 'Ctrl-C', 'Esc', 'Tab', 'Right', 'Left')


def play(seed: int, steps: int = 60) -> int:
    """Send keys and samples in random order. Returns the number of signals."""
    table = Table(seed)
    state = AppState(MONITOR)
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
                already = len(table.signaled)
                for key in effect.targets:
                    if table.random.random() < 0.5:
                        table.reuse_pids()
                    send_signal(
                        key,
                        effect.signal,
                        start_time_of=table.starts.__getitem__,
                        status_of=lambda _: 'running',
                        kill=table.kill,
                    )
                assert {*table.signaled[already:]} <= named
        if table.random.random() < 0.3:
            table.reuse_pids()
        if table.random.random() < 0.3:
            events = [SampleArrived(table.sample())]
        elif state.dialog is not None and table.random.random() < 0.6:
            # The dialog has been visible for long enough to accept keys.
            answer = KeyPressed('Enter')
            events = [FrameDrawn(table.now), InputAwaited(table.now + 1.0), answer]
        else:
            events = [KeyPressed(table.random.choice(_KEYS))]
    return len(table.signaled)


def test_only_processes_of_the_dialog_are_signaled() -> None:
    # These processes do not exist, so they have no pidfd.
    forbidden = OSError(errno.EPERM, 'a sandbox')
    with mock.patch('os.pidfd_open', create=True, side_effect=forbidden):
        sent = [play(seed) for seed in range(25)]
    assert sum(sent) > 12
