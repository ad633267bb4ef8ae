# SPDX-License-Identifier: GPL-3.0-only
"""How the panels of the main screen share its rows."""

from __future__ import annotations

import itertools
from typing import Literal, Mapping, NamedTuple, Sequence

from nvitop.basics.metrics import Metric
from nvitop.gui.model.choices import ViewState
from nvitop.gui.model.device_columns import FactLine, fact_lines, metrics_of
from nvitop.gui.model.device_rows import Folded, GpuRow, fold_free
from nvitop.gui.model.table import CLASSIC, NARROWEST, inside

#: Minimum height of the main screen.
LOWEST = 6
#: Rows of the panel of processes above and below its lines.
PROCESS_MARGINS = 2, 1
#: Rows of a panel of devices and of processes around their lines: borders and headings.
DEVICE_FRAME, PROCESS_FRAME = 2, sum(PROCESS_MARGINS)
#: Rows of the classic table around its devices: the title, two headings, and the line below them.
_FULL_FRAME = 4
#: Minimum height of a screen with a panel of devices.
_WITH_DEVICES = 9
#: Minimum share of the screen for processes, and lines of them before rows of GPUs grow and before
#: the host has histories; minimum number of lines of them, and of facts, on the page of a GPU.
_SHARE, _FEWEST, _ENOUGH, _FEWEST_ON_PAGE, _FEWEST_FACTS = 3, 8, 16, 2, 3
#: Maximum number of lines of a GPU, or of a metric if a single GPU has a line for each; of a GPU with
#: MIG devices, which have the users and the memory; of a MIG device, once all GPUs have theirs.
MOST_LINES, _MOST_DIVIDED_LINES, _MOST_MIG_LINES = 6, 3, 2
#: Rows of the host if there is room: its line, and the histories of its CPU and memory; those with a
#: ruler of its own, below devices without one.
_HOST_ROWS, _HOST_ROWS_WITH_RULER = 3, range(4, 14, 2)
#: Minimum width of the screen for histories of devices.
_WITH_HISTORIES = 55

#: What has room first: the least of each panel, more rows of some, at last one more line of some metrics.
_LEAST, _HOST, _SOME_PROCESSES, _DEVICES, _PROCESSES, _HISTORIES, _UNEVEN = range(7)

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
    #: Minimum number of lines of each metric, or of a GPU as in `lines_of`.
    lines: int = 1
    #: Whether the first metrics have one more line.
    is_uneven: bool = False
    #: What the device panel shows.
    form: DeviceForm = 'rows'
    #: The metrics of the only device that have lines.
    metrics: tuple[Metric, ...] = ()
    #: The lines of facts about the device of a page, and the rows for them with their title.
    facts: tuple[FactLine, ...] = ()
    fact_rows: int = 0

    @property
    def listed(self) -> int:
        return max(0, self.processes - PROCESS_FRAME)

    def margins(self, height: int) -> tuple[int, int]:
        """Return the rows above and below the lines of processes on a screen of this height."""
        above, below = PROCESS_MARGINS
        return height - self.processes + above, below

    @property
    def hidden_facts(self) -> int:
        """The number of lines of facts that the page scrolls to."""
        return len(self.facts) - (self.fact_rows - 1) if self.fact_rows else 0


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
    choices_of = _page_choices if is_page else _device_choices
    choices = choices_of(rows, view, width, room - fewest)
    form = choices[0].form
    some, enough = min(PROCESS_FRAME + _FEWEST, height // 2), PROCESS_FRAME + _ENOUGH
    if is_page or form == 'sentence':  # there are few processes
        some = enough = fewest
    more = [(_PROCESSES, size) for size in range(fewest, enough + 1)]
    panels = {
        'devices': [
            (_UNEVEN if each.is_uneven else _DEVICES if number else _LEAST, each.devices)
            for number, each in enumerate(choices)
        ],
        'processes': [(_LEAST, fewest), (_SOME_PROCESSES, some), *more],
    }
    if view.show_host:
        has_ruler = form == 'metrics' or (form == 'rows' and width >= _WITH_HISTORIES)
        high = [_HOST_ROWS] if has_ruler else [*_HOST_ROWS_WITH_RULER]
        panels['host'] = [(_HOST, 1), *((_HISTORIES, size) for size in high)]
    sizes = stack(panels, room)
    chosen = choices[sizes['devices']]
    host = panels['host'][sizes['host']][1] if 'host' in sizes else 0
    return chosen._replace(host=host, processes=room - chosen.devices - host)


def _page_choices(
    rows: Sequence[GpuRow], view: ViewState, width: int, most: int
) -> list[MainLayout]:
    """Return what the page of a GPU can show above its facts, first with some of them, then with all."""
    facts = tuple(fact_lines(rows, inside(width).width))  # after their title
    sizes = range(1 + min(_FEWEST_FACTS, len(facts)), len(facts) + 2)
    view = view._replace(mode='auto')  # the page has one layout
    if most - sizes[0] <= DEVICE_FRAME:
        return _device_choices(rows, view, width, most, is_page=True)
    least, *others = _device_choices(rows, view, width, most - sizes[0], is_page=True)
    low = [(least, size) for size in sizes]
    return [
        each._replace(devices=each.devices + size, facts=facts, fact_rows=size)
        for each, size in (*low, *((each, sizes[-1]) for each in others))
    ]


def _device_choices(
    rows: Sequence[GpuRow], view: ViewState, width: int, most: int, *, is_page: bool = False
) -> list[MainLayout]:
    """Return what the device panel can show, from low to high, with ``most`` rows at most."""
    whole = Folded(tuple(rows))
    status = rows[0].device.status if len(rows) == 1 else ''
    if not rows or status == 'asleep':
        return [MainLayout(DEVICE_FRAME, folded=whole, form='sentence')]
    if view.mode == 'full' and width >= CLASSIC and full_height(rows) <= most:
        return [MainLayout(full_height(rows), folded=whole, form='full')]
    if is_page and status not in ('', 'ok'):  # the facts below say why
        return [MainLayout(DEVICE_FRAME, folded=whole, form='metrics')]
    if status == 'ok' and view.mode != 'compact':
        choices = _metric_choices(rows[0], is_page=is_page)
        if choices and choices[0].devices <= most:
            return choices
    if DEVICE_FRAME + len(rows) > most:
        folded = fold_free(rows)
        least = DEVICE_FRAME + len(folded.rows) + bool(folded.free)
        return [MainLayout(min(most, least), folded=folded)]
    most_lines = 1 if view.mode == 'compact' else MOST_LINES + _MOST_MIG_LINES - 1
    return [
        MainLayout(
            DEVICE_FRAME + sum(lines_of(row, lines) for row in rows), folded=whole, lines=lines
        )
        for lines in range(1, most_lines + 1)
    ]


def _metric_choices(row: GpuRow, *, is_page: bool) -> list[MainLayout]:
    """Return how high the lines of metrics can be: the first ones have one more if there is room."""
    metrics = metrics_of(row.device, is_page=is_page)
    if not metrics:
        return []
    count = len(metrics)
    # On a low page, what is sent yields to facts; else it mirrors what is received, equally high.
    few = tuple(metric for metric in metrics if not metric.mirrors)
    sizes = range(count, MOST_LINES * count + 1)
    return [
        MainLayout(
            DEVICE_FRAME + size,
            folded=Folded((row,)),
            lines=size // len(shown),
            is_uneven=size % len(shown) > 0,
            form='metrics',
            metrics=shown,
        )
        for shown, size in ((few, len(few)), *((metrics, size) for size in sizes))
        if not shown[size % len(shown)].mirrors
    ]


def lines_of(row: GpuRow, lines: int) -> int:
    """Return the number of lines of a device where those of a GPU would be ``lines`` without a limit."""
    if row.device.status == 'asleep':
        return 1
    if row.device.key.is_mig:
        return min(max(1, lines - MOST_LINES + 1), _MOST_MIG_LINES)
    return min(lines, _MOST_DIVIDED_LINES if row.is_divided else MOST_LINES)


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
    """Return the number of the size of each panel that has room, at most ``height`` rows together.

    A panel is the numbers of rows that make sense, from low to high, each with a rank before it.
    Panels get their lowest size in the order of rank. Then sizes of the lowest rank are given first, of
    whatever panel, as long as they fit.
    """
    chosen: dict[str, int] = {}
    for name, sizes in sorted(panels.items(), key=lambda panel: panel[1][0][0]):
        least = sizes[0][1]
        if least <= height:
            chosen[name] = 0
            height -= least
    others = [
        (rank, number, at, name)
        for number, (name, sizes) in enumerate(panels.items())
        if name in chosen
        for at, (rank, _) in enumerate(sizes[1:], 1)
    ]
    for _, _, at, name in sorted(others):
        more = panels[name][at][1] - panels[name][chosen[name]][1]
        if 0 < more <= height:
            chosen[name] = at
            height -= more
    return chosen
