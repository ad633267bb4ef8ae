"""Whom a signal goes to, and what the box says of them."""

from __future__ import annotations

import pytest

from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.dialog import dialog_layout, dialog_message
from nvitop.gui.state.events import SampleArrived
from nvitop.gui.state.targets import has_targets
from nvitop.gui.state.update import update
from nvitop.sampling.types import ProcessSample, Sample
from tests.gui.driving import dialog_of, press, read_dialog, state_of, texts
from tests.gui.samples import SAMPLES, with_families

MANY = SAMPLES['processes200']


def without(sample: Sample, *pids: int) -> SampleArrived:
    """The next sample, in which these processes are not any more."""
    return SampleArrived(
        sample._replace(
            sequence=2,
            processes=tuple(p for p in sample.processes if p.key.pid not in pids),
            host_processes=tuple(p for p in sample.host_processes if p.pid not in pids),
        )
    )


def line_of(process: ProcessSample, remark: str = '') -> str:
    return f'{process.key.pid} ({process.username}{remark}) {process.command}'


def message(state: AppState) -> tuple[str, ...]:
    """What the box says below its question."""
    return dialog_message(state, dialog_of(state))[1:]


@pytest.mark.parametrize('keys', ['', 'z', 't'])
def test_a_target_that_is_not_listed_any_more_is_marked(keys: str) -> None:
    sample = with_families(MANY)
    state, _ = press(state_of(sample), *keys)
    rows = sample.processes[:3]
    for row in rows:
        state, _ = press(state, 'F3', *str(row.key.pid), 'Enter', 'Space')
    state, _ = press(state, 'T')
    assert message(state) == ('', *map(line_of, rows))
    state, _ = update(read_dialog(state), without(sample, rows[1].key.pid))
    assert message(state) == (
        '1 no longer listed',
        line_of(rows[0]),
        line_of(rows[1], ', no longer listed'),
        line_of(rows[2]),
    )
    # What stands in the box now has not been read yet.
    assert press(state, 'Enter')[1] == ()
    # Only what changes makes it a new one.
    state, _ = update(read_dialog(state), without(sample, rows[1].key.pid))
    assert press(state, 'Enter')[1] != ()


def test_a_single_target_that_is_not_listed_any_more_is_marked_beside_its_user() -> None:
    state, _ = press(state_of(MANY), 'Down', 'T')
    state, _ = update(state, without(MANY, MANY.processes[0].key.pid))
    assert message(state) == ('', line_of(MANY.processes[0], ', no longer listed'))


def test_a_target_that_left_one_of_its_devices_is_still_there() -> None:
    first = MANY.processes[0]
    twin = first._replace(key=first.key._replace(device=MANY.devices[1].key))
    sample = MANY._replace(processes=(first, twin))
    state, _ = press(state_of(sample), 'Down', 'Space', 'T')
    state, _ = update(state, SampleArrived(sample._replace(sequence=2, processes=(twin,))))
    assert message(state) == ('', line_of(first))


@pytest.mark.parametrize('screen', ['', 't'])
def test_tagged_processes_that_the_filter_hides_are_told_apart_in_the_box(screen: str) -> None:
    sample = with_families(MANY)
    state, _ = press(state_of(sample), *screen)
    for row in sample.processes[:3]:
        state, _ = press(state, 'F3', *str(row.key.pid), 'Enter', 'Space')
    rows = sample.processes[:3]
    state, _ = press(state, '\\', *f'pid:{rows[1].key.pid}', 'Enter', 'T')
    marks = (', hidden', '', ', hidden')
    assert message(state) == ('2 hidden by the filter', *map(line_of, rows, marks))
    state, _ = update(state, without(sample, rows[2].key.pid))
    assert message(state)[0] == '1 hidden by the filter, 1 no longer listed'


@pytest.mark.parametrize('screen', ['', 't'])
@pytest.mark.parametrize(
    ('pid', 'why'),
    [
        (503, '503 is not yours; tag it to try'),
        (504, 'there is no process 504'),
        (505, '505 is in another PID namespace'),
    ],
)
def test_a_process_that_is_not_here_is_not_said_to_be_somebody_elses(
    pid: int, why: str, screen: str
) -> None:
    sample = with_families(SAMPLES['odd-processes'])
    state, _ = press(state_of(sample), *screen, 'F3', *str(pid), 'Enter')
    asked, _ = press(state, 'T')
    assert texts(asked) == [f'No signal: {why}']


@pytest.mark.parametrize(('screen', 'title'), [('', 'N/A, C'), ('t', 'N/A')])
def test_the_environment_of_a_process_whose_user_is_not_known_says_so(
    screen: str, title: str
) -> None:
    sample = with_families(SAMPLES['odd-processes'])
    state, _ = press(state_of(sample), *screen, 'F3', *'504', 'Enter', 'e')
    assert state.environ.title == title


def test_lines_of_one_target_are_not_taken_for_targets() -> None:
    state, _ = press(state_of(MANY, 40, 6), 'Down', 'T')
    assert dialog_layout(state, dialog_of(state)).lines[-1] == 'line 1 of 2, PageUp PageDown'
    state, _ = press(state_of(MANY, 40, 6), 'Down', 'Space', 'Space', 'T')
    assert (
        dialog_layout(state, dialog_of(state)).lines[-1] == '1 of 2, PageUp and PageDown for more'
    )


def losing(sample: Sample, gpu: int, sequence: int) -> SampleArrived:
    """The next sample, in which a GPU is lost, and with it what is known to run there."""
    return SampleArrived(
        sample._replace(
            sequence=sequence,
            devices=tuple(
                device._replace(status='lost') if device.key.physical_index == gpu else device
                for device in sample.devices
                if device.key.physical_index != gpu or not device.key.is_mig
            ),
            processes=tuple(p for p in sample.processes if p.key.device.physical_index != gpu),
        )
    )


@pytest.mark.parametrize('name', ['processes200', 'mig'])
def test_tags_on_a_gpu_that_does_not_answer_are_kept_and_told(name: str) -> None:
    sample = SAMPLES[name]
    first, last = sample.processes[0], sample.processes[-1]
    gpu = last.key.device.physical_index
    assert first.key.device.physical_index != gpu
    tagged, _ = press(state_of(sample), 'Home', 'Space', 'End', 'Space')
    assert tagged.main.tagged == {first.key, last.key}
    state, _ = update(tagged, losing(sample, gpu, 2))
    asked, _ = press(state, 'T')
    assert message(asked) == (f'1 more tagged, unknown on GPU {gpu}', line_of(first))
    asked, _ = update(press(tagged, 'T')[0], losing(sample, gpu, 2))
    assert message(asked) == (
        '1 no longer listed',
        line_of(first),
        line_of(last, ', no longer listed'),
    )
    healed, _ = update(state, SampleArrived(sample._replace(sequence=3)))
    assert healed.main.tagged == {first.key, last.key}
    # One that has ended is tagged no more.
    rest = sample.processes[:-1]
    healed, _ = update(state, SampleArrived(sample._replace(sequence=3, processes=rest)))
    assert healed.main.tagged == {first.key}


def test_the_selected_process_does_not_stand_in_for_tagged_ones_that_are_not_seen() -> None:
    state, _ = press(state_of(MANY), 'End', 'Space', 'Home')
    assert state.rows[0].is_own
    state, _ = update(state, losing(MANY, 1, 2))
    assert not has_targets(state)
    state, _ = press(state, 'T')
    assert state.dialog is None
    assert texts(state) == ['No signal: tagged processes are unknown on GPU 1']
    state, _ = press(state, 'Esc', 'Home', 'T')
    assert state.dialog is not None


def test_a_tagged_process_that_is_seen_on_another_gpu_is_not_counted_twice() -> None:
    first = MANY.processes[0]
    twin = first._replace(key=first.key._replace(device=MANY.devices[1].key))
    sample = MANY._replace(processes=(first, twin))
    state, _ = press(state_of(sample), 'Home', 'Space', 'Space')
    assert len(state.main.tagged) == 2
    state, _ = update(state, losing(sample, 1, 2))
    assert message(press(state, 'T')[0]) == ('', line_of(first))
