# SPDX-License-Identifier: GPL-3.0-only
"""Short texts for many devices or processes: ``GPU 0-3,7``, ``devices 0-7``."""

from __future__ import annotations

import re
from typing import Iterable, Sequence

from nvitop.sampling.types import DeviceKey


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


def subjects_text(subjects: Sequence[str]) -> str:
    """What problems are about: ``device 3``, ``devices 0-7``, ``process 42, host``."""
    by_noun: dict[str, list[str]] = {}
    for subject in subjects:
        noun, _, label = subject.partition(' ')
        by_noun.setdefault(noun, []).append(label)
    parts = []
    for noun, labels in by_noun.items():
        unique = sorted(set(labels), key=_order)
        plural = 'es' if noun.endswith('s') else 's'
        parts.append(f'{noun}{plural if len(unique) > 1 else ""} {join_labels(unique)}'.rstrip())
    return ', '.join(parts)


def subject_order(subject: str) -> tuple[str, list[int]]:
    """By which subjects are sorted: what has one and what several share beside one another."""
    noun, _, labels = subject.partition(' ')
    return noun[: len('device')], [int(number) for number in re.findall(r'\d+', labels)]


def _order(label: str) -> tuple[list[int], str]:
    return [int(part) for part in label.split(':') if part.isdecimal()], label
