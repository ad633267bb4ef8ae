"""Keys and clicks: opening screens, selecting processes and GPUs, notices and effects."""

from __future__ import annotations

import re

import pytest

from nvitop.gui.model.choices import DETAILS, Screen, Sort, ViewState
from nvitop.gui.model.columns import DEFAULT_COLUMNS
from nvitop.gui.model.device_columns import FACT_METRICS
from nvitop.gui.monitor_screens import MONITOR
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.bindings import BINDINGS
from nvitop.gui.state.events import (
    ClockTicked,
    Effect,
    EnvironmentRead,
    Event,
    KeyPressed,
    MousePressed,
    MouseScrolled,
    Pasted,
    Quit,
    ReadEnvironment,
    Redraw,
    Resized,
    RingBell,
    SampleArrived,
    SaveSettings,
    SettingsSaved,
    SignalSent,
    Suspend,
    Suspended,
    Terminated,
)
from nvitop.gui.state.keymap import Keymap, rebind
from nvitop.gui.state.lists import layout_of, process_lines, relist
from nvitop.gui.state.navigation import current_line, lines_layout
from nvitop.gui.state.update import update
from nvitop.gui.view.frame import draw_frame
from nvitop.sampling.history import History
from nvitop.sampling.types import DeviceSample, Problem, Sleep
from tests.gui.drawing import click_hit, lines_of, state_on, text_of
from tests.gui.driving import (
    FLAT,
    MANY,
    TREE,
    after,
    arrived,
    demand_of,
    keys_that_open,
    press,
    pressed,
    state_of,
    texts,
)
from tests.gui.samples import ENVIRONMENT, SAMPLES, with_families

_WAYS = [(key, binding.opens) for binding in BINDINGS if binding.opens for key in binding.keys]


@pytest.mark.parametrize(('key', 'screen'), _WAYS)
def test_key_that_opens_a_screen_also_leaves_it(key: str, screen: Screen) -> None:
    state = pressed(state_of(TREE), 'Down', key)
    assert state.screen is screen
    # On the users screen it alternates between users and jobs.
    assert pressed(state, key).screen is (screen if screen is Screen.USERS else Screen.MAIN)
    assert pressed(state, 'q').screen is Screen.MAIN


#: Keys, and what the last one answers. Those that do nothing change nothing else.
ANSWERS = {
    '! T': 'T works only on other screens: main, tree, process',
    '! v': 'v works only on other screens: environment',
    'x': 'x works only on other screens: tree',
    '! J': 'J works only on other screens: main, columns',
    'F12': 'F12: unknown key; h lists the keys',
    'z r': 'Not shown while paused (z: resume)',
    'Tab Enter f': 'The page of a GPU has one layout',
    'Tab Enter a': 'The page of a GPU has one layout',
    'T': 'Select or tag a process first (q quits)',
    'e': 'Select a process first',
    '- - - - -': 'Histories show no shorter time',
    'F3 ~ ~ Enter': 'Not found: ~~',
    'L': 'Theme: light',
}


@pytest.mark.parametrize('keys', ANSWERS)
def test_answer_to_a_key_is_shown_until_the_next_key(keys: str) -> None:
    *others, last = keys.split()
    before = pressed(state_of(MANY, 160, 60), *others)
    answered = pressed(before, last)
    if last not in ('-', 'Enter', 'L'):
        assert answered._replace(notices=()) == before
    outcome = f'Sent SIGTERM to {MANY.processes[0].key.pid}'
    state = after(answered, SignalSent(MANY.processes[0].key, 'SIGTERM', 'sent'))
    assert texts(state) == [ANSWERS[keys], outcome]
    # The outcome of a signal is not an answer.
    assert texts(pressed(state, 'h')) == [outcome]


def test_read_only_mode_names_no_other_screen_for_signals() -> None:
    state = state_of(TREE, view=ViewState(readonly=True))._replace(screen=Screen.PROCESS)
    assert texts(pressed(state, 'T')) == ['Read-only: no signals (--readonly)']
    assert texts(pressed(state, 'x')) == ['x works only on other screens: tree']


def test_keys_before_the_first_sample_wait_for_its_processes() -> None:
    state = pressed(AppState(MONITOR, width=120, height=40, view=FLAT), 'Down', 'Down', 'Enter')
    assert (texts(state), state.screen) == ([], Screen.MAIN)
    arrived = after(state, SampleArrived(MANY))
    assert (arrived.screen, arrived.shown_process) == (Screen.PROCESS, arrived.lists.rows[1].key)
    # Esc goes back, as always; other screens do not get them.
    for key, screen in (('Esc', Screen.MAIN), ('h', Screen.HELP)):
        assert after(pressed(state, key), SampleArrived(MANY)).screen is screen


@pytest.mark.parametrize('key', ['x', 'q', 'Down', 'o', 'R'])
def test_unknown_key_after_a_prefix_is_reported_and_the_prefix_stays(key: str) -> None:
    before = pressed(state_of(MANY), 'Down')
    state, effects = press(before, 'o', key)
    assert texts(state) == [f'o {key}: unknown sort key']
    assert (state._replace(notices=()), effects) == (before._replace(prefix='o'), (RingBell(),))
    # Esc and Enter cancel the prefix without a notice.
    assert press(before, 'o', 'Esc') == press(before, 'o', 'Enter') == (before, ())


def test_environment_is_that_of_the_selected_process() -> None:
    state, effects = press(state_of(MANY), 'Down', 'e')
    key = MANY.processes[0].key
    assert effects == (ReadEnvironment(key.pid, key.start_time),)
    for other in ((999, key.start_time), (key.pid, key.start_time - 1.0)):
        state = after(state, EnvironmentRead(*other, (('A', 'b'),)))
        assert state.environ.reading is None
    state = after(state, EnvironmentRead(key.pid, key.start_time, (('A', 'b'), ('C', 'd'))))
    assert state.environ.variables == (('A', 'b'), ('C', 'd'))
    assert pressed(state, 'End').position.cursor == 1
    assert ReadEnvironment(key.pid, key.start_time) in press(state, 'h', 'q', 'r')[1]


@pytest.mark.parametrize(
    ('event', 'notices'),
    [
        (None, ['There are no variables']),
        (EnvironmentRead(*MANY.processes[0].key[:2], error='denied'), ['There are no variables']),
        (
            EnvironmentRead(*MANY.processes[0].key[:2], (('A', 'b'),)),
            ['No name here looks like a secret'],
        ),
        (EnvironmentRead(*MANY.processes[0].key[:2], (('A_TOKEN', 'b'),)), []),
    ],
)
def test_secrets_are_revealed_if_there_are_any(
    event: EnvironmentRead | None, notices: list[str]
) -> None:
    state = pressed(state_of(MANY), 'Down', 'e')
    state = pressed(after(state, event) if event else state, 'v')
    assert texts(state) == notices
    assert state.environ.reveals_secrets is not bool(notices)


def test_last_column_cannot_be_hidden() -> None:
    state, effects = press(state_of(MANY, view=ViewState(columns=('pid',))), 'C', 'Space')
    assert (state.view.columns, effects) == (('pid',), (RingBell(),))
    assert texts(state) == ['At least one column must be shown']


# Panels


def test_full_panels_begin_where_the_notice_says_and_it_is_shown_at_the_start_too() -> None:
    sample = SAMPLES['h100x8']
    view = ViewState(mode='full')
    (text,) = texts(state_of(sample, 120, 30, view))
    rows = int(text.split()[3])
    assert text == f'Full panels need {rows} rows'
    assert layout_of(state_of(sample, 120, rows - 1, view)).form == 'rows'
    assert layout_of(state_of(sample, 120, rows, view)).form == 'full'
    assert not texts(state_of(sample, 120, rows, view))
    empty = sample._replace(devices=(), processes=(), sequence=1)
    assert texts(arrived(state_of(empty, 120, 30, view), sample._replace(sequence=2))) == [text]
    low = state_of(SAMPLES['one'], 100, 10)
    assert texts(pressed(low, 'f')) == ['Full panels need 11 rows']


def test_hosts_without_room_are_hidden_in_advance_and_not_shown_by_accident() -> None:
    state = state_of(SAMPLES['h100x8'], width=60, height=9)
    assert layout_of(state).host == 0
    hidden = pressed(state, 'H')
    assert not hidden.view.show_host
    state, effects = press(hidden, 'H')
    assert (state.view.show_host, effects) == (True, (RingBell(),))
    assert texts(state) == ['The host needs a higher screen']


def test_w_saves_the_choices_and_shows_where() -> None:
    state, (effect,) = press(state_of(SAMPLES['one']), 'c', 'm', 'J', 'W')
    assert isinstance(effect, SaveSettings)
    chosen = {
        'theme': 'dark',
        'mode': 'compact',
        'show_host': True,
        'flat': False,
        'hints': True,
        'columns': DEFAULT_COLUMNS,
    }
    assert {**dict(effect.values), **chosen} == dict(effect.values)
    saved, _ = update(state, SettingsSaved('/home/ann/saved.toml'))
    assert texts(saved)[-1].endswith(' to /home/ann/saved.toml')
    failed, _ = update(saved, SettingsSaved('/config.toml', 'Permission denied'))
    assert texts(failed) == ['Not saved: /config.toml: Permission denied']
    assert press(state, 'Alt-W')[1] == (SaveSettings(()),)


# ``update``: samples, effects, notices and pasted text. Other files test the keys by subject


def test_older_sample_is_not_shown() -> None:
    state = arrived(arrived(state_of(MANY), MANY), MANY)
    assert after(state, SampleArrived(MANY._replace(sequence=2, processes=()))) == state


@pytest.mark.parametrize(
    ('event', 'effect'),
    [
        (Terminated('SIGHUP'), Quit(129)),
        (Terminated('SIGTERM'), Quit(143)),
        (Terminated('SIGBREAK'), Quit(1)),
        (Suspended(resumed=True), Redraw()),
        (Resized(100, 30), Redraw()),
        (KeyPressed('L'), Redraw()),
        (KeyPressed('Ctrl-L'), Redraw()),
    ],
)
def test_effects(event: Event, effect: Effect) -> None:
    found = [each for each in update(state_of(MANY), event)[1] if type(each) is type(effect)]
    assert found == [effect]


@pytest.mark.parametrize('keys', ['T', '\\', '\\ a', 'F3', 'o', 't K'])
def test_ctrl_z_suspends_whatever_is_open(keys: str) -> None:
    state = pressed(state_of(with_families(MANY)), 'Down', *keys.split())
    assert press(state, 'Ctrl-Z') == (state._replace(prefix=''), (Suspend(),))


def test_paste_outside_of_a_text_field_does_nothing() -> None:
    before = pressed(state_of(MANY), 'Down')
    state, effects = update(before, Pasted('K\r'))
    assert texts(state) == ['Paste ignored (press \\ to filter first)']
    assert (state._replace(notices=()), effects) == (before, ())


def test_outcome_of_a_signal_is_shown_for_five_seconds() -> None:
    state = after(state_of(MANY), ClockTicked(100.0, 0.0))
    key = MANY.processes[0].key
    state = after(state, SignalSent(key, 'SIGTERM', 'not permitted'))
    assert [(notice.text, notice.is_error) for notice in state.notices] == [
        (f'SIGTERM to {key.pid}: not permitted', True)
    ]
    assert after(state, ClockTicked(104.9, 0.0)).notices
    assert not after(state, ClockTicked(105.1, 0.0)).notices


def test_process_that_exits_after_a_signal_is_named() -> None:
    first, second, *others = MANY.processes
    first = first._replace(name='python3')
    state = state_of(MANY._replace(processes=(first, second, *others)))
    state = after(state, SignalSent(first.key, 'SIGTERM', 'sent'))
    alive = arrived(state, MANY._replace(processes=(first, *others)))
    assert texts(alive) == texts(state)
    state = after(state, SampleArrived(MANY._replace(sequence=2, processes=(second, *others))))
    sent, exited = texts(state)
    assert sent == f'Sent SIGTERM to {first.key.pid}'
    assert exited == f'python3 ({first.key.pid}) exited or left the GPU after SIGTERM'
    state = after(state, SampleArrived(MANY._replace(sequence=3, processes=tuple(others))))
    assert texts(state) == [sent, exited]


# Selecting, tagging and moving on the main screen, by keys and mouse


def row_of_selected(state: AppState) -> int | None:
    index = current_line(state)
    if index is None:
        return None
    layout = lines_layout(state)
    return layout.row_of(index) if index in layout.shown else None


def test_selection_follows_the_process_until_it_exits() -> None:
    state = pressed(state_of(MANY), 'Down', 'Down')
    selected = state.selected
    others = tuple(process for process in MANY.processes if process.key != state.lists.rows[0].key)
    state = arrived(state, MANY._replace(processes=others))
    assert state.selected == selected is not None
    rest = tuple(process for process in others if process.key != selected)
    assert arrived(state, MANY._replace(processes=rest)).selected is None


def test_reused_pid_loses_its_tag() -> None:
    state = pressed(state_of(MANY), 'Down', 'Space')
    key = state.lists.rows[0].key
    assert key in state.main.tagged
    reborn = tuple(
        p._replace(key=p.key._replace(start_time=p.key.start_time + 100.0)) if p.key == key else p
        for p in MANY.processes
    )
    assert arrived(state, MANY._replace(processes=reborn)).main.tagged == frozenset()


def test_columns_that_the_source_of_a_host_does_not_report_are_left_out() -> None:
    rows = [row._replace(cpu_percent=None, memory_percent=None) for row in MANY.processes]
    host = MANY.host._replace(memory_total_bytes=None)
    from_exporter = MANY._replace(processes=tuple(rows), host=host)
    for is_chosen, titles in ((True, set()), (False, {'%CPU', '%HOST'})):
        state = state_of(MANY, 180, 40)._replace(sample=from_exporter)
        state = relist(state._replace(origin=state.origin._replace(is_chosen=is_chosen)))
        heading = next(line for line in lines_of(state) if ' PID ' in line).split()
        assert {'%CPU', '%HOST'} & {*heading} == titles
        assert '%SM' in heading


def test_esc_clears_one_thing_after_the_other_and_then_leaves() -> None:
    state = pressed(state_of(MANY), 'z', 'Down', 'Space', '\\', 'p', 'Enter')
    state = state._replace(origin=state.origin._replace(is_chosen=True))  # a host of a fleet
    state = pressed(state, 'Esc')
    assert (state.query, bool(state.main.tagged)) == ('', True)
    state, effects = press(state, 'Esc')
    assert (state.selected, state.main.tagged, effects) == (None, frozenset(), ())
    assert state.frozen is not None
    state, effects = press(state, 'Esc')
    assert (state.frozen, effects) == (None, ())
    assert press(state, 'Esc')[1] == (Quit(),)
    assert press(state_of(MANY), 'Esc')[1] == ()
    tree = pressed(state_of(TREE), 't', 'Down', 'Esc')
    assert (tree.screen, tree.positions[Screen.TREE].key) == (Screen.TREE, None)
    assert pressed(tree, 'Esc').screen is Screen.MAIN


@pytest.mark.parametrize('screen', ['', 't'])
def test_keys_ignore_a_selected_process_that_the_filter_hides(screen: str) -> None:
    state = pressed(state_of(with_families(MANY)), *screen, 'Down', '\\', *'#none#', 'Enter')
    selected = state.selection.identity
    assert selected is not None
    for key in ('T', 'e', 'x' if screen else 'Enter'):
        later, effects = press(state, key)
        assert effects == (RingBell(),)
        assert texts(later) == [f'{selected[0]} is hidden by the filter; Esc clears it']
        assert later._replace(notices=()) == state


def test_selected_process_stays_visible() -> None:
    state = state_of(MANY, height=24)
    for key in ('Down',) * 60 + ('End', 'Home') + ('Up',) * 3:
        state = pressed(state, key)
        assert row_of_selected(state) is not None
    state = pressed(state_of(MANY, height=60), *['Down'] * 40)
    events: list[Event] = [Resized(*size) for size in ((120, 20), (50, 12), (120, 40))]
    events += map(KeyPressed, ('f', 'c', 'a', 'H', 'd', 'o', 'g', 'o', 'p', '/'))
    for event in events:
        state = after(state, event)
        assert row_of_selected(state) is not None


@pytest.mark.parametrize('size', [(80, 20), (120, 40)])
@pytest.mark.parametrize('keys', ['PageDown PageUp', 'Ctrl-D Ctrl-U', '] ['])
def test_scrolling_keeps_a_selected_process_on_the_screen(size: tuple[int, int], keys: str) -> None:
    state = pressed(state_of(MANY, *size), *['Down'] * 3)
    for key in keys.split():
        before = state.selected
        for _ in range(40):
            state = pressed(state, key)
            assert row_of_selected(state) is not None
        assert state.selected != before


@pytest.mark.parametrize('keys', ['PageDown', 'Ctrl-D'])
def test_scrolling_shows_every_line_of_a_list_of_one_row(keys: str) -> None:
    state = state_of(SAMPLES['h100x8'], 40, 12)
    assert lines_layout(state).visible == 1
    for line in range(4):
        assert list(lines_layout(state).shown) == [line]
        state = pressed(state, keys)


def test_clicks_select_sort_and_clear() -> None:
    state = state_of(MANY)
    state = after(state, click_hit(state, 'process', state.lists.rows[2].key))
    assert state.selected == state.lists.rows[2].key
    state = after(state, click_hit(state, 'column', 'pid'))
    assert state.sort == Sort('pid')
    state = after(state, click_hit(state, 'column', 'pid'))
    assert state.sort == Sort('pid', reverse=True)
    assert after(state, MousePressed(0, 0)).selected is None


@pytest.mark.parametrize('screen', [Screen.TREE, Screen.ENVIRON, Screen.COLUMNS, Screen.HELP])
def test_clicks_and_the_wheel_move_on_lists(screen: Screen) -> None:
    state = pressed(state_of(with_families(MANY), 80, 24), *keys_that_open(screen))
    environ = state.environ
    state = after(state, EnvironmentRead(environ.pid, environ.start_time, ENVIRONMENT))
    state = pressed(state, 'Home')
    if screen is not Screen.HELP:  # it has no cursor
        state = after(state, MousePressed(5, state.inside.y + lines_layout(state).row_of(2)))
        assert current_line(state) == 2
        state = after(state, MouseScrolled(5, 4, dy=-2))
    for dy, ctrl, line in ((1, False, 1), (1, True, 6), (-1, False, 5), (-1, True, 0)):
        state = after(state, MouseScrolled(5, 4, dy=dy, ctrl=ctrl))
        assert current_line(state) == line


# Selecting a GPU, and going from users and problems to their processes


EIGHT = SAMPLES['h100x8']


def test_enter_on_a_problem_selects_its_gpu() -> None:
    lost = next(d.key for d in SAMPLES['lost'].devices if d.status != 'ok')
    state = pressed(state_of(SAMPLES['lost']), '!', 'Enter')
    assert (state.screen, state.main.selected_device) == (Screen.MAIN, lost)
    present = tuple(d for d in SAMPLES['lost'].devices if d.status == 'ok')
    state = arrived(state_of(SAMPLES['lost']), SAMPLES['lost']._replace(devices=present))
    state = pressed(state, '!', 'Enter')
    assert (state.screen, state.main.selected_device) == (Screen.PROBLEMS, None)
    assert texts(state) == [f'GPU {lost.label} is no longer listed']


def test_double_click_shows_graphs_and_right_click_asks_for_a_signal() -> None:
    state = state_of(EIGHT)
    line = process_lines(state)[-1]
    click = click_hit(state, 'process', line.key)
    once, _ = update(state, click)
    assert (once.screen, once.selected) == (Screen.MAIN, line.key)
    assert update(once, click)[0].screen is Screen.PROCESS
    later = once._replace(monotonic=once.monotonic + 1)
    assert update(later, click)[0].screen is Screen.MAIN
    own = next(row for row in state.lists.rows if row.is_own)
    assert update(state, click_hit(state, 'process', own.key, button=3))[0].dialog is not None


@pytest.mark.parametrize('keys', ['', '2', 'Down'])
def test_double_click_on_a_gpu_opens_its_page(keys: str) -> None:
    state = pressed(state_of(EIGHT, 120, 40), *keys.split())
    click = click_hit(state, 'device', EIGHT.devices[2].key)
    page = after(state, click, click)
    assert (page.main.shows_page, page.main.selected_device) == (True, EIGHT.devices[2].key)
    # The only row of the page is not another GPU for the next click.
    assert after(page, click_hit(page, 'device', EIGHT.devices[2].key)).main == page.main
    left, effects = press(page, 'q')
    assert (left.main.shows_page, effects) == (False, ())
    assert press(left, 'q')[1] == (Quit(),)


def test_clicks_and_the_wheel_select_gpus() -> None:
    state = state_of(EIGHT, 120, 40)
    click = click_hit(state, 'device', EIGHT.devices[2].key)
    clicked = after(state, click)
    assert clicked.main.selected_device == EIGHT.devices[2].key
    wheel = MouseScrolled(click.x, click.y, dy=1, hit=click.hit)
    assert after(clicked, wheel).main.selected_device == EIGHT.devices[3].key
    again = clicked._replace(monotonic=clicked.monotonic + 1)
    assert after(again, click).main.selected_device is None


def test_page_of_a_gpu_shows_all_its_metrics_and_facts() -> None:
    page = pressed(state_on('h100x8', 140, 50), '3', 'Enter')
    assert [row.device.key for row in page.page_devices] == [EIGHT.devices[3].key]
    assert {*DETAILS, *FACT_METRICS} <= {*demand_of(page).shown_metrics}
    text = text_of(page)
    assert re.search(f'UUID +{EIGHT.devices[3].info.uuid} ', text)
    assert re.search('PROBLEM +none +ECC ERRORS ', text)
    capped = text_of(pressed(state_on('h100x8', 140, 50), '1', 'Enter'))
    assert re.search('PROBLEM +none .* CLOCK LIMIT +SW power cap ', capped, re.DOTALL)
    for title in ('UTIL', 'MEM', 'POWER', 'TEMP', 'SM CLOCK', 'PCIe RX', 'PCIe TX', 'NVLink TX'):
        assert f'│  {title} ' in text
    for width, height in ((80, 24), (100, 30), (140, 60)):
        small = after(page, Resized(width, height))
        assert re.findall(' (PCIe|NVLink) RX .* up to ', text_of(small)) == ['PCIe', 'NVLink']
        panel = layout_of(small)
        assert re.search(r' · torch..run --nproc_[^│]*([.]{2}|pretrain.py +) ┬', text_of(small))
        assert (panel.hidden_facts > 0) == (width == 80)
        assert panel.host >= 1
        assert panel.listed >= 2
        # On a low screen, what is sent yields to facts.
        assert (' NVLink TX ' in text_of(small)) == (height > 24)
    devices = list(EIGHT.devices)
    devices[3] = devices[3]._replace(
        remapped_rows_pending=True,
        pcie_rx_throughput_kib_per_s=None,
        pcie_tx_throughput_kib_per_s=None,
    )
    page_of_wrong = arrived(page, EIGHT._replace(devices=tuple(devices), sequence=9))
    for height in range(12, 30):  # what is wrong is on a low page too
        low = text_of(after(page_of_wrong, Resized(80, height)))
        assert 'PROBLEM ' in low or ' STATE ' in low
    wrong = text_of(page_of_wrong)
    assert re.search('PROBLEM +pending row remapping.* is not affected', wrong, re.DOTALL)
    assert 'more problem' not in wrong
    assert '3! · busy · alice · ' in wrong
    assert re.findall(' (PCIe|NVLink) RX .* up to ', wrong) == ['NVLink']
    following = pressed(page, 'Tab')
    assert following.page_devices[0].device.key == EIGHT.devices[4].key
    back = pressed(page, 'Esc')
    assert (back.main.shows_page, back.main.selected_device) == (False, EIGHT.devices[3].key)


def test_first_metrics_of_a_page_have_the_rows_that_are_left() -> None:
    page = pressed(state_on('h100x8', 120, 40), '3', 'Enter')
    seen = set()
    for height in range(34, 60):
        lines = lines_of(after(page, Resized(120, height)))
        end = next(y for y, line in enumerate(lines) if line.startswith('├─ GPU 3'))
        tops = [y for y in range(end) if re.match(r'│  [A-Z][A-Za-z ]+  \d', lines[y])]
        heights = [below - y for y, below in zip(tops, [*tops[1:], end])]
        assert heights == sorted(heights, reverse=True)
        assert heights[0] - heights[-1] <= 1
        assert heights[-4::2] == heights[-3::2]  # what is sent mirrors what is received
        seen.add(heights.count(heights[0]))
    assert len(seen) > 2


def test_facts_that_do_not_fit_scroll_unless_a_process_is_selected() -> None:
    page = pressed(state_on('h100x8', 80, 24), '3', 'Enter')

    def shown(state: AppState) -> tuple[str, bool]:
        (count,) = re.findall(r'─ (\d+-\d+ of \d+) ─┤', text_of(state))
        return count, 'BOARD' in text_of(state)

    assert shown(page) == ('1-6 of 15', False)
    down = pressed(page, 'PageDown')
    assert shown(down) == ('6-11 of 15', False)
    end = pressed(down, 'PageDown', 'PageDown')
    assert shown(end) == ('10-15 of 15', True)
    assert press(end, 'PageDown')[1] == (RingBell(),)
    assert shown(pressed(end, 'PageUp')) == ('5-10 of 15', False)
    assert shown(pressed(end, 'Tab')) == ('1-6 of 15', False)
    assert shown(pressed(page, 'Down', 'PageDown')) == ('1-6 of 15', False)
    assert 'of 15' not in text_of(after(end, Resized(120, 40)))


def test_arrows_move_among_gpus_while_one_is_selected_and_then_among_its_processes() -> None:
    chosen = pressed(state_on('h100x8', 140, 50), 'Tab', 'Down', 'Down', 'Up')
    assert (chosen.main.selected_device, chosen.selected) == (EIGHT.devices[1].key, None)
    assert pressed(chosen, 'Up', 'Up').main.selected_device == EIGHT.devices[0].key
    page = pressed(chosen, 'Enter')
    assert page.main.shows_page
    process = pressed(page, 'Down')
    assert process.selected is not None
    assert process.selected.device == EIGHT.devices[1].key
    assert pressed(chosen, 'Esc', 'Down').main.selected_device is None


@pytest.mark.parametrize('count', [1, 3])
def test_page_ends_when_its_gpu_vanishes(count: int) -> None:
    state = pressed(state_of(EIGHT), '7', 'Enter')
    left = EIGHT._replace(devices=EIGHT.devices[:count], sequence=EIGHT.sequence + 1)
    state = arrived(state, left)
    assert not state.main.shows_page
    assert len(state.page_devices) == count
    _, effects = press(state, 'q')
    assert any(isinstance(effect, Quit) for effect in effects)


def test_the_only_gpu_says_that_it_is_asleep_and_how_to_wake_it() -> None:
    first = EIGHT.devices[0]
    sleep = Sleep('D3cold', wakes_on_refresh=True)
    asleep = DeviceSample(first.key, first.info, 'asleep', sleep=sleep)
    sample = EIGHT._replace(devices=(asleep,), processes=())
    for width, words in (
        (100, 'GPU 0 is asleep (D3cold) and draws no power. Press r to wake it'),
        (50, 'GPU 0 is asleep (D3cold). Press r to wake it'),
        (40, 'GPU 0 is asleep. Press r to wake it'),
    ):
        line = draw_frame(state_of(sample, width, 30), History()).lines()[2]
        assert (line[0], line[-1], line[1:-1].strip()) == ('│', '│', words)
    assert ' of 1' not in draw_frame(state_of(sample, 100, 30), History()).lines()[1]
    deep = asleep._replace(sleep=Sleep('D3cold', 300.0))
    line = draw_frame(state_of(sample._replace(devices=(deep,)), 100, 30), History()).lines()[2]
    assert line.strip('│ ') == 'GPU 0 has been asleep (D3cold) for 5m and draws no power'
    keymap, _ = rebind({'refresh': ['w']}, Keymap(BINDINGS))
    lines = draw_frame(state_of(sample, 100, 30)._replace(keys=keymap), History()).lines()
    assert '. Press w to wake it ' in lines[2]
    state = state_of(sample, 120, 30, ViewState(hints=True))
    hints = draw_frame(state, History()).lines()[-1]
    assert (
        hints.strip() == 'h Help  r Wake  ! Problems  u Users  t Tree  C Columns  z Pause  q Quit'
    )


def test_a_sleeping_gpu_is_neither_wrong_nor_part_of_totals() -> None:
    third = EIGHT.devices[2]
    asleep = DeviceSample(third.key, third.info, 'asleep', sleep=Sleep('D3cold', 300.0))
    problem = Problem(third.key, 'status', 'asleep; reading its values would wake it')
    devices = (*EIGHT.devices[:2], asleep, *EIGHT.devices[3:])
    rows = tuple(row for row in EIGHT.processes if row.key.device != third.key)
    sample = EIGHT._replace(devices=devices, processes=rows, problems=(problem,))
    for size in ((120, 40), (80, 24), (180, 60)):
        buffer = draw_frame(state_of(sample, *size), History())
        text = '\n'.join(buffer.lines())
        assert re.search('2  +asleep +.D3cold. for 5m · nvitop -o 2 wakes it', text)
        assert '2!' not in text
        assert 'unreadable' not in text
    assert '1 asleep: GPU 2' in text
    busy = [gpu.gpu_utilization_percent for gpu in devices if gpu.status == 'ok']
    assert f'{sum(filter(None, busy)) / 7:.0f}% util' in text
