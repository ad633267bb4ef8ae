"""Families as text."""

from __future__ import annotations

from nvitop.exporter.dialects import Family, Point
from nvitop.exporter.exposition import render

FAMILIES = [
    Family('a_info', 'info', 'about "a"\nand \\b', (Point({'x': 'q"\\\n', 'y': 'ü'}, 1.0),)),
    Family('b_joules_total', 'counter', 'energy', (Point({}, 12.5), Point({'x': ''}, 3.0))),
    Family('C_TOTAL', 'gauge', 'foreign', (Point({}, float('inf')), Point({}, 1e21))),
]


def test_text_format() -> None:
    assert render(FAMILIES) == (
        '# HELP a_info about "a"\\nand \\\\b\n'
        '# TYPE a_info gauge\n'
        'a_info{x="q\\"\\\\\\n",y="ü"} 1\n'
        '# HELP b_joules_total energy\n'
        '# TYPE b_joules_total counter\n'
        'b_joules_total 12.5\n'
        'b_joules_total{x=""} 3\n'
        '# HELP C_TOTAL foreign\n'
        '# TYPE C_TOTAL gauge\n'
        'C_TOTAL +Inf\n'
        'C_TOTAL 1e+21\n'
    )
