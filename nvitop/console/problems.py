# SPDX-License-Identifier: Apache-2.0
"""Problems of samples as messages, for commands that run for long."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from nvitop.console.messages import print_message
from nvitop.sampling.types import PROCESSES, STATUS, subject_text

if TYPE_CHECKING:
    from nvitop.sampling.types import Sample

#: Kinds of problems of single values that are failures.
_FAILED = frozenset({'error', 'impossible', 'reset needed'})


#: A problem that returns within this time (seconds) is still the same one: a sensor that fails now
#: and then must not fill logs.
SAME_SECONDS = 600.0


class ProblemReporter:
    """Prints each problem once for as long as it lasts."""

    def __init__(self, program: str) -> None:
        self._program = program
        #: Subjects of the last sample.
        self._last: frozenset[str] = frozenset()
        #: Subject → when it last had the problem, on the clock of the samples.
        self._seen: dict[str, float] = {}

    def report(self, sample: Sample) -> None:
        """Print the problems that the last samples did not have."""
        problems, now = find_problems(sample), sample.monotonic
        for subject, text in problems.items():
            is_new = now - self._seen.get(subject, -math.inf) > SAME_SECONDS
            if is_new and subject not in self._last:
                print_message(self._program, 'warning', text)
            self._seen[subject] = now
        self._last = frozenset(problems)


def find_problems(sample: Sample) -> dict[str, str]:
    """Messages about the problems of a sample, by subject."""
    texts: dict[str, str] = {}
    for device in sample.devices:
        if device.status != 'ok':
            text = f'GPU {device.key.label}: {device.reason or device.status}'
            if device.status == 'asleep':
                text += '\nIts values are not read; select it by its index to wake it.'
            texts[f'{device.key.label} {device.status}'] = text
    for problem in sample.problems:
        is_shared = problem.subject in ('driver', 'host')
        is_failure = problem.is_failure if is_shared else problem.kind in _FAILED
        if (is_failure and problem.what != STATUS) or (
            problem.device and problem.what == PROCESSES
        ):
            subject = f'{subject_text(problem.subject)}: {problem.what}'
            texts[subject] = f'{subject}: {problem.reason}'
    if not sample.devices and not texts:
        texts['none'] = 'no GPU found: the driver works but reports none'
    return texts
