# SPDX-License-Identifier: GPL-3.0-only
"""State of a row of the device panel in addition to the values of its device."""

from __future__ import annotations

from nvitop.gui.render.style import Role, Style
from nvitop.gui.render.width import cell_width
from nvitop.health import Finding, is_wrong
from nvitop.namedtuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nvitop.gui.view.widgets.sparkline import Sparkline


class RowState(NamedTuple):
    """Marks of a row, its selection, and its sparkline."""

    #: The most severe finding about the device.
    finding: Finding | None = None
    #: Whether no process uses the device.
    is_idle: bool = False
    #: Whether the device is selected, and whether the selected process runs on it.
    is_selected: bool = False
    is_marked: bool = False
    #: The last minutes: pieces and the percentage of their color.
    sparkline: Sparkline = ()

    @property
    def is_wrong(self) -> bool:
        """Whether something is wrong with the device."""
        return self.finding is not None and is_wrong(self.finding)

    @property
    def mark_style(self) -> Style:
        """Style of the mark of the finding."""
        return Style(Role.ERROR, bold=True) if self.is_wrong else Style(Role.DIM)

    def advice(self, room: int) -> str:
        """Return what to do, or its first sentence, after a separator; ``''`` if there is no room."""
        action = '' if self.finding is None else self.finding.action
        forms = (f' · {text}' for text in (action, action.partition('. ')[0]) if text)
        return next((form for form in forms if cell_width(form) <= room), '')
