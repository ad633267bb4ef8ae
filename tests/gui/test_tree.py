"""Host processes as trees."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nvitop.gui.state import listing
from nvitop.gui.state.ranges import devices_text
from nvitop.gui.state.tree import build_tree, subtree
from nvitop.gui.view.frame import draw_frame
from nvitop.sampling.history import History
from nvitop.sampling.types import DeviceKey, HostProcessSample
from tests.gui.driving import press, state_of
from tests.gui.samples import SAMPLES, with_families


def process(
    pid: int, parent: int | None, username: str = 'ann', status: str = 'running'
) -> HostProcessSample:
    return HostProcessSample(pid, float(pid), parent, username, status=status)


def drawn(processes: list[HostProcessSample]) -> list[str]:
    return [f'{row.prefix}{row.process.pid}' for row in build_tree(processes)]


def test_nothing_is_no_tree() -> None:
    assert build_tree([]) == ()


def test_a_tree_is_drawn_with_its_lines() -> None:
    processes = [
        process(1, None),
        process(20, 1),
        process(30, 20),
        process(31, 20),
        process(21, 1),
        process(40, 21),
        process(9, None),
    ]
    assert drawn(processes) == [
        '1',
        '├─ 20',
        '│  ├─ 30',
        '│  └─ 31',
        '└─ 21',
        '   └─ 40',
        '9',
    ]


def test_siblings_are_ordered_by_gone_user_and_pid() -> None:
    processes = [
        process(1, None),
        process(2, 1, 'zoe'),
        process(3, 1, 'ann', 'gone'),
        process(5, 1, 'ann'),
        process(4, 1, 'ann'),
    ]
    assert drawn(processes) == ['1', '├─ 4', '├─ 5', '├─ 2', '└─ 3']


def test_a_parent_that_is_not_shown_makes_a_root() -> None:
    assert drawn([process(10, 5), process(8, 6)]) == ['8', '10']


def test_parents_in_a_ring_lose_no_process() -> None:
    assert sorted(drawn([process(1, 2), process(2, 1), process(3, 3)])) == ['1', '3', '└─ 2']


def test_a_subtree_is_a_row_and_what_hangs_on_it() -> None:
    rows = build_tree([process(1, None), process(2, 1), process(3, 2), process(4, 1)])
    assert [row.process.pid for row in subtree(rows, 1)] == [2, 3]
    assert [row.process.pid for row in subtree(rows, 0)] == [1, 2, 3, 4]
    assert [row.process.pid for row in subtree(rows, 3)] == [4]


def test_a_chain_of_thousands_is_no_problem() -> None:
    chain = [process(pid, pid - 1) for pid in range(1, 5000)]
    assert len(build_tree(chain)) == 4999


@given(st.lists(st.tuples(st.integers(1, 12), st.integers(0, 12)), max_size=15))
def test_every_process_has_exactly_one_line(pairs: list[tuple[int, int]]) -> None:
    processes = [process(pid, parent) for pid, parent in pairs]
    rows = build_tree(processes)
    assert sorted(row.process.pid for row in rows) == sorted({pid for pid, _ in pairs})
    for above, below in zip(rows, rows[1:]):
        assert below.depth <= above.depth + 1


def test_devices_are_named_in_a_few_characters() -> None:
    gpus = [DeviceKey(index) for index in range(10)]
    assert devices_text(()) == 'Host'
    assert devices_text(gpus[3:4]) == 'GPU 3'
    assert devices_text([gpus[1], gpus[0]]) == 'GPU 0,1'
    assert devices_text(gpus[:8]) == 'GPU 0-7'
    assert devices_text([*gpus[:3], gpus[5], *gpus[7:9]]) == 'GPU 0-2,5,7,8'
    assert devices_text([gpus[0], DeviceKey(1, 0), DeviceKey(1, 1), gpus[2]]) == 'GPU 0,1:0,1:1,2'


def test_how_wide_the_columns_are_is_not_looked_for_at_every_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    state, _ = press(state_of(with_families(SAMPLES['processes200'])), 't')
    monkeypatch.delattr(listing, 'growing_widths')
    for keys in ('Down', 'PageDown', 'End', 'Space', 'x'):
        state, _ = press(state, keys)
        draw_frame(state, History())
