"""Processes that wait for simulated devices: ``python -m tests.claims.waiters WAITERS DEVICES SEED``.

Some of them are killed or suspended at random. Prints JSON: when each process took its ticket and
claimed devices, begin and end for each device, and which processes were killed.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from typing import Any, NamedTuple
from unittest import mock

from nvitop.claims import acquire
from nvitop.claims.acquire import Ticket


class FakeDevice(NamedTuple):
    """A device with a UUID and an index."""

    number: int

    @property
    def index(self) -> int:  # type: ignore[override]  # - the method of tuples
        return self.number

    def uuid(self) -> str:
        return f'GPU-{self.number:08}'


def fake_select(devices: list[FakeDevice], _: object, options: Any, *__: object) -> mock.Mock:
    """Return all devices that are not claimed."""
    return mock.Mock(chosen=[each for each in devices if each.uuid() not in options.skipped])


def wait_and_log(devices: Any, count: int, hold: float, log: int) -> None:
    """Claim devices and keep them for a time; log ticket, claim, begin and end."""

    def take_ticket(*arguments: Any) -> Ticket:
        before = time.time()
        ticket = Ticket(*arguments)
        os.write(log, f'ticket {os.getpid()} {before!r} {time.time()!r}\n'.encode())
        return ticket

    request = acquire.ClaimRequest(devices, count)
    with mock.patch.object(acquire, '_POLL_SECONDS', (0.02, 0.05)), mock.patch.object(
        acquire, 'Ticket', take_ticket
    ):
        held = acquire.wait_and_claim(request, 'test')
    with open(held.files[0], 'rb') as file:
        since = json.load(file)['since']
    os.write(log, f'claim {os.getpid()} - {since!r}\n'.encode())
    for what in ('begin', 'end'):
        for device in held.devices:
            line = f'{what} {os.getpid()} {device.uuid()} {time.monotonic()}\n'
            os.write(log, line.encode())
        if what == 'begin':
            time.sleep(hold)
    held.release()


def main(waiters: int, count: int, seed: int) -> None:
    chance = random.Random(seed)
    devices = [FakeDevice(number) for number in range(count)]
    path = os.path.join(os.environ['NVITOP_CLAIMS'], 'log')
    log = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
    living: set[int] = set()
    killed: dict[int, float] = {}
    with mock.patch.object(acquire, 'select', fake_select):
        for _ in range(waiters):
            needed, hold = chance.choice((1, 1, 1, 2, 4, 8)), chance.uniform(0.0, 0.05)
            pid = os.fork()
            if pid == 0:
                wait_and_log(devices, needed, hold, log)
                os._exit(0)
            living.add(pid)
            if chance.random() < 0.3:
                disturb(chance, living, killed)
    while living:
        pid, _ = os.waitpid(-1, os.WNOHANG)
        living.discard(pid)
        if living and len(killed) < waiters / 4:
            disturb(chance, living, killed)
        time.sleep(0.005)
    with open(path, encoding='ascii') as file:
        print(json.dumps({'log': file.read().splitlines(), 'killed': killed}))


def disturb(chance: random.Random, living: set[int], killed: dict[int, float]) -> None:
    """Kill a process, or suspend it for a moment."""
    pid = chance.choice(sorted(living))
    try:
        if chance.random() < 0.3:
            killed[pid] = time.monotonic()
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            living.discard(pid)
        else:
            os.kill(pid, signal.SIGSTOP)
            time.sleep(chance.uniform(0.0, 0.1))
            os.kill(pid, signal.SIGCONT)
    except (ProcessLookupError, ChildProcessError):
        pass


if __name__ == '__main__':
    main(*map(int, sys.argv[1:]))
