"""Draw pictures of the real screens for the documentation: ``make pictures``.

Each picture is a frame of ``draw_frame`` with a sample of the demo, as SVG. A test fails if one is out of date.
"""

from __future__ import annotations

import functools
import itertools
import os
import pathlib
import re
import time
from typing import Iterator, NamedTuple
from xml.sax.saxutils import escape

from docs.demo import NOW, demo
from nvitop.console.options import Options
from nvitop.fleet.demo import DemoSource
from nvitop.gui.fleet.command import state_of
from nvitop.gui.fleet.data import FleetState
from nvitop.gui.fleet.state import update_fleet
from nvitop.gui.model.choices import ViewState
from nvitop.gui.monitor_screens import MONITOR
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.theme import DEFAULT, Look, Theme, theme_named
from nvitop.gui.render.width import cell_width
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.events import Event, FleetArrived, KeyPressed, SampleArrived
from nvitop.gui.state.update import update
from nvitop.gui.view.frame import draw_frame
from nvitop.sampling.history import History
from nvitop.sampling.types import Sample
from nvitop.version import __version__

FOLDER = pathlib.Path(__file__).parent / 'images'
CELL_WIDTH, CELL_HEIGHT, MARGIN = 8, 16, 8
#: Font size at which most fonts are as wide as a cell, and the baseline within a cell.
FONT_SIZE, BASELINE = 13.29, 12
FOREGROUND, BACKGROUND = '#d0d0d0', '#16181d'
#: The 16 basic colors.
BASIC = '000000 cd3131 0dbc79 d7ba2e 3b8eea c264c8 29b8db e5e5e5 666666 f14c4c 23d18b f5f543 3b8eea d670d6 29b8db ffffff'


class Picture(NamedTuple):
    """Size of a screen, and the keys that lead to it."""

    width: int
    height: int
    keys: str = ''


PICTURES = {
    'main': Picture(120, 34),
    'full': Picture(132, 46, 'f H'),
    'narrow': Picture(60, 24),
    'page': Picture(132, 40, 'Tab Enter'),
    'tree': Picture(110, 19, 't Down Down Down'),
    'metrics': Picture(123, 30, 'Down Enter'),
}


def color_of(number: int) -> str:
    """Return the SVG color for a color of a look."""
    if number < 16:
        return f'#{BASIC.split()[number]}'
    if number >= 232:
        return '#' + f'{8 + 10 * (number - 232):02x}' * 3
    levels = (0, 95, 135, 175, 215, 255)
    number -= 16
    return '#' + ''.join(
        f'{levels[part]:02x}' for part in (number // 36, number // 6 % 6, number % 6)
    )


class Paint(NamedTuple):
    """SVG colors and attributes of a text; ``back`` is ``''`` without a background."""

    front: str
    back: str
    opacity: str
    attributes: str


def paint_of(look: Look) -> Paint:
    """Return the SVG colors and attributes of a look."""
    front = FOREGROUND if look.foreground == DEFAULT else color_of(look.foreground)
    back = '' if look.background == DEFAULT else color_of(look.background)
    if look.reverse:
        front, back = back or BACKGROUND, front
    attributes = ''
    if look.bold:
        attributes += ' font-weight="bold"'
    if look.italic:
        attributes += ' font-style="italic"'
    if look.underline:
        attributes += ' text-decoration="underline"'
    return Paint(front, back, ' opacity="0.6"' if look.dim else '', attributes)


class Canvas:
    """SVG picture of terminal cells. Lines, blocks and dots are shapes, so fonts need not have them."""

    def __init__(self) -> None:
        self.backgrounds: list[str] = []
        self.texts: list[str] = []
        #: Color and opacity → pieces of a filled path.
        self.shapes: dict[tuple[str, str], list[str]] = {}
        #: Color, opacity and column of dots → first and last row of each run of dots.
        self.dots: dict[tuple[str, str, int], list[list[int]]] = {}

    def write(self, x: int, y: int, text: str, paint: Paint) -> None:
        """Add a span of a row."""
        left, top = MARGIN + x * CELL_WIDTH, MARGIN + y * CELL_HEIGHT
        cells = cell_width(text)
        if paint.back:
            self.backgrounds.append(
                f'<rect x="{left}" y="{top}" width="{cells * CELL_WIDTH}" '
                f'height="{CELL_HEIGHT}" fill="{paint.back}"/>'
            )
        for match in re.finditer(_SHAPES, text):
            column = x + cell_width(text[: match.start()])
            for char, run in itertools.groupby(match.group()):
                count = len(list(run))
                repeated = count if char in _ENDLESS else 1
                for i in range(0, count, repeated):
                    self._shape(column + i, y, char, paint, repeated)
                column += count
        for match in re.finditer(f'[^ {_SHAPES[1:-2]}]+( [^ {_SHAPES[1:-2]}]+)*', text):
            start = left + cell_width(text[: match.start()]) * CELL_WIDTH
            self.texts.append(
                f'<text x="{start}" y="{top + BASELINE}" fill="{paint.front}"{paint.opacity}'
                f'{paint.attributes} textLength="{cell_width(match.group()) * CELL_WIDTH}">'
                f'{escape(match.group())}</text>'
            )

    def _shape(self, x: int, y: int, char: str, paint: Paint, repeated: int) -> None:
        left, top = MARGIN + x * CELL_WIDTH, MARGIN + y * CELL_HEIGHT
        if '\u2800' <= char <= '\u28ff':
            self._braille(x, y, ord(char) - 0x2800, paint)
            return
        for dx, dy, width, height in _rectangles(char):
            pieces = self.shapes.setdefault((paint.front, paint.opacity), [])
            pieces.append(
                f'M{left + dx} {top + dy}h{width * repeated}v{height}h-{width * repeated}z'
            )

    def _braille(self, x: int, y: int, bits: int, paint: Paint) -> None:
        for side, order in ((0, (0x01, 0x02, 0x04, 0x40)), (1, (0x08, 0x10, 0x20, 0x80))):
            for i, bit in enumerate(order):
                if bits & bit:
                    runs = self.dots.setdefault((paint.front, paint.opacity, 2 * x + side), [])
                    row = 4 * y + i
                    if runs and runs[-1][1] == row - 1:
                        runs[-1][1] = row
                    else:
                        runs.append([row, row])

    def svg(self, columns: int, rows: int) -> str:
        """Return the whole picture."""
        width, height = columns * CELL_WIDTH + 2 * MARGIN, rows * CELL_HEIGHT + 2 * MARGIN
        return '\n'.join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {FONT}>',
                f'<rect width="100%" height="100%" rx="6" fill="{BACKGROUND}"/>',
                *self.parts(),
                '</svg>',
                '',
            ]
        )

    def parts(self) -> list[str]:
        """Return what was written, as elements of a picture."""
        paths = [
            f'<path fill="{front}"{opacity} d="{"".join(pieces)}"/>'
            for (front, opacity), pieces in self.shapes.items()
        ]
        return [*self.backgrounds, *paths, *self._dashes(), *self.texts]

    def _dashes(self) -> Iterator[str]:
        """Yield the dots: columns of the same height next to each other are one dashed line."""
        columns: dict[tuple[str, str, int, int], list[int]] = {}
        for (front, opacity, column), runs in self.dots.items():
            for first, last in runs:
                columns.setdefault((front, opacity, first, last), []).append(column)
        lines: dict[tuple[str, str, int], list[str]] = {}
        pitch, step = CELL_WIDTH // 2, CELL_HEIGHT // 4
        for (front, opacity, first, last), numbers in columns.items():
            pieces = lines.setdefault((front, opacity, (last + 1 - first) * step), [])
            middle = MARGIN + (first + last + 1) * step // 2
            for _, run in itertools.groupby(
                enumerate(sorted(numbers)), lambda pair: pair[1] - pair[0]
            ):
                positions = [column for _, column in run]
                left, width = MARGIN + positions[0] * pitch, len(positions) * pitch - 1
                pieces.append(f'M{left} {middle}h{width}')
        for (front, opacity, height), pieces in lines.items():
            yield (
                f'<path stroke="{front}"{opacity} stroke-width="{height}" stroke-dasharray="3 1" '
                f'd="{"".join(pieces)}"/>'
            )


def _rectangles(char: str) -> list[tuple[int, int, int, int]]:
    """Return the rectangles of a line or block: left, top, width and height within its cell."""
    if char in _BLOCKS:
        return [(0, 0, CELL_WIDTH * (8 - _BLOCKS.index(char)) // 8, CELL_HEIGHT)]
    if char in _LEVELS:
        height = CELL_HEIGHT * (1 + _LEVELS.index(char)) // 8
        return [(0, CELL_HEIGHT - height, CELL_WIDTH, height)]
    if char == '■':
        return [(0, CELL_HEIGHT // 4, CELL_WIDTH, CELL_HEIGHT // 2)]
    if char == '░':
        step = range(0, CELL_HEIGHT, 4)
        return [(dx, dy, 1, 1) for dy in step for dx in range(dy % 8 // 2, CELL_WIDTH, 4)]
    middle_x, middle_y = CELL_WIDTH // 2, CELL_HEIGHT // 2
    left, right, up, down = (char in ends for ends in (_LEFT, _RIGHT, _UP, _DOWN))
    start, end = 0 if left else middle_x, CELL_WIDTH if right else middle_x + 1
    pieces = [(start, middle_y, end - start, 1)] if left or right else []
    top, bottom = 0 if up else middle_y, CELL_HEIGHT if down else middle_y + 1
    return pieces + ([(middle_x, top, 1, bottom - top)] if up or down else [])


#: Characters whose runs are drawn as one shape.
_ENDLESS = '─█■▁▂▃▄▅▆▇'
_BLOCKS, _LEVELS = '█▉▊▋▌▍▎▏', '▁▂▃▄▅▆▇'
FONT = (
    f'font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="{FONT_SIZE}" '
    'xml:space="preserve"'
)
_LEFT, _RIGHT = '─╮╯┤┬┴┼╴', '─╭╰├┬┴┼╶'
_UP, _DOWN = '│╰╯├┤┴┼', '│╭╮├┤┬┼'
_SHAPES = f'[{_BLOCKS}{_LEVELS}{_LEFT}{_RIGHT}{_UP}{_DOWN}■░\u2800-\u28ff]+'


def to_svg(buffer: Buffer, theme: Theme) -> str:
    """Return a screen as an SVG picture."""
    canvas = Canvas()
    for y in range(buffer.height):
        for x, text, style in buffer.row(y):
            canvas.write(x, y, text, paint_of(theme.look(style, 256)))
    return canvas.svg(buffer.width, buffer.height)


def draw(picture: Picture) -> Buffer:
    """Return the screen of a picture."""
    sample, history = measured()
    view, now = ViewState(), sample.timestamp
    state = AppState(
        MONITOR, picture.width, picture.height, timestamp=now, version=__version__, view=view
    )
    events: list[Event] = [SampleArrived(sample), *map(KeyPressed, picture.keys.split())]
    for event in events:
        state, _ = update(state, event)
    return draw_frame(state, history)


@functools.lru_cache(maxsize=1)
def measured() -> tuple[Sample, History]:
    """Return the newest sample of the demo, and its history."""
    with demo() as shown:
        return shown.sample, shown.history


def draw_fleet_picture() -> Buffer:
    """Return the list of hosts of a simulated cluster."""
    fleet = DemoSource(40, lambda: NOW).read()
    state = state_of(FleetState(server='prometheus:9090'), Options())
    state = state._replace(width=110, height=30, timestamp=NOW)
    return draw_frame(update_fleet(state, FleetArrived(fleet, 5.0))[0], History())


def drawings() -> dict[str, str]:
    """Return the pictures by their names."""
    screens = {name: draw(picture) for name, picture in PICTURES.items()}
    screens['fleet'] = draw_fleet_picture()
    return {name: to_svg(screen, theme_named('dark')) for name, screen in screens.items()}


def main() -> None:
    """Write all pictures."""
    os.environ['TZ'] = 'UTC'
    time.tzset()
    FOLDER.mkdir(exist_ok=True)
    for name, text in drawings().items():
        (FOLDER / f'{name}.svg').write_text(text, encoding='utf-8')


if __name__ == '__main__':
    main()
