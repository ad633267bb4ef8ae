# SPDX-License-Identifier: GPL-3.0-only
"""Short texts for many devices or processes: ``GPU 0-3,7``, ``devices 0-7``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Iterable, Sequence

from nvitop.sampling.types import DeviceKey

if TYPE_CHECKING:
    from nvitop.sampling.types import Subject


def devices_text(devices: Sequence[DeviceKey]) -> str:
    """Return the devices of a process: ``GPU 0-3,7``, ``GPU 1:0``, ``Host`` if there are none."""
    return f'GPU {join_labels(key.label for key in sorted(devices))}' if devices else 'Host'


def join_labels(labels: Iterable[str]) -> str:
    """Join labels; successive numbers become a range: ``0-3,7,8:0``."""
    runs: list[tuple[str, str, int]] = []
    for label in labels:
        if runs and label.isdecimal() and runs[-1][1].isdecimal():
            first, last, length = runs[-1]
            if int(label) == int(last) + 1:
                runs[-1] = (first, label, length + 1)
                continue
        runs.append((label, label, 1))
    return ','.join(
        first if length == 1 else f'{first}{"," if length == 2 else "-"}{last}'
        for first, last, length in runs
    )


def subjects_text(subjects: Iterable[Subject]) -> str:
    """Return the subjects of problems: ``GPU 3``, ``GPU 0-7``, ``process 42, host``."""
    devices: set[DeviceKey] = set()
    pids: set[int] = set()
    words: set[str] = set()
    order: dict[str, None] = {}
    for subject in subjects:
        if isinstance(subject, DeviceKey):
            devices.add(subject)
            order['GPU'] = None
        elif isinstance(subject, int):
            pids.add(subject)
            order['process'] = None
        else:
            words.add(subject)
            order[subject] = None
    labels = {
        'GPU': [key.label for key in sorted(devices)],
        'process': [str(pid) for pid in sorted(pids)],
    }
    return ', '.join(_counted(noun, labels[noun]) if noun in labels else noun for noun in order)


def subject_order(subject: Subject) -> tuple[str, int, int]:
    """Return the sort key of a subject: devices first, then driver, host, monitor, processes."""
    if isinstance(subject, DeviceKey):
        return 'device', subject.physical_index, subject.mig_index
    return (subject, 0, 0) if isinstance(subject, str) else ('process', subject, 0)


def _counted(noun: str, labels: Sequence[str]) -> str:
    is_plural = noun == 'process' and len(labels) > 1
    return f'{"processes" if is_plural else noun} {join_labels(labels)}'
