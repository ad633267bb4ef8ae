"""Rows that are cached from one frame to the next."""

from __future__ import annotations

from nvitop.gui.layout.main import lay_out_main
from nvitop.gui.view.charts import plot_rows
from nvitop.gui.view.panels.process import process_row
from nvitop.gui.view.screens.main import drawn_before


def clear_row_caches() -> None:
    """Clear the caches, so that the next frame is drawn from scratch."""
    for cached in (process_row, lay_out_main, plot_rows):
        cached.cache_clear()
    drawn_before.clear()
