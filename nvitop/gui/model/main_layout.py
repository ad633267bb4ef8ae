# SPDX-License-Identifier: GPL-3.0-only
"""How the panels of the main screen share its rows."""

from __future__ import annotations

import itertools
from typing import Literal, Mapping, NamedTuple, Sequence

from nvitop.gui.model.choices import ViewState
from nvitop.gui.model.device_columns import facts_of, metrics_of
from nvitop.gui.model.device_rows import Folded, GpuRow, fold_free
from nvitop.gui.model.table import CLASSIC, NARROWEST, inside
from nvitop.gui.render.width import wrap

#: Minimum height of the main screen.
LOWEST = 6
#: Rows of a panel of devices and of processes around their lines: borders and headings.
DEVICE_FRAME, PROCESS_FRAME = 2, 3
#: Rows of the classic table around its devices: the title, two headings, and the line below them.
_FULL_FRAME = 4
#: Minimum height of a screen with a panel of devices.
_WITH_DEVICES = 9
#: Minimum share of the screen for processes, and lines of them before rows of GPUs grow and before
#: the host has histories; minimum number of lines of them on the page of a GPU.
_SHARE, _FEWEST, _ENOUGH, _FEWEST_ON_PAGE = 3, 8, 16, 2
#: Maximum number of lines of a GPU, or of a metric if a single GPU has a line for each; of a GPU with
#: MIG devices, which have the users and the memory; of a MIG device, once all GPUs have theirs.
_MOST_LINES, _MOST_DIVIDED_LINES, _MOST_MIG_LINES = 6, 3, 2
#: Rows of the host if there is room: its line, and the histories of its CPU and memory; those with a
#: ruler of its own, below devices without one.
_HOST_ROWS, _HOST_ROWS_WITH_RULER = 3, (4, 6)
#: Minimum width of the screen for histories of devices.
_WITH_HISTORIES = 55
#: Minimum width of a column of facts on the page of a GPU, and cells of the label of each.
FACT_WIDTH, FACT_LABEL = 54, 12


#: A table of rows, or that of nvidia-smi; a line for each metric of the only GPU; or a sentence,
#: because there is no GPU or the only one is asleep.
DeviceForm = Literal['rows', 'full', 'metrics', 'sentence']


class MainLayout(NamedTuple):
    """Rows of the panels below the first line, with their borders; 0 if there is no room."""

    devices: int = 0
    host: int = 0
    processes: int = 0
    #: The rows of the device panel, those that share one last.
    folded: Folded = Folded(())
    #: Number of lines of each metric, or of a GPU as in `lines_of`.
    lines: int = 1
    #: What the device panel shows.
    form: DeviceForm = 'rows'
    #: Rows of facts about the only device, on its page.
    facts: int = 0

    @property
    def listed(self) -> int:
        return max(0, self.processes - PROCESS_FRAME)


def main_layout(
    rows: Sequence[GpuRow],
    view: ViewState,
    width: int,
    height: int,
    *,
    is_page: bool = False,
) -> MainLayout:
    """Return the rows of the panels on a screen of this size.

    They depend on the devices and on the screen only, so that nothing moves when a process starts.
    """
    room = height - 1
    if width < NARROWEST or height < _WITH_DEVICES:
        return MainLayout(processes=max(0, room), folded=Folded(tuple(rows)))
    fewest = max(PROCESS_FRAME + 1, height // _SHARE)
    if is_page:  # it is about the metrics of the GPU
        fewest = PROCESS_FRAME + _FEWEST_ON_PAGE
    choices = _device_choices(rows, view, width, room - fewest, is_page=is_page)
    form = choices[0].form
    some, enough = min(PROCESS_FRAME + _FEWEST, height // 2), PROCESS_FRAME + _ENOUGH
    if is_page or form == 'sentence':  # there are few processes
        some = enough = fewest
    panels = {
        'devices': [(3 if number else 0, each.devices) for number, each in enumerate(choices)],
        'processes': [(0, fewest), (2, some), *((20, size) for size in range(fewest, enough + 1))],
    }
    if view.show_host:
        has_ruler = form == 'metrics' or (form == 'rows' and width >= _WITH_HISTORIES)
        high = (_HOST_ROWS,) if has_ruler else _HOST_ROWS_WITH_RULER
        panels['host'] = [(1, 1), *((25, size) for size in high)]
    heights = stack(panels, room)
    devices, host = heights['devices'], heights.get('host', 0)
    chosen = next(each for each in choices if each.devices == devices)
    return chosen._replace(host=host, processes=room - devices - host)


def _device_choices(
    rows: Sequence[GpuRow], view: ViewState, width: int, most: int, *, is_page: bool
) -> list[MainLayout]:
    """Return what the device panel can show, from low to high, with ``most`` rows at most."""
    whole = Folded(tuple(rows))
    status = rows[0].device.status if len(rows) == 1 else ''
    if not rows or status == 'asleep':
        return [MainLayout(DEVICE_FRAME, folded=whole, form='sentence')]
    if view.mode == 'full' and width >= CLASSIC and not is_page and full_height(rows) <= most:
        return [MainLayout(full_height(rows), folded=whole, form='full')]
    if status == 'ok' and (is_page or view.mode != 'compact'):
        choices = _metric_choices(rows[0], width, is_page=is_page)
        if choices[0].devices <= most:
            return choices
    if DEVICE_FRAME + len(rows) > most:
        folded = fold_free(rows)
        least = DEVICE_FRAME + len(folded.rows) + bool(folded.free)
        return [MainLayout(min(most, least), folded=folded)]
    most_lines = 1 if view.mode == 'compact' else _MOST_LINES + _MOST_MIG_LINES - 1
    return [
        MainLayout(
            DEVICE_FRAME + sum(lines_of(row, lines) for row in rows), folded=whole, lines=lines
        )
        for lines in range(1, most_lines + 1)
    ]


def _metric_choices(row: GpuRow, width: int, *, is_page: bool) -> list[MainLayout]:
    """Return how high the lines of metrics can be; on the page of a GPU above some or all facts."""
    metrics = len(metrics_of(row.device, is_page=is_page))
    facts = range(1)
    if is_page:  # at least what is wrong
        cells = inside(width).width
        trouble = 1 + len(wrap(row.trouble, cells - FACT_LABEL))
        others = -(-len(facts_of(row.device)) // max(1, cells // FACT_WIDTH))
        facts = range(trouble, trouble + others + 1)
    low = [(1, size) for size in facts]
    high = [(lines, facts[-1]) for lines in range(2, _MOST_LINES + 1)]
    return [
        MainLayout(
            DEVICE_FRAME + lines * metrics + size,
            folded=Folded((row,)),
            lines=lines,
            form='metrics',
            facts=size,
        )
        for lines, size in (*low, *high)
    ]


def lines_of(row: GpuRow, lines: int) -> int:
    """Return the number of lines of a device where those of a GPU would be ``lines`` without a limit."""
    if row.device.status == 'asleep':
        return 1
    if row.device.key.is_mig:
        return min(max(1, lines - _MOST_LINES + 1), _MOST_MIG_LINES)
    return min(lines, _MOST_DIVIDED_LINES if row.is_divided else _MOST_LINES)


def full_height(rows: Sequence[GpuRow]) -> int:
    """Return the rows of the classic table: two for a GPU, one for a MIG device, and the lines between."""
    count = _FULL_FRAME + len(rows) + sum(not row.device.key.is_mig for row in rows)
    return count + sum(is_separated(above, row) for above, row in zip(rows, rows[1:]))


def least_height_of_full(rows: Sequence[GpuRow]) -> int:
    """Return the minimum height of the main screen with the classic table, which leaves a share to processes."""
    table = full_height(rows) + 1
    return next(
        height
        for height in itertools.count(_WITH_DEVICES)
        if height - max(PROCESS_FRAME + 1, height // _SHARE) >= table
    )


def is_separated(above: GpuRow, row: GpuRow) -> bool:
    """Whether there is a line between two devices, as between any but MIG devices of one GPU."""
    first, second = above.device.key, row.device.key
    return not (first.is_mig and second.is_mig and first.physical_index == second.physical_index)


def stack(panels: Mapping[str, Sequence[tuple[int, int]]], height: int) -> dict[str, int]:
    """Return the rows of each panel, at most ``height`` together; 0 for a panel without room.

    A panel is the numbers of rows that make sense, from low to high, each with a rank before it.
    Panels get their lowest size in the order of rank. Then sizes of the lowest rank are given first, of
    whatever panel, as long as they fit.
    """
    rows = dict.fromkeys(panels, 0)
    left = height
    for name, sizes in sorted(panels.items(), key=lambda panel: panel[1][0][0]):
        least = sizes[0][1]
        if least <= left:
            rows[name] = least
            left -= least
    others = [
        (rank, number, name, size)
        for number, (name, sizes) in enumerate(panels.items())
        if rows[name]
        for rank, size in sizes[1:]
    ]
    for _, _, name, size in sorted(others):
        more = size - rows[name]
        if 0 < more <= left:
            rows[name] = size
            left -= more
    return rows
