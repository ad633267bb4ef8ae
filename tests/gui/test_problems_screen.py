"""The problems screen."""

from __future__ import annotations

import pytest

from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.events import ClockTicked, KeyPressed, SampleArrived, SignalSent
from nvitop.gui.state.summary import Tally, count_problems
from nvitop.gui.state.update import update, update_all
from nvitop.sampling.types import Cost, DeviceKey, Problem
from tests.gui.drawing import lines_of, state_on, text_of
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
    state = AppState(width, height, timestamp=NOW)
    events = (SampleArrived(first), SampleArrived(later), KeyPressed('!'))
    return update_all(state, events)[0]


def test_failures_come_before_missing_values_also_when_over() -> None:
    lines = lines_of(troubled(120))[2:8]
    assert [line.split('GPU ')[1].split()[:2] for line in lines] == [
        ['1', 'temperature'],
        ['0:2', 'status'],
        ['2', 'power'],
        ['0', 'memory'],
        ['0', 'nvlink'],
        ['0', 'nvlink'],
    ]


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


@pytest.mark.parametrize('width', [40, 59, 60, 79, 80, 100, 123, 160, 240])
@pytest.mark.parametrize('what', ['x', 'max memory temperature threshold', 64 * 'x'])
def test_each_problem_shows_its_time_and_reason(width: int, what: str) -> None:
    state = troubled(width)
    reason = 'the system does not respond'
    many = [Problem(pid, what, reason, 'error') for pid in range(10000, 10150)]
    problems = count_problems(state.tally.problems, many, NOW + 2)
    state = state._replace(tally=state.tally._replace(problems=problems))
    _, heading, present, past, *_ = lines_of(state)
    is_wide = width >= 60
    titles = [title for title in heading.split() if title != 'FIRST']
    assert titles == ['LAST', *['TIMES'] * is_wide, 'WHERE', 'WHAT', 'REASON']
    assert present.split()[0] == 'now'
    assert past.split()[0] == ('03:04:06' if is_wide else 'past')
    _, text = present.split('processes ', 1)
    assert what[:4] in text
    assert 'the sys' in text


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
    events = (SampleArrived(sample._replace(sequence=1)), SampleArrived(later), KeyPressed('!'))

    def foot(height: int, *keys: str) -> str:
        state, _ = update_all(AppState(width, height, timestamp=NOW), events)
        state, _ = update_all(state, tuple(map(KeyPressed, keys)))
        line = lines_of(state)[-1]
        assert line.startswith(cost if height == 12 else ' nvitop')
        return line.rstrip()

    assert foot(12).endswith(f'  {first}')
    assert foot(12, 'End').endswith(f'  {last}')
    assert 'of 9' not in foot(30)


def test_whole_text_of_the_cursor_line_loses_its_times_first() -> None:
    what = 'max memory temperature threshold'
    hot = Problem(DeviceKey(3), what, 'Unknown Error', 'error')
    for width in range(40, 100):
        state = troubled(width, 12)._replace(tally=Tally(count_problems((), [hot], NOW)))
        text = ' '.join(line.strip() for line in lines_of(state)[-5:-1])
        assert f'GPU 3: {what}: Unknown Error' in text
        assert text.count('(') == text.count(')')


def test_no_text_is_cut_while_there_is_room() -> None:
    keys = [DeviceKey(gpu, mig) for gpu in (0, 1) for mig in (0, 2)]
    parts = [Problem(key, 'mig_mode', 'Not Supported') for key in keys]
    state = troubled(66)._replace(tally=Tally(count_problems((), parts, NOW)))
    line = lines_of(state)[2]
    assert line.split('  ')[-3:] == ['GPU 0:0,0:2,1:0,1:2', 'mig mode', 'Not Supported']


def test_whole_text_says_whether_a_problem_is_over() -> None:
    state, lines = troubled(120), []
    for _ in range(2):
        lines.append(lines_of(state)[-3].strip())
        state, _ = update(state, KeyPressed('Down'))
    assert lines == [
        'GPU 1: temperature: Unknown Error (now, 2 times since 03:04:05)',
        'GPU 0:2: status: Invalid Argument (past: once, 03:04:05)',
    ]


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


def test_problems_are_listed_with_the_cost_of_nvitop() -> None:
    state = state_on('lost', 120, 24, '!')
    later = SAMPLES['lost']._replace(sequence=2, monotonic=1010.0, cost=Cost(0.004, 50, 0.25))
    state, _ = update(state, SampleArrived(later))
    lines = lines_of(state)
    assert lines[0].startswith('Problems: 2 now, 0 past')
    assert any('GPU 1' in line and 'GPU is lost' in line for line in lines)
    assert lines[-3].startswith(' GPU 1: lost: GPU is lost (now, 2 times since 03:04:05). Reboot')
    assert (
        lines[-1] == ' nvitop itself in the last 10 s: 2.5% CPU, 5 NVML calls/s, 4.0 ms per sample'
    )


def test_findings_are_listed_newest_first_with_evidence_and_action() -> None:
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
        'GPU 0 too hot 91 °C, slows down at 89 °C',
        'GPU 1 lost GPU is lost',
        'GPU 2 not responding the driver has not answered for 12 s',
    ]
    whole = ' '.join(line.strip() for line in lines_of(state)[-4:-1])
    assert '(now, since 03:05:05). Check fans' in whole
    cooled = update(state, SampleArrived(lost._replace(sequence=3, timestamp=NOW + 61)))[0]
    assert lines_of(cooled)[4].startswith('03:05:05')


def test_failed_signal_is_listed_as_a_problem() -> None:
    state = state_on('one', 120, 24)
    key = state.rows[0].key
    state, _ = update(state, SignalSent(key, 'SIGTERM', 'not permitted'))
    state, _ = update_all(state, (ClockTicked(99.0, NOW), KeyPressed('!')))
    text = text_of(state)
    assert f'process {key.pid}: SIGTERM: not permitted (past: once, 03:04:05)' in text
