# SPDX-License-Identifier: Apache-2.0
"""The driver of a command, real or simulated, and the problems of its samples as messages."""

from __future__ import annotations

import contextlib
import math
import sys
from typing import TYPE_CHECKING, TypeVar, cast

from nvitop.api import libnvml
from nvitop.console.lifecycle import CommandFailure
from nvitop.console.messages import print_message
from nvitop.sampling import threads
from nvitop.sampling.types import PROCESSES, STATUS, subject_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from nvitop.console.device_names import DeviceIndex
    from nvitop.sampling.types import Sample

    T = TypeVar('T')


def simulate(scenario: str | None, *, announce: bool = True) -> None:
    """Replace the driver by that of a simulated machine, unless the scenario is ``None``.

    Raises CommandFailure with status 2 if the scenario cannot be used.
    """
    if scenario is None:
        return
    from nvitop import simulation

    try:
        simulation.install(scenario or simulation.DEFAULT_SCENARIO, announce=announce)
    except simulation.ScenarioError as error:
        raise CommandFailure(str(error), 2) from error


def start_driver(program: str, first_calls: Callable[[], T], *, limit: float | None = None) -> T:
    """Make the first calls to the driver within ``limit`` seconds, and return their result.

    On a terminal, a notice appears if the driver does not respond at once. Raises CommandFailure if
    it does not start or respond; with status 2 if the calls, or a scenario in ``NVITOP_DEMO``, raise
    ValueError.
    """
    notices = [f'{program}: the NVIDIA driver has not responded yet; press Ctrl-C to quit']

    def show_notice() -> None:
        if notices and sys.stderr.isatty():
            print(notices.pop(), file=sys.stderr, flush=True)

    try:
        with driver_errors(program):
            return threads.call_with_limit(first_calls, limit, while_waiting=show_notice)
    except ValueError as error:  # an unknown device, or an unknown scenario in NVITOP_DEMO
        raise CommandFailure(str(error), 2) from error
    except (AttributeError, OSError) as error:
        raise CommandFailure(libnvml.explain_init_error(error, command=program)) from error


def start_devices(
    program: str, names: Iterable[str] | None, demo: str | None, *, only_visible: bool = False
) -> tuple[DeviceIndex, ...] | None:
    """Start the driver, or that of the scenario ``demo``, and find devices by names; ``None``: all.

    With ``only_visible``, without names, these are the devices that are visible to CUDA. Raises
    CommandFailure, with status 2 if a device or the scenario is unknown.
    """
    simulate(demo)

    def find() -> tuple[DeviceIndex, ...] | None:
        # A broken binding must not break --help.
        from nvitop.api.device import Device
        from nvitop.api.device.handles import sleeping_gpus, start_nvml
        from nvitop.console.device_names import require_devices

        if names is None and not only_visible and sleeping_gpus():
            return None
        start_nvml()
        libnvml.nvmlQuery('nvmlDeviceGetCount', ignore_errors=False)
        if names is None and only_visible:
            visible = tuple(cast('list[DeviceIndex]', Device.parse_cuda_visible_devices()))
            if not visible:
                raise CommandFailure('CUDA_VISIBLE_DEVICES makes no GPU visible')
            return visible
        return None if names is None else require_devices(names)

    return start_driver(program, find)


@contextlib.contextmanager
def driver_errors(program: str) -> Iterator[None]:
    """Report errors of the driver inside the block as a command failure."""
    try:
        yield
    except (libnvml.NVMLError, TimeoutError) as error:
        raise CommandFailure(libnvml.explain_init_error(error, command=program)) from error


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
