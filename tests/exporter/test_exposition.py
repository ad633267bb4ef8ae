"""Families as text."""

from __future__ import annotations

import pytest

from nvitop.exporter.dialects import Family, Point
from nvitop.exporter.exposition import OPENMETRICS, TEXT, accepts_gzip, negotiate, render

FAMILIES = [
    Family('a_info', 'info', 'about "a"\nand \\b', (Point({'x': 'q"\\\n', 'y': 'ü'}, 1.0),)),
    Family('b_joules_total', 'counter', 'energy', (Point({}, 12.5), Point({'x': ''}, 3.0))),
    Family('C_TOTAL', 'unknown', 'foreign', (Point({}, float('inf')), Point({}, 1e21))),
]


def test_text_format() -> None:
    assert render(FAMILIES, TEXT) == (
        '# HELP a_info about "a"\\nand \\\\b\n'
        '# TYPE a_info gauge\n'
        'a_info{x="q\\"\\\\\\n",y="ü"} 1\n'
        '# HELP b_joules_total energy\n'
        '# TYPE b_joules_total counter\n'
        'b_joules_total 12.5\n'
        'b_joules_total{x=""} 3\n'
        '# HELP C_TOTAL foreign\n'
        '# TYPE C_TOTAL untyped\n'
        'C_TOTAL +Inf\n'
        'C_TOTAL 1e+21\n'
    )


def test_openmetrics() -> None:
    assert render(FAMILIES, OPENMETRICS) == (
        '# HELP a about \\"a\\"\\nand \\\\b\n'
        '# TYPE a info\n'
        'a_info{x="q\\"\\\\\\n",y="ü"} 1\n'
        '# HELP b_joules energy\n'
        '# TYPE b_joules counter\n'
        '# UNIT b_joules joules\n'
        'b_joules_total 12.5\n'
        'b_joules_total{x=""} 3\n'
        '# HELP C_TOTAL foreign\n'
        '# TYPE C_TOTAL unknown\n'
        'C_TOTAL +Inf\n'
        'C_TOTAL 1e+21\n'
        '# EOF\n'
    )


@pytest.mark.parametrize(
    ('accept', 'media'),
    [
        ('', TEXT),
        ('*/*', TEXT),
        ('application/openmetrics-text; version=1.0.0', OPENMETRICS),
        ('application/openmetrics-text;version=2.0.0', TEXT),
        (
            'application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1',
            OPENMETRICS,
        ),
        ('text/plain, application/openmetrics-text;q=0.9', TEXT),
        ('application/openmetrics-text;q=nan', TEXT),
        (';;=,,q', TEXT),
    ],
)
def test_format_is_negotiated(accept: str, media: object) -> None:
    assert negotiate(accept) is media


def test_compression_is_negotiated() -> None:
    assert [accepts_gzip(text) for text in ('gzip', 'deflate, gzip;q=0.5', '*')] == [True] * 3
    assert [accepts_gzip(text) for text in ('', 'identity', 'gzip;q=0')] == [False] * 3
