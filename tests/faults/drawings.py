"""Check of the report and the screens: every number is one that is known."""

from __future__ import annotations

import re
from typing import Iterator

from nvitop.console.options import Options
from nvitop.gui.model.screens import Screen
from nvitop.gui.report import report_text
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.events import Event, KeyPressed, Resized, SampleArrived
from nvitop.gui.state.update import update
from nvitop.gui.view.frame import draw_frame
from nvitop.sampling.history import History
from nvitop.sampling.types import HostSample, Sample
from tests.gui.ways import way_to

#: Screens that show nothing the driver reports.
_TEXTS = frozenset({Screen.ENVIRON, Screen.HELP, Screen.COLUMNS})
#: Keys → the screen that they open.
SCREENS = {
    **{way_to(screen): screen for screen in Screen if screen not in _TEXTS},
    ('d',): Screen.MAIN,
}
#: Screens whose numbers are counts, times and sums.
_COUNTS = (Screen.PROBLEMS.value, Screen.USERS.value)
_NUMBER = re.compile(r'(?<![A-Za-z0-9.])\d+(?:\.\d+)?(?![A-Za-z0-9]*-)')
#: Part of titles about GPUs whose processes are unknown, and the time that a sparkline shows.
_UNKNOWN = re.compile(r'(?:unknown|readable) on GPU [\d:,-]+|UTIL \d+ MIN')


def without_host(sample: Sample) -> Sample:
    """The sample without values of the host, which the tests do not control."""
    return sample._replace(host=HostSample(), timestamp=0.0)


def drawn(sample: Sample, width: int = 200) -> Iterator[tuple[str, str]]:
    """Draw a sample everywhere; yields the place and the text."""
    sample = without_host(sample)
    yield 'report', report_text(sample, Options(), width=width, colors=0)
    history = History()
    history.record(sample)
    for keys, screen in SCREENS.items():
        for count in range(len(sample.processes)) if 'Enter' in keys else (0,):
            state = AppState()
            pressed = [KeyPressed(key) for key in (*['Down'] * count, *keys)]
            events: list[Event] = [Resized(width, 120), SampleArrived(sample), *pressed]
            for event in events:
                state, _ = update(state, event)
            assert state.screen is screen
            yield screen.value, '\n'.join(draw_frame(state, history).lines())


def numbers(text: str) -> set[str]:
    """All numbers in a text, except the indices of GPUs whose processes are unknown."""
    return set(_NUMBER.findall(_UNKNOWN.sub('', text)))


def is_border(line: str) -> bool:
    """Whether this is a border: with totals of the devices that respond, or the times of a graph."""
    return line[:1] in ('╭', '├') or '╴' in line


def is_scale(line: str, screen: str) -> bool:
    """Whether this is a row of graphs of a process, whose scales depend on the values in view."""
    return screen == Screen.METRICS.value and line[:1] == '│'


def means(sample: Sample) -> set[str]:
    """Means over devices as the graphs show them, and memory shares of processes."""
    leaves = [d for d in sample.devices if not (d.mig_mode == 'Enabled' and not d.key.is_mig)]
    gpus = [d for d in sample.devices if not d.key.is_mig]
    found = {str(process.gpu_memory_percent) for process in sample.processes}
    for field in ('memory_percent', 'gpu_utilization_percent'):
        for devices in (leaves, gpus, sample.devices):
            known = [getattr(d, field) for d in devices if getattr(d, field) is not None]
            found |= {str(len(known)), str(len(devices))}  # as in AVG of 2/3 GPUs
            if known:
                found.add(f'{sum(known) / len(known):.1f}')
    return found


class Drawings:
    """Compares drawn numbers with those of a machine without faults."""

    def __init__(self, truth: dict[int, Sample]) -> None:
        self._numbers: dict[int, dict[str, set[str]]] = {}
        for tick, sample in truth.items():
            known = self._numbers[tick] = {}
            for where, text in drawn(sample):
                known.setdefault(where, set()).update(numbers(text))
        self._seen: dict[object, list[str]] = {}

    def check(self, sample: Sample, tick: int) -> list[str]:
        """Return the drawn numbers that are wrong at this tick."""
        key = (tick, sample.devices, sample.processes, sample.problems)
        if key not in self._seen:
            self._seen[key] = [*self._check(sample, tick)]
        return self._seen[key]

    def _check(self, sample: Sample, tick: int) -> Iterator[str]:
        allowed = means(sample)
        for where, text in drawn(sample):
            known = self._numbers[tick][where] | allowed
            for line in text.splitlines() if where not in _COUNTS else ():
                wrong = numbers(line) - known
                if is_border(line) or is_scale(line, where):
                    continue
                if wrong and not ('MiB/s' in line and all(is_near(n, known) for n in wrong)):
                    yield f'{where}: {", ".join(sorted(wrong))} in {line.strip()}'


def is_near(number: str, known: set[str]) -> bool:
    """Whether a rate, measured over another interval, is near a known one."""
    return any(abs(float(number) - float(each)) <= 0.02 * float(each) for each in known)
