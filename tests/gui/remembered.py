"""Rows of the screen that are remembered from one frame to the next."""

from __future__ import annotations

from nvitop.gui.layout.main import lay_out_main
from nvitop.gui.view.panels import device, process
from nvitop.gui.view.widgets.box import rule


def forget_rows() -> None:
    """Have the next frame made anew."""
    for cached in (process._row, device._rows, lay_out_main, rule):
        cached.cache_clear()
