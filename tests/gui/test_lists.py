"""Lists: orders, sums of users, problems, trees, and keys of the configuration file."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nvitop.basics.units import GiB
from nvitop.console.options import Options
from nvitop.gui.model.choices import ProcessFilter, Screen, Sort
from nvitop.gui.model.device_rows import whole_devices
from nvitop.gui.monitor import first_state
from nvitop.gui.monitor_screens import MONITOR, SCREENS
from nvitop.gui.render.theme import Role
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.bindings import USUAL, USUAL_KEYS
from nvitop.gui.state.events import KeyPressed, Quit, SampleArrived
from nvitop.gui.state.keymap import Keymap, rebind
from nvitop.gui.state.lists import listed_problems, listed_users
from nvitop.gui.state.navigation import current_line
from nvitop.gui.state.orders import list_processes
from nvitop.gui.state.problems import (
    ProblemCount,
    Tally,
    count_problems,
    missing_values,
    problem_lines,
)
from nvitop.gui.state.process_rows import build_tree, summarize_users
from nvitop.gui.state.update import update
from nvitop.gui.view.frame import draw_frame
from nvitop.owner.types import Layer, Owner, make_owner
from nvitop.sampling.history import History
from nvitop.sampling.types import (
    Cost,
    DeviceKey,
    HostProcessSample,
    Problem,
    ProcessKey,
    ProcessSample,
    ProcessStatus,
)
from tests.gui.drawing import click_hit, click_on, lines_of, state_on
from tests.gui.driving import MANY, after, arrived, keys_that_open, press, pressed, state_of, texts
from tests.gui.samples import SAMPLES, gpu, machine, with_families
from tests.sampling.fakes import process_key, process_sample

pytestmark = pytest.mark.usefixtures('utc')


def process(pid: int, gpu: int = 0, **fields: Any) -> ProcessSample:
    return process_sample(pid, key=process_key(pid, gpu), **{'username': 'user', **fields})


MIB = 1 << 20
PROCESSES = [
    process(10, 1, username='zoe', gpu_memory_bytes=9 * MIB, cpu_percent=50.0, type='C'),
    process(11, 0, username='ann', gpu_memory_bytes=None, cpu_percent=None, type='G'),
    process(12, 0, username='zoe', gpu_memory_bytes=9 * MIB, cpu_percent=80.0, type='C+G'),
    process(13, 0, username='ann', gpu_memory_bytes=1 * MIB, status='gone', type=None),
    process(14, 1, username=None, gpu_memory_bytes=5 * MIB, cpu_percent=0.0, type='M'),
]


def pids(sort: Sort) -> list[int]:
    shuffled = PROCESSES[:]
    random.Random(4).shuffle(shuffled)
    return [p.key.pid for p in list_processes(shuffled, ProcessFilter(), sort)]


@pytest.mark.parametrize(
    ('order', 'usual', 'reverse'),
    [
        ('natural', [11, 12, 13, 10, 14], [10, 14, 12, 11, 13]),
        ('pid', [10, 11, 12, 13, 14], [14, 13, 12, 11, 10]),
        ('username', [11, 10, 12, 14, 13], [12, 10, 11, 14, 13]),
        ('gpu_memory', [12, 10, 14, 13, 11], [13, 14, 10, 12, 11]),
        ('cpu_percent', [12, 10, 14, 13, 11], [14, 10, 12, 11, 13]),
    ],
)
def test_exited_processes_and_unknown_values_are_last_in_both_directions(
    order: str, usual: list[int], reverse: list[int]
) -> None:
    assert pids(Sort(order)) == usual
    assert pids(Sort(order, reverse=True)) == reverse


def test_columns_of_devices_fit_a_sample_that_repeats_the_processes() -> None:
    free = machine(gpu(0, 'A'))
    busy = gpu(0, 'A', gpu_utilization_percent=50)
    problem = Problem(busy.key, 'temperature', 'Unknown Error', 'error')
    state = arrived(state_of(free), free._replace(devices=(busy,), problems=(problem,)))
    assert state.device_widths['state'] >= len('busy unreadable')


def test_users_and_problems_are_sorted_with_the_same_keys() -> None:
    users = pressed(state_of(SAMPLES['h100x8']), 'U')
    by_memory = [user.name for user in listed_users(users)]
    assert [user.name for user in listed_users(pressed(users, 'R'))] == by_memory[::-1]
    by_name = pressed(users, 'o', 'u')
    assert [user.name for user in listed_users(by_name)] == sorted(filter(None, by_memory))
    assert texts(by_name) == ['Order: USER, A to Z']
    assert listed_users(pressed(users, '.')) == listed_users(by_name)
    hours = users._replace(gpu_times={'bob': (9.0, 0.0), 'alice': (5.0, 0.0)})
    assert [user.name for user in listed_users(pressed(hours, 'o', 'h'))][:2] == ['bob', 'alice']
    unknown = users._replace(gpu_times={'?': (9.0, 0.0)})
    for keys in ('o', 'h'), ('o', 'h', 'R'):
        assert listed_users(pressed(unknown, *keys))[-1].name is None
    last = pressed(unknown, 'End')
    assert 'no process with a known user' in '\n'.join(lines_of(last))
    problems = pressed(state_of(SAMPLES['lost']), '!')
    places = [line.subject for line in listed_problems(pressed(problems, 'o', 'W'))]
    assert places == sorted(places, reverse=True)
    assert len(set(places)) > 1
    assert listed_problems(pressed(problems, 'o', 'W', 'o', 's')) == listed_problems(problems)


def test_hours_of_users_look_as_in_the_report_of_usage() -> None:
    users = pressed(state_of(SAMPLES['h100x8'], 160, 40), 'U')
    for times, texts_of_alice in (
        ((14400.0, 47.0), '4:00:00 0:00:47'),
        ((36000.0, 47.0), '10.0 <0.1'),
    ):
        shown = users._replace(gpu_times={'bob': (0.0, 0.0), 'alice': times})
        lines = [' '.join(line.split()) for line in lines_of(shown)]
        assert any(' USED h HELD h ' in line for line in lines)
        assert any('alice' in line and f' {texts_of_alice} ' in line for line in lines)
        assert not any(' 0:00:00 0:00:00' in line or ' 0.0 0.0' in line for line in lines)


def test_jobs_have_their_users_and_whole_names_before_the_age_of_the_oldest_process() -> None:
    job = make_owner((Layer('unit', 'jupyter-of-carol.service'),))
    sample = SAMPLES['h100x8']
    processes = tuple(process._replace(owner=job) for process in sample.processes)
    users = list(dict.fromkeys(process.username or '' for process in processes))
    state = pressed(state_of(sample._replace(processes=processes), 80, 24), 'U', 'u')
    first, _, headings, row, *below = lines_of(state)
    assert '› jobs ' in first
    assert headings.split()[1:6] == ['JOB', 'USER', 'PROCS', 'GPU', '▼MEM']
    assert f' {users[0]} +{len(users) - 1} ' in row
    assert any(f'{job} · {users[0]} +{len(users) - 1}: ' in line for line in below)
    assert all(str(job) not in line for line in below if ' C ' in line)
    detail_of_job = next(line for line in below if ' PID ' in line)
    assert detail_of_job.split()[1:4] == ['GPU', 'USER', 'PID']
    assert 'OLDEST' not in headings
    plain = tuple(process._replace(owner=Owner()) for process in sample.processes)
    detail = lines_of(pressed(state_of(sample._replace(processes=plain), 80, 24), 'U'))
    assert not any(' JOB ' in line for line in detail)
    assert f'{job} ' in row
    assert '  0-6  ' in row


def test_little_idle_memory_of_a_user_is_not_amber() -> None:
    for size, role in ((GiB // 2 - 1, Role.TEXT), (GiB // 2, Role.WARNING)):
        row = process(1, gpu_memory_bytes=size, gpu_idle_seconds=3600.0)
        state = state_of(SAMPLES['h100x8']._replace(processes=(row,)), 120, 30)
        buffer = draw_frame(pressed(state, 'U'), History())
        assert [style.role for _, text, style in buffer.row(3) if text.strip() == '0.5'][-1] is role


def test_headings_of_users_show_the_order_and_a_click_changes_it() -> None:
    state = pressed(state_of(SAMPLES['h100x8'], 160, 40), 'U')
    by_memory = listed_users(state)
    assert '▼MEM GiB' in lines_of(state)[2]
    state = after(state, click_hit(state, 'column', 'gpu_memory'))
    assert listed_users(state) == by_memory[::-1]
    assert '▲MEM GiB' in lines_of(state)[2]
    for heading, arrow in (('▼PROCS', -1), ('▲PROCS', 1)):
        state = after(state, click_hit(state, 'column', 'processes'))
        counts = [user.process_count for user in listed_users(state)]
        assert counts == sorted(counts, reverse=arrow < 0)
        assert heading in lines_of(state)[2]
    hits = draw_frame(state, History()).hits
    columns = {value for _, (kind, value) in hits if kind == 'column'}
    assert columns <= {order.name for order in state.spec.orders}


def test_users_and_problems_have_a_filter() -> None:
    users = pressed(state_of(SAMPLES['h100x8']), 'U', '\\', *'user:bob', 'Enter')
    assert [user.name for user in listed_users(users)] == ['bob']
    edited = after(users, click_on(users, 'filter: user:bob'))
    assert edited.field is not None
    assert edited.field.text == 'user:bob'
    problems = pressed(state_of(SAMPLES['lost']), '!')
    found = pressed(problems, '\\', *'gpu responding')
    assert {line.what for line in listed_problems(found)} == {'not responding'}
    assert (found.query, len(found.lists.rows)) == ('', len(problems.lists.rows))
    assert listed_problems(pressed(found, 'Esc')) == listed_problems(problems)
    assert listed_problems(pressed(found, 'Enter', 'q', '!')) == listed_problems(problems)
    missed = pressed(found, 'Enter', '/', *'zzz', 'Enter')
    assert texts(missed) == ['Not found: zzz among the filtered problems']
    nothing = pressed(problems, '\\', *'~~~', 'Enter')
    assert 'No problem matches the filter' in '\n'.join(lines_of(nothing))


# Sums per user, problems with their times and counts, own cost


def test_users_are_summed_on_the_host() -> None:
    first = process(1, 0, gpu_memory_bytes=16 << 20, cpu_percent=50.0, running_time_seconds=90.0)
    rows = (
        first._replace(gpu_idle_seconds=600.0),
        first._replace(key=first.key._replace(device=DeviceKey(1)), gpu_idle_seconds=599.0),
        process(2, 0, gpu_memory_bytes=70, cpu_percent=5.0, running_time_seconds=3600.0),
    )
    (user,) = summarize_users(rows)
    assert (user.idle_memory_bytes, user.process_count, len(user.devices)) == (16 << 20, 2, 2)
    assert (user.total.cpu_percent, user.total.running_time_seconds) == (55.0, 3600.0)
    assert summarize_users([rows[-1]])[0].idle_memory_bytes is None


def test_mig_devices_are_part_of_their_gpu_if_it_is_listed() -> None:
    devices = SAMPLES['mig'].devices
    parent, first, _, _, other = devices
    assert whole_devices(devices) == (parent, other)
    # With --only 0:0 1, a MIG device is not part of a listed GPU.
    assert whole_devices((first, other)) == (first, other)


@pytest.mark.parametrize(
    ('what', 'reason', 'kind'),
    [
        ('status', 'no response for {}s', 'timed out'),
        ('status', 'takes {} s to respond', 'slow'),
        ('memory_used', '{}TiB is implausible', 'impossible'),
    ],
)
def test_problem_whose_reason_varies_is_one_problem(what: str, reason: str, kind: Any) -> None:
    counts = count_problems((), [], 9.0)
    for second in (10, 11, 12):
        problem = Problem(DeviceKey(4), what, reason.format(second), kind)
        counts = count_problems(counts, [problem], float(second))
    (line,) = problem_lines(counts)
    assert (line.reason, line.is_failure) == (reason.format(12), True)
    assert (line.times, line.first, line.last) == (3, 10.0, 12.0)


def test_own_cost_is_that_of_the_samples_after_the_first() -> None:
    costs = [
        (10.0, Cost(9.0, 900, 1.0)),
        (11.0, Cost(0.004, 40, 1.01)),
        (14.0, Cost(0.002, 20, 1.04)),
    ]
    state = after(state_of(SAMPLES['h100x8']), KeyPressed('h'))
    for measured, words in (
        (costs, 'used 1.0% CPU, 15 NVML calls/s and 3.0 ms per sample in the last 4s'),
        ([costs[0], costs[0]], ''),
    ):
        title = draw_frame(state._replace(tally=Tally(costs=tuple(measured))), History()).lines()[1]
        assert words in title
        assert ('CPU' in title) == bool(words)


def test_problems_are_in_the_order_of_severity_and_say_each_thing_once() -> None:
    def row(gpu: int, what: str, reason: str, kind: Any, severity: Any = None) -> ProblemCount:
        return ProblemCount(DeviceKey(gpu), what, reason, kind, 9.0, 9.0, severity=severity)

    rows = [
        row(3, 'unreadable values', 'temperature (unknown driver error)', 'error', 'unknown'),
        *(row(3, what, 'Unknown Error', 'error') for what in ('max_temperature', 'temperature')),
        row(3, 'power_usage', 'timed out', 'error'),
        row(2, 'slowed', '1005 MHz', 'error', 'warning'),
        row(6, 'power_usage', '4 MW', 'impossible'),
        *(row(gpu, what, 'Not Supported', 'na') for what in ('fan', 'numa') for gpu in (0, 1)),
        row(4, 'late', '0.4 s', 'error', 'warning'),
        row(2, 'fan_speed', 'Unknown Error', 'error'),
        *(row(5, what, 'GPU is tired', 'error') for what in ('clock', 'power_usage')),
        row(4, 'lost', 'GPU is lost', 'error', 'critical'),
    ]
    lines = problem_lines(rows)
    assert [(line.where, line.what) for line in lines if line.is_failure] == [
        ('GPU 4', 'lost'),
        ('GPU 2', 'slowed'),
        ('GPU 4', 'late'),
        ('GPU 3', 'unreadable values'),
        ('GPU 2', 'fan_speed'),
        ('GPU 5', 'clock'),
        ('GPU 5', 'power_usage'),
        ('GPU 6', 'power_usage'),
    ]
    missing = [(line.where, line.what, line.reason) for line in missing_values(lines)]
    assert missing == [
        ('GPU 0,1', 'fan, NUMA', 'not supported'),
        ('GPU 3', 'power usage', 'timed out'),  # the finding names the cause of the others
    ]
    past = [line._replace(is_current=False) for line in rows[:2]]
    assert len(problem_lines(past)) == 2


# Trees of host processes, and the tree screen


def tree_process(
    pid: int, parent: int | None, username: str = 'ann', status: ProcessStatus = 'running'
) -> HostProcessSample:
    return HostProcessSample(pid, float(pid), parent, username, status=status)


def drawn(processes: list[HostProcessSample]) -> list[str]:
    return [f'{row.prefix}{row.process.pid}' for row in build_tree(processes)]


def test_branches() -> None:
    processes = [
        tree_process(1, None),
        tree_process(20, 1),
        tree_process(30, 20),
        tree_process(31, 20),
        tree_process(21, 1),
        tree_process(40, 21),
        tree_process(9, None),
    ]
    assert drawn(processes) == ['1', '├─ 20', '│  ├─ 30', '│  └─ 31', '└─ 21', '   └─ 40', '9']


@given(st.lists(st.tuples(st.integers(1, 12), st.integers(0, 12)), max_size=15))
@example([(1, 2), (2, 1), (3, 2)])
def test_every_process_has_one_line(pairs: list[tuple[int, int]]) -> None:
    processes = [tree_process(pid, parent) for pid, parent in pairs]
    rows = build_tree(processes)
    assert sorted(row.process.pid for row in rows) == sorted({pid for pid, _ in pairs})
    for above, below in zip(rows, rows[1:]):
        assert below.depth <= above.depth + 1


def test_tree_opens_at_the_selected_process_and_returns_its_selection() -> None:
    state = pressed(state_of(MANY), 'Down', 'Down', 't')
    selected = state.positions[Screen.TREE].key
    assert selected == state.lists.rows[1].key[:2]
    # The first sample after opening the tree was measured without host processes.
    state = arrived(arrived(state, MANY._replace(timestamp=1.0)), with_families(MANY))
    assert state.positions[Screen.TREE].key == selected
    state = pressed(state, 'Down', 'Down', 't')
    assert (state.screen, state.selected) == (Screen.MAIN, state.lists.rows[2].key)
    assert pressed(state, 't', 'Home', 't').selected is None


def test_child_that_the_options_hide_is_shown_only_as_an_ancestor() -> None:
    device = MANY.processes[0].key.device
    parents = {10: None, 11: 10, 12: 11, 13: 12, 14: 13}
    family = tuple(
        HostProcessSample(pid, 1.0, parent, 'ann', devices=(device,) * (pid < 13))
        for pid, parent in parents.items()
    )
    uses = tuple(ProcessSample(ProcessKey(pid, 1.0, device), 'C') for pid in (10, 11, 12))
    sample = MANY._replace(processes=uses, host_processes=family)
    for pid, shown in ((10, [10]), (11, [10, 11]), (12, [10, 11, 12, 13]), (9, [])):
        state = state_of(sample)
        wanted = ProcessFilter(pids=frozenset({pid}))
        state = arrived(state._replace(main=state.main._replace(filter=wanted)), sample)
        assert [row.process.pid for row in pressed(state, 't').lists.tree_rows] == shown


def test_commands_of_siblings_in_the_tree_show_what_differs() -> None:
    family = [
        tree_process(pid, 1)._replace(command=f'python3 train.py {"--bf16 " * 9}--rank={pid}')
        for pid in (30, 31)
    ]
    sample = MANY._replace(host_processes=(tree_process(1, None), *family))
    lines = lines_of(arrived(pressed(state_of(MANY), 't'), sample))
    assert [line[-11:-2] for line in lines if 'train.py' in line] == ['--rank=30', '--rank=31']


def test_lines_have_the_memory_of_all_gpus_and_the_name_of_a_zombie() -> None:
    key = ProcessKey(30, 30.0, DeviceKey(0))
    other = key._replace(device=DeviceKey(1))
    on_first = ProcessSample(key, gpu_memory_bytes=3 * GiB, gpu_sm_utilization_percent=40)
    zombie = tree_process(30, 1, status='zombie')._replace(name='python3')
    sample = MANY._replace(
        host_processes=(tree_process(1, None), zombie),
        processes=(on_first, on_first._replace(key=other)),
    )
    state = pressed(state_of(sample, width=120, height=20), 't')
    line = next(line for line in lines_of(arrived(state, sample)) if ' 30 ' in line)
    assert re.search(r' 6\.0 +40 .*└─ python3 <defunct>', line)


def test_tagged_row_has_a_mark_even_if_it_is_selected() -> None:
    state = pressed(state_of(with_families(MANY)), 'Down', 't', 'Space', 'Up')
    (row,) = (line for line in lines_of(state) if line.startswith('│ *'))
    assert row == lines_of(state)[(current_line(state) or 0) + 3]


# Keys from the configuration file: they work, and help and hints show them


def rebound(**keys: list[str]) -> Keymap:
    keymap, problems = rebind(
        {name.replace('_', '-'): found for name, found in keys.items()}, USUAL
    )
    assert problems == ()
    return keymap


def state_with(keymap: Keymap) -> AppState:
    state = AppState(MONITOR, 100, 30, keys=keymap)
    return update(state, SampleArrived(SAMPLES['h100x8']._replace(sequence=1)))[0]


def test_configured_key_replaces_the_default_one() -> None:
    state = state_with(rebound(quit=['F10'], sort_by_pid=['P', 'x p'], kill=[]))
    assert press(state, 'F10')[1] == (Quit(),)
    after, effects = press(state, 'q')
    assert (after._replace(notices=()), effects) == (state, ())
    assert press(state, 'P')[0].sort == Sort('pid')
    assert press(state, 'x', 'p')[0].sort == Sort('pid')
    assert press(state, 'o', 'p')[0].sort == Sort()
    assert press(state, 'o', 'g')[0].sort == Sort('gpu_memory')
    assert press(state, 'Down', 'K')[0].dialog is None
    assert press(state, 'Down', 'T')[0].dialog is not None


@pytest.mark.parametrize(
    'keys',
    [{'quit': []}, {'back': []}, {'help': ['q', 'Q', 'F10']}, {'quit': ['x y'], 'freeze': ['x']}],
)
def test_keys_that_leave_no_way_out_of_a_screen_are_refused(keys: dict[str, list[str]]) -> None:
    keymap, problems = rebind(keys, USUAL)
    assert keymap is USUAL
    assert 'no key would leave the screen' in problems[0]


_ANY_KEYS = st.sampled_from(
    ['q', 'Q', 'Esc', 'h', 'x', 'o', 'o g', 'x y', 'F10', 'Enter', 't', 'e']
)


@settings(max_examples=8, deadline=None)
@given(st.dictionaries(st.sampled_from(sorted(USUAL_KEYS)), st.lists(_ANY_KEYS, max_size=3)))
def test_every_screen_can_be_left_whatever_the_keys(keys: dict[str, list[str]]) -> None:
    keymap, _ = rebind(keys, USUAL)
    for screen in SCREENS:
        state = state_on('one', 100, 30, *keys_that_open(screen))._replace(keys=keymap)
        assert state.screen is screen
        pressed = {key for binding in keymap.bindings for key in binding.keys}
        after = (press(state, *key.split(' ')) for key in sorted(pressed))
        if screen is Screen.MAIN:
            assert any(effects == (Quit(),) for _, effects in after)
        else:
            assert any(left.screen is Screen.MAIN for left, _ in after)


def test_monitor_starts_with_configured_keys_and_reports_conflicts() -> None:
    state = first_state(Options(keys=(('open-tree', ('y',)), ('open-users', ('y',)))))
    assert press(state, 'y')[0].screen is Screen.TREE
    assert [notice.text for notice in state.notices] == [
        "key 'y' is bound to both open-tree and open-users"
    ]
    assert first_state(Options()).keymap is USUAL


def test_preset_brings_the_keys_of_nvitop_1_back_and_single_actions_change_them() -> None:
    state = first_state(Options(keys=(('preset', ('nvitop-1',)), ('open-tree', ('y',)))))
    assert state.notices == ()
    state = state._replace(width=100, height=40, view=state.view._replace(flat=True))
    state = update(state, SampleArrived(SAMPLES['processes200']._replace(sequence=1)))[0]
    chosen = press(state, 'Down', 'Tab')[0]
    assert chosen.selected == state.lists.rows[1].key
    assert press(chosen, 'k')[0].dialog is not None
    assert press(state, '/')[0].sort.reverse
    assert press(chosen, 'R')[0].selected is None
    assert press(state, 'PageDown')[0].position.scroll_y == 1
    assert press(state, 'y')[0].screen is Screen.TREE
    assert press(state, 'q')[1] == (Quit(),)
