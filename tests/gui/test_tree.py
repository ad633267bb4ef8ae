"""Trees of host processes, and the tree screen."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from nvitop.basics.units import GiB
from nvitop.gui.model.choices import ProcessFilter, Screen
from nvitop.gui.state.navigation import current_line
from nvitop.gui.state.process_rows import build_tree
from nvitop.sampling.types import (
    DeviceKey,
    HostProcessSample,
    ProcessKey,
    ProcessSample,
    ProcessStatus,
)
from tests.gui.drawing import lines_of
from tests.gui.driving import MANY, arrived, pressed, state_of
from tests.gui.samples import with_families


def process(
    pid: int, parent: int | None, username: str = 'ann', status: ProcessStatus = 'running'
) -> HostProcessSample:
    return HostProcessSample(pid, float(pid), parent, username, status=status)


def drawn(processes: list[HostProcessSample]) -> list[str]:
    return [f'{row.prefix}{row.process.pid}' for row in build_tree(processes)]


def test_branches() -> None:
    processes = [
        process(1, None),
        process(20, 1),
        process(30, 20),
        process(31, 20),
        process(21, 1),
        process(40, 21),
        process(9, None),
    ]
    assert drawn(processes) == ['1', '├─ 20', '│  ├─ 30', '│  └─ 31', '└─ 21', '   └─ 40', '9']


@given(st.lists(st.tuples(st.integers(1, 12), st.integers(0, 12)), max_size=15))
def test_every_process_has_one_line(pairs: list[tuple[int, int]]) -> None:
    processes = [process(pid, parent) for pid, parent in pairs]
    rows = build_tree(processes)
    assert sorted(row.process.pid for row in rows) == sorted({pid for pid, _ in pairs})
    for above, below in zip(rows, rows[1:]):
        assert below.depth <= above.depth + 1


# The screen


def test_tree_opens_at_the_selected_process_and_returns_its_selection() -> None:
    state = pressed(state_of(MANY), 'Down', 'Down', 't')
    selected = state.positions[Screen.TREE].key
    assert selected == state.rows[1].key[:2]
    # The first sample after opening the tree was measured without host processes.
    state = arrived(arrived(state, MANY._replace(timestamp=1.0)), with_families(MANY))
    assert state.positions[Screen.TREE].key == selected
    state = pressed(state, 'Down', 'Down', 't')
    assert (state.screen, state.selected) == (Screen.MAIN, state.rows[2].key)
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
        assert [row.process.pid for row in pressed(state, 't').tree_rows] == shown


def test_lines_have_the_memory_of_all_gpus_and_the_name_of_a_zombie() -> None:
    key = ProcessKey(30, 30.0, DeviceKey(0))
    other = key._replace(device=DeviceKey(1))
    on_first = ProcessSample(key, gpu_memory_bytes=3 * GiB, gpu_sm_utilization_percent=40)
    zombie = process(30, 1, status='zombie')._replace(name='python3')
    sample = MANY._replace(
        host_processes=(process(1, None), zombie),
        processes=(on_first, on_first._replace(key=other)),
    )
    state = pressed(state_of(sample, width=120, height=20), 't')
    line = next(line for line in lines_of(arrived(state, sample)) if ' 30 ' in line)
    assert re.search(r' 6\.0 +40 .*└─ python3 <defunct>', line)


def test_tagged_row_has_a_mark_even_if_it_is_selected() -> None:
    state = pressed(state_of(with_families(MANY)), 'Down', 't', 'Space', 'Up')
    (row,) = (line for line in lines_of(state) if line.startswith('│ *'))
    assert row == lines_of(state)[(current_line(state) or 0) + 3]
