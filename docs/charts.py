"""Draw the bar charts of the documentation: ``make pictures``."""

from __future__ import annotations

import pathlib
import re
from typing import Sequence

DOCS = pathlib.Path(__file__).parent
WIDTH, ROW, LABEL, BAR = 640, 28, 250, 330


def bar_chart(rows: Sequence[tuple[str, float, str]], mark: float, name: str) -> str:
    """Return an SVG bar chart.

    Args:
        rows: Label, length of the bar (1 is full width) and text of each row.
        mark: Length at which to draw a vertical line.
        name: Label of the line.
    """
    height = ROW * len(rows) + 36
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
    x = LABEL + mark * BAR
    lines += [
        f'<path d="M{x:.0f} 4v{height - 26}" stroke="#cd3131" stroke-dasharray="4"/>',
        f'<text x="{x:.0f}" y="{height - 8}" fill="#d0d0d0" text-anchor="middle">{name}</text>',
    ]
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
    return bar_chart(rows, 0.85 / longest, 'nvitop 1.7.2')


def drawings() -> dict[str, str]:
    """Return the charts by their names."""
    return {'ratios': draw_ratios()}


def main() -> None:
    """Write all charts."""
    for name, text in drawings().items():
        (DOCS / 'images' / f'{name}.svg').write_text(text, encoding='utf-8')


if __name__ == '__main__':
    main()
