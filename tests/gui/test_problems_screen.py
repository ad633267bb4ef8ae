"""The problems screen."""

from __future__ import annotations

import pytest

from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.events import ClockTicked, KeyPressed, SampleArrived, SignalSent
from nvitop.gui.state.update import update
from nvitop.sampling.types import Cost, DeviceKey, Problem
from tests.gui.drawing import lines_of, state_on, text_of
from tests.gui.driving import after, pressed, update_all
from tests.gui.samples import NOW, SAMPLES

pytestmark = pytest.mark.usefixtures('utc')


def troubled(width: int, height: int = 24, simulated: str = '') -> AppState:
    """Return the problems screen with problems of each kind; only the first two are current."""
    fails = Problem(DeviceKey(1), 'temperature', 'Unknown Error', 'error')
    lacks = Problem(DeviceKey(0), 'memory_temperature', 'Not Supported')
    before = (
        Problem(DeviceKey(0, 2), 'status', 'Invalid Argument', 'error'),
        Problem(DeviceKey(2), 'power_usage', 'Insufficient Permissions', 'denied'),
        *(
            Problem(DeviceKey(0), f'nvlink_{way}_throughput', 'Not Supported')
            for way in ('rx', 'tx')
        ),
    )
    sample = SAMPLES['one']._replace(sequence=1, simulated=simulated)
    first = sample._replace(problems=(fails, lacks, *before))
    later = sample._replace(sequence=2, timestamp=NOW + 1, problems=(fails, lacks))
    return after(state_on(first, width, height), SampleArrived(later), KeyPressed('!'))


def test_frozen_problems_do_not_change_except_for_failed_signals() -> None:
    state, _ = update(troubled(120), KeyPressed('z'))
    before = lines_of(state)
    sample = state.sample
    for i in (1, 2):
        more = (*sample.problems, Problem(DeviceKey(3), 'status', 'Unknown Error', 'error'))
        later = sample._replace(
            sequence=2 + i, timestamp=NOW + i, monotonic=sample.monotonic + i, problems=more
        )
        state, _ = update(state, SampleArrived(later))
    assert lines_of(state) == before
    failed = SignalSent(SAMPLES['h100x8'].processes[0].key, 'SIGTERM', 'failed')
    state, _ = update(state, failed)
    assert any('SIGTERM' in line for line in lines_of(state)[2:10])
    state, _ = update(state, KeyPressed('z'))
    lines = lines_of(state)[2:10]
    assert any('GPU 3 ' in line for line in lines)
    assert any('SIGTERM' in line for line in lines)


@pytest.mark.parametrize(
    ('width', 'cost', 'first', 'last'),
    [
        (40, ' nvitop: 2.5% CPU  ', '1-6 of 9 ▼', '4-9 of 9'),
        (60, ' nvitop: 2.5% CPU, 5 NVML calls/s  ', '1-6 of 9 ▼', '4-9 of 9'),
        (240, ' nvitop itself in the last 10 s', '1-7 of 9 ▼', '3-9 of 9'),
    ],
)
def test_last_row_shows_which_problems_are_visible(
    width: int, cost: str, first: str, last: str
) -> None:
    many = tuple(Problem(DeviceKey(i), f'x{i}', 'y', 'error') for i in range(9))
    sample = SAMPLES['one']._replace(problems=many, cost=Cost(0.004, 50, 0.25))
    later = sample._replace(sequence=2, monotonic=sample.monotonic + 10, cost=Cost(0.004, 50, 0.5))

    def foot(height: int, *keys: str) -> str:
        state = after(state_on(sample, width, height), SampleArrived(later))
        line = lines_of(pressed(state, '!', *keys))[-1]
        assert line.startswith(cost if height == 12 else ' nvitop')
        return line.rstrip()

    assert foot(12).endswith(f'  {first}')
    assert foot(12, 'End').endswith(f'  {last}')
    assert 'of 9' not in foot(30)


@pytest.mark.parametrize(
    ('width', 'simulated', 'title'),
    [
        (80, '', 'Problems: 1 now, 1 past, 1 not permitted, 3 not supported'),
        (80, 'dgx', 'Problems: 1 now, 1 past, 1 not permitted, 3 not supported'),
        (77, 'dgx', 'Problems: 1 now, 1 past, 1 denied, 3 N/A'),
        (60, '', 'Problems: 1 now, 1 past, 1 denied, 3 N/A'),
        (40, '', 'Problems: 1 now, 1 past, 1 denied, 3 N/A'),
        (40, 'dgx', '1 now, 1 past, 1 denied, 3 N/A'),
    ],
)
def test_title_counts_each_problem(width: int, simulated: str, title: str) -> None:
    line = lines_of(troubled(width, simulated=simulated))[0]
    assert line.split('  ')[0] == title


def test_findings_are_listed_with_evidence_and_action() -> None:
    lost = SAMPLES['lost']
    first = lost.devices[0]
    info = first.info._replace(temperature_slowdown_threshold_celsius=89)
    later = lost._replace(
        sequence=2,
        timestamp=NOW + 60,
        devices=(first._replace(info=info, temperature_celsius=91), *lost.devices[1:]),
    )
    state, _ = update(state_on('lost', 120, 24, '!'), SampleArrived(later))
    lines = [' '.join(line.split()[3:]) for line in lines_of(state)[2:5]]
    assert lines == [
        'GPU 1 lost inaccessible',
        'GPU 2 not responding the driver has not answered for 12 s',
        'GPU 0 too hot 91°C, slows down at 89°C',
    ]
    state, _ = update_all(state, (KeyPressed('Down'), KeyPressed('Down')))
    whole = ' '.join(line.strip() for line in lines_of(state)[-4:-1])
    assert '(now, since 03:05:05). Check fans' in whole
    cooled = update(state, SampleArrived(lost._replace(sequence=3, timestamp=NOW + 61)))[0]
    assert lines_of(cooled)[4].startswith('03:05:05')


def test_values_are_named_in_words() -> None:
    keys = ('sm_clock', 'power_usage', 'fan_speed')
    failing = tuple(Problem(DeviceKey(0), key, 'Unknown Error', 'error') for key in keys)
    odd = Problem(DeviceKey(1), 'memory_used', '2 TiB', 'impossible')
    sample = SAMPLES['one']._replace(sequence=1, problems=(*failing, odd))
    state, _ = update_all(state_on('one', 120, 24), (SampleArrived(sample), KeyPressed('!')))
    lines = lines_of(state)
    assert 'fan speed and 2 more unreadable  unknown driver error' in text_of(state)
    assert 'memory used  ' in text_of(state)
    assert lines[0].startswith('Problems: 2 now')
    assert 'SM clock' in ' '.join(lines[-4:])


def test_narrow_screen_has_one_column_for_what_and_why() -> None:
    lines = lines_of(troubled(50))
    assert lines[1].split() == ['LAST', 'WHERE', 'PROBLEM']
    assert 'temperature unreadable: unknown driver error'[:20] in lines[2]


def test_failed_signal_is_listed_as_a_problem() -> None:
    state = state_on('one', 120, 24)
    key = state.rows[0].key
    state, _ = update(state, SignalSent(key, 'SIGTERM', 'not permitted'))
    state, _ = update_all(state, (ClockTicked(99.0, NOW), KeyPressed('!')))
    text = text_of(state)
    assert f'process {key.pid}: SIGTERM: not permitted (past: once, 03:04:05)' in text
