"""The metrics screen of a process."""

from __future__ import annotations

import re
from typing import Any

import pytest

from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.events import KeyPressed, SampleArrived
from nvitop.gui.state.update import update
from nvitop.gui.view.frame import draw_frame
from nvitop.sampling.history import History
from nvitop.sampling.types import Problem
from tests.gui.drawing import lines_of, state_on, text_of
from tests.gui.driving import demand_of
from tests.gui.samples import SAMPLES, history_of

pytestmark = pytest.mark.usefixtures('utc')


def metrics_of(
    name: str, width: int, height: int, *keys: str, **fields: Any
) -> tuple[AppState, list[str]]:
    """Draw the metrics screen of the first process, with these fields in its sample."""
    sample = SAMPLES[name]
    first = sample.processes[0]._replace(**fields)
    sample = sample._replace(processes=(first, *sample.processes[1:]))
    state = state_on(sample, width, height, 'Down', 'Enter', *keys)
    return state, lines_of(state, history_of(sample))


def test_unknown_values_have_no_graph() -> None:
    _, lines = metrics_of('one', 200, 60)
    text = '\n'.join(lines)
    assert 'DISK READ' not in text
    _, lines = metrics_of('one', 200, 60, tree_cpu_percent=250.0, disk_read_kib_per_s=4096)
    text = '\n'.join(lines)
    assert re.search('CPU.CHILD +250%', text)
    assert re.search('DISK READ +4 MiB/s', text)


def test_history_says_why_it_begins_late() -> None:
    state, _ = metrics_of('one', 160, 60, disk_read_kib_per_s=4096)
    late = History()
    for second in (1.0, 2.0, 3.0, 120.0, 121.0):
        late.append(state.metrics, 'disk_read', second, 9.0)
    assert 'measured only while' in text_of(state)


def test_current_value_never_exceeds_the_highest_value() -> None:
    sample = SAMPLES['one']
    history = History(process_interval=2.0)
    # A graph shows the mean of two samples within the time of one column.
    for time, load in ((100.0, 43), (101.9, 45)):
        first = sample.processes[0]._replace(gpu_sm_utilization_percent=load)
        sample = sample._replace(
            processes=(first, *sample.processes[1:]), monotonic=time, processes_monotonic=time
        )
        history.record(sample)
    state = state_on(sample, 200, 40, 'Down', 'Enter')
    assert history.maximum(state.metrics, 'gpu_sm_utilization', 60.0) == 44.0
    assert re.search('SM +45% (.|\n)* max 45%', text_of(state, history))


def test_whole_command_and_start_are_shown_if_there_is_room() -> None:
    command = ' '.join(
        ['python3', 'train.py', *(f'--option-{i}=value' for i in range(12)), '--last']
    )
    where = '/home/ann/\x1b[31mtrain'
    fields = {'command': command, 'username': 'ann', 'thread_count': 142, 'directory': where}
    for height, is_shown in ((24, True), (12, False)):
        state, lines = metrics_of('h100x8', 100, height, **fields)
        assert ('--last' in ' '.join(lines[3:8])) == is_shown
        assert (' by ann · threads 142' in lines[2]) == is_shown
        assert ('DIRECTORY  /home/ann/' in lines[3]) == is_shown
        assert not any('\x1b' in line for line in lines)
    assert demand_of(state).owners


def test_missing_process_is_unknown_if_its_gpu_does_not_respond() -> None:
    state, _ = metrics_of('h100x8', 120, 30)
    sample = state.sample._replace(sequence=2, processes=state.sample.processes[1:])
    first, *others = sample.devices
    silent = first._replace(status='timed out', reason='no response for 6 s')
    unlisted = Problem(first.key, 'processes', 'x', 'error')
    for changed, text in (
        (sample._replace(devices=(silent, *others)), 'GPU 0: no response for 6 s'),
        (sample._replace(problems=(unlisted,)), 'GPU 0 does not report its processes'),
        (sample, 'The process has exited or no longer uses this GPU'),
    ):
        seen, _ = update(state, SampleArrived(changed))
        assert lines_of(seen)[2].strip('│ ') == text


def test_graphs_of_a_frozen_display_do_not_move() -> None:
    state, _ = metrics_of('one', 120, 30, 'z')
    history = history_of(SAMPLES['one'])
    before = draw_frame(state, history).lines()
    later = SAMPLES['one']._replace(sequence=2, monotonic=1060.0, processes_monotonic=1060.0)
    history.record(later)
    state, _ = update(state, SampleArrived(later))
    assert draw_frame(state, history).lines() == before
    state, _ = update(state, KeyPressed('z'))
    assert draw_frame(state, history).lines() != before
