# SPDX-License-Identifier: GPL-3.0-only
"""How the panels of the main screen share its rows."""

from __future__ import annotations

import itertools
from typing import Mapping, NamedTuple, Sequence

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
#: Minimum share of the screen for processes, on the page of a GPU too, and lines of them before rows
#: of GPUs grow and before the host has histories.
_SHARE, _PAGE_SHARE, _FEWEST, _ENOUGH = 3, 7, 8, 16
#: Minimum number of lines of processes before facts other than what is wrong, on the page of a GPU.
_FEWEST_ON_PAGE = 2
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


class MainRows(NamedTuple):
    """Rows of the panels below the first line, with their borders; 0 if there is no room."""

    devices: int
    host: int
    processes: int
    #: The rows of the device panel, those that share one last.
    folded: Folded = Folded(())
    #: Number of lines of each metric, or of a GPU as in `lines_of`.
    lines: int = 1
    #: Whether there is a line for each metric of the only GPU.
    has_metrics: bool = False
    #: Whether it is the classic table.
    is_full: bool = False
    #: Rows of facts about the only device, on its page.
    facts: int = 0

    @property
    def listed(self) -> int:
        return max(0, self.processes - PROCESS_FRAME)


def main_rows(
    rows: Sequence[GpuRow],
    view: ViewState,
    width: int,
    height: int,
    *,
    is_page: bool = False,
) -> MainRows:
    """Return the rows of the panels on a screen of this size.

    They depend on the devices and on the screen only, so that nothing moves when a process starts.
    """
    room = height - 1
    # The page of a GPU is about its metrics.
    third = max(PROCESS_FRAME + 1, height // (_PAGE_SHARE if is_page else _SHARE))
    fewest = third if is_page else PROCESS_FRAME + _FEWEST
    target = max(third, min(fewest, height // 2))
    if width < NARROWEST or height < _WITH_DEVICES or not rows:
        devices = 0 if rows or height < _WITH_DEVICES else DEVICE_FRAME
        return MainRows(devices, 0, max(0, room - devices), Folded(tuple(rows)))
    most = room - third
    if view.mode == 'full' and width >= CLASSIC and not is_page:
        full = full_height(rows)
        if height >= least_height_of_full(rows):
            host = int(view.show_host and full < most)
            return MainRows(full, host, room - full - host, Folded(tuple(rows)), is_full=True)
    has_one_gpu, status = len(rows) == 1, rows[0].device.status
    is_asleep = has_one_gpu and status == 'asleep'
    has_metrics, folded, fact_rows = False, Folded(tuple(rows)), 0
    if has_one_gpu and status == 'ok' and (is_page or view.mode != 'compact'):
        growing = len(metrics_of(rows[0].device, is_page=is_page))
        has_metrics = DEVICE_FRAME + growing <= most
    if has_metrics:
        least = DEVICE_FRAME + growing
        added = [lines * growing for lines in range(1, _MOST_LINES)]
        if is_page:
            # The host and processes are more important than facts other than what is wrong.
            free = room - least - (view.show_host + PROCESS_FRAME + _FEWEST_ON_PAGE)
            fact_rows = min(_fact_rows(rows[0], width, free), most - least)
            least += fact_rows
    else:
        if DEVICE_FRAME + len(rows) > most:
            folded = fold_free(rows)
        # The only GPU has no headings while it is asleep.
        least = min(most, DEVICE_FRAME + len(folded.rows) + bool(folded.free) - is_asleep)
        is_whole = least == DEVICE_FRAME + len(rows)
        most_lines = _MOST_LINES + _MOST_MIG_LINES - 1
        steps = most_lines if is_whole and view.mode != 'compact' else 1
        added = [sum(lines_of(row, lines) - 1 for row in rows) for lines in range(2, steps + 1)]
    sizes = [(0, least), *((rank, least + more) for rank, more in enumerate(added, 3))]
    # The processes of a GPU that is asleep are few.
    enough = range(third + 1, 0 if is_page or is_asleep else PROCESS_FRAME + _ENOUGH + 1)
    panels = {
        'devices': sizes,
        'processes': [(0, third), (2, target), *((20, n) for n in enough)],
    }
    if view.show_host:
        has_ruler = has_metrics or (width >= _WITH_HISTORIES and not is_asleep)
        high = (_HOST_ROWS,) if has_ruler else _HOST_ROWS_WITH_RULER
        panels['host'] = [(1, 1), *enumerate(high, 25)]
    heights = stack(panels, room)
    return MainRows(
        heights['devices'],
        heights.get('host', 0),
        heights['processes'] + room - sum(heights.values()),  # they take the rest
        folded,
        1 + [size for _, size in sizes].index(heights['devices']),
        has_metrics,
        facts=fact_rows,
    )


def _fact_rows(row: GpuRow, width: int, room: int) -> int:
    """Return the rows of facts on the page of a GPU: all that fit, and at least what is wrong."""
    cells = inside(width).width
    trouble = 1 + len(wrap(row.trouble, cells - FACT_LABEL))
    others = -(-len(facts_of(row.device)) // max(1, cells // FACT_WIDTH))
    return min(trouble + others, max(trouble, room))


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
