"""Layout of the main screen: heights and breakpoints as documented, properties at any size."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nvitop.basics.metrics import METRICS_BY_NAME
from nvitop.console.options import MODES
from nvitop.gui.layout.device import AROUND_NAME, DeviceTraits, place_device_columns, traits_of
from nvitop.gui.layout.main import (
    LOWEST,
    Content,
    MainLayout,
    lay_out_main,
    report_width,
    scroll_to_process,
)
from nvitop.gui.layout.process import has_room_for_owner, place_columns
from nvitop.gui.layout.screens import lay_out_list
from nvitop.gui.model.columns import (
    COLUMNS,
    COLUMNS_BY_NAME,
    DEFAULT_COLUMNS,
    MAX_OWNER,
)
from nvitop.gui.model.device_columns import DETAIL_COLUMNS, DEVICE_COLUMNS
from nvitop.gui.render.geometry import CLASSIC, NARROWEST, ONE_BAR, Cells, Rect, inside
from nvitop.sampling.types import DeviceKey


def gpus(*migs: int) -> tuple[DeviceKey, ...]:
    """Return the keys of GPUs that have these numbers of MIG devices."""
    return tuple(DeviceKey(gpu, mig) for gpu, count in enumerate(migs) for mig in range(-1, count))


KEYS = st.lists(st.sampled_from([0, 0, 0, 1, 3, 7]), max_size=64).map(lambda m: gpus(*m)[:64])
TRAITS = st.builds(
    DeviceTraits,
    columns=st.frozensets(st.sampled_from([column.name for column in DEVICE_COLUMNS])).map(
        lambda names: names | traits_of(()).columns
    ),
    name_width=st.integers(1, 60),
    power_width=st.integers(3, 6),
    memory_width=st.integers(4, 8),
    has_nvlink=st.booleans(),
    has_slow_links=st.booleans(),
)
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
    traits=TRAITS,
    has_details=st.booleans(),
    name_width=st.integers(0, 100),
    is_page=st.booleans(),
    mode=st.sampled_from(MODES),
    show_host=st.booleans(),
    is_report=st.just(False),
)
LAYOUTS = st.builds(
    lay_out_main,
    CONTENTS,
    st.one_of(st.integers(1, 140), st.integers(1, 500)),
    st.one_of(st.integers(1, 60), st.integers(1, 200)),
    scroll_y=st.integers(-5, 2000),
)


def rects_of(layout: MainLayout) -> list[Rect]:
    """Return every rectangle that something is drawn in, except whole panels."""
    rects: list[Rect] = []
    devices, host, processes = layout.devices, layout.host, layout.processes
    for row in devices.rows:
        # In the full form, columns are parts of a cell.
        columns = () if devices.cells else devices.columns
        runs = [*devices.cells, *devices.bars, *(Cells(p.x, p.width) for p in columns)]
        x = devices.frames[row.frame].x
        rects.extend(Rect(x + run.x, row.y, run.width, row.height) for run in runs)
    if devices.details is not None:
        for y in range(devices.details.first_y, devices.area.bottom):
            rects.extend(Rect(place.x, y, place.width, 1) for place in devices.details.columns)
    parts = (*(host.graphs or ()), *host.bars, *host.tiles)
    rects.extend(part for part in parts if isinstance(part, Rect))
    # The process panel covers what is below its border.
    above = Rect(0, -1000, layout.width, 1000 + processes.area.y)
    rects = [rect.intersect(above) for rect in rects]
    rects = [rect for rect in rects if rect.height]
    for place in processes.columns:
        rects.append(Rect(place.x, processes.heading_y, place.width, 1))
        rects.extend(Rect(place.x, row.y, place.width, 1) for row in processes.rows[:3])
    rects.extend(Rect(0, y, layout.width, 1) for y in processes.separators)
    return [rect for rect in rects if rect.width]


@given(LAYOUTS)
def test_panels_are_stacked_and_fill_the_page(layout: MainLayout) -> None:
    if layout.is_too_small:
        assert layout.width < NARROWEST or layout.height < LOWEST
        return
    panels = [layout.devices.area, layout.host.area, layout.processes.area]
    scrolled = max(0, layout.scroll_y - layout.fact_limit)
    y = 1 - min(scrolled, layout.scroll_limit)
    for area in panels:
        if area is layout.processes.area and layout.kept_rows:
            y = min(y, layout.height - layout.kept_rows)
        assert (area.x, area.y, area.width) == (0, y, layout.width)
        y = area.bottom
    assert y >= layout.height
    # All of the panels above can be scrolled into view.
    assert scrolled < layout.scroll_limit or not layout.rows_below
    assert 0 <= layout.scroll_y <= max(0, layout.page_height - layout.height)


@given(LAYOUTS)
def test_places_are_inside_the_page_and_do_not_overlap(layout: MainLayout) -> None:
    page = Rect(0, -layout.scroll_y, layout.width, layout.page_height + layout.height)
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
    places = [(row.frame, row.y) for row in layout.devices.rows]
    assert places == sorted(set(places))
    rows = layout.processes.rows
    assert [row.process for row in rows] == list(
        range(rows[0].process, rows[0].process + len(rows)) if rows else ()
    )
    for row in rows:
        assert 0 <= row.y < layout.height
        assert layout.processes.lines.y <= row.y < layout.processes.lines.bottom
        assert row.y == layout.processes.lines.y + (
            layout.processes.line_of(row.process) - layout.processes.offset
        )
        assert row.y not in layout.processes.separators


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


@given(st.integers(NARROWEST, 400), TRAITS)
def test_device_columns_keep_bars_and_their_percentages(width: int, traits: DeviceTraits) -> None:
    places = {place.column.name: place for place in place_device_columns(width, traits)}
    room = inside(width)
    for bar, percent in (
        ('memory_bar', 'memory_percent'),
        ('utilization_bar', 'utilization_percent'),
    ):
        assert places[bar].width >= 3
        assert places[percent].x == places[bar].right + 1
    # Both bars have one scale.
    assert abs(places['memory_bar'].width - places['utilization_bar'].width) <= 1
    assert places['index'].x == 1
    assert max(place.right for place in places.values()) == room.right
    assert set(places) <= traits.columns | {'memory_bar', 'utilization_bar'}


@pytest.mark.parametrize('name', [0, 19, 20, 23, 28, 42, 96])
def test_bars_shrink_for_names(name: int) -> None:
    rooms = {}
    for width in range(CLASSIC, 251):
        content = Content(gpus(0), name_width=name, mode='full')
        layout = lay_out_main(content, width, 200)
        devices = layout.devices
        rooms[width] = devices.cells[0].width - AROUND_NAME
        right = devices.bars[-1].right + 1 if devices.bars else devices.cells[-1].right
        assert right == width - 1
        assert all(bar.width >= 14 for bar in devices.bars)
        # Names get no more room than they need.
        assert width < ONE_BAR or rooms[width] <= max(19, name)
    # A name that fits at 80 fits at any greater width, except just above the next breakpoint.
    whole = [width for width, room in rooms.items() if room >= name]
    assert name > 28 or {*range(105, 251)} <= {*whole}
    assert name > 23 or {*range(84, 251)} <= {*whole}
    assert {*range(200, 251)} <= {*whole}


def test_owner_is_shown_by_default_if_it_fits_next_to_the_command() -> None:
    def placed(width: int, longest: int | None) -> tuple[int, int]:
        """Return the widths of the owner, 0 if it is hidden, and of the command."""
        widths = {} if longest is None else {'owner': longest}
        columns = {each.column.name: each for each in place_columns(DEFAULT_COLUMNS, width, widths)}
        owner = columns.get('owner')
        return owner.width if owner else 0, columns['command'].width

    hidden = placed(160, None)[1]
    assert placed(160, 20) == (20, hidden - 22)
    assert placed(160, MAX_OWNER) == (40, hidden - 42)
    assert placed(79, 5)[0] == 0
    assert placed(110, 20)[0] == 20
    assert placed(110, MAX_OWNER)[0] < MAX_OWNER
    for width in range(60, 200):
        owner, command = placed(width, 20)
        assert (owner == 0 and width < 107) or (owner >= 12 and command >= 24)
        assert has_room_for_owner(DEFAULT_COLUMNS, width) == (owner > 0)
        both = {
            each.column.name: each
            for each in place_columns(DEFAULT_COLUMNS, width, {'owner': 20, 'idle': 4})
        }
        assert not {'owner', 'idle'} & {*both} or both['command'].width >= 24
        assert 'idle' in both or width < 112
    chosen = place_columns(('pid', 'owner', 'command'), 60, {'owner': 20})
    assert [each.width for each in chosen][1] == 20


def test_titles_of_columns_fit() -> None:
    assert set(DEFAULT_COLUMNS) <= set(COLUMNS_BY_NAME)
    for column in COLUMNS:
        assert len(column.title) <= column.sizes[0] or column.name == 'command'


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


def test_every_device_column_is_shown_where_there_is_room() -> None:
    names = frozenset(column.name for column in DEVICE_COLUMNS)
    places = place_device_columns(600, DeviceTraits(names, name_width=20))
    assert {place.column.name for place in places} == names


def test_columns_of_devices_name_metrics() -> None:
    names = {name for column in DEVICE_COLUMNS for name in column.metrics}
    names |= {name for column in DETAIL_COLUMNS for name in column.metrics}
    assert names <= set(METRICS_BY_NAME)


@pytest.mark.parametrize(
    ('count', 'width', 'height', 'tiles', 'rows'),
    [
        (8, 180, 60, 8, 2),
        (8, 160, 45, 8, 2),
        (8, 300, 70, 8, 2),
        (8, 159, 45, 0, 0),
        (8, 160, 44, 8, 2),
        (8, 160, 43, 0, 0),
        (16, 240, 70, 16, 4),
        (3, 180, 60, 3, 1),
        (2, 180, 60, 8, 2),
        (1, 120, 40, 8, 2),
        (1, 100, 30, 6, 2),
        (1, 99, 40, 0, 0),
    ],
)
def test_tiles_are_as_many_as_fit(
    count: int, width: int, height: int, tiles: int, rows: int
) -> None:
    content = Content(gpus(*[0] * count), columns=DEFAULT_COLUMNS, traits=traits_of(()))
    host = lay_out_main(content, width, height).host
    assert len(host.tiles) == tiles
    assert len({tile.y for tile in host.tiles}) == rows
    assert all(tile.width >= (34 if count > 2 else 27) and tile.height >= 4 for tile in host.tiles)


@pytest.mark.parametrize(
    ('count', 'width', 'height', 'graphs', 'processes'),
    [
        (8, 100, 29, 2, 13),
        (8, 120, 39, 9, 16),
        (8, 160, 44, 14, 16),
        (8, 180, 59, 29, 16),
        (8, 240, 69, 39, 16),
        (16, 240, 69, 27, 20),
        (1, 80, 23, 8, 8),
        (1, 120, 39, 20, 12),
    ],
)
def test_processes_have_room_before_graphs(
    count: int, width: int, height: int, graphs: int, processes: int
) -> None:
    content = Content(gpus(*[0] * count), columns=DEFAULT_COLUMNS, traits=traits_of(()))
    layout = lay_out_main(content, width, height)
    assert (layout.host.area.height, layout.processes.lines.height) == (graphs, processes)


@given(CONTENTS, st.integers(NARROWEST, 250), st.integers(10, 80))
def test_processes_do_not_move_panels(content: Content, width: int, height: int) -> None:
    first = lay_out_main(content, width, height)
    more = content._replace(groups=(*content.groups, 1, 2), is_grouped=content.is_grouped)
    second = lay_out_main(more, width, height)
    assert (first.devices, first.host) == (second.devices, second.host)
