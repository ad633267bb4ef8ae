"""Draw a moving picture of the monitor for the README: ``make pictures``.

It is an SVG whose frames are shown in turn, with a caption below them. Each different row of text is
stored once. A program that draws SVG without animation shows the first frame.
"""

from __future__ import annotations

import os
import time
from typing import Iterator, NamedTuple
from xml.sax.saxutils import escape

from docs.demo import Demo, demo
from docs.pictures import (
    BACKGROUND,
    CELL_HEIGHT,
    CELL_WIDTH,
    FOLDER,
    FONT,
    MARGIN,
    Canvas,
    paint_of,
)
from nvitop.gui.model.choices import ViewState
from nvitop.gui.monitor_screens import MONITOR
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.theme import theme_named
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.events import Event, KeyPressed, SampleArrived
from nvitop.gui.state.update import update
from nvitop.gui.view.frame import draw_frame
from nvitop.version import __version__

FILE = FOLDER / 'demo.svg'
WIDTH, HEIGHT = 110, 36
#: Duration (seconds) of a frame.
FRAME_SECONDS = 1.5
#: Height of the caption below the screen.
CAPTION_HEIGHT, CAPTION_COLOR = 28, '#e5c07b'


class Step(NamedTuple):
    """Keys that the user presses, their caption, and the number of frames until the next step."""

    keys: str
    caption: str
    frames: int


STEPS = (
    Step('', '$ nvitop --demo', 3),
    Step('Down Down Down Down', 'Down: select a process', 2),
    Step('Enter', 'Enter: graphs of the selected process', 3),
    Step('q Escape U', 'U: usage by user', 2),
    Step('q t', 't: process tree', 2),
    Step('q !', '!: problems, and why values are missing', 2),
)


class Frame(NamedTuple):
    """A screen, and the caption below it."""

    screen: Buffer
    caption: str


def frames(shown: Demo) -> Iterator[Frame]:
    """Yield the frames; from one to the next, two seconds pass on the simulated machine."""
    view = ViewState(hints=True)
    state = AppState(
        MONITOR, WIDTH, HEIGHT, timestamp=shown.sample.timestamp, version=__version__, view=view
    )
    for step in STEPS:
        keys: list[Event] = [KeyPressed(key) for key in step.keys.split()]
        for _ in range(step.frames):
            state = state._replace(timestamp=shown.sample.timestamp)
            for event in (SampleArrived(shown.sample), *keys):
                state, _ = update(state, event)
            yield Frame(draw_frame(state, shown.history), step.caption)
            shown.advance(2)
            keys = []


def to_svg(shown: list[Frame]) -> str:
    """Return a moving picture."""
    theme = theme_named('dark')
    rows: dict[str, int] = {}
    groups = []
    for number, (buffer, caption) in enumerate(shown):
        uses = [_caption(caption)]
        for y in range(buffer.height):
            canvas = Canvas()
            for x, text, style in buffer.row(y):
                canvas.write(x, 0, text, paint_of(theme.look(style, 256)))
            drawn = '\n'.join(canvas.parts())
            if drawn:
                index = rows.setdefault(drawn, len(rows))
                uses.append(f'<use href="#r{index}" y="{y * CELL_HEIGHT}"/>')
        delay = number * FRAME_SECONDS
        names = 'f later' if number else 'f'
        groups.append(f'<g class="{names}" style="animation-delay:{delay}s">{"".join(uses)}</g>')
    width = WIDTH * CELL_WIDTH + 2 * MARGIN
    height = HEIGHT * CELL_HEIGHT + 2 * MARGIN + CAPTION_HEIGHT
    total, share = len(shown) * FRAME_SECONDS, 100.0 / len(shown)
    definitions = '\n'.join(f'<g id="r{index}">{drawn}</g>' for drawn, index in rows.items())
    return '\n'.join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {FONT}>',
            '<style>',
            f'.f{{animation:f {total}s step-end infinite}}.later{{visibility:hidden}}',
            f'@keyframes f{{0%{{visibility:visible}}{share:.3f}%{{visibility:hidden}}}}',
            '@media (prefers-reduced-motion:reduce){.f{animation:none}}',
            '</style>',
            f'<defs>{definitions}</defs>',
            f'<rect width="100%" height="100%" rx="6" fill="{BACKGROUND}"/>',
            *groups,
            '</svg>',
            '',
        ]
    )


def _caption(text: str) -> str:
    y = MARGIN + HEIGHT * CELL_HEIGHT + CAPTION_HEIGHT - 6
    return (
        f'<text x="{MARGIN + WIDTH * CELL_WIDTH // 2}" y="{y}" fill="{CAPTION_COLOR}" '
        f'font-size="16" font-weight="bold" text-anchor="middle">{escape(text)}</text>'
    )


def draw() -> str:
    """Return the moving picture."""
    with demo() as shown:
        return to_svg(list(frames(shown)))


def main() -> None:
    """Write the moving picture."""
    os.environ['TZ'] = 'UTC'
    time.tzset()
    FILE.write_text(draw(), encoding='utf-8')


if __name__ == '__main__':
    main()
