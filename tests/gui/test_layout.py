"""Layout of the main screen: heights and breakpoints as documented, properties at any size."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nvitop.console.options import MODES
from nvitop.gui.layout.device import (
    AROUND_NAME,
    CLASSIC,
    NARROWEST,
    ONE_BAR,
    TWO_BARS,
    Cells,
    device_height,
    lay_out_devices,
    place_details,
)
from nvitop.gui.layout.host import COMPACT_HEIGHT, FULL_HEIGHT
from nvitop.gui.layout.list import lay_out_list
from nvitop.gui.layout.main import (
    LOWEST,
    Content,
    MainLayout,
    lay_out_main,
    report_width,
    scroll_to_process,
)
from nvitop.gui.layout.process import has_room_for_owner, place_columns, process_height
from nvitop.gui.model.columns import COLUMNS, COLUMNS_BY_NAME, DEFAULT_COLUMNS, MAX_OWNER
from nvitop.gui.render.geometry import Rect
from nvitop.sampling.types import DeviceKey


def gpus(*migs: int) -> tuple[DeviceKey, ...]:
    """Return the keys of GPUs that have these numbers of MIG devices."""
    return tuple(DeviceKey(gpu, mig) for gpu, count in enumerate(migs) for mig in range(-1, count))


KEYS = st.lists(st.sampled_from([0, 0, 0, 1, 3, 7]), max_size=64).map(lambda m: gpus(*m)[:64])
CONTENTS = st.builds(
    Content,
    devices=KEYS,
    groups=st.lists(st.integers(1, 60), max_size=20).map(tuple),
    is_grouped=st.booleans(),
    columns=st.one_of(
        st.just(DEFAULT_COLUMNS), st.permutations([c.name for c in COLUMNS]).map(tuple)
    ),
    column_widths=st.dictionaries(st.sampled_from(['pid', 'time']), st.integers(4, 12)).map(
        lambda widths: (*widths.items(),)
    ),
    name_width=st.integers(0, 100),
)
LAYOUTS = st.builds(
    lay_out_main,
    CONTENTS,
    st.one_of(st.integers(1, 140), st.integers(1, 500)),
    st.one_of(st.integers(1, 60), st.integers(1, 200)),
    mode=st.sampled_from(MODES),
    host_height=st.sampled_from([0, COMPACT_HEIGHT, FULL_HEIGHT]),
    scroll_y=st.integers(-5, 2000),
)


def rects_of(layout: MainLayout) -> list[Rect]:
    """Return every rectangle that something is drawn in, except whole panels."""
    rects: list[Rect] = []
    devices, host, processes = layout.devices, layout.host, layout.processes
    for row in devices.rows:
        places = (*devices.cells, *devices.bars)
        rects.extend(Rect(cells.x, row.y, cells.width, row.height) for cells in places)
    parts = (*(host.graphs or ()), *(host.boxes or ()))
    rects.extend(part for part in parts if isinstance(part, Rect))
    for place in processes.columns:
        rects.append(Rect(place.x, processes.heading_y, place.width, 1))
        rects.extend(Rect(place.x, row.y, place.width, 1) for row in processes.rows[:3])
    rects.extend(Rect(0, y, layout.width, 1) for y in processes.separators)
    return rects


@pytest.mark.parametrize(
    ('width', 'height', 'count', 'versions', 'host', 'rows'),
    [
        (80, 26, 8, True, True, 4),
        (80, 24, 8, False, True, 4),
        (80, 22, 8, False, False, 4),
        (80, 19, 8, False, False, 1),
        # If dropping them makes no room for a process, both are kept, and the page scrolls.
        (80, 18, 8, True, True, 0),
        (60, 20, 8, False, False, 2),
        (40, 12, 1, False, False, 1),
        (40, 12, 8, True, True, 0),
        (40, 19, 1, True, True, 4),
    ],
)
def test_versions_and_host_are_dropped_for_a_few_processes(
    width: int, height: int, count: int, versions: bool, host: bool, rows: int
) -> None:
    for processes in (0, 1, 4, 50):
        content = Content(gpus(*[0] * count), (processes,), False, DEFAULT_COLUMNS)
        layout = lay_out_main(content, width, height)
        assert layout.devices.has_versions is versions
        assert layout.host.area.is_empty is not host
        if processes == 50:
            assert len(layout.processes.rows) == rows
        for mode in ('compact', 'full'):
            whole = lay_out_main(content, width, height, mode=mode)
            assert whole.devices.has_versions
            assert not whole.host.area.is_empty


@given(LAYOUTS)
def test_panels_are_stacked_and_fill_the_page(layout: MainLayout) -> None:
    if layout.is_too_small:
        assert layout.width < NARROWEST or layout.height < LOWEST
        return
    panels = [layout.devices.area, layout.host.area, layout.processes.area]
    y = -layout.scroll_y
    for area in panels:
        assert (area.x, area.y, area.width) == (0, y, layout.width)
        y = area.bottom
    assert y == layout.page_height - layout.scroll_y
    assert 0 <= layout.scroll_y <= max(0, layout.page_height - layout.height)


@given(LAYOUTS)
def test_places_are_inside_the_page_and_do_not_overlap(layout: MainLayout) -> None:
    page = Rect(0, -layout.scroll_y, layout.width, layout.page_height)
    rows: dict[int, list[tuple[int, int]]] = {}
    for rect in rects_of(layout):
        assert rect.width > 0
        assert rect.height > 0
        assert rect.intersect(page) == rect
        for y in range(rect.y, rect.bottom):
            rows.setdefault(y, []).append((rect.x, rect.right))
    for places in rows.values():
        places.sort()
        assert all(left[1] <= right[0] for left, right in zip(places, places[1:]))


@given(LAYOUTS)
def test_rows_are_in_order_and_processes_on_the_screen(layout: MainLayout) -> None:
    ys = [row.y for row in layout.devices.rows]
    assert ys == sorted(set(ys))
    rows = layout.processes.rows
    assert [row.process for row in rows] == list(
        range(rows[0].process, rows[0].process + len(rows)) if rows else ()
    )
    for row in rows:
        assert 0 <= row.y < layout.height
        assert row.y == layout.processes.row_of(row.process)
        assert row.y not in layout.processes.separators


@given(LAYOUTS)
def test_cells_belong_to_the_row_drawn_there_but_borders_to_none(layout: MainLayout) -> None:
    devices = {
        y: row.device for row in layout.devices.rows for y in range(row.y, row.y + row.height)
    }
    processes = {row.y: row.process for row in layout.processes.rows}
    assert devices.keys().isdisjoint(processes)
    for y in {y + step for y in (*devices, *processes) for step in (-1, 0, 1)}:
        for at, rows in ((layout.devices.at, devices), (layout.processes.at, processes)):
            found = [at(x, y) for x in (0, 1, layout.width - 2, layout.width - 1)]
            assert found == [None, rows.get(y), rows.get(y), None]
        is_row = y in devices or y in processes
        assert not (is_row and layout.processes.column_at(layout.width // 2, y))


def test_list_has_no_line_above_its_first_or_below_its_last() -> None:
    layout = lay_out_list(80, 24, 5, top=2)
    assert [layout.at(y) for y in (1, 2, 6, 7, 23, 24)] == [None, 0, 4, None, None, None]
    layout = lay_out_list(80, 8, 99, top=2, bottom=1, scroll_y=40)
    assert [layout.at(y) for y in (1, 2, 6, 7)] == [None, 40, 44, None]
    assert [layout.row_of(line) for line in layout.shown] == [2, 3, 4, 5, 6]


@given(CONTENTS, st.integers(NARROWEST, 300), st.integers(LOWEST, 100), st.data())
def test_scrolling_to_a_process_shows_it_and_moves_as_little_as_possible(
    content: Content, width: int, height: int, data: st.DataObject
) -> None:
    count = sum(content.groups)
    if not count:
        return
    process = data.draw(st.integers(0, count - 1))
    before = data.draw(st.integers(0, 300))
    layout = lay_out_main(content, width, height, scroll_y=before)
    scroll = scroll_to_process(layout, process)
    after = lay_out_main(content, width, height, scroll_y=scroll)
    assert after.scroll_y == scroll
    assert process in [row.process for row in after.processes.rows]
    if process in [row.process for row in layout.processes.rows]:
        assert scroll == layout.scroll_y


@given(st.integers(NARROWEST, 500), st.booleans())
def test_details_are_inside_their_panel_and_do_not_overlap(width: int, with_nvlink: bool) -> None:
    lines = place_details(width, with_nvlink=with_nvlink)
    names = [slot.name for line in lines for slot in line]
    assert len(names) == len(set(names)) == (7 if with_nvlink else 6)
    for line in lines:
        x = 2
        for slot in line:
            assert slot.x >= x
            assert slot.width >= 8
            x = slot.x + slot.width + 2
        assert x - 2 <= width - 2
    assert len(lines) <= (5 if width < CLASSIC else 2)
    assert len(lines) == 1 or width < 170


@pytest.mark.parametrize('migs', [(0,), (0,) * 8, (7, 0), (2, 3, 0, 0)])
@pytest.mark.parametrize('form', ['full', 'compact', 'dense', 'narrow'])
def test_details_make_the_rows_of_gpus_higher(migs: tuple[int, ...], form: str) -> None:
    keys = gpus(*migs)
    details = place_details(100, with_nvlink=True)
    layout = lay_out_devices(0, 100, keys, form, details)
    plain = lay_out_devices(0, 100, keys, form)
    assert layout.area.height == plain.area.height + len(details) * len(migs)
    for row, before in zip(layout.rows, plain.rows):
        below = 0 if keys[row.device].is_mig else len(details)
        assert (row.details, row.height) == (below, before.height + below)
    for row, following in zip(layout.rows, layout.rows[1:]):
        assert following.y == row.y + row.height + following.separated


@pytest.mark.parametrize('migs', [(), (0,), (0,) * 8, (7, 0), (2, 3, 0, 0)])
def test_heights_follow_the_documented_formula(migs: tuple[int, ...]) -> None:
    n, m, e = len(migs), sum(migs), sum(map(bool, migs))
    keys = gpus(*migs)
    compact = 4 + 2 * (n + 1) + m + e
    assert device_height(keys, 'compact') == (compact if n else 6)
    assert device_height(keys, 'full') == (compact + n + 1 if n else 6)
    assert device_height(keys, 'dense') == (7 + n + m if n else 6)
    for groups in [(), (1,), (3, 2), (1,) * 9]:
        p = sum(groups)
        assert process_height(groups, separated=False) == 1 + max(6, 5 + p)
        assert process_height(groups, separated=True) == process_height(
            groups, separated=False
        ) + max(0, len(groups) - 1)


@pytest.mark.parametrize(
    ('height', 'device', 'host', 'separated'),
    [
        # Two GPUs with three processes each: full 13 + 12 + 13, compact 10 + 2, grouped 13.
        (38, 'full', 12, True),
        (37, 'compact', 12, True),
        (35, 'compact', 12, True),
        (34, 'compact', 2, True),
        (25, 'compact', 2, True),
        (24, 'compact', 2, False),
        (22, 'compact', 2, False),
        (21, 'dense', 2, False),
        (LOWEST, 'dense', 2, False),
    ],
)
def test_automatic_mode_shrinks_panels_step_by_step(
    height: int, device: str, host: int, separated: bool
) -> None:
    content = Content(gpus(0, 0), (3, 3), True, DEFAULT_COLUMNS)
    layout = lay_out_main(content, 80, height)
    assert layout.devices.form == device
    assert layout.host.area.height == host
    assert bool(layout.processes.separators) is separated


def test_modes_force_the_forms_except_on_a_narrow_screen() -> None:
    content = Content(gpus(0, 0), (3, 3), True, DEFAULT_COLUMNS)
    for mode, form, host in [('full', 'full', 12), ('compact', 'compact', 2)]:
        for height in (LOWEST, 24, 200):
            layout = lay_out_main(content, 79, height, mode=mode)
            assert (layout.devices.form, layout.host.area.height) == (form, host)
            assert bool(layout.processes.separators) is (mode == 'full')
    for mode in MODES:
        layout = lay_out_main(content, 78, 200, mode=mode)
        assert (layout.devices.form, layout.host.area.height) == ('narrow', 2)
        assert layout.processes.separators == ()


@pytest.mark.parametrize(
    ('width', 'cells', 'bars'),
    [
        (NARROWEST, [(1, 38)], []),
        (CLASSIC - 1, [(1, 76)], []),
        (CLASSIC, [(1, 31), (33, 22), (56, 22)], []),
        (ONE_BAR - 1, [(1, 51), (53, 22), (76, 22)], []),
        (ONE_BAR, [(1, 31), (33, 22), (56, 22)], [(80, 18)]),
        (TWO_BARS - 1, [(1, 31), (33, 22), (56, 22)], [(80, 40)]),
        (TWO_BARS, [(1, 31), (33, 22), (56, 22)], [(80, 18), (101, 20)]),
        (130, [(1, 31), (33, 22), (56, 22)], [(80, 22), (105, 23)]),
    ],
)
def test_cells_and_bars_at_the_breakpoints(
    width: int, cells: list[tuple[int, int]], bars: list[tuple[int, int]]
) -> None:
    layout = lay_out_main(Content(gpus(0)), width, 50).devices
    assert list(layout.cells) == [Cells(*c) for c in cells]
    assert list(layout.bars) == [Cells(*c) for c in bars]
    # One border after the last cell or bar with its padding, in the last column.
    right = layout.bars[-1].right + 1 if bars else layout.cells[-1].right
    assert right == width - 1


@pytest.mark.parametrize('name', [0, 19, 20, 23, 28, 42, 96])
def test_bars_shrink_for_names(name: int) -> None:
    rooms = {}
    for width in range(CLASSIC, 251):
        layout = lay_out_main(Content(gpus(0), name_width=name), width, 200, mode='full')
        devices = layout.devices
        rooms[width] = devices.cells[0].width - AROUND_NAME
        right = devices.bars[-1].right + 1 if devices.bars else devices.cells[-1].right
        assert right == width - 1
        assert all(bar.width >= 14 for bar in devices.bars)
        # Names get no more room than they need; the graphs of the host are as wide as the cells.
        assert width < ONE_BAR or rooms[width] <= max(19, name)
        assert layout.host.graphs is not None
        assert layout.host.graphs.cpu.right == devices.cells[-1].right
    # A name that fits at 80 fits at any greater width, except just above the next breakpoint.
    whole = [width for width, room in rooms.items() if room >= name]
    assert name > 28 or {*range(105, 251)} <= {*whole}
    assert name > 23 or {*range(84, 251)} <= {*whole}
    assert {*range(200, 251)} <= {*whole}


def test_wide_value_takes_room_from_the_command() -> None:
    usual = place_columns(DEFAULT_COLUMNS, 100, {})
    wide = place_columns(DEFAULT_COLUMNS, 100, {'pid': 10, 'time': 3})
    moved = [(w.x - u.x, w.width - u.width) for u, w in zip(usual, wide)]
    assert moved == [(0, 0), (0, 3)] + [(3, 0)] * 8 + [(3, -3)]


def test_hidden_command_takes_no_room() -> None:
    names = [name for name in DEFAULT_COLUMNS if name not in ('command', 'owner')]
    shown = place_columns([*names, 'gpu_memory_percent'], 79, {})
    assert [p.column.name for p in shown] == [*names, 'gpu_memory_percent']
    # The columns may extend to the empty cell before the right border.
    widths = {'host_memory': 77 - shown[-1].right - COLUMNS_BY_NAME['host_memory'].gap}
    assert len(place_columns([*names, 'gpu_memory_percent', 'host_memory'], 79, widths)) == 12
    widths['host_memory'] += 1
    assert len(place_columns([*names, 'gpu_memory_percent', 'host_memory'], 79, widths)) == 11


def test_owner_is_shown_by_default_if_it_fits_next_to_the_command() -> None:
    def placed(width: int, longest: int | None) -> tuple[int, int]:
        """Return the widths of the owner, 0 if it is hidden, and of the command."""
        widths = {} if longest is None else {'owner': longest}
        columns = {each.column.name: each for each in place_columns(DEFAULT_COLUMNS, width, widths)}
        owner = columns.get('owner')
        return owner.width if owner else 0, columns['command'].width

    hidden = placed(160, None)[1]
    assert placed(160, 20) == (20, hidden - 21)
    assert placed(160, MAX_OWNER) == (40, hidden - 41)
    assert placed(79, 5)[0] == 0
    assert placed(110, 20)[0] < 20
    for width in range(60, 200):
        owner, command = placed(width, 20)
        assert (owner == 0 and width < 106) or (owner >= 12 and command >= 28)
        assert has_room_for_owner(DEFAULT_COLUMNS, width) == (owner > 0)
    chosen = place_columns(('pid', 'owner', 'command'), 60, {'owner': 20})
    assert [each.width for each in chosen][1] == 20


def test_titles_of_columns_fit() -> None:
    assert set(DEFAULT_COLUMNS) <= set(COLUMNS_BY_NAME)
    for column in COLUMNS:
        assert len(column.title) <= column.width or column.name == 'command'


@pytest.mark.parametrize(
    ('terminal', 'longest', 'width'),
    [
        (20, 300, 40),
        (40, 300, 40),
        (78, 300, 78),
        (79, 300, 79),
        (80, 300, 80),
        (99, 300, 99),
        (120, 60, 120),
        (140, 60, 140),
        (200, 60, 140),
        (200, 150, 150),
        (200, 300, 200),
        (500, 300, 300),
    ],
)
def test_report_is_as_wide_as_commands_need(terminal: int, longest: int, width: int) -> None:
    assert report_width(terminal, longest, has_devices=True) == width
    assert report_width(terminal, longest, has_devices=False) == min(width, 79)
