# SPDX-License-Identifier: GPL-3.0-only
"""The line above the device panel (clock, badges, keys) and the line of versions in it."""

from __future__ import annotations

from nvitop.gui.layout.device import CLASSIC
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.style import Role, Style
from nvitop.gui.render.width import cell_width, clip, safe
from nvitop.gui.view.format import format_word
from nvitop.gui.view.widgets.box import draw_uprights
from nvitop.gui.view.widgets.text import draw_text
from nvitop.gui.view.widgets.title import Badge, draw_at_right, fit_badges
from nvitop.namedtuple import NamedTuple
from nvitop.sampling.types import Sample
from nvitop.version import __version__

_TITLE = Style(Role.TITLE, bold=True)
_SIMULATED = Style(Role.WARNING, bold=True)
#: Cells of the driver and CUDA versions if even their shortest forms are too long.
_LONGEST_VERSION = 12


class Header(NamedTuple):
    """Contents of the line above the panel, and the version of nvitop."""

    #: Date and time.
    clock: str = ''
    #: States that the user must not forget: a filter, a frozen display.
    badges: tuple[Badge, ...] = ()
    #: Pieces of the hint at the right end of the line, each with its style.
    hint: tuple[tuple[str, Style], ...] = ()
    #: Pieces of the hint above the processes, about signals.
    signal_hint: tuple[tuple[str, Style], ...] = ()
    version: str = __version__.partition('+')[0]


def draw_header(buf: Buffer, y: int, sample: Sample, header: Header) -> None:
    """Draw the line above the panel."""
    clock = header.clock
    name = f'SIMULATED: {safe(sample.simulated)}'
    forms: tuple[str, ...] = (name, 'SIMULATED', 'SIM') if sample.simulated else ()
    machine = 1 + cell_width(name) if sample.simulated else 0
    hint_width = sum(cell_width(text) for text, _ in header.hint)
    badges = [1 + cell_width(badge.forms[0]) for badge in header.badges]
    room = buf.width - sum(badges) - 1 - hint_width
    # The date and the name of the simulated machine yield to badges and keys. That the machine is
    # simulated is shown at every width.
    if cell_width(clock) + machine > room:
        clock = next((part for part in clock.split() if ':' in part), clock)
    while len(forms) > 1 and cell_width(clock) + 1 + cell_width(forms[0]) > room:
        forms = forms[1:]
    simulated = (Badge(forms, _SIMULATED),) if forms else ()
    x = 1 + buf.write(0, y, clock, width=buf.width)
    for text, style in fit_badges((*simulated, *header.badges), buf.width - x + 1):
        x += 1 + buf.write(x, y, text, style)
    # The hint ends where the panel ends, or at the edge of the screen if badges reach further.
    right = buf.width if x + hint_width > CLASSIC else min(buf.width, CLASSIC)
    draw_at_right(buf, y, header.hint, left=x, right=right)


def draw_versions(buf: Buffer, y: int, width: int, sample: Sample, version: str) -> None:
    """Draw the versions of nvitop, driver and CUDA in a box of this width, as fully as they fit."""
    driver, cuda = map(format_word, (sample.driver_version, sample.cuda_driver_version))
    room = width - 4  # a border and a space at each side
    for left, middle, right in (
        (f'NVITOP {version}', f'Driver Version: {driver}', f'CUDA Driver Version: {cuda}'),
        (f'NVITOP {version}', f'Driver: {driver}', f'CUDA: {cuda}'),
        (f'NVITOP {version}', driver, f'CUDA {cuda}'),
        ('NVITOP', clip(driver, _LONGEST_VERSION), clip(f'CUDA {cuda}', _LONGEST_VERSION)),
    ):
        space = room - len(left) - cell_width(middle) - cell_width(right)
        if space >= 2:
            break
    draw_uprights(buf, y, (0,))
    x = 2 + buf.write(2, y, left, _TITLE)
    x += space // 2
    x += draw_text(buf, x, y, middle)
    draw_text(buf, x + space - space // 2, y, right)
    draw_uprights(buf, y, (width - 1,))
