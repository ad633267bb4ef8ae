"""Screens: first line, hints, help, problems, charts, and what all screens share."""

from __future__ import annotations

import re

import pytest

from nvitop.gui.model.choices import Screen, Sort, ViewState
from nvitop.gui.monitor_screens import MONITOR, SCREENS
from nvitop.gui.render.ansi import to_ascii
from nvitop.gui.render.buffer import Buffer, Rect
from nvitop.gui.render.theme import Role, Style
from nvitop.gui.state.app_state import AppState, Notice
from nvitop.gui.state.bindings import BINDINGS
from nvitop.gui.state.events import (
    ClockTicked,
    EnvironmentRead,
    KeyPressed,
    MousePressed,
    PastShown,
    Quit,
    SampleArrived,
    SignalSent,
    Travel,
)
from nvitop.gui.state.help_contents import help_lines, key_groups
from nvitop.gui.state.lists import listed_users
from nvitop.gui.state.navigation import current_line, lines_layout
from nvitop.gui.state.update import update
from nvitop.gui.view.charts import Ruler, draw_history, draw_ruler
from nvitop.gui.view.frame import draw_frame
from nvitop.health import KINDS
from nvitop.owner.types import Layer, Owner, make_owner
from nvitop.sampling.history import History
from nvitop.sampling.types import DeviceKey, Origin, Problem
from tests.gui.drawing import click_on, frame_on, lines_of, lines_on, state_on, text_of
from tests.gui.driving import after, keys_that_open, press, pressed, update_all
from tests.gui.goldens import assert_golden_text
from tests.gui.samples import ENVIRONMENT, NOW, SAMPLES, history_of

pytestmark = pytest.mark.usefixtures('utc')


#: Keys before the key that is tested. Some keys work only in some of these situations.
SITUATIONS = (
    (),
    ('Down',),
    ('Home', 'Down', 'PageDown', 'Right', 'Right'),
    ('End',),
    ('Tab',),
    ('f', 'd', '+'),
    ('f', 'd', 'PageDown'),
    ('o', 'p'),
)


def effects_of(state: AppState, keys: str) -> bool:
    """Return whether keys change the state, from which a frame is drawn, or have an effect outside."""
    after, effects = press(state, *keys.split())
    return bool(effects) or after._replace(notices=state.notices) != state


@pytest.mark.parametrize('screen', SCREENS, ids=lambda screen: screen.value)
def test_every_key_has_an_effect_on_its_screens(screen: Screen) -> None:
    states = []
    for situation in SITUATIONS:
        machine = 'lost' if screen is Screen.PROBLEMS else 'processes200'
        opening = keys_that_open(screen)
        if screen is Screen.SIGNAL:
            opening = ('Down', *['Space'] * 20, *opening)
        state = state_on(machine, 100, 12, *opening)
        assert state.screen is screen
        environ = state.environ
        state = after(state, EnvironmentRead(environ.pid, environ.start_time, ENVIRONMENT))
        states.append(pressed(state, *situation))
    without = [
        keys
        for binding in BINDINGS
        if screen in binding.screens
        for keys in binding.keys
        if not any(effects_of(state, keys) for state in states)
        if binding.name != 'signal-parent'  # needs a zombie
    ]
    assert not without


def test_cursor_follows_its_line_when_the_order_changes() -> None:
    state = pressed(state_on('h100x8', 120, 40), 'U', 'Down')
    name = listed_users(state)[current_line(state) or 0].name
    state = pressed(state, 'o', 'c')
    assert listed_users(state)[current_line(state) or 0].name == name
    assert listed_users(state)[1].name != name


def test_cursor_stays_visible_on_every_list() -> None:
    for key in ('U', 'C'):
        for height in (6, 8, 12, 40):
            for to in ('End', 'Home'):
                buffer = frame_on('h100x8', 80, height, key, to)
                backs = [style.back for y in range(height) for _, _, style in buffer.row(y)]
                assert Role.SELECTED in backs


def test_empty_tree_shows_the_reason() -> None:
    assert 'Looking for processes' in lines_on('nothing-yet', 80, 24, 't')[3]
    assert 'No match: 16 processes' in lines_on('h100x8', 80, 24, 't', '\\', '#')[3]


def test_missing_process_is_unknown_if_its_gpu_does_not_respond() -> None:
    state = state_on(SAMPLES['h100x8'], 120, 30, 'Down', 'Enter')
    sample = state.sample._replace(sequence=2, processes=state.sample.processes[1:])
    first, *others = sample.devices
    silent = first._replace(status='timed out', reason='no response for 6s')
    unlisted = Problem(first.key, 'processes', 'x', 'error')
    for changed, text in (
        (sample._replace(devices=(silent, *others)), 'GPU 0: no response for 6s'),
        (sample._replace(problems=(unlisted,)), 'GPU 0 does not report its processes'),
        (sample, 'The process has exited or no longer uses this GPU'),
    ):
        seen, _ = update(state, SampleArrived(changed))
        assert lines_of(seen)[2].strip('│ ') == text


def environment_of(width: int, height: int, *keys: str) -> AppState:
    state = state_on('one', width, height, 'Down', 'e')
    read = EnvironmentRead(state.environ.pid, state.environ.start_time, ENVIRONMENT)
    return update_all(state, (read, *map(KeyPressed, keys)))[0]


def inside(state: AppState) -> list[str]:
    return [line[1:-1].strip() for line in lines_of(state)[2:-1]]


def with_owner(height: int, owner: Owner | None, reason: str = '') -> list[str]:
    state = state_on('one', 80, height, 'Down', 'e')
    key = state.environ.pid, state.environ.start_time
    read = EnvironmentRead(*key, ENVIRONMENT, owner=owner, no_owner=reason)
    return inside(update(state, read)[0])


def test_layers_of_the_owner_are_above_the_variables() -> None:
    pod = '5ba385ca-b6e6-4246-bd66-d48d429dbc12'
    layers = (
        Layer('pod', pod, 'ml/a\x1b[2Jb', detail='burstable'),
        Layer('docker', '4f' * 32, claim=True),
        Layer('jupyter', '1b2c', 'work/a.ipynb', 'environ', claim=True),
    )
    lines = with_owner(24, make_owner(layers))
    assert lines[0].startswith(f'pod ml/a␛[2Jb              from its cgroup: {pod[:24]}')
    assert lines[1].startswith('docker 4f4f4f4f4f4f        from its cgroup (set by its user): 4f4f')
    assert lines[2].startswith(
        'nb a.ipynb "work/a.ipynb"  from its environment (set by the process'
    )
    assert lines[3].startswith('─ 19 variables')
    assert lines[4].startswith('AWS_SECRET_ACCESS_KEY=')


def test_secrets_are_hidden_until_revealed() -> None:
    secrets = ('wJalr', 'hf_abc', 'hunter2')
    hidden = text_of(environment_of(80, 24, '$', 'Home'))
    assert not any(secret in hidden for secret in secrets)
    assert 'EMPTY_TOKEN=' in inside(environment_of(80, 24))
    shown = text_of(environment_of(80, 24, 'v'))
    assert all(secret in shown for secret in secrets)
    again = text_of(environment_of(80, 24, 'v', 'v'))
    assert not any(secret in again for secret in secrets)


def test_error_is_shown_in_full() -> None:
    state = state_on('one', 40, 10, 'Down', 'e')
    assert 'Reading' in inside(state)
    reason = 'cannot be read: [Errno 5] Input/output error'
    state, _ = update(state, EnvironmentRead(*state.environ[:2], (), reason))
    assert ' '.join(inside(state)).strip() == reason


def test_long_notice_is_wrapped_or_cut_to_a_third_of_the_screen() -> None:
    def last_lines(*texts: str) -> list[str]:
        notices = tuple(Notice(text, 9.0) for text in texts)
        state = state_on('h100x8', 40, 12)._replace(notices=notices)
        return lines_of(state)

    long = 'Paused before the details of all eight devices were measured (z: resume the display)'
    wrapped = [
        ' Paused before the details of all eight',
        ' devices were measured (z: resume the',
        ' display)',
    ]
    assert last_lines('Theme: mono', long)[-4:] == [' Theme: mono', *wrapped]
    # A notice is not shown in part.
    lines = last_lines(long, long)
    assert lines[-3:] == wrapped
    assert 'display)' not in lines[-4]
    *above, first, _, _, last = last_lines('x ' * 400)
    assert first.startswith(' x x ')
    assert last.endswith(' x ..')
    assert '│' in above[-1]


# The first line of a screen: title, badges, keys, and the input line in its place


@pytest.mark.parametrize('simulated', ['', 'lost'])
@pytest.mark.parametrize('keys', ['t', '!', 'U', 'C', 'h', 'Down Enter', 'Down e'])
def test_every_title_has_the_badges_of_a_frozen_and_a_simulated_machine(
    keys: str, simulated: str
) -> None:
    for name in ('lost', 'processes200', 'hostile'):
        sample = SAMPLES[name]._replace(simulated=simulated)
        line = lines_on(sample, 40, 12, 'z', *keys.split())[0]
        assert '[PAUSED' in line
        assert ('[SIM' in line) is bool(simulated)


@pytest.mark.parametrize(
    ('origin', 'badge'),
    [
        (Origin(is_live=False, speed=2.0), '[REPLAY 03:04:05 ×2]'),
        (Origin(is_live=False, is_paused=True), '[REPLAY 03:04:05 paused]'),
        (Origin(host='gpu07'), '[gpu07]'),
        (Origin(host='gpu\x1b[2J07', trouble='no samples for 12s'), 'no samples for 12s]'),
    ],
)
@pytest.mark.parametrize('keys', ['', 't', '!'])
def test_origin_of_samples_is_on_every_screen(origin: Origin, badge: str, keys: str) -> None:
    state = state_on('h100x8', 120, 24, *keys.split())
    state, _ = update(state, SampleArrived(state.sample, origin))
    assert badge in lines_of(state)[0]
    assert '\x1b' not in lines_of(state)[0]


# The last row of a screen: keys that work now, and the keys that can follow a prefix


HINTS = ViewState(hints=True, flat=True)


def state_with_hints(
    keys: str = '', *, width: int = 120, height: int = 30, machine: str = 'h100x8'
) -> AppState:
    return state_on(machine, width, height, *keys.split(), view=HINTS)


def last_row(keys: str = '', width: int = 120, height: int = 30) -> str:
    return lines_of(state_with_hints(keys, width=width, height=height))[-1]


def test_last_rows_match_their_golden() -> None:
    """The last row has keys that lead somewhere, and follows the selection."""
    selections = [
        '',
        'Down',
        'Down Space',
        '1',
        '1 Enter',
        r'\ p Enter',
        r'\ p',
        '/ p',
        'o',
        'F6',
        'z',
    ]
    screens = ['t', 't Down', 't Down Space', 'h', 'U', 'U U', '!', 'C', 'Down e', 'Down Enter']
    rows = [
        f'{width:3} {keys:12}|{last_row(keys, width)}'
        for keys in (*selections, *screens, 'Down T')
        for width in (60, 120)
    ]
    in_ascii = state_on('h100x8', 120, 30, view=HINTS._replace(ascii=True))
    rows += [f'higher h    |{last_row("h", height=200)}', f'ascii       |{lines_of(in_ascii)[-1]}']
    assert_golden_text('last-rows', '\n'.join(rows) + '\n')


@pytest.mark.parametrize(('key', 'example'), [('\\', 'user:'), ('F3', 'user:'), ('b', '-30m')])
def test_empty_input_line_shows_what_can_be_typed(key: str, example: str) -> None:
    state = press(state_with_hints()._replace(origin=Origin(can_travel=True)), key)[0]
    assert re.match(r' \w.*' + example, lines_of(state)[0])
    assert example not in lines_of(press(state, '1')[0])[0]


@pytest.mark.parametrize('screen', SCREENS, ids=lambda screen: screen.value)
def test_every_screen_names_the_key_that_leaves_it_at_any_width(screen: Screen) -> None:
    for width in (40, 60, 80, 200):
        line = last_row(' '.join(keys_that_open(screen)), width)
        assert line.endswith(' Quit' if screen is Screen.MAIN else ' Back')
        assert len(line) < width


def test_click_on_a_hint_presses_its_key() -> None:
    state = state_with_hints('Down')
    for words, screen in (('Users', Screen.USERS), ('Graphs', Screen.PROCESS)):
        opened, _ = update(state, click_on(state, words))
        assert opened.screen is screen
        back, _ = update(opened, click_on(opened, 'Back'))
        assert back.screen is Screen.MAIN
    assert update(state, click_on(state, 'q Quit'))[1] == (Quit(0),)


def test_sort_menu_names_every_order_and_its_words_can_be_clicked() -> None:
    state = state_with_hints('o')
    menu = ' '.join(lines_of(state)[-3:])
    words = [
        binding.hint_in(state) for _, binding in state.keymap.next_keys(state.screen, state.prefix)
    ]
    assert ' n ▲GPU  p PID ' in menu
    assert all(f' {each} ' in menu for each in words[1:])
    assert ' p ▼PID ' in ' '.join(lines_of(pressed(state, 'P', 'o'))[-3:])
    assert menu.endswith(' Shift: reverse')
    clicked, _ = update(state, click_on(state, 'MEM GiB  s'))
    assert (clicked.sort, clicked.prefix) == (Sort('gpu_memory'), '')
    # Without a last row, the menu covers the screen.
    assert menu.endswith(lines_of(state_on('h100x8', 120, 30, 'o'))[-1])


def test_narrow_sort_menu_takes_more_rows() -> None:
    state = state_on('h100x8', 60, 30, 'o')
    words = [
        binding.hint_in(state) for _, binding in state.keymap.next_keys(state.screen, state.prefix)
    ]
    menu = lines_of(state)[-4:]
    assert all(any(each in line for line in menu) for each in (*words, 'Shift: reverse'))
    assert lines_of(state_on('h100x8', 100, 30, 'o'))[-1].endswith('Shift: reverse')
    low = lines_of(state_on('one', 40, 8, 'o'))
    assert low[-3].startswith('│ ')  # at most a third of the screen
    assert low[-2].startswith(' Sort: ')


# The help screen


@pytest.mark.parametrize('width', [40, 80, 300])
def test_help_lists_every_key(width: int) -> None:
    state = state_on('one', width, 400, 'h')
    state = state._replace(origin=Origin(is_live=False, can_travel=True))
    text = text_of(state)
    assert '..' not in text
    words = set(text.split())
    for binding in BINDINGS:
        if binding.help:
            assert words.issuperset(keys.replace(' ', '') for keys in binding.keys), binding


def test_wide_help_has_columns_of_whole_groups() -> None:
    lines = frame_on('one', 120, 80, 'h').lines()
    heading = next(line for line in lines if 'Main screen' in line)
    start = len(heading) - len(heading[30:].lstrip()) if heading[30:].strip(' │') else 0
    assert start > 40
    assert not any(line[start - 2 : start].strip() for line in lines[3:-2])


@pytest.mark.parametrize(
    ('here', 'first'), [(Screen.MAIN, 'Main screen'), (Screen.USERS, 'Users screen')]
)
def test_help_has_each_binding_once_those_of_the_screen_first(here: Screen, first: str) -> None:
    groups = key_groups(MONITOR, BINDINGS, here)
    assert next(iter(groups)) == first
    listed = [each.help for found in groups.values() for each in found]
    assert sorted('; '.join(listed).split('; ')) == sorted(b.help for b in BINDINGS if b.help)
    signals = [
        h for h, found in groups.items() if any(b.is_signal and here in b.screens for b in found)
    ]
    assert signals == ([first] if here is Screen.MAIN else [])
    assert ' o F6 ' in text_of(state_on('one', 80, 60, 'h'))
    for found in groups.values():
        assert len({each.keys for each in found}) == len(found)
    are_own = [all(here in each.screens for each in found) for found in groups.values()]
    assert are_own == sorted(are_own, reverse=True)
    assert not any(
        here in each.screens for found in list(groups.values())[sum(are_own) :] for each in found
    )


def test_keys_have_one_line_each_on_a_usual_screen() -> None:
    lines = help_lines(state_on('one', 120, 300, 'h'))
    longer = [entry.text for line in lines for entry in line if entry.keys.isspace()]
    assert longer == ['remapping']  # of a state, not a key


def test_help_explains_each_state_and_mark_of_a_gpu() -> None:
    keys = [e.keys.strip() for line in help_lines(state_on('one', 120, 300, 'h')) for e in line]
    states = ['free', 'busy', 'in use', 'held 1h']
    assert [key for key in keys if key in states] == states
    explained = {kind.mark for kind in KINDS.values() if kind.mark != kind.counted}
    assert explained <= set(keys)
    assert not {'missing', 'failing'} & set(keys)  # which say it all


def test_help_repeats_the_heading_of_a_group_that_continues() -> None:
    lines = frame_on('one', 80, 24, 'h', 'PageDown').lines()
    assert 'Main screen (continued)' in lines[2]
    assert '20-39 of' in lines[1]


# The problems screen


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


def test_cards_have_severity_and_time_and_the_last_ones_what_is_missing() -> None:
    lines = [line.strip('│ ') for line in lines_of(troubled(120))]
    assert lines[1].startswith('╭─ Problems 1 now, 1 past')
    assert re.match('● failed +GPU 1 +temperature unreadable: unknown driver error', lines[2])
    assert lines[2].endswith('since 03:04:05')
    assert re.match('○ past +GPU 0:2  status: Invalid Argument', lines[3])
    assert lines[3].endswith('last 03:04:05')
    assert re.match('· missing +GPU 0 +memory temperature, .* throughput: not supported$', lines[4])
    assert re.match('· missing +GPU 2 +power usage: no permission$', lines[5])


@pytest.mark.parametrize('size', [(40, 12), (80, 24), (159, 44)])
def test_selected_card_is_shown_in_full_and_each_of_its_rows_can_be_clicked(
    size: tuple[int, int],
) -> None:
    long = Problem(DeviceKey(1), 'temperature', ' '.join(map(str, range(40))), 'error')
    cards = [
        long._replace(subject=DeviceKey(gpu), reason=f'{gpu} {long.reason}') for gpu in range(9)
    ]
    state = state_on(SAMPLES['one']._replace(problems=tuple(cards)), *size, '!')
    for key in ('Down', 'Up'):
        for number in range(len(cards))[:: 1 if key == 'Down' else -1]:
            frame, layout = draw_frame(state, History()), lines_layout(state)
            top, lines = state.inside.y, frame.lines()
            begin, end = top + layout.row_of(number), top + layout.row_of(number + 1)
            backs = [{style.back for *_, style in frame.row(y)} for y in range(frame.height)]
            marked = [y for y, each in enumerate(backs) if Role.SELECTED in each]
            assert marked == [*range(begin, end)]
            words = ' '.join(line[1:-1].strip() for line in lines[begin:end])
            assert re.search(f' {number} ', words)
            assert words.split()[-1] == '39'
            for y in range(begin, end):
                assert current_line(after(state, MousePressed(9, y))) == number
            if begin > top + layout.area.y:
                assert current_line(after(state, MousePressed(9, begin - 1))) == number - 1
            state = pressed(state, key)


def test_failed_signal_is_listed_as_a_problem() -> None:
    state = state_on('one', 120, 24)
    key = state.lists.rows[0].key
    state, _ = update(state, SignalSent(key, 'SIGTERM', 'not permitted'))
    state, _ = update_all(state, (ClockTicked(99.0, NOW), KeyPressed('!')))
    text = text_of(state)
    assert f'process {key.pid}  SIGTERM: not permitted' in text
    assert 'last 03:04:05' in text
    assert '├─' not in text  # an empty box


# Histories, and the ruler of time above them


def test_histories_on_a_common_axis_hang_from_it_in_parts_of_a_cell() -> None:
    buffer = Buffer(4, 2)
    draw_history(buffer, Rect(0, 0, 4, 2), (100, 50, 10, None), Style(Role.SENT), hangs=True)
    pieces = [(y, *piece) for y in range(2) for piece in buffer.row(y)]
    assert [(y, x, text, style.reverse) for y, x, text, style in pieces] == [
        (0, 0, '  ▆', True),  # a quarter of the third cell
        (0, 3, '·', False),
        (1, 0, '▂', True),  # up to 14 of 16 parts
    ]
    assert to_ascii(buffer).lines() == ['||`.', '*']


@pytest.mark.parametrize(('age', 'mark'), [(60, 49), (12, 73), (0, 79), (3600, 79)])
def test_past_time_has_a_cursor_on_the_ruler_and_a_click_goes_to_a_time(
    age: int, mark: int
) -> None:
    history = history_of(SAMPLES['one'])
    ruler = Ruler(history, past=(history.now - age, 100_000.0))
    buffer = Buffer(80, 1)
    draw_ruler(buffer, buffer.area, ruler)
    (line,) = buffer.lines()
    assert line.index('◆') == mark
    assert '03:46:40' in line
    assert line.endswith(' 03:47:40') == (age == 60)  # there is not always room for both times
    assert 'now' not in line
    assert buffer.hit_at(mark, 0) == ('time', 100_000.0)
    assert buffer.hit_at(mark - 5, 0) == ('time', 99_990.0)
    end = ruler.history(80).now
    assert end == (history.now if age < 160 else history.now - age)


def test_looking_back_keeps_jobs_limits_and_the_end_of_the_ruler() -> None:
    sample = SAMPLES['h100x8']
    owned = [each._replace(owner=make_owner((Layer('slurm', '77'),))) for each in sample.processes]
    state = state_on(sample._replace(processes=tuple(owned)), 120, 40)
    kept = tuple(
        device._replace(
            info=device.info._replace(
                temperature_slowdown_threshold_celsius=None, max_sm_clock_mhz=None
            )
        )
        for device in sample.devices
    )
    past = sample._replace(sequence=1, monotonic=sample.monotonic - 20, devices=kept)
    seen, _ = update(state, PastShown(past))
    assert seen.frozen is not None
    assert seen.frozen.until == state.sample.monotonic
    assert seen.shown_sample.devices == sample.devices
    jobs = [line for line in lines_of(state) if 'slurm 77' in line]
    assert jobs
    assert len([line for line in lines_of(seen) if 'slurm 77' in line]) == len(jobs)
    _, effects = update(seen, MousePressed(5, 5, hit=('time', 99.0)))
    assert effects == (Travel('time', 99.0),)


def test_narrow_list_of_columns_has_the_whole_meaning_below() -> None:
    lines = frame_on('one', 40, 12, 'C', 'Down', 'Down').lines()
    meaning = ' '.join(line.strip('│ ') for line in lines[-4:])
    assert 'job, pod, container, unit or session that it belongs to' in meaning


@pytest.mark.parametrize('width', [60, 100, 160])
@pytest.mark.parametrize(
    ('machine', 'keys'),
    [
        ('one', ''),
        ('no-gpu', ''),
        ('h100x8', '1 Enter'),
        ('h100x8', 'Down Down Enter'),
        ('odd-processes', '!'),
        ('h100x8', 'U'),
    ],
)
def test_text_of_all_pages_begins_in_the_same_column(machine: str, keys: str, width: int) -> None:
    lines = lines_on(machine, width, 40, *keys.split())[2:]
    end = next(y for y, line in enumerate(lines) if line[0] != '│')
    texts = [line[1:-1] for line in lines[:end] if line[1:-1].strip()]
    assert 1 + min(len(text) - len(text.lstrip()) for text in texts) == (3 if width > 79 else 2)


@pytest.mark.parametrize('height', [8, 14, 18, 22, 24, 30])
def test_page_of_a_process_gives_all_rows_to_graphs_the_first_ones_most(height: int) -> None:
    _, graphs = text_of(state_on('one', 80, height, 'Down', 'Enter')).split('now │\n')
    lines = graphs[: graphs.index('╰')].splitlines()
    titles = [y for y, line in enumerate(lines) if re.match('│  [A-Z]', line)]
    rows = [below - y for y, below in zip(titles, [*titles[1:], len(lines)])]
    assert lines[0].startswith('│  SM ')
    assert rows[0] <= rows[-1] + 1
    assert rows == sorted(rows, reverse=True)
