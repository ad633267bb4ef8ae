# SPDX-License-Identifier: GPL-3.0-only
"""The report: the main screen, drawn once in full, and the messages after it."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from nvitop.api import libnvml
from nvitop.api.process.observed import names_above
from nvitop.console.messages import Message
from nvitop.console.options import Options
from nvitop.gui.layout.main import lay_out_page, report_width
from nvitop.gui.layout.process import place_columns
from nvitop.gui.model.choices import MainState, ProcessFilter, ViewState
from nvitop.gui.model.columns import DEFAULT_COLUMNS, column_widths, longest_command
from nvitop.gui.model.format import devices_text, format_timestamp
from nvitop.gui.render.ansi import to_ansi, to_ascii
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.geometry import CLASSIC
from nvitop.gui.render.theme import resolve_theme, theme_named
from nvitop.gui.state.problems import count_problems, problem_lines
from nvitop.gui.state.process_rows import list_processes
from nvitop.gui.view.screens.main import Header, MainView, draw_main
from nvitop.health import findings, is_wrong
from nvitop.sampling.types import Sample

if TYPE_CHECKING:
    from nvitop.sampling.types import DeviceKey

#: A height larger than that of any page.
_ENDLESS = 1 << 30
_VIEW, _ALL, _HEADER = ViewState(), ProcessFilter(), Header()


def view_of(options: Options) -> ViewState:
    """Return how the options draw."""
    view = ViewState(
        mode=options.mode,
        show_host=options.show_host,
        shows_hints=options.hints,
        thresholds=options.thresholds,
        ascii=options.ascii,
        readonly=options.readonly,
    )
    return view if options.columns is None else view._replace(columns=options.columns)


def shows_owner(view: ViewState) -> bool:
    """Whether a report looks up the owners of processes: only if the user chose this column."""
    return 'owner' in view.columns and view.columns != DEFAULT_COLUMNS


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
    sample: Sample,
    options: Options,
    *,
    width: int,
    colors: int,
    mode: str = 'full',
) -> str:
    """Return the report for a terminal of this width as text with ANSI escape sequences.

    ``colors`` is 0 (plain text), 8, 16 or 256.
    """
    theme = resolve_theme(options.theme, os.environ)
    view = view_of(options)._replace(by_load=theme == 'classic')
    header = Header(format_timestamp(sample.timestamp))
    wanted = filter_of(options)
    buffer = draw_report(sample, width, view, wanted=wanted, header=header, mode=mode)
    if options.ascii:
        buffer = to_ascii(buffer)
    return to_ansi(buffer, theme_named(theme), colors)


def draw_report(
    sample: Sample,
    width: int,
    view: ViewState = _VIEW,
    *,
    wanted: ProcessFilter = _ALL,
    header: Header = _HEADER,
    mode: str = 'full',
) -> Buffer:
    """Draw a report for a terminal of this width.

    Devices are drawn in this mode, the host in two lines, and processes in their natural order.
    """
    state = MainState(filter=wanted)
    if wanted != _ALL:
        from nvitop.gui.view.hints import option_badges  # loads much that a report does not show

        header = header._replace(badges=option_badges(wanted))
    view = view._replace(mode=mode)
    width = report_width(width, _longest_row(sample, view), has_devices=bool(sample.devices))
    processes = list_processes(sample.processes, wanted, state.sort)
    layout = lay_out_page(sample, processes, state, view, width, _ENDLESS, is_report=True)
    buf = Buffer(width, layout.page_height)
    arranged = MainView(processes, layout, found=findings(sample))
    draw_main(buf, arranged, sample, state, view, header, is_report=True)
    return buf


def _longest_row(sample: Sample, view: ViewState) -> int:
    """Return the width of the process panel at which no command is cut."""
    places = place_columns(view.columns, CLASSIC, column_widths(sample.processes))
    if not places or places[-1].column.name != 'command':
        return CLASSIC
    return places[-1].x + longest_command(sample.processes) + 2


def warnings_about(sample: Sample, *, driver_responds: bool = True) -> list[Message]:
    """Return problems of a sample as messages; a driver that does not respond is not queried again."""
    messages = [Message('warning', text) for text in _wrong_devices(sample)]
    messages += [Message('warning', text) for text in _failed_queries(sample)]
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


def _wrong_devices(sample: Sample) -> list[str]:
    """Return what is wrong with devices, the same problem of several devices once.

    Single values are left out: they are among the queries that failed.
    """
    gpus = {device.key.physical_index for device in sample.devices if not device.key.is_mig}
    groups: dict[tuple[str, str, str], list[DeviceKey]] = {}
    for finding in filter(is_wrong, findings(sample)):
        if finding.kind in ('implausible', 'unreadable'):
            continue
        if not finding.device.is_mig or finding.device.physical_index not in gpus:
            key = (finding.words, finding.evidence, finding.action)
            groups.setdefault(key, []).append(finding.device)
    return [
        f'{devices_text(devices)}: {words}: {evidence}\n{action}.'
        for (words, evidence, action), devices in groups.items()
    ]


def _failed_queries(sample: Sample) -> list[str]:
    """Return queries that failed, by subject and reason, without those that a device does not support."""
    kinds = ('error', 'impossible')
    failed = [p for p in sample.problems if p.kind in kinds and p.device]
    failed = [p for p in failed if p.what != 'status']  # reported for the device
    names: dict[tuple[str, str], list[str]] = {}
    for line in problem_lines(count_problems((), failed, 0.0)):
        names.setdefault((line.subject, line.reason), []).append(line.what)
    return [f'{subject}: {", ".join(n)}: {reason}' for (subject, reason), n in names.items()]


def explain_no_device(sample: Sample, options: Options) -> str:
    """Explain why a sample has no device, and what to do."""
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
