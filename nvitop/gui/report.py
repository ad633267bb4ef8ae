# SPDX-License-Identifier: GPL-3.0-only
"""The report as text: what ``nvitop -1`` prints, and what the monitor leaves on the screen."""

from __future__ import annotations

from nvitop.console.options import Options
from nvitop.gui.model.choices import ProcessFilter, ViewState
from nvitop.gui.render.ansi import to_ansi
from nvitop.gui.render.ascii import to_ascii, to_halves
from nvitop.gui.render.theme import theme_named
from nvitop.gui.state.ordering import (
    COMPUTE,
    GRAPHICS,
    ONLY_COMPUTE,
    ONLY_GRAPHICS,
    intersect_types,
)
from nvitop.gui.view.format import format_timestamp
from nvitop.gui.view.panels.device import Header
from nvitop.gui.view.screens.report import draw_report
from nvitop.sampling.types import Sample


def view_of(options: Options, *, halves: bool = False) -> ViewState:
    """How the options say that things are drawn; ``halves``: for a terminal with no finer blocks."""
    view = ViewState(
        mode=options.mode,
        show_host=options.show_host,
        thresholds=options.thresholds,
        colorful=options.colorful,
        ascii=options.ascii,
        halves=halves,
        readonly=options.readonly,
    )
    return view if options.columns is None else view._replace(columns=options.columns)


def filter_of(options: Options) -> ProcessFilter:
    """Which processes the options let through; all conditions must hold."""
    types = intersect_types(
        COMPUTE if options.compute else None,
        ONLY_COMPUTE if options.only_compute else None,
        GRAPHICS if options.graphics else None,
        ONLY_GRAPHICS if options.only_graphics else None,
    )
    return ProcessFilter(
        users=None if options.users is None else frozenset(options.users),
        pids=None if options.pids is None else frozenset(options.pids),
        types=types,
    )


def report_text(
    sample: Sample, options: Options, *, width: int, colors: int, halves: bool = False
) -> str:
    """The report for a terminal of this width with so many colours (0: plain text), and with no
    finer blocks than ``halves``."""
    view = view_of(options, halves=halves)._replace(colorful=options.colorful and colors >= 256)
    header = Header(format_timestamp(sample.timestamp))
    buffer = draw_report(sample, width, view, wanted=filter_of(options), header=header)
    if options.ascii:
        buffer = to_ascii(buffer)
    elif view.halves:
        buffer = to_halves(buffer)
    return to_ansi(buffer, theme_named(options.theme), colors)
