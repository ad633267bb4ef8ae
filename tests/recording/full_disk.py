"""Record to a small disk until it is full: ``unshare --mount python -m tests.recording.full_disk DIR``."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path
from typing import Callable

from nvitop.recording.recorder import Recorder
from tests.recording.virtual_clock import SimpleMachine, rows, samples_of

#: More samples than fit on the disk.
MOST = 20_000


def fill(path: Path) -> None:
    """Leave a part of the disk to the recording."""
    path.write_bytes(bytes(700 << 10))


def change(machine: SimpleMachine) -> None:
    """Give all GPUs other values, so that few samples fill the disk."""
    for index in range(8):
        watts, used = random.randrange(700), random.randrange(80 << 30)
        machine.set(index, power_usage_mw=watts * 1000, memory_used_bytes=used)


def check_database(path: Path, filler: Path) -> None:
    """Frames stop and begin again. No usage is lost, unless there was no room until the end."""
    machine, messages = SimpleMachine(8), []
    recorder = Recorder(str(path), on_message=lambda kind, text: messages.append(text))

    def record_until(is_over: Callable[[], bool]) -> None:
        for _ in range(MOST):
            change(machine)
            recorder.write(machine.sample(10))
            if is_over():
                return
        raise AssertionError(f'still recording; messages: {messages}')

    record_until(lambda: bool(messages))
    assert messages[0].startswith(f'{path}: no frames are recorded until there is room: ')
    while_full = len(samples_of(path))
    filler.unlink()
    record_until(lambda: messages[-1].endswith('frames are recorded again'))
    record_until(lambda: len(samples_of(path)) > while_full)
    recorder.close()
    assert len(messages) <= 4, messages
    assert rows(path, 'PRAGMA integrity_check') == [('ok',)]
    elapsed = round(1000 * (machine.monotonic - 1010))
    assert rows(path, 'SELECT sum(observed_ms) / 8 FROM gpu_minute') == [(elapsed,)]


def main() -> None:
    """Check a recording on a new disk."""
    folder = Path(sys.argv[1])
    subprocess.run(
        ['mount', '-t', 'tmpfs', '-o', 'size=1m', 'none', str(folder)], check=True, timeout=10
    )
    random.seed(44)
    fill(folder / 'filler')
    check_database(folder / 'a.db', folder / 'filler')


if __name__ == '__main__':
    main()
