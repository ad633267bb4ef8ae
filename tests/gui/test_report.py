"""Reports: goldens of stored samples, and properties that hold for any sample at any width."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nvitop.gui.model.choices import ProcessFilter, ViewState
from nvitop.gui.model.columns import COLUMNS
from nvitop.gui.render.ascii import to_ascii
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.width import cell_width, safe
from nvitop.gui.view.panels.device import Header
from nvitop.gui.view.screens.report import draw_report
from nvitop.sampling.types import (
    DeviceInfo,
    DeviceKey,
    DeviceSample,
    HostSample,
    ProcessKey,
    ProcessSample,
    Sample,
)
from tests.gui.goldens import assert_golden
from tests.gui.samples import SAMPLES

HEADER = Header('Tue Jan 02 03:04:05 2024', version='1.0.0')
VIEWS = {
    'plain': ViewState(),
    'colorful': ViewState(colorful=True),
    'ascii': ViewState(ascii=True),
    'columns': ViewState(columns=tuple(column.name for column in COLUMNS)),
}

#: Each scenario in each form and drawn in each way, and each width drawn in each way.
CASES = [
    ('no-gpu', 40, 'ascii'),
    ('no-gpu', 123, 'plain'),
    ('one', 40, 'plain'),
    ('one', 79, 'colorful'),
    ('one', 100, 'columns'),
    ('one', 240, 'colorful'),
    ('h100x8', 60, 'plain'),
    ('h100x8', 80, 'plain'),
    ('h100x8', 123, 'plain'),
    ('h100x8', 160, 'colorful'),
    ('gpus16', 60, 'colorful'),
    ('gpus16', 79, 'plain'),
    ('gpus16', 160, 'plain'),
    ('mig', 40, 'colorful'),
    ('mig', 79, 'plain'),
    ('mig', 100, 'colorful'),
    ('mig', 123, 'plain'),
    ('missing', 60, 'plain'),
    ('missing', 100, 'plain'),
    ('missing', 160, 'colorful'),
    ('lost', 40, 'plain'),
    ('lost', 80, 'ascii'),
    ('lost', 123, 'plain'),
    ('all-lost', 79, 'plain'),
    ('all-lost', 240, 'ascii'),
    ('unified', 60, 'plain'),
    ('unified', 123, 'colorful'),
    ('workstation', 79, 'plain'),
    ('workstation', 100, 'plain'),
    ('workstation', 160, 'plain'),
    ('workstation', 240, 'plain'),
    ('hostile', 40, 'plain'),
    ('hostile', 80, 'plain'),
    ('hostile', 160, 'plain'),
    ('odd-processes', 60, 'plain'),
    ('odd-processes', 79, 'plain'),
    ('odd-processes', 100, 'ascii'),
    ('wddm', 40, 'plain'),
    ('wddm', 80, 'colorful'),
    ('extreme', 40, 'plain'),
    ('extreme', 79, 'plain'),
    ('extreme', 160, 'columns'),
    ('simulated', 60, 'plain'),
    ('simulated', 100, 'plain'),
    ('nothing-yet', 79, 'plain'),
    ('no-gpu', 79, 'ascii'),
    ('mig', 160, 'ascii'),
    ('hostile', 123, 'ascii'),
    ('lost', 60, 'ascii'),
    ('all-lost', 60, 'colorful'),
    ('all-lost', 100, 'plain'),
    ('extreme', 100, 'ascii'),
    ('extreme', 160, 'colorful'),
    ('gpus16', 100, 'ascii'),
    ('h100x8', 100, 'ascii'),
    ('hostile', 100, 'colorful'),
    ('lost', 100, 'colorful'),
    ('missing', 79, 'ascii'),
    ('no-gpu', 100, 'colorful'),
    ('nothing-yet', 40, 'ascii'),
    ('nothing-yet', 100, 'colorful'),
    ('nothing-yet', 123, 'plain'),
    ('odd-processes', 160, 'colorful'),
    ('one', 123, 'ascii'),
    ('simulated', 80, 'ascii'),
    ('simulated', 123, 'colorful'),
    ('unified', 79, 'ascii'),
    ('unified', 100, 'plain'),
    ('wddm', 100, 'ascii'),
    ('wddm', 160, 'plain'),
    ('workstation', 60, 'ascii'),
    ('workstation', 80, 'colorful'),
]
#: From each of these widths on, a report has another form.
FORMS = (40, 79, 100, 123)
#: The reports of the others are those of ``h100x8`` and ``no-gpu`` again.
SCENARIOS = set(SAMPLES) - {'processes50', 'processes200', 'no-driver'}


def test_each_width_scenario_and_way_to_draw_is_seen_with_every_other() -> None:
    seen: set[tuple[object, object]] = set()
    for scenario, width, view in CASES:
        form = max(start for start in FORMS if start <= width)
        seen |= {(scenario, form), (scenario, view), (width, view)}
    ways, widths = ('plain', 'colorful', 'ascii'), (40, 60, 79, 80, 100, 123, 160, 240)
    wanted: set[tuple[object, object]] = {(width, way) for width in widths for way in ways}
    wanted |= {(scenario, what) for scenario in SCENARIOS for what in (*FORMS, *ways)}
    assert wanted - seen == set()
    assert {scenario for scenario, _, _ in CASES} == SCENARIOS


@pytest.mark.parametrize(('scenario', 'width', 'view'), CASES)
def test_reports_look_as_they_did(scenario: str, width: int, view: str) -> None:
    buffer = draw_report(SAMPLES[scenario], width, VIEWS[view], header=HEADER)
    if view == 'ascii':
        buffer = to_ascii(buffer)
    suffix = '' if view == 'plain' else f'-{view}'
    assert_golden(f'report-{scenario}-{width}{suffix}', buffer)


def test_a_report_of_many_processes_shows_them_all() -> None:
    sample = SAMPLES['processes200']
    text = '\n'.join(draw_report(sample, 100, header=HEADER).lines())
    for process in sample.processes:
        assert f' {process.key.pid} ' in text


def test_a_filtered_report_says_how_many_are_listed() -> None:
    wanted = ProcessFilter(users=frozenset({'bob'}))
    lines = draw_report(SAMPLES['h100x8'], 100, wanted=wanted, header=HEADER).lines()
    assert lines[0] == 'Tue Jan 02 03:04:05 2024 [only user bob]'
    assert any('Processes: 1 of 8' in line for line in lines)
    assert sum(' bob ' in line for line in lines) == 1
    lines = draw_report(
        SAMPLES['h100x8'], 100, wanted=ProcessFilter(pids=frozenset()), header=HEADER
    ).lines()
    assert any('None of 8 processes meets the options' in line for line in lines)


def test_a_report_has_neither_hints_nor_cautions() -> None:
    sample = SAMPLES['odd-processes']
    sample = sample._replace(host=sample.host._replace(is_superuser=True))
    text = '\n'.join(draw_report(sample, 120).lines())
    assert 'signals' not in text
    assert 'help' not in text


def test_no_process_is_dim_to_root() -> None:
    sample = SAMPLES['h100x8']
    others = [p.key.pid for p in sample.processes if not p.is_own]
    assert others
    sample = sample._replace(host=sample.host._replace(is_superuser=True))
    buffer = draw_report(sample, 120, header=HEADER)
    for y in range(buffer.height):
        for _, text, style in buffer.row(y):
            if any(f' {pid} ' in text for pid in others):
                assert style.role.name == 'TEXT'


def test_why_no_gpu_is_visible_is_said() -> None:
    lines = draw_report(SAMPLES['no-driver'], 79, header=HEADER).lines()
    assert '│ No GPU is visible: Driver Not Loaded'.ljust(78) + '│' in lines


# Properties ---------------------------------------------------------------------------------------

CHARACTERS = [
    *'ab Zz09-./"',
    *'\x00\x1b\n\t\x7f\x9b\xa0\xad\u200b\u200d\u202e\u2066\ud800\U0001f468',
    *'漢字한グッ́̈ﷺ',
]


class Anything:
    """Samples with anything in them, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def text(self) -> str:
        """Ordinary text, or text nobody should have to draw."""
        length = self.random.choice([0, 1, 3, 8, 19, 60])
        return ''.join(self.random.choices(CHARACTERS[: self.random.choice([10, 99])], k=length))

    def number(self, most: float) -> float | int | None:
        """None, zero, the most or anything between."""
        value = self.random.choice([None, 0, most, self.random.uniform(0, most)])
        return value if value is None or self.random.random() < 0.5 else int(value)

    def value(self, field: str, kind: str = 'str') -> Any:
        """A value for a field of this type, by its unit."""
        if 'str' in kind:
            return self.random.choice([None, self.text()])
        if 'int' not in kind and 'float' not in kind:
            return None
        if field.endswith('_percent'):
            return self.number(100)
        if field.endswith('_seconds'):
            return self.number(1e10)
        return self.number(self.random.choice([100, 1e6, 1 << 40, 1 << 62]))

    def fill(self, kind: Any, **fields: Any) -> Any:
        """A sample of this type with anything in the fields that are drawn."""
        for field, default in kind._field_defaults.items():
            if default is None:
                fields.setdefault(field, self.value(field, str(kind.__annotations__[field])))
        return kind(**fields)

    def device(self, key: DeviceKey) -> DeviceSample:
        """A device."""
        info = self.fill(DeviceInfo, key=key, physical_index=key[0], name=self.text())
        status = self.random.choice(['ok', 'ok', 'ok', 'lost', 'timed out', 'error'])
        sample: DeviceSample = self.fill(
            DeviceSample, key=key, info=info, status=status, reason=self.text()
        )
        return sample

    def process(self, key: DeviceKey) -> ProcessSample:
        """A process on a device."""
        choice = self.random.choice
        sample: ProcessSample = self.fill(
            ProcessSample,
            key=ProcessKey(self.random.randrange(1 << choice([3, 16, 32])), 1.0, key),
            type=choice(['C', 'G', 'C+G', 'M', None]),
            status=choice(['running', 'zombie', 'gone', 'no permission', 'foreign']),
            is_own=choice([True, False]),
        )
        return sample

    def sample(self) -> Sample:
        """A machine."""
        choice = self.random.choice
        keys = [
            DeviceKey(index * choice([1, 30]), mig)
            for index in range(choice([0, 1, 2, 4]))
            for mig in range(-1, choice([0, 0, 2]))
        ]
        loads = tuple(self.random.uniform(0, 1e6) for _ in range(3))
        return Sample(
            1.0,
            sequence=choice([0, 1]),
            driver_version=self.value('version'),
            cuda_driver_version=self.value('version'),
            simulated=choice(['', 'dgx', 'x' * 90]),
            host=self.fill(
                HostSample,
                hostname=self.text(),
                username=self.text(),
                is_superuser=choice([True, False]),
                load_average=choice([None, loads]),
            ),
            devices=tuple(self.device(key) for key in sorted(set(keys))),
            processes=tuple(self.process(key) for key in keys for _ in range(choice([0, 3]))),
        )


def cells_of(buffer: Buffer, y: int) -> list[str]:
    """The characters of a row by cell; the second cell of a wide one is empty."""
    cells = [' '] * buffer.width
    for x, text, _ in buffer.row(y):
        for char in text:
            width = cell_width(char)
            if width:
                cells[x : x + width] = [char, ''][:width]
                x += width
    return cells


LEFT, RIGHT = '│├╞╒╘', '│┤╡╕╛'


def assert_boxes_close(buffer: Buffer) -> None:
    """Each row between the top of a box and its bottom begins and ends with its border."""
    inside = ''
    widths = set()
    for y in range(buffer.height):
        cells = cells_of(buffer, y)
        assert len(cells) == buffer.width
        first, last = cells[0], next((c for c in reversed(cells) if c != ' '), ' ')
        if inside or first == '╒':
            assert first in LEFT, cells
            assert last in RIGHT, cells
            widths.add(len(''.join(cells).rstrip(' ')) and cell_width(''.join(cells).rstrip(' ')))
        if first in '╒╘':
            inside = '' if first == '╘' else first
    # The head of the device box is narrower where bars stand beside its body.
    head = widths - {buffer.width}
    assert len(head) <= 1
    assert all(width >= 79 for width in head)
    assert not inside


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 1 << 32), st.one_of(st.integers(1, 130), st.integers(1, 500)), st.booleans())
def test_a_report_of_anything_is_aligned(seed: int, width: int, colorful: bool) -> None:
    sample = Anything(seed).sample()
    buffer = draw_report(sample, width, ViewState(colorful=colorful))
    assert 40 <= buffer.width <= max(40, width)
    assert_boxes_close(buffer)
    for line in buffer.lines():
        assert safe(line) == line
        assert cell_width(line) <= buffer.width
    pids = {str(process.key.pid) for process in sample.processes}
    text = '\n'.join(buffer.lines())
    assert all(pid in text for pid in pids)


@pytest.mark.parametrize('name', SAMPLES)
def test_every_box_closes_in_the_same_column_at_every_width(name: str) -> None:
    for width in (*range(40, 145, 3), 79, 80, 99, 100, 122, 123, 200, 333):
        assert_boxes_close(draw_report(SAMPLES[name], width, header=HEADER))
