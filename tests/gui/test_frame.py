"""Whole frames: what lies over every screen, and properties of any state at any size."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nvitop.api.metrics import METRICS_BY_NAME
from nvitop.console.options import Thresholds
from nvitop.gui.layout.main import lay_out_main
from nvitop.gui.layout.metrics import lay_out_metrics
from nvitop.gui.model.choices import ProcessFilter, ViewState
from nvitop.gui.model.columns import column_widths
from nvitop.gui.model.screens import Screen
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.geometry import Rect
from nvitop.gui.render.style import Role
from nvitop.gui.render.width import cell_width, safe
from nvitop.gui.state.app_state import AppState, Notice
from nvitop.gui.state.bindings import BINDINGS
from nvitop.gui.state.demand import DETAILS
from nvitop.gui.state.environ import is_secret
from nvitop.gui.state.events import (
    ClockTicked,
    EnvironmentRead,
    Event,
    KeyPressed,
    MousePressed,
    Resized,
    SampleArrived,
    SignalSent,
)
from nvitop.gui.state.help import help_lines, key_groups
from nvitop.gui.state.listing import main_layout, relist
from nvitop.gui.state.ordering import COMPUTE, GRAPHICS, ONLY_COMPUTE
from nvitop.gui.state.summary import Tally, count_problems
from nvitop.gui.state.targets import signal_targets
from nvitop.gui.state.update import update, update_all
from nvitop.gui.view.format import format_running_time
from nvitop.gui.view.frame import draw_frame
from nvitop.gui.view.panels import device as device_panel
from nvitop.gui.view.panels import process as process_panel
from nvitop.sampling.history import History
from nvitop.sampling.types import Cost, Problem, Sample
from tests.gui.anything import Anything
from tests.gui.drawing import assert_boxes_close
from tests.gui.driving import EVENTS, SIZES, press, read_dialog
from tests.gui.remembered import forget_rows
from tests.gui.samples import ENVIRONMENT, NOW, SAMPLES, history_of, with_details, with_families

pytestmark = pytest.mark.usefixtures('utc')


def state_of(
    name: str, width: int, height: int, *keys: str, view: ViewState | None = None
) -> AppState:
    """The monitor on a stored machine, after these keys."""
    state = AppState(width=width, height=height, timestamp=NOW, view=view or ViewState())
    sample = SAMPLES[name]
    if sample.sequence:
        sample = with_families(sample)
    events: list[Event] = [SampleArrived(sample), *map(KeyPressed, keys)]
    return update_all(state, tuple(events))[0]


def frame_of(
    name: str, width: int, height: int, *keys: str, view: ViewState | None = None
) -> Buffer:
    """What it shows then."""
    return draw_frame(state_of(name, width, height, *keys, view=view), History())


def assert_is_drawn_inside(buffer: Buffer, state: AppState) -> None:
    """The frame has the size of the terminal, and nothing in it that a terminal might obey."""
    assert (buffer.width, buffer.height) == (state.width, state.height)
    for y, line in enumerate(buffer.lines()):
        assert safe(line) == line
        assert cell_width(line) <= buffer.width
        end = 0
        for x, text, _ in buffer.row(y):
            assert x >= end
            end = x + cell_width(text)
        assert end <= buffer.width


@pytest.mark.parametrize('name', SAMPLES)
def test_rows_that_are_remembered_are_those_that_would_be_made(name: str) -> None:
    for keys in ('', 'Down', 'Down Down', 'Down Space', 'Down Right', 'End', 'd', 'o p', 'o g /'):
        for width, height in ((180, 60), (100, 24), (79, 30)):
            remembered = frame_of(name, width, height, *keys.split())
            forget_rows()
            made = frame_of(name, width, height, *keys.split())
            assert [*map(remembered.row, range(height))] == [*map(made.row, range(height))]


def test_an_arrow_makes_no_more_rows_than_it_changes() -> None:
    state = state_of('processes50', 180, 60, 'Down')
    forget_rows()
    draw_frame(state, History())
    before = process_panel._row.cache_info().misses, device_panel._rows.cache_info().misses
    state, _ = update(state, KeyPressed('Down'))
    layouts = lay_out_main.cache_info().misses
    draw_frame(state, History())
    # The row that is selected now, and the one that was; both processes run on one GPU.
    assert process_panel._row.cache_info().misses == before[0] + 2
    assert device_panel._rows.cache_info().misses == before[1]
    assert lay_out_main.cache_info().misses == layouts


@settings(max_examples=60, deadline=None)
@given(st.lists(EVENTS, max_size=60), SIZES, st.booleans())
def test_whatever_happens_a_frame_is_drawn(
    events: list[Event], size: tuple[int, int], is_ascii: bool
) -> None:
    state = state_of('one', *size, view=ViewState(ascii=is_ascii))
    history = History()
    for i, event in enumerate(events):
        state, _ = update(state, event)
        if isinstance(event, SampleArrived):
            history.record(event.sample._replace(monotonic=float(i)))
        if i % 6 == 0:
            assert_is_drawn_inside(draw_frame(state, history), state)
    assert_is_drawn_inside(draw_frame(state, history), state)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1 << 32), st.sampled_from(Screen), SIZES, st.lists(EVENTS, max_size=8))
def test_anything_can_be_drawn_on_any_screen(
    seed: int, screen: Screen, size: tuple[int, int], events: list[Event]
) -> None:
    sample = with_families(Anything(seed).sample())
    history = History()
    for second in range(3):
        history.record(sample._replace(monotonic=float(second)))
    state = AppState(*size, timestamp=NOW)
    state, _ = update_all(state, (SampleArrived(sample), KeyPressed('Down'), *events))
    key = state.main.selected or (sample.processes[0].key if sample.processes else None)
    if screen is not Screen.METRICS or key is not None:
        state = state._replace(screen=screen, metrics=key)
    assert_is_drawn_inside(draw_frame(state, history), state)


def test_a_filter_being_typed_stands_in_the_first_row_and_stays_there_as_a_badge() -> None:
    lines = frame_of('h100x8', 100, 40, '\\', 'b', 'o', 'b').lines()
    assert lines[0].startswith('Filter: bob  ')
    assert any('Processes: 1 of 8' in line for line in lines)
    lines = frame_of('h100x8', 100, 40, '\\', 'b', 'o', 'b', 'Enter').lines()
    assert 'filter: bob' in lines[0]
    assert 'Tue Jan 02' in lines[0]


@pytest.mark.parametrize(
    ('wanted', 'badge'),
    [
        (ProcessFilter(users=frozenset({'root', 'ann'})), '[only user ann, root]'),
        (ProcessFilter(pids=frozenset({12, 7})), '[only pid 7, 12]'),
        (ProcessFilter(types=COMPUTE), '[only type C, X, M]'),
        (ProcessFilter(types=ONLY_COMPUTE), '[only type C, M, ?]'),
        (ProcessFilter(types=frozenset()), '[only type none]'),
        (
            ProcessFilter(frozenset({'ann'}), frozenset({1}), GRAPHICS),
            '[only user ann; pid 1; type X, G]',
        ),
        (ProcessFilter(), ''),
    ],
)
def test_which_processes_the_options_leave_is_said_where_processes_are_listed(
    wanted: ProcessFilter, badge: str
) -> None:
    for keys in ('', 't', 'U', 'z', 'e', '!', 'h', 'C'):
        state = state_of('one', 120, 24, *keys)
        state = state._replace(main=state.main._replace(filter=wanted))
        header = draw_frame(state, History()).lines()[0]
        is_said = bool(badge) and keys in ('', 't', 'U', 'z')
        assert ('[only' in header) == is_said
        assert badge in header or not is_said


@pytest.mark.parametrize(
    ('users', 'keys', 'limits'),
    [
        (None, '\\ # Enter', 'the filter'),
        (frozenset({'nobody'}), '', 'the options'),
        (frozenset({'nobody'}), '\\', 'the options'),
        (frozenset({'nobody'}), '\\ # Enter', 'the options and the filter'),
    ],
)
def test_an_empty_list_names_what_leaves_its_processes_out(
    users: frozenset[str] | None, keys: str, limits: str
) -> None:
    state = state_of('h100x8', 100, 40)
    main = state.main._replace(filter=ProcessFilter(users=users))
    state, _ = update_all(relist(state._replace(main=main)), tuple(map(KeyPressed, keys.split())))
    for screen in ('', 't', 'U') if state.field is None else ('',):
        shown, _ = update_all(state, tuple(map(KeyPressed, screen)))
        text = '\n'.join(draw_frame(shown, History()).lines())
        assert re.search(f' match(es)? {limits}', text)


def test_a_wide_header_has_room_for_whole_badges_and_for_keys() -> None:
    words = 'user:alice gpu:0 type:c llama server with many words'
    state = state_of('one', 240, 40, 'z', 'M')._replace(query=words)
    header = draw_frame(state, History()).lines()[0]
    assert f'[filter: {words}]' in header
    assert header.endswith('h help  q quit')
    # Without badges the keys stand above the right end of the devices.
    header = draw_frame(state_of('one', 240, 40), History()).lines()[0]
    assert len(header) == 79


def test_badges_are_seen_while_the_header_is_scrolled_away() -> None:
    for keys in (('z',), ('z', *['Down'] * 8)):
        line = frame_of('h100x8', 80, 24, *keys).lines()[0]
        assert 'FROZEN ' in line
        assert ':04:05' in line


@pytest.mark.parametrize('simulated', ['', 'spark'])
def test_a_narrow_header_gives_up_the_date_rather_than_a_badge(simulated: str) -> None:
    sample = SAMPLES['one']._replace(simulated=simulated)
    events: list[Event] = [SampleArrived(sample), KeyPressed('z')]
    frozen, _ = update_all(AppState(width=40, height=12, timestamp=NOW), tuple(events))
    header = draw_frame(frozen, history_of(sample)).lines()[0]
    mark = 'SIM ' if simulated else ''
    assert f'{header} '.startswith(f'03:04:05 {mark}[FROZEN 03:04:05] ')
    wide = draw_frame(frozen._replace(width=80), history_of(sample)).lines()[0]
    assert wide.startswith('Tue Jan 02 03:04:05 2024 ')
    assert '[FROZEN 03:04:05]' in wide
    assert (f'SIMULATED: {simulated}' in wide) is bool(simulated)


def test_a_badge_is_shown_in_words_or_not_at_all() -> None:
    for width in range(40, 70):
        line = frame_of('simulated', width, 12, '\\', 'p', 'Enter', 'U').lines()[0]
        title, *badges = line.replace('h help', ' ').replace('q back', ' ').split('  ')[:3]
        assert 'of GPUs' in title
        words = ('', '[SIMULATED]', '[SIM]', '[filter: p]', '[filter]')
        assert all(badge.strip() in words for badge in badges)


@pytest.mark.parametrize(
    ('keys', 'is_list'), [('', True), ('Down ' * 8, True), ('e', False), ('!', False), ('t', True)]
)
def test_no_badge_is_cut_within_a_word(keys: str, is_list: bool) -> None:
    keys = f'\\ p y t h o n Enter z M {keys} o'
    machine = r'SIMULATED: dgx-h100|SIMULATED|SIM|\[SIMULATED\]|\[SIM\]'
    frozen = r'\[FROZEN( 03:04:05)?\]'
    others = r'\[filter(: python)?\]|\[mouse released\]|\[no mouse\]|\[o( and then( \w)+| \.\.\.)\]'
    for width in range(40, 180):
        line = frame_of('simulated', width, 12, *keys.split()).lines()[0]
        # What matters most is always there.
        found = [match[0] for match in re.finditer(f'({machine})|({frozen})|({others})', line)]
        assert re.fullmatch(machine, found[0])
        rest = line
        for badge in found:
            rest = rest.replace(badge, '', 1)
        assert '[' not in rest
    wanted = ['[FROZEN 03:04:05]', *['[filter: python]'] * is_list, '[mouse released]']
    assert found[1 : 1 + len(wanted)] == wanted


def test_a_long_title_is_shortened_beside_the_first_badge() -> None:
    title = frame_of('simulated', 40, 12, 'Down', 'e').lines()[0]
    assert re.fullmatch(r'Environment of process \d+  \[SIM\]', title)


def test_that_a_machine_is_simulated_is_said_on_every_screen() -> None:
    for keys in ('', 'Down', 't', 'e', 'Down Enter', 'h', '!', 'U', 'C', ' '.join(['Down'] * 8)):
        lines = frame_of('simulated', 80, 24, *keys.split()).lines()
        assert 'SIMULATED' in lines[0]


@pytest.mark.parametrize(
    ('width', 'keys', 'title', 'hint'),
    [
        (60, 'Enter', 'Process 20100 on GPU 0', '+ - time  h help  q back'),
        (40, 'Enter', 'Process 20100 on GPU 0', 'h help  q back'),
        (60, 'C', 'Columns', 'Space show or hide  K J move  q back'),
        (40, 'C', 'Columns', 'K J move  q back'),
        (60, 't Down', 'Tree of processes: 16', 'T terminate  k kill'),
        (40, 't Down', 'Tree of processes: 16', ''),
    ],
)
def test_the_keys_that_lead_on_are_named_as_far_as_there_is_room(
    width: int, keys: str, title: str, hint: str
) -> None:
    line = frame_of('h100x8', width, 12, 'Down', *keys.split()).lines()[0]
    assert line == (f'{title}{hint.rjust(width - len(title))}' if hint else title)


def test_keys_that_can_follow_are_shown_while_one_is_waited_for() -> None:
    assert 'o and then n p u g s b c m t' in frame_of('h100x8', 100, 40, 'o').lines()[0]
    assert 'o and then' not in frame_of('h100x8', 100, 40, 'o', 'g').lines()[0]


def test_notices_stand_over_the_last_rows_and_leave_most_of_the_screen() -> None:
    notices = tuple(Notice(f'SIGTERM to {pid}: sent', 9.0, pid == 7) for pid in range(8))
    state = state_of('h100x8', 80, 12)._replace(notices=notices)
    lines = draw_frame(state, History()).lines()
    assert lines[-4:] == [f' SIGTERM to {pid}: sent' for pid in (4, 5, 6, 7)]
    assert '│' in lines[-5]


def test_a_notice_too_long_for_a_line_has_several_and_not_more_than_a_third() -> None:
    def last_lines(*texts: str) -> list[str]:
        notices = tuple(Notice(text, 9.0) for text in texts)
        state = state_of('h100x8', 40, 12)._replace(notices=notices)
        return draw_frame(state, History()).lines()

    way_out = 'No details: the display was frozen before they were measured (z: let it run)'
    told = [
        ' No details: the display was frozen',
        ' before they were measured (z: let it',
        ' run)',
    ]
    assert last_lines('Theme: mono', way_out)[-4:] == [' Theme: mono', *told]
    # What would not be seen whole is not begun.
    lines = last_lines(way_out, way_out)
    assert lines[-3:] == told
    assert 'run)' not in lines[-4]
    *above, first, _, _, last = last_lines('x ' * 400)
    assert first.startswith(' x x ')
    assert last.endswith(' x ..')
    assert '│' in above[-1]


def test_the_dialog_names_its_targets_and_is_drawn_where_nothing_else_fits() -> None:
    text = '\n'.join(frame_of('h100x8', 100, 40, 'Down', 'T').lines())
    assert '20100 (alice) /usr/bin/python3 -m torch.distributed.run' in text
    assert ' SIGTERM ' in text
    text = '\n'.join(frame_of('h100x8', 30, 4, 'Down', 'T').lines())
    assert 'No room to list the' in text
    assert 'SIGTERM' not in text


def test_buttons_are_dim_until_the_dialog_could_be_read() -> None:
    for is_ready in (False, True):
        state = state_of('h100x8', 100, 40, 'Down', 'T')
        if is_ready:
            state = read_dialog(state)
        buffer = draw_frame(state, History())
        styles = [s for y in range(40) for _, text, s in buffer.row(y) if 'Cancel'[1:] in text]
        assert [style.dim for style in styles] == [not is_ready]


@pytest.mark.parametrize(('width', 'height'), [(39, 40), (100, 5), (1, 1)])
def test_a_screen_too_small_says_so(width: int, height: int) -> None:
    lines = [line.strip() for line in frame_of('h100x8', width, height).lines()]
    assert sum(map(bool, lines)) == 1
    assert 'too small'.startswith(''.join(lines)[:9].rstrip('.'))


def test_ascii_frames_are_ascii() -> None:
    for keys in ((), ('Down', 'T')):
        buffer = frame_of('hostile', 100, 40, *keys, view=ViewState(ascii=True))
        assert all(line.isascii() for line in buffer.lines())


def test_columns_grow_with_what_stands_in_them_and_clicks_know_it() -> None:
    processes = SAMPLES['extreme'].processes
    widths = column_widths(processes)
    texts = [format_running_time(process.running_time_seconds) for process in processes]
    assert widths == {'pid': 10, 'time': max(map(len, texts))}
    assert column_widths([processes[0]._replace(running_time_seconds=1e300)])['time'] == 4
    state = state_of('extreme', 120, 40)
    heading_y = main_layout(state).processes.heading_y
    line = draw_frame(state, History()).lines()[heading_y]
    column = main_layout(state).processes.column_at(line.index('TIME'), heading_y)
    assert column is not None
    assert column.name == 'time'


# The tree


def test_the_tree_shows_parents_above_their_children_and_where_they_run() -> None:
    lines = frame_of('h100x8', 120, 40, 't').lines()
    assert lines[0].startswith('Tree of processes: 16')
    assert [word in lines[1] for word in ('PID', 'DEVICE', 'NLWP', 'COMMAND')] == [True] * 4
    parent = next(i for i, line in enumerate(lines) if 'torchrun' in line)
    assert 'Host' in lines[parent]
    assert '└─ torchrun' in lines[parent]
    assert '├─ /usr/bin/python3' in lines[parent + 1]
    assert 'GPU 0' in lines[parent + 1]


def test_the_selected_line_of_the_tree_is_seen_whatever_the_size() -> None:
    state = state_of('processes200', 80, 50, 't', 'End')
    for height in (50, 20, 6, 40):
        state, _ = update(state, Resized(80, height))
        buffer = draw_frame(state, History())
        roles = [style.role for y in range(height) for _, _, style in buffer.row(y)]
        assert Role.SELECTED_TREE in roles


def test_before_the_tree_has_been_measured_it_says_so() -> None:
    assert 'Looking for processes ...' in frame_of('nothing-yet', 80, 24, 't').lines()[2]
    assert 'None of 16 processes' in frame_of('h100x8', 80, 24, 't', '\\', '#').lines()[2]


# The environment


def environment_of(width: int, height: int, *keys: str) -> AppState:
    """The environment screen of a process that has been read."""
    state = state_of('one', width, height, 'Down', 'e')
    read = EnvironmentRead(state.environ.pid, state.environ.start_time, ENVIRONMENT)
    return update_all(state, (read, *map(KeyPressed, keys)))[0]


def test_an_environment_shows_each_variable_in_one_line() -> None:
    lines = draw_frame(environment_of(80, 24), History()).lines()
    assert lines[0].startswith('Environment of process 4242 (alice, C)')
    assert [line.partition('=')[0] for line in lines[2:21]] == [name for name, _ in ENVIRONMENT]
    assert 'MULTI_LINE=first␤second␉third␛[31mred' in lines


def test_secrets_are_shown_only_when_asked_for() -> None:
    secrets = ('wJalr', 'hf_abc', 'hunter2')
    hidden = '\n'.join(draw_frame(environment_of(80, 24, '$', 'Home'), History()).lines())
    assert not any(secret in hidden for secret in secrets)
    assert 'EMPTY_TOKEN=\n' in '\n'.join(draw_frame(environment_of(80, 24), History()).lines())
    shown = '\n'.join(draw_frame(environment_of(80, 24, 'v'), History()).lines())
    assert all(secret in shown for secret in secrets)
    again = '\n'.join(draw_frame(environment_of(80, 24, 'v', 'v'), History()).lines())
    assert not any(secret in again for secret in secrets)


@pytest.mark.parametrize(
    'name',
    ['HF_TOKEN', 'aws_secret_id', 'PGPASSWORD', 'API_KEY', 'a_key', 'DB_PASS', 'MYSQL_PWD'],
)
def test_names_that_look_secret(name: str) -> None:
    assert is_secret(name)
    assert not any(
        map(is_secret, ('PATH', 'KEYBOARD', 'MONKEY', 'HOME', 'KEY_FILE_DIR', 'PWD', 'OLDPWD'))
    )


def test_why_an_environment_cannot_be_read_is_said_in_full() -> None:
    state = state_of('one', 40, 10, 'Down', 'e')
    assert ' Reading ...' in draw_frame(state, History()).lines()
    reason = 'cannot be read: [Errno 5] Input/output error'
    state, _ = update(state, EnvironmentRead(state.environ.pid, 0.0, (), reason))
    lines = draw_frame(state, History()).lines()
    assert ' '.join(line.strip() for line in lines[2:]).strip() == reason


def test_an_environment_read_while_the_help_lay_over_it_is_there_afterwards() -> None:
    state = state_of('one', 80, 24, 'Down', 'e', 'h')
    state, _ = update(state, EnvironmentRead(state.environ.pid, 0.0, ENVIRONMENT))
    state, _ = update(state, KeyPressed('q'))
    assert state.screen is Screen.ENVIRON
    assert 'HOME=/home/alice' in draw_frame(state, History()).lines()


def test_a_click_goes_to_the_line_under_it() -> None:
    state, _ = update(environment_of(80, 10, 'End'), MousePressed(3, 4))
    (y,) = [
        y
        for y, line in enumerate(draw_frame(state, History()).lines())
        if line.startswith(ENVIRONMENT[state.environ.cursor][0])
    ]
    assert y == 4


# The help


@pytest.mark.parametrize('width', [40, 59, 60, 80, 149, 150, 300])
def test_the_help_tells_of_every_key(width: int) -> None:
    state = state_of('one', width, 400, 'h')
    text = '\n'.join(draw_frame(state, History()).lines())
    assert '..' not in text
    words = set(text.split())
    for group in key_groups():
        for entry in group.entries:
            assert words.issuperset(entry.keys.split())
            assert words.issuperset(entry.text.split())
    told = {binding.action for binding in BINDINGS if binding.help}
    assert told == {binding.action for binding in BINDINGS}


def test_the_help_is_scrolled_line_by_line_to_its_end() -> None:
    state = state_of('one', 80, 24, 'h')
    lines = draw_frame(state, History()).lines()
    assert 'Help: lines 1 to 22 of' in lines[1]
    state, _ = update(state, KeyPressed('Down'))
    assert draw_frame(state, History()).lines()[2:-1] == lines[3:]
    state, _ = update_all(state, (KeyPressed('End'), KeyPressed('Down'), KeyPressed('Up')))
    count = len(help_lines(state))
    assert (
        f'lines {count - 22} to {count - 1} of {count}' in draw_frame(state, History()).lines()[1]
    )


def test_keys_that_signal_are_dim_where_nothing_can_be_signalled() -> None:
    for readonly in (False, True):
        state = state_of('one', 100, 200, 'h', view=ViewState(readonly=readonly))
        buffer = draw_frame(state, History())
        (row,) = [buffer.row(y) for y in range(200) if 'SIGTERM to' in buffer.lines()[y]]
        assert {style.role for _, _, style in row} == (
            {Role.DIM} if readonly else {Role.KEY, Role.TEXT}
        )


def test_the_help_explains_the_thresholds_in_their_colours() -> None:
    view = ViewState(thresholds=Thresholds(gpu=(3, 44), memory=(5, 66)))
    buffer = frame_of('one', 100, 200, 'h', view=view)
    text = '\n'.join(buffer.lines())
    assert 'light below 3%, moderate from 3%, heavy from 44%' in text
    assert 'light below 5%, moderate from 5%, heavy from 66%' in text
    styled = {(word, style.role) for y in range(200) for _, word, style in buffer.row(y)}
    assert {('light', Role.LIGHT), ('moderate', Role.MODERATE), ('heavy', Role.HEAVY)} <= styled


# The metrics of a process


def metrics_of(
    name: str, width: int, height: int, *keys: str, **fields: Any
) -> tuple[AppState, list[str]]:
    """The metrics screen of the first process, with these fields of its sample."""
    sample = SAMPLES[name]
    first = sample.processes[0]._replace(**fields)
    sample = sample._replace(processes=(first, *sample.processes[1:]))
    state = AppState(width, height, timestamp=NOW)
    events: list[Event] = [SampleArrived(sample), *map(KeyPressed, ('Down', 'Enter', *keys))]
    state, _ = update_all(state, tuple(events))
    return state, draw_frame(state, history_of(sample)).lines()


def test_each_column_of_a_process_has_its_own_value() -> None:
    _, lines = metrics_of(
        'one',
        200,
        40,
        gpu_encoder_utilization_percent=17,
        gpu_decoder_utilization_percent=23,
        gpu_sm_utilization_percent=61,
    )
    values = dict(zip(lines[1].split(), lines[2].replace(' C ', ' ').split()))
    assert values['%ENC'] == '17'
    assert values['%DEC'] == '23'
    assert values['%SM'] == '61'
    assert values['PID'] == '4242'


def test_graphs_say_what_is_used_now_and_at_most() -> None:
    _, lines = metrics_of('one', 200, 40)
    text = '\n'.join(lines)
    assert ' CPU: 99.7%  max: 99.7% ' in text
    assert ' GPU-MEM: 33.00GiB (41.2%)  max: 33.00GiB (41.2%) ' in text
    assert ' HOST-MEM: 31.00GiB (1.5%)  max: 31.00GiB (1.5%) ' in text
    assert ' GPU-SM: 64%  max: 64% ' in text
    assert '╴60s├' in text


def test_what_is_used_now_is_never_more_than_what_is_used_at_most() -> None:
    sample = SAMPLES['one']
    history = History(process_interval=2.0)
    # Two measurements within the time of one value of a graph, which is their mean.
    for time, load in ((100.0, 43), (101.9, 45)):
        first = sample.processes[0]._replace(gpu_sm_utilization_percent=load)
        sample = sample._replace(
            processes=(first, *sample.processes[1:]), monotonic=time, processes_monotonic=time
        )
        history.record(sample)
    state = AppState(200, 40, timestamp=NOW)
    events = (SampleArrived(sample), KeyPressed('Down'), KeyPressed('Enter'))
    state, _ = update_all(state, events)
    assert history.maximum(state.metrics, 'gpu_sm_utilization', 60.0) == 44.0
    assert ' GPU-SM: 45%  max: 45% ' in '\n'.join(draw_frame(state, history).lines())


@pytest.mark.parametrize(
    ('width', 'height', 'keys', 'beginning'),
    [
        (200, 40, '+', '5 min ago'),
        (200, 40, '- -', '1 min ago'),
        (60, 20, '+', '1 min ago'),
        (40, 12, '+ + + + + + +', '60 min ago'),
    ],
)
def test_graphs_of_a_process_say_how_long_ago_they_begin(
    width: int, height: int, keys: str, beginning: str
) -> None:
    _, lines = metrics_of('one', width, height, *keys.split())
    axis = next(line for line in lines if line.startswith('├'))
    # What is now is not said to be of that time.
    assert axis.count(beginning) == '\n'.join(lines).count(' min') == 2
    for begin in (1, width // 2 + 1):
        assert axis[begin:].lstrip('─').startswith(beginning)


@pytest.mark.parametrize(('width', 'height'), [(61, 20), (60, 20), (40, 12)])
def test_narrow_graphs_of_a_process_have_percentages_and_whole_values(
    width: int, height: int
) -> None:
    _, lines = metrics_of('one', width, height)
    for begin in (1, width // 2 + 1):
        marks = [re.match(r' *(\d+)% ', line[begin : begin + 6]) for line in lines[4:-1]]
        assert sum(mark is not None for mark in marks) >= 2
    text = '\n'.join(lines)
    for value in ('CPU: 99.7%', 'HOST-MEM: 31.00GiB', 'GPU-MEM: 33.00GiB', 'GPU-SM: 64%'):
        assert value in text


def test_percentages_beyond_a_thousand_stand_beside_narrow_graphs() -> None:
    sample = SAMPLES['one']
    sample = sample._replace(host=sample.host._replace(cpu_count=64))
    first = sample.processes[0]._replace(cpu_percent=6000.0)
    sample = sample._replace(processes=(first, *sample.processes[1:]))
    state = AppState(40, 20, timestamp=NOW)
    state, _ = update_all(state, (SampleArrived(sample), *map(KeyPressed, ('Down', 'Enter'))))
    history = History()
    for i in range(60):
        history.record(sample._replace(monotonic=i, processes_monotonic=i))
    lines = draw_frame(state, history).lines()
    assert any(line.startswith('│4000%') for line in lines)


def test_a_process_that_has_ended_keeps_its_graphs() -> None:
    state, before = metrics_of('h100x8', 120, 30)
    state, _ = update(state, SampleArrived(SAMPLES['one']._replace(sequence=2)))
    lines = draw_frame(state, history_of(SAMPLES['h100x8'])).lines()
    assert 'The process has exited' in lines[2]
    assert [line[-30:] for line in lines[5:15]] == [line[-30:] for line in before[5:15]]


def test_a_process_is_not_said_to_have_ended_where_its_gpu_does_not_tell() -> None:
    state, _ = metrics_of('h100x8', 120, 30)
    sample = state.sample._replace(sequence=2, processes=state.sample.processes[1:])
    first, *others = sample.devices
    silent = first._replace(status='timed out', reason='no answer for 6 s')
    unlisted = Problem('device 0', 'nvmlDeviceGetComputeRunningProcesses', 'x', 'error', first.key)
    for changed, text in (
        (sample._replace(devices=(silent, *others)), 'GPU 0: no answer for 6 s'),
        (sample._replace(problems=(unlisted,)), 'GPU 0 does not report its processes'),
        (sample, 'The process has exited or no longer uses this GPU'),
    ):
        seen, _ = update(state, SampleArrived(changed))
        assert draw_frame(seen, History()).lines()[2].strip() == text


def test_graphs_of_a_frozen_display_stand_still() -> None:
    state, _ = metrics_of('one', 120, 30, 'z')
    history = history_of(SAMPLES['one'])
    before = draw_frame(state, history).lines()
    later = SAMPLES['one']._replace(sequence=2, monotonic=1060.0, processes_monotonic=1060.0)
    history.record(later)
    state, _ = update(state, SampleArrived(later))
    assert draw_frame(state, history).lines() == before
    state, _ = update(state, KeyPressed('z'))
    assert draw_frame(state, history).lines() != before


@given(st.integers(40, 500), st.integers(6, 200))
def test_graphs_lie_inside_their_box_beside_each_other(width: int, height: int) -> None:
    layout = lay_out_metrics(width, height, {})
    screen = Rect(0, 3, width, height - 3)
    cells: set[tuple[int, int]] = set()
    for graph in layout.graphs:
        for rect in (graph.area, graph.gutter):
            assert rect.is_empty or rect.intersect(screen) == rect
            corners = {(rect.x, rect.y), (rect.right - 1, rect.bottom - 1)}
            assert rect.is_empty or not cells & corners
            cells |= set() if rect.is_empty else corners
        if not layout.box.is_empty:
            assert graph.area.width >= 10
            assert graph.area.height >= 1
            assert graph.area.intersect(layout.box.inset(1, 1)) == graph.area


# Problems, users, columns


def test_processes_that_are_in_no_sum_of_users_are_counted() -> None:
    sample = SAMPLES['h100x8']._replace(sequence=1)
    for silent, text in ((0, '5 users of GPUs  '), (1, 'memory of 1 process unknown')):
        rows = tuple(
            process._replace(gpu_memory_bytes=None) if i < silent else process
            for i, process in enumerate(sample.processes)
        )
        state, _ = update(AppState(80, 24), SampleArrived(sample._replace(processes=rows)))
        state, _ = update(state, KeyPressed('U'))
        assert text in draw_frame(state, History()).lines()[0]


def troubled(width: int, height: int = 24, simulated: str = '') -> AppState:
    """The screen of problems with each kind of them, all but the first two of the sample before."""
    fails = Problem('device 1', 'temperature', 'Unknown Error', 'error')
    lacks = Problem('device 0', 'memory_temperature', 'Not Supported')
    before = (
        Problem('device 0:2', 'status', 'Invalid Argument', 'error'),
        Problem('device 2', 'power_usage', 'Insufficient Permissions', 'denied'),
        *(Problem('device 0', f'nvlink_{way}_throughput', 'Not Supported') for way in ('rx', 'tx')),
    )
    sample = SAMPLES['one']._replace(sequence=1, simulated=simulated)
    first = sample._replace(problems=(fails, lacks, *before))
    later = sample._replace(sequence=2, timestamp=NOW + 1, problems=(fails, lacks))
    state = AppState(width, height, timestamp=NOW)
    events = (SampleArrived(first), SampleArrived(later), KeyPressed('!'))
    return update_all(state, events)[0]


def test_failures_come_before_what_a_device_lacks_also_when_they_are_over() -> None:
    lines = draw_frame(troubled(120), History()).lines()[2:8]
    assert [line.split('device ')[1].split()[:2] for line in lines] == [
        ['1', 'temperature'],
        ['0:2', 'status'],
        ['2', 'power_usage'],
        ['0', 'memory_temperature'],
        ['0', 'nvlink_rx_throughput'],
        ['0', 'nvlink_tx_throughput'],
    ]


def test_problems_of_a_frozen_display_stand_still_but_for_signals_that_fail() -> None:
    state, _ = update(troubled(120), KeyPressed('z'))
    before = draw_frame(state, History()).lines()
    sample = state.sample
    for i in (1, 2):
        more = (*sample.problems, Problem('device 3', 'status', 'Unknown Error', 'error'))
        later = sample._replace(
            sequence=2 + i, timestamp=NOW + i, monotonic=sample.monotonic + i, problems=more
        )
        state, _ = update(state, SampleArrived(later))
    assert draw_frame(state, History()).lines() == before
    failed = SignalSent(SAMPLES['h100x8'].processes[0].key, 'SIGTERM', 'failed')
    state, _ = update(state, failed)
    assert any('SIGTERM' in line for line in draw_frame(state, History()).lines()[2:10])
    state, _ = update(state, KeyPressed('z'))
    lines = draw_frame(state, History()).lines()[2:10]
    assert any('device 3 ' in line for line in lines)
    assert any('SIGTERM' in line for line in lines)


@pytest.mark.parametrize('width', [40, 59, 60, 79, 80, 100, 123, 160, 240])
@pytest.mark.parametrize('what', ['x', 'nvmlDeviceGetMPSComputeRunningProcesses', 64 * 'x'])
def test_each_problem_says_when_it_was_and_why(width: int, what: str) -> None:
    state = troubled(width)
    long = Problem('processes 10000-10149', what, 'the system does not answer', 'error')
    problems = count_problems(state.tally.problems, [long], NOW + 2)
    state = state._replace(tally=state.tally._replace(problems=problems))
    _, heading, present, past, *_ = draw_frame(state, History()).lines()
    is_wide = width >= 60
    titles = [title for title in heading.split() if title != 'FIRST']
    assert titles == ['LAST', *['TIMES'] * is_wide, 'WHERE', 'WHAT', 'REASON']
    assert present.split()[0] == 'now'
    assert past.split()[0] == ('03:04:06' if is_wide else 'past')
    _, text = present.split('processes ', 1)
    assert what[13:17] in text
    assert 'the sys' in text


@pytest.mark.parametrize(
    ('width', 'cost', 'first', 'last'),
    [
        (40, ' Cost: 2.5% CPU  ', '1-6 of 9 ▼', '4-9 of 9'),
        (60, ' Cost: 2.5% CPU, 5 NVML calls/s  ', '1-6 of 9 ▼', '4-9 of 9'),
        (240, ' Own cost in the last 10 s', '1-7 of 9 ▼', '3-9 of 9'),
    ],
)
def test_problems_for_which_there_is_no_room_are_told_of(
    width: int, cost: str, first: str, last: str
) -> None:
    many = tuple(Problem(f'device {i}', f'x{i}', 'y', 'error') for i in range(9))
    sample = SAMPLES['one']._replace(problems=many, cost=Cost(0.004, 50, 0.25))
    later = sample._replace(sequence=2, monotonic=sample.monotonic + 10, cost=Cost(0.004, 50, 0.5))
    events = (SampleArrived(sample._replace(sequence=1)), SampleArrived(later), KeyPressed('!'))

    def foot(height: int, *keys: str) -> str:
        state, _ = update_all(AppState(width, height, timestamp=NOW), events)
        state, _ = update_all(state, tuple(map(KeyPressed, keys)))
        line = draw_frame(state, History()).lines()[-1]
        assert line.startswith(cost if height == 12 else ' Cost' if width == 40 else ' Own')
        return line.rstrip()

    assert foot(12).endswith(f'  {first}')
    assert foot(12, 'End').endswith(f'  {last}')
    assert 'of 9' not in foot(30)


def test_the_line_under_the_cursor_is_whole_or_goes_without_its_times() -> None:
    what = 'max_memory_temperature_threshold'
    hot = Problem('device 3', what, 'Unknown Error', 'error')
    for width in range(40, 100):
        state = troubled(width, 12)._replace(tally=Tally(count_problems((), [hot], NOW)))
        text = ' '.join(line.strip() for line in draw_frame(state, History()).lines()[-5:-1])
        assert f'device 3: {what}: Unknown Error' in text
        assert text.count('(') == text.count(')')


def test_no_text_of_a_problem_is_cut_while_there_is_room() -> None:
    labels = ('0:0', '0:2', '1:0', '1:2')
    parts = [Problem(f'device {label}', 'mig_mode', 'Not Supported') for label in labels]
    state = troubled(66)._replace(tally=Tally(count_problems((), parts, NOW)))
    line = draw_frame(state, History()).lines()[2]
    assert line.split('  ')[-3:] == ['devices 0:0,0:2,1:0,1:2', 'mig_mode', 'Not Supported']


def test_the_line_under_the_cursor_says_whether_it_is_over() -> None:
    state, lines = troubled(120), []
    for _ in range(2):
        lines.append(draw_frame(state, History()).lines()[-3].strip())
        state, _ = update(state, KeyPressed('Down'))
    assert lines == [
        'device 1: temperature: Unknown Error (now, 2 times since 03:04:05)',
        'device 0:2: status: Invalid Argument (past: once, 03:04:05)',
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
def test_each_problem_is_in_a_count_of_the_title(width: int, simulated: str, title: str) -> None:
    line = draw_frame(troubled(width, simulated=simulated), History()).lines()[0]
    assert line.split('  ')[0] == title


def test_failures_are_pointed_at_for_a_minute_and_what_a_device_lacks_is_not() -> None:
    sample = SAMPLES['one']._replace(sequence=1)
    state, _ = update(AppState(80, 24, timestamp=NOW), SampleArrived(sample))

    def first_line(problem: Problem, later: float) -> str:
        problems = (*sample.problems, problem)
        failing = sample._replace(sequence=2, timestamp=NOW, problems=problems)
        failed, _ = update(state, SampleArrived(failing))
        healed, _ = update(failed, SampleArrived(sample._replace(sequence=3, timestamp=NOW + 1)))
        shown = healed._replace(timestamp=NOW + later)
        return draw_frame(shown, History()).lines()[0]

    fails = Problem('device 0', 'temperature', 'Unknown Error', 'error')
    assert '[! problems] ' in first_line(fails, 2.0)
    assert 'problems' not in first_line(fails, 61.0)
    for kind in ('na', 'denied'):
        assert 'problems' not in first_line(fails._replace(kind=kind), 2.0)


@pytest.mark.parametrize(
    ('width', 'hint'),
    [(71, '] h help  q quit'), (70, ']        q quit'), (63, '] q quit'), (62, 'released]')],
)
def test_keys_that_do_not_fit_go_one_by_one(width: int, hint: str) -> None:
    state = state_of('lost', width, 24, 'z', 'M')
    assert draw_frame(state, History()).lines()[0].endswith(hint)


def test_keys_of_signals_that_do_not_fit_go_too() -> None:
    state = state_of('processes200', 60, 24, 'Down')
    for width, end in ((80, '  T terminate  k kill'), (50, 'reach every process')):
        host = state.sample.host._replace(is_superuser=True)
        seen = state._replace(sample=state.sample._replace(host=host), width=width)
        lines = draw_frame(seen, History()).lines()
        (line,) = [line for line in lines if 'root: signals reach every process' in line]
        assert line.endswith(end)


@pytest.mark.parametrize('screen', ['', 't'])
def test_keys_of_signals_are_named_while_there_is_somebody_to_get_one(screen: str) -> None:
    keys = (*screen, 'F3', *'10000', 'Enter')
    state = state_of('processes200', 100, 300, *keys)
    hidden = state_of('processes200', 100, 300, *keys, '\\', *'pid:10001', 'Enter')
    not_own = state_of('processes200', 100, 300, *screen, 'F3', *'10034', 'Enter')
    tagged = state_of('processes200', 100, 300, *screen, 'F3', *'10034', 'Enter', 'Space', 'Up')
    readonly = state._replace(view=state.view._replace(readonly=True))
    unmeasured = state._replace(sample=state.sample._replace(host_processes=()), forest=())
    for seen, is_named in (
        (state, True),
        (hidden, False),
        (not_own, False),
        (tagged, True),
        (readonly, False),
        (unmeasured, not screen),
    ):
        assert bool(signal_targets(seen)) is is_named
        lines = draw_frame(seen, History()).lines()
        assert any(line.endswith('T terminate  k kill') for line in lines) is is_named
        assert not screen or lines[0].endswith('h help  t back') is not is_named


def test_a_mark_says_that_the_page_goes_on_below_the_screen() -> None:
    compact = ViewState(mode='compact')
    page_height = main_layout(state_of('h100x8', 80, 24, view=compact)).page_height
    for hidden, end in ((3, '▼'), (2, '▼'), (1, '│'), (0, '╛')):
        state = state_of('h100x8', 80, page_height - hidden, view=compact)
        assert draw_frame(state, History()).lines()[-1].endswith(end)
    state = state_of('h100x8', 80, 24)
    state, _ = update_all(state, (KeyPressed('End'),))
    assert '▼' not in draw_frame(state, History()).lines()[-1]


def test_a_device_that_does_not_list_its_processes_is_named() -> None:
    sample = SAMPLES['h100x8']._replace(sequence=1)
    keys = [sample.devices[i].key for i in (2, 3, 7)]
    names = ('nvmlDeviceGetComputeRunningProcesses', 'nvmlDeviceGetMPSComputeRunningProcesses')
    problems = [Problem(f'device {key.label}', names[0], 'x', 'error', key) for key in keys]
    other = sample.devices[0].key
    dropped = Problem('device 0', names[0], '1 of 2 dropped', 'impossible', other)
    old = Problem('device 0', names[1], 'Function Not Found', 'na', other)
    lost = sample.devices[7]._replace(status='lost')
    sample = sample._replace(
        devices=(*sample.devices[:7], lost), problems=(*problems, dropped, old)
    )
    state, _ = update(AppState(80, 24), SampleArrived(sample))
    (title,) = [line for line in draw_frame(state, History()).lines() if 'Processes:' in line]
    assert title.startswith('│ Processes: unknown on GPU 2,3,7  ')
    filtered, _ = update_all(state, tuple(map(KeyPressed, ('\\', *'gpu:0', 'Enter'))))
    (title,) = [line for line in draw_frame(filtered, History()).lines() if 'Processes:' in line]
    assert title.startswith('│ Processes: 1 of 8, unknown on GPU 2,3,7  ')
    users, _ = update(state, KeyPressed('U'))
    title = draw_frame(users, History()).lines()[0]
    assert title.startswith('5 users of GPUs, unknown on GPU 2,3,7  ')
    state, _ = update(state._replace(width=40, height=60), SampleArrived(sample))
    (title,) = [line for line in draw_frame(state, History()).lines() if 'Processes:' in line]
    assert title.startswith('│ Processes: unknown on GPU 2,3,7 ')
    filtered, _ = update_all(state, tuple(map(KeyPressed, ('\\', *'gpu:0', 'Enter'))))
    (title,) = [line for line in draw_frame(filtered, History()).lines() if 'Processes:' in line]
    # No @ without user and host, and no GPU 1 where GPU 10 is cut.
    assert title == '│ Processes: 1 of 8, unknown on GPU .. │'


@pytest.mark.parametrize(('key', 'named'), [('U', '1 user of GPUs'), ('t', 'Tree of processes: 7')])
def test_users_and_tree_name_the_gpus_whose_processes_they_do_not_have(
    key: str, named: str
) -> None:
    first, second, *_ = SAMPLES['mig'].devices
    parts = [device._replace(status='lost') for device in SAMPLES['mig'].devices]
    for devices, text in (
        (SAMPLES['lost'].devices, ', unknown on GPU 1,2'),
        ([first._replace(status='timed out')], ', unknown on GPU 0'),
        (parts[1:2], f', unknown on GPU {second.key.label}'),
        # A GPU stands for its MIG devices too.
        (parts[:2], ', unknown on GPU 0'),
    ):
        sample = with_families(SAMPLES['lost'])._replace(devices=tuple(devices), sequence=2)
        for width in (40, 80):
            state, _ = update(state_of('lost', width, 24, key), SampleArrived(sample))
            title = draw_frame(state, History()).lines()[0]
            assert title.split('  ')[0] == f'{named}{text}'
    sixteen = [d._replace(status='lost') for d in SAMPLES['gpus16'].devices[::2]]
    sample = with_families(SAMPLES['lost'])._replace(devices=tuple(sixteen), sequence=2)
    state, _ = update(state_of('lost', 40, 24, key), SampleArrived(sample))
    title = draw_frame(state, History()).lines()[0]
    assert title.split('  ')[0] == f'{named}, 8 GPUs unknown'


def test_who_can_send_no_signal_is_not_warned_of_what_signals_reach() -> None:
    sample = SAMPLES['one']._replace(sequence=1)
    sample = sample._replace(host=sample.host._replace(is_superuser=True))
    for readonly in (False, True):
        state = AppState(80, 24, view=ViewState(readonly=readonly))
        state, _ = update(state, SampleArrived(sample))
        text = '\n'.join(draw_frame(state, History()).lines())
        assert ('signals reach every process' in text) is not readonly


def test_problems_are_listed_with_what_nvitop_itself_costs() -> None:
    state = state_of('lost', 120, 24, '!')
    later = SAMPLES['lost']._replace(sequence=2, monotonic=1010.0, cost=Cost(0.004, 50, 0.25))
    state, _ = update(state, SampleArrived(later))
    lines = draw_frame(state, History()).lines()
    assert lines[0].startswith('Problems: 2 now, 0 past')
    assert any('device 1' in line and 'GPU is lost' in line for line in lines)
    assert (
        lines[-3].strip()
        == 'device 1: nvmlDeviceGetMemoryInfo: GPU is lost (now, 2 times since 03:04:05)'
    )
    assert lines[-1] == ' Own cost in the last 10 s: 2.5% CPU, 5 NVML calls/s, 4.0 ms per sample'


def test_a_signal_that_failed_is_listed_among_the_problems() -> None:
    state = state_of('one', 120, 24)
    key = state.rows[0].key
    state, _ = update(state, SignalSent(key, 'SIGTERM', 'not permitted'))
    state, _ = update_all(state, (ClockTicked(99.0, NOW), KeyPressed('!')))
    text = '\n'.join(draw_frame(state, History()).lines())
    assert f'process {key.pid}: SIGTERM: is not permitted (past: once, 03:04:05)' in text


def test_users_are_listed_with_what_they_have() -> None:
    lines = frame_of('h100x8', 100, 24, 'U').lines()
    assert lines[0].startswith('5 users of GPUs')
    assert lines[2].split() == ['alice', '4', '284.0GiB', '44.4', '98.5', 'GPU', '0-3']
    assert 'No process is running' in frame_of('no-gpu', 100, 24, 'U').lines()[2]


@pytest.mark.parametrize('screen', ['', 't', 'U'])
def test_where_the_driver_does_not_answer_nobody_knows_what_runs(screen: str) -> None:
    text = '\n'.join(frame_of('no-driver', 80, 24, *screen).lines())
    assert 'No GPU is responding: running processes are unknown' in text
    assert 'No process is running' not in text


def test_users_are_those_of_the_processes_that_pass_the_filter() -> None:
    names = [
        line.split()[0] for line in frame_of('h100x8', 100, 24, 'U').lines()[2:] if line.strip()
    ]
    assert len(names) == 5
    filtered = frame_of('h100x8', 100, 24, '\\', *'user:bob', 'Enter', 'U').lines()
    assert 'filter: user:bob' in filtered[0]
    assert [line.split()[0] for line in filtered[2:] if line.strip()] == ['bob']
    assert (
        'No GPU process matches the filter'
        in frame_of('h100x8', 100, 24, '\\', '#', 'Enter', 'U').lines()[2]
    )


def test_memory_of_users_has_no_percentage_where_that_of_gpus_is_not_known() -> None:
    state = state_of('one', 100, 24, 'U')
    device = state.sample.devices[0]
    unknown = device._replace(info=device.info._replace(memory_total_bytes=None))
    state = state._replace(sample=state.sample._replace(devices=(unknown,)))
    assert draw_frame(state, History()).lines()[2].split()[:4] == ['alice', '1', '33.00GiB', 'N/A']


def test_memory_of_users_of_mig_devices_alone_is_in_percent_of_theirs() -> None:
    state = state_of('mig', 100, 24, '\\', *'gpu:0', 'Enter', 'U')
    sample = state.sample
    # 40120 MiB, of 80 GiB and of the 40192, 19968 and 9856 MiB of three MIG devices without their GPU.
    for devices, percent in ((sample.devices[:4], '49.0'), (sample.devices[1:4], '57.3')):
        shown = state._replace(sample=sample._replace(devices=devices))
        assert draw_frame(shown, History()).lines()[2].split()[3] == percent


def test_the_columns_screen_shows_what_is_chosen_and_what_has_room() -> None:
    lines = frame_of('one', 40, 24, 'C').lines()
    marks = {line[5:].split()[0]: line[1:4] for line in lines[2:17]}
    assert marks['PID'] == '[x]'
    assert marks['%MEM'] == '[-]'
    assert marks['%ENC'] == '[ ]'
    hidden = frame_of('one', 40, 24, 'C', 'Down', 'Space').lines()
    assert sum('[ ]' in line for line in hidden) == sum('[ ]' in line for line in lines) + 1


def test_at_80_columns_it_is_said_in_full_what_each_column_is() -> None:
    text = '\n'.join(frame_of('one', 80, 24, 'C').lines())
    assert 'X both, M MPS client' in text
    assert '..' not in text


def test_the_line_under_the_cursor_is_seen_on_every_list() -> None:
    for key in ('!', 'U', 'C'):
        for height in (6, 8, 12, 40):
            for to in ('End', 'Home'):
                buffer = frame_of('h100x8', 80, height, key, to)
                roles = [style.role for y in range(height) for _, _, style in buffer.row(y)]
                assert Role.SELECTED in roles or key == '!'


# The details of devices


def details_of(name: str, width: int, height: int) -> Buffer:
    """The main screen with details, of a stored machine."""
    state = AppState(width, height, timestamp=NOW)
    events = (SampleArrived(with_details(SAMPLES[name])), KeyPressed('d'))
    return draw_frame(update_all(state, events)[0], History())


def test_details_of_a_gpu_stand_below_its_row() -> None:
    lines = details_of('h100x8', 200, 60).lines()
    row = next(i for i, line in enumerate(lines) if line.startswith('│   1 '))
    text = ' '.join(lines[row + 1].split())
    assert text == (
        '│ Link Gen5 x16 PCIe TX 12056MiB/s RX 120.6MiB/s Enc 0% Dec 100% '
        'NVLink TX 117.7GiB/s RX 0KiB/s Mem 65C 666.7kWh SW power cap │'
    )


def test_a_bad_link_and_forced_clocks_stand_out() -> None:
    buffer = details_of('h100x8', 120, 60)
    warned = [text for y in range(60) for _, text, s in buffer.row(y) if s.role is Role.WARNING]
    assert warned == ['!', 'Gen5 x8/Gen5 x16', 'HW thermal slowdown, SW power cap']


@pytest.mark.parametrize(
    ('width', 'reasons', 'text'),
    [
        (160, ('hw_slowdown', 'hw_thermal_slowdown'), 'HW thermal'),
        (160, ('hw_thermal_slowdown', 'sw_power_cap'), 'HW thermal, SW power'),
        (160, ('hw_slowdown', 'sw_power_cap'), 'HW slowdown, SW power'),
        (160, ('hw_slowdown',), 'HW slowdown'),
        (200, ('hw_slowdown', 'hw_thermal_slowdown'), 'HW slowdown, HW thermal slowdown'),
    ],
)
def test_reasons_for_low_clocks_are_put_briefly_where_there_is_no_room(
    width: int, reasons: tuple[str, ...], text: str
) -> None:
    sample = with_details(SAMPLES['h100x8'])
    first = sample.devices[0]._replace(clock_event_reasons=reasons)
    sample = sample._replace(devices=(first, *sample.devices[1:]))
    events = (SampleArrived(sample), KeyPressed('d'))
    state, _ = update_all(AppState(width, 60, timestamp=NOW), events)
    (line, *_) = [line for line in draw_frame(state, History()).lines() if 'PCIe TX' in line]
    assert line.rstrip(' │').endswith(f'Wh {text}') or line.rstrip(' │').endswith(f'Wh  {text}')


def test_a_machine_without_nvlink_has_no_room_for_it() -> None:
    assert 'NVLink' in '\n'.join(details_of('h100x8', 100, 60).lines())
    assert 'NVLink' not in '\n'.join(details_of('workstation', 100, 60).lines())


def without_details(sample: Sample) -> Sample:
    """The same machine while the details of devices are not measured."""
    nothing: dict[str, Any] = {METRICS_BY_NAME[name].field: None for name in DETAILS}
    return sample._replace(devices=tuple(d._replace(**nothing) for d in sample.devices))


@pytest.mark.parametrize(
    ('width', 'note'),
    [
        (40, 'not measured before it was frozen'),
        (60, 'not measured before the display was frozen'),
        (80, 'not measured before the display was frozen'),
        (160, 'not measured before the display was frozen'),
    ],
)
def test_a_frozen_display_says_why_it_has_no_details(width: int, note: str) -> None:
    sample = without_details(with_details(SAMPLES['h100x8']))
    state = AppState(width, 80, timestamp=NOW)
    # Details are shown, and the display is frozen while another screen is.
    state, _ = update(state, SampleArrived(sample))
    state, _ = press(state, *'dUzq')
    text = '\n'.join(draw_frame(state, History()).lines())
    assert text.count(note) == 8
    for name in ('Link', 'PCIe TX', 'Enc', 'Clocks'):
        assert name not in text
    assert_boxes_close(draw_frame(state, History()))
    state, _ = update(state, KeyPressed('z'))
    text = '\n'.join(draw_frame(state, History()).lines())
    assert text.count('not measured yet') == 8


def test_details_that_no_device_has_are_not_available() -> None:
    sample = without_details(with_details(SAMPLES['h100x8']))
    missing = Problem('device 0', 'encoder_utilization', 'Not Supported')
    state = AppState(120, 80, timestamp=NOW)
    events = (SampleArrived(sample._replace(problems=(missing,))), KeyPressed('d'))
    text = '\n'.join(draw_frame(update_all(state, events)[0], History()).lines())
    assert text.count('Clocks N/A') == 8
    assert 'not measured' not in text


def test_a_graph_of_what_is_not_measured_says_so() -> None:
    sample = without_details(with_details(SAMPLES['one']))
    state = AppState(120, 60, timestamp=NOW)
    for problems, title in (
        ((), 'GPU ENC: not measured'),
        ((Problem('device 0', 'encoder_utilization', 'Not Supported'),), 'GPU ENC: N/A'),
    ):
        seen, _ = update(state, SampleArrived(sample._replace(problems=problems)))
        seen, _ = press(seen, 'f', *'ggggggg')
        text = '\n'.join(draw_frame(seen, History()).lines())
        assert title in text


def test_the_other_way_round_details_go_away_again() -> None:
    assert frame_of('h100x8', 100, 40, 'd', 'd').lines() == frame_of('h100x8', 100, 40).lines()


@pytest.mark.parametrize('name', ['h100x8', 'mig', 'lost', 'missing', 'all-lost', 'no-gpu'])
def test_boxes_with_details_close_in_the_same_column_at_every_width(name: str) -> None:
    for width in (40, 55, 78, 79, 99, 100, 122, 123, 160, 200):
        assert_boxes_close(details_of(name, width, 120))
