"""The live filter and the search: words, smart case, prefixes, typing."""

from __future__ import annotations

import pytest

from nvitop.gui.state.events import EnvironmentRead, Pasted
from nvitop.gui.state.navigation import current_line
from nvitop.gui.state.process_filter import (
    filter_processes,
    matches,
    matches_host_process,
    parse_query,
)
from nvitop.gui.view.frame import draw_frame
from nvitop.owner.types import Layer, make_owner
from nvitop.sampling.history import History
from nvitop.sampling.types import DeviceKey, HostProcessSample, ProcessKey, ProcessSample
from tests.gui.driving import MANY, after, arrived, press, pressed, state_of, texts
from tests.gui.samples import SAMPLES

PROCESS = ProcessSample(
    ProcessKey(4321, 1.0, DeviceKey(1, 0, 'MIG-ab12')),
    type='C+G',
    username='ann',
    name='python3',
    command='python3 Train.py --lr 3e-4',
    owner=make_owner(
        (Layer('pod', '5ba385ca-b6e6', 'ml/train-0'), Layer('docker', '4f' * 32, 'Web'))
    ),
)


#: Filters that match the process, and others.
MATCHING = """
    4321 | ann | user:"ann" | user=ann | job=train-0 | pid:43 | GPU:1 | gpu:1:0 | gpu:MIG-ab |
    type:c | type:x | owner:pod | JOB:train-0 | user:ann gpu:1 train
"""
OTHERS = """
    TRAIN | .* | user:Ann | user="an" | user=bob | user:"an" | user:"an | user:ann gpu:2 train
"""


@pytest.mark.parametrize('text', ['', *MATCHING.split('|')])
def test_filter_matches(text: str) -> None:
    assert matches(PROCESS, parse_query(text.strip()))


@pytest.mark.parametrize('text', OTHERS.split('|'))
def test_filter_does_not_match(text: str) -> None:
    assert not matches(PROCESS, parse_query(text.strip()))


@pytest.mark.parametrize(
    ('keys', 'query'),
    [(('U', 'Enter'), 'user:"al"'), (('U', 'U', 'Enter'), 'job:"slurm 42"')],
)
def test_enter_on_a_user_or_job_lists_no_others(keys: tuple[str, ...], query: str) -> None:
    def process(pid: int, user: str, job: str, gib: int) -> ProcessSample:
        return PROCESS._replace(
            key=PROCESS.key._replace(pid=pid),
            username=user,
            owner=make_owner((Layer('slurm', job),)),
            gpu_memory_bytes=gib << 30,
        )

    rows = (process(1, 'al', '42', 9), process(2, 'alice', '421', 5))
    state = pressed(state_of(MANY._replace(processes=rows)), *keys)
    assert state.query == query
    assert [row.key.pid for row in state.lists.rows] == [1]
    again = pressed(state, *keys)
    assert again.query == query


def test_words_must_match_on_the_same_device() -> None:
    uses = [
        ProcessSample(ProcessKey(9, 1.0, DeviceKey(index)), kind)
        for index, kind in enumerate(('C', 'G'))
    ]
    process = HostProcessSample(9, 1.0, devices=(DeviceKey(0), DeviceKey(1)))
    for text, expected in (('gpu:0 type:c', True), ('gpu:1 type:g', True), ('gpu:0 type:g', False)):
        query = parse_query(text)
        assert bool(filter_processes(uses, query)) is expected
        assert matches_host_process(process, query, {(9, 1.0): uses}) is expected
    alone = HostProcessSample(70, 1.0, username='bob', command='bash -l', name='bash')
    assert matches_host_process(alone, parse_query('user:bob pid:7 bash'), {})
    assert not matches_host_process(alone, parse_query('bash gpu:0'), {})


def test_filter_takes_effect_while_it_is_typed_and_esc_restores_the_previous_one() -> None:
    state = pressed(state_of(MANY), '\\', *'pid:100', 'Enter')
    user = MANY.processes[0].username
    assert user is not None
    typed = pressed(state, '\\', 'Ctrl-U', *f'user:{user}')
    assert {row.username for row in typed.lists.rows} == {user}
    kept = pressed(typed, 'Enter')
    assert (kept.field, kept.lists.rows) == (None, typed.lists.rows)
    for key in ('Esc', 'Ctrl-C'):
        dropped = pressed(typed, key)
        assert (dropped.field, dropped.lists.rows) == (None, state.lists.rows)


def test_keys_are_only_text_while_typing() -> None:
    state, effects = press(state_of(MANY), 'Down', 'F4', 'q', 'k', 'Space', 'T')
    assert state.field is not None
    assert (state.field.text, state.dialog, effects) == ('qk T', None, ())


def test_editing_the_line() -> None:
    state = pressed(state_of(MANY), '\\', *'ab cd', 'Backspace')
    assert state.query == 'ab c'
    state = pressed(state, 'Ctrl-W')
    assert state.query == 'ab '
    state = pressed(state, 'Ctrl-U')
    assert state.query == ''
    assert after(state, Pasted('x\ny')).query == 'x y'


def test_search_goes_on_with_n_and_its_esc_returns_to_where_it_began() -> None:
    state = pressed(state_of(MANY), 'Down', '/', *f'user:{MANY.processes[0].username}', 'Enter')
    hits = [row.key for row in state.lists.rows if row.username == MANY.processes[0].username]
    assert state.selected == hits[0]
    assert pressed(state, 'n', 'n').selected == hits[2]
    assert pressed(state, 'N').selected == hits[-1]
    assert pressed(state, 'n', '/', *'user:', 'Esc').main == pressed(state, 'n').main
    assert texts(pressed(state, 'Esc', 'n')) == ['Search first (/)']
    typed = pressed(state, '/', *f'user:{MANY.processes[0].username}')
    assert pressed(typed, 'Down', 'F3').selected == hits[2]
    assert pressed(typed, 'Down', 'Up').selected == hits[0]
    without = MANY._replace(processes=tuple(row for row in MANY.processes if row.key != hits[0]))
    for key in ('Esc', '%'):  # '%' is not found
        assert pressed(arrived(typed, without), key).selected is None
    filtered = pressed(state, '\\', *f'user:{MANY.processes[0].username}', 'Down')
    assert filtered.selected == filtered.lists.rows[1].key
    assert pressed(filtered, 'Up').selected == filtered.lists.rows[0].key


@pytest.mark.parametrize(
    ('screen', 'text'),
    [('U', 'alice'), ('!', 'memory'), ('C', 'command'), ('h', 'SAMPLES'), ('Down e', 'PATH')],
)
def test_search_moves_to_lines_of_other_screens(screen: str, text: str) -> None:
    sample = SAMPLES['missing']._replace(processes=SAMPLES['h100x8'].processes)
    state = pressed(state_of(sample, 80, 24), *screen.split())
    variables = (('A', 'b'), ('PATH', '/bin'), ('Z', ''))
    state = after(state, EnvironmentRead(*state.environ[:2], variables))
    found = pressed(state, '/', *text, 'Enter')
    line = current_line(found)
    assert line is not None
    seen = state.spec.lines(found)[line : line + (1 if state.spec.has_cursor else 24)]
    assert text in str(seen)
    assert not texts(found)
    assert texts(pressed(state, '/', *'~~~')) == ['Not found: ~~~']


@pytest.mark.parametrize(
    ('text', 'error'),
    [
        ('foo:3', 'foo: is not a field (user gpu pid type job owner)'),
        ('foo=3', 'foo= is not a field (user gpu pid type job owner)'),
        ('user=al', ''),
        ('foo:', ''),
    ],
)
def test_an_unknown_field_is_an_error_while_it_is_typed(text: str, error: str) -> None:
    state = pressed(state_of(MANY), '\\', *text)
    line = draw_frame(state, History()).lines()[0]
    assert line.startswith(f' Filter: {text} ')
    assert line.endswith(error)
    assert ('is not a field' in line) is bool(error)
    assert state.field is not None
    assert pressed(state, 'Esc').query == ''
    # Enter does not repeat it at the other end of the screen.
    assert not error or not texts(pressed(state, 'Enter'))


def test_search_shows_and_marks_a_match_in_the_cut_part_of_a_command() -> None:
    sample = SAMPLES['h100x8']
    state = pressed(state_of(sample, 80, 30), '/', *'nproc')
    frame = draw_frame(state, History())
    marked = [text for y in range(30) for _, text, style in frame.row(y) if style.reverse]
    assert 'nproc' in marked
    assert 'torch..run ' in '\n'.join(draw_frame(pressed(state, 'Esc'), History()).lines())


def test_search_marks_its_match() -> None:
    state = pressed(state_of(MANY), '/', *'worker')
    frame = draw_frame(state, History())
    marked = [text for y in range(40) for _, text, style in frame.row(y) if style.reverse]
    assert 'worker' in marked
    assert not [
        span for span in draw_frame(pressed(state, 'Esc'), History()).row(20) if span[2].reverse
    ]
