"""Draw the bar charts of the documentation: ``make update-docs``."""

from __future__ import annotations

import math
import pathlib
import re
from typing import Sequence

DOCS = pathlib.Path(__file__).parent
WIDTH, ROW, LABEL, BAR = 640, 28, 250, 330
#: Subject of a test (see reliability.md) → number of cases; none had a wrong result.
CASES = {
    'driver faults': 13_332,
    'driver calls that hang': 512,
    'reused PIDs': 4_000,
    'processes with hostile names': 150_000,
    'ticks of long runs': 60_000,
}


def bar_chart(rows: Sequence[tuple[str, float, str]], mark: float | None = None) -> str:
    """Return an SVG bar chart.

    Args:
        rows: Label, length of the bar (1 is full width) and text of each row.
        mark: Length at which to draw a vertical line.
    """
    height = ROW * len(rows) + 16
    lines = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
            'font-family="system-ui, sans-serif" font-size="14">'
        ),
        f'<rect width="{WIDTH}" height="{height}" rx="6" fill="#16181d"/>',
    ]
    for i, (label, length, text) in enumerate(rows):
        y = 8 + i * ROW
        lines += [
            f'<text x="{LABEL - 8}" y="{y + 19}" fill="#d0d0d0" text-anchor="end">{label}</text>',
            f'<rect x="{LABEL}" y="{y + 5}" width="{length * BAR:.0f}" height="18" fill="#0dbc79"/>',
            f'<text x="{LABEL + length * BAR + 6:.0f}" y="{y + 19}" fill="#d0d0d0">{text}</text>',
        ]
    if mark is not None:
        x = LABEL + mark * BAR
        lines.append(f'<path d="M{x:.0f} 4v{height - 8}" stroke="#cd3131" stroke-dasharray="4"/>')
    return '\n'.join([*lines, '</svg>', ''])


def draw_ratios() -> str:
    """Draw the CPU times in performance.md, relative to nvitop 1.7.2 (the dashed line)."""
    page = (DOCS / 'performance.md').read_text(encoding='utf-8')
    table = page.partition('## Compared')[2].partition('\n## ')[0]
    cells = re.findall(r'^\| ([^|]+) \| (\d\.\d+) \|', table, re.MULTILINE)
    longest = max(float(value) for _, value in cells)
    rows = [
        (label.replace('`', ''), float(value) / longest * 0.85, value) for label, value in cells
    ]
    rows = [(re.sub(r'^from nvitop import .*', 'import', label), *rest) for label, *rest in rows]
    return bar_chart(rows, mark=0.85 / longest)


def draw_cases() -> str:
    """Draw the number of tested cases on a logarithmic scale."""
    return bar_chart(
        [(label, math.log10(count) / 7.5, f'{count:,}, 0 wrong') for label, count in CASES.items()]
    )


CHARTS = {'ratios': draw_ratios, 'faults': draw_cases}


def main() -> None:
    """Write all charts."""
    for name, draw in CHARTS.items():
        (DOCS / 'images' / f'{name}.svg').write_text(draw(), encoding='utf-8')


if __name__ == '__main__':
    main()
