"""What people and programs see of a machine on which a call fails: the report, the screens, rows."""

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

#: Keys → the screen they lead to.
SCREENS = {
    (): Screen.MAIN,
    ('d',): Screen.MAIN,
    ('t',): Screen.TREE,
    ('Down', 'Enter'): Screen.METRICS,
    ('!',): Screen.PROBLEMS,
    ('U',): Screen.USERS,
}
#: Screens whose numbers are no measurements, but counts, times and sums of what is shown.
_COUNTS = (Screen.PROBLEMS.value, Screen.USERS.value)
_NUMBER = re.compile(r'(?<![A-Za-z0-9.])\d+(?:\.\d+)?(?![A-Za-z0-9]*-)')
#: What titles say of GPUs whose processes are not known.
_UNKNOWN = re.compile(r'unknown on GPU [\d:,-]+')


def without_host(sample: Sample) -> Sample:
    """The sample of a host of which nothing is known: only what the driver says is looked at."""
    return sample._replace(host=HostSample(), timestamp=0.0)


def drawn(sample: Sample, width: int = 200) -> Iterator[tuple[str, str]]:
    """What is drawn of a sample, with the name of where."""
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
    """All numbers in a text, but those of GPUs of which something is said to be unknown."""
    return set(_NUMBER.findall(_UNKNOWN.sub('', text)))


def means(sample: Sample) -> set[str]:
    """The means of the devices that tell, as the graphs name them, and what processes have."""
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
    """What is drawn when nothing fails; nothing else may be drawn of a number when something does."""

    def __init__(self, truth: dict[int, Sample]) -> None:
        self._numbers: dict[int, dict[str, set[str]]] = {}
        for tick, sample in truth.items():
            known = self._numbers[tick] = {}
            for where, text in drawn(sample):
                known.setdefault(where, set()).update(numbers(text))
        self._seen: dict[object, list[str]] = {}

    def untrue(self, sample: Sample, tick: int) -> list[str]:
        """The numbers that are drawn of a sample and are not true at this tick."""
        key = (tick, sample.devices, sample.processes, sample.problems)
        if key not in self._seen:
            self._seen[key] = [*self._untrue(sample, tick)]
        return self._seen[key]

    def _untrue(self, sample: Sample, tick: int) -> Iterator[str]:
        allowed = means(sample)
        for where, text in drawn(sample):
            known = self._numbers[tick][where] | allowed
            for line in text.splitlines() if where not in _COUNTS else ():
                wrong = numbers(line) - known
                if '╴' in line:
                    continue  # the scale of a graph
                if wrong and not ('MiB/s' in line and all(is_near(n, known) for n in wrong)):
                    yield f'{where}: {", ".join(sorted(wrong))} in {line.strip()}'


def is_near(number: str, known: set[str]) -> bool:
    """Whether a rate, measured over another time, is one that is known."""
    return any(abs(float(number) - float(each)) <= 0.02 * float(each) for each in known)
