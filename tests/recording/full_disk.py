"""Record to a small disk until it is full: ``unshare --mount python -m tests.recording.full_disk DIR``."""

from __future__ import annotations

import gzip
import random
import subprocess
import sys
from pathlib import Path
from typing import Callable

import pytest

from nvitop.recording.lines import LineWriter
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


def lines_of(path: Path) -> int:
    """Return the number of whole lines."""
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == '.gz' else data).count(b'\n')


def check_lines(path: Path, filler: Path) -> None:
    """The file ends with its last whole line, and can be continued."""
    machine, count = SimpleMachine(8), 0
    writer = LineWriter(str(path))

    def fill_disk() -> None:
        nonlocal count
        for _ in range(MOST):
            change(machine)
            writer.write(machine.sample(10))
            count += 1

    with pytest.raises(OSError, match='No space left'):
        fill_disk()
    assert count
    writer.close()
    assert lines_of(path) == count
    filler.unlink()
    writer = LineWriter(str(path))
    writer.write(machine.sample(10))
    writer.close()
    assert lines_of(path) == count + 1


def main() -> None:
    """Check a file of each format on a new disk."""
    folder = Path(sys.argv[1])
    for name in ('a.db', 'a.jsonl', 'a.jsonl.gz'):
        subprocess.run(
            ['mount', '-t', 'tmpfs', '-o', 'size=1m', 'none', str(folder)], check=True, timeout=10
        )
        fill(folder / 'filler')
        check = check_database if name == 'a.db' else check_lines
        check(folder / name, folder / 'filler')


if __name__ == '__main__':
    main()
