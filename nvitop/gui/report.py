# SPDX-License-Identifier: GPL-3.0-only
"""The report: the panels of the main screen with a line for each GPU, and the findings below."""

from __future__ import annotations

import os
import sys
from typing import Sequence

from nvitop.api import libnvml
from nvitop.api.process.observed import names_above
from nvitop.console.messages import Message
from nvitop.console.options import Options
from nvitop.gui.model.choices import ProcessFilter, Sort, ViewState
from nvitop.gui.model.columns import DEFAULT_COLUMNS, empty_columns, shown_columns
from nvitop.gui.model.device_rows import Folded, GpuRow, device_rows, first_line_items
from nvitop.gui.model.format import format_timestamp, format_word
from nvitop.gui.model.main_layout import DEVICE_FRAME, PROCESS_FRAME, MainLayout, full_height
from nvitop.gui.model.table import CLASSIC, NARROWEST
from nvitop.gui.render.ansi import to_ansi, to_ascii
from nvitop.gui.render.buffer import Buffer, Item, fit
from nvitop.gui.render.theme import DIM, PLAIN, TITLE, Pieces, resolve_theme, theme_named
from nvitop.gui.render.width import clip, safe
from nvitop.gui.state.orders import list_processes
from nvitop.gui.state.problems import count_problems, problem_lines
from nvitop.gui.state.process_rows import Line, fold, group_by_job, job_count, list_widths
from nvitop.gui.view.panels.device import DeviceView
from nvitop.gui.view.panels.main import draw_panels
from nvitop.gui.view.panels.process import Limits, ProcessView, title_of
from nvitop.gui.view.report_lines import (
    MOST_WIDTH,
    brief_finding,
    draw_findings,
    draw_head,
    finding_lines,
)
from nvitop.gui.view.text import draw_mono_bars, simulated_badge
from nvitop.health import Finding, findings
from nvitop.health.types import value_words
from nvitop.sampling.types import STATUS, ProcessSample, Sample
from nvitop.version import __version__

_VIEW, _ALL = ViewState(), ProcessFilter()


def view_of(options: Options) -> ViewState:
    view = ViewState(
        mode=options.mode,
        show_host=options.show_host,
        flat=options.flat,
        hints=options.hints,
        ascii=options.ascii,
        readonly=options.readonly,
    )
    return view if options.columns is None else view._replace(columns=options.columns)


def shows_owner(view: ViewState) -> bool:
    """Whether a report looks up the owners of processes: not the classic table, unless the user chose them."""
    chosen = 'owner' in view.columns and view.columns != DEFAULT_COLUMNS
    return chosen or view.mode != 'full'


def filter_of(options: Options) -> ProcessFilter:
    """Return the process filter of the options; a process must match all of their conditions."""
    # An unknown type counts as compute only.
    choices = (
        (options.compute, {'C', 'C+G', 'M'}),
        (options.only_compute, {'C', 'M', None}),
        (options.graphics, {'G', 'C+G'}),
        (options.only_graphics, {'G'}),
    )
    chosen: list[frozenset[str | None]] = [frozenset(types) for is_on, types in choices if is_on]
    return ProcessFilter(
        users=None if options.users is None else frozenset(options.users),
        pids=None if options.pids is None else frozenset(options.pids),
        types=frozenset.intersection(*chosen) if chosen else None,
    )


def report_text(
    sample: Sample, options: Options, *, width: int, colors: int, height: int = 0
) -> str:
    """Return the report for a terminal of this size as text with ANSI escape sequences.

    ``colors`` is 0 (plain text), 8, 16 or 256; a ``height`` of 0 means that there is no terminal.
    """
    theme = resolve_theme(options.theme, os.environ)
    buffer = draw_report(sample, width, view_of(options), wanted=filter_of(options), height=height)
    if colors < 16:
        draw_mono_bars(buffer)
    if options.ascii:
        buffer = to_ascii(buffer)
    return to_ansi(buffer, theme_named(theme), colors)


def draw_report(
    sample: Sample,
    width: int,
    view: ViewState = _VIEW,
    *,
    wanted: ProcessFilter = _ALL,
    version: str = __version__.partition('+')[0],
    height: int = 0,
) -> Buffer:
    """Draw a report: which GPUs are free, a line for each GPU, all processes by job, findings.

    It is cut to the height of a terminal as :func:`_fit_to_height` says, but never below a line for each
    job and each finding.
    """
    width = max(NARROWEST, min(width, MOST_WIDTH))
    reported = findings(sample)
    rows = device_rows(sample, reported)
    processes = list_processes(sample.processes, wanted, Sort())
    is_full = view.mode == 'full' and width >= CLASSIC and bool(rows)
    jobs = group_by_job(processes, Sort())
    blocks = [(Line(process),) for process in processes] if is_full or view.flat else jobs
    devices = full_height(rows) if is_full else DEVICE_FRAME + len(rows)
    found, room = _finding_lines(reported, width), sys.maxsize
    if height:  # a line remains for the prompt of the shell
        room = height - 1 - devices - int(view.show_host) - PROCESS_FRAME
    most = room - len(blocks) - len(found)
    tops, footer = _top_lines(sample, _answer(rows, width - 2), version, width, most)
    notes, lines = _fit_to_height(found, blocks, room - len(tops))
    panels = MainLayout(
        devices,
        int(view.show_host),
        PROCESS_FRAME + max(1, len(lines)),
        Folded(rows),
        form='full' if is_full else 'rows',
    )
    bottom = len(tops) + panels.devices + panels.host + panels.processes
    buf = Buffer(width, bottom + len(notes))
    draw_head(buf, tops)
    listed = ProcessView(
        lines,
        columns=shown_columns(view.columns, _empty_columns(view, processes)),
        widths=list_widths(sample.processes, jobs),
        total=len(sample.processes) if sample.sequence else None,
        processes=len(processes),
        title=title_of(f'Processes: {len(processes)}', len(processes), job_count(blocks)),
        limits=Limits(wanted),
    )
    draw_panels(buf, panels, sample, DeviceView(sample), listed, len(tops))
    buf.write(3, bottom - 1, clip(footer, width - 6), DIM)
    draw_findings(buf, bottom, notes)
    return buf


def _fit_to_height(
    found: Sequence[tuple[list[Pieces], list[Pieces]]],
    blocks: Sequence[Sequence[Line]],
    room: int,
) -> tuple[list[Pieces], tuple[Line, ...]]:
    """Return the lines of findings and of processes for a number of lines.

    Each finding and each job has one. Those that remain are for whole findings, the first ones first,
    then for the processes of jobs. If there are too few, the report scrolls, and findings are whole.
    """
    spare = room - len(blocks) - len(found)
    scrolls = spare < 0
    notes: list[Pieces] = []
    for whole, brief in found:
        chosen = whole if scrolls or len(whole) - 1 <= spare else brief
        notes += chosen
        spare -= len(chosen) - 1
    return notes, fold(blocks, len(blocks) + spare)


def _empty_columns(view: ViewState, processes: Sequence[ProcessSample]) -> set[str]:
    empty = empty_columns(processes)
    if not shows_owner(view):  # which are not looked up
        empty.add('owner')
    if not any(process.gpu_idle_seconds for process in processes):
        empty.add('idle')  # one sample shows no idle times
    return empty


def _answer(rows: Sequence[GpuRow], room: int) -> list[Item]:
    """Return which GPUs are free, who has the others, and, if there is room, what is wrong."""
    items = list(first_line_items(rows))
    if fit(items, room, 2) != [item.forms[0] for item in items]:
        # What is wrong is below in full: who uses what comes first.
        items = [item._replace(forms=item.forms[1:]) if item.key else item for item in items]
    return items


def _top_lines(
    sample: Sample, answer: list[Item], version: str, width: int, most: int
) -> tuple[list[list[Item]], str]:
    """Return the lines above the frame; if these are too many, the time for its border instead."""
    # The names that scripts look for.
    driver, cuda = map(format_word, (sample.driver_version, sample.cuda_driver_version))
    versions = [
        Item((f'NVITOP {version}',), TITLE, 0),
        Item((f'Driver Version: {driver}',), PLAIN, 0),
        Item((f'CUDA Driver Version: {cuda}',), PLAIN, 0),
    ]
    badge = [simulated_badge(width)] if sample.simulated else []
    stamp = _stamp(sample)
    whole, brief = (
        [line for line in (answer, *_heads(versions, others, width - 2)) if line]
        for others in ([*badge, *stamp], badge)
    )
    if len(brief) < len(whole) and len(whole) > most:
        return brief, f' {" · ".join(item.forms[0] for item in stamp)} '
    return whole, ''


def _heads(versions: list[Item], others: list[Item], room: int) -> list[list[Item]]:
    """Return the lines of the versions, which are never left out, and of the badge and the time."""
    if all(fit([*versions, *others], room, 2)):
        return [[*versions, *others]]
    return [*([versions] if all(fit(versions, room, 2)) else [[v] for v in versions]), others]


def _stamp(sample: Sample) -> list[Item]:
    name = '@'.join(filter(None, (safe(sample.host.username), safe(sample.host.hostname))))
    texts = (format_timestamp(sample.timestamp), name)
    return [Item((text,), DIM, 2) for text in texts if text]


def _finding_lines(
    reported: Sequence[Finding], width: int
) -> list[tuple[list[Pieces], list[Pieces]]]:
    """Return the lines of what is wrong with devices as on the problems screen, each with a brief line."""
    gpus = {finding.device.physical_index for finding in reported if not finding.device.is_mig}
    parts = [
        finding
        for finding in reported
        if not finding.device.is_mig or finding.device.physical_index not in gpus
    ]
    lines = []
    for line in problem_lines(count_problems((), (), 0.0, parts)):
        what, reason, action = (
            f'{line.where}: {safe(line.what)}',
            safe(line.reason),
            safe(line.action),
        )
        severity, text = line.severity or '', f'{what}: {reason}' if reason else what
        whole = finding_lines(severity, text, action, width)
        lines.append((whole, brief_finding(severity, what, reason, action, width)))
    return lines


def warnings_about(sample: Sample, *, driver_responds: bool = True) -> list[Message]:
    """Return problems of a sample as messages; a driver that does not respond is not queried again."""
    messages = [Message('warning', text) for text in _failed_queries(sample)]
    if any(process.status == 'foreign' for process in sample.processes):
        text = (
            'some processes belong to another PID namespace, so only their PIDs are known\n'
            'In a container, start it with --pid=host.'
        )
        messages.append(Message('hint', text))
    missing = libnvml.missing_functions_report() if driver_responds else ''
    reports = (missing, libnvml.explain_binding())
    messages += [Message('warning', text) for text in reports if text]
    if is_watched():
        text = 'run nvitop without watch: the monitor refreshes itself'
        messages.append(Message('error', text))
    return messages


def is_watched() -> bool:
    """Whether ``watch`` runs this process, directly (-x) or through a shell."""
    if sys.stdout.isatty():
        return False
    parent, above = (*names_above(2), '', '')[:2]
    return 'watch' in (parent, above if parent in ('sh', 'bash', 'dash', 'zsh') else '')


def _failed_queries(sample: Sample) -> list[str]:
    """Return queries that failed and that no finding of the report explains, by subject and reason."""
    names: dict[tuple[str, str], list[str]] = {}
    for line in problem_lines(count_problems((), sample.problems, 0.0, findings(sample))):
        is_value = line.severity is None and line.device and line.what != STATUS
        if is_value and line.kind in ('error', 'impossible'):
            names.setdefault((line.where, line.reason), []).append(value_words(line.what))
    return [f'{subject}: {", ".join(n)}: {reason}' for (subject, reason), n in names.items()]


def explain_no_device(sample: Sample, options: Options) -> str:
    reasons = [
        problem.reason
        for problem in sample.problems
        if problem.subject == 'driver' and problem.is_failure
    ]
    if reasons:
        return f'no GPU can be read: {reasons[0]}\n{libnvml.advise_on_failure()}'
    if options.only_visible and options.only is None:
        value = os.environ.get('CUDA_VISIBLE_DEVICES', '')
        return (
            f'CUDA_VISIBLE_DEVICES is {value!r}, which names no GPU of this machine\n'
            'Omit --only-visible to show all GPUs.'
        )
    return (
        'no GPU found: the driver works but reports none\n'
        'Check whether the system sees the card (lspci -d 10de:), and whether a container was '
        'started with --gpus all.'
    )
