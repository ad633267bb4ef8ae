"""Arguments of ``nvitop``: their meaning, and usage errors."""

from __future__ import annotations

import pytest

from nvitop.console.option_table import parse_arguments
from nvitop.console.options import Options, merge


@pytest.mark.parametrize(
    ('line', 'expected'),
    [
        ('', {}),
        ('-1', {'once': True}),
        ('-m', {'monitor': True}),
        ('--monitor full', {'monitor': True, 'mode': 'full'}),
        ('--interval 0.25', {'interval': 0.25}),
        ('--scroll-back 10', {'scroll_back': 600.0}),
        ('--no-unicode --unicode', {'ascii': False}),
        ('--readonly --no-readonly', {'readonly': False}),
        ('--force-color', {'force_color': True}),
        ('--light', {'theme': 'light'}),
        ('--light --no-light', {'theme': 'dark'}),
        ('--colorful --gpu-util-thresh 10 75 --mem-util-thresh 1 99', {}),
        ('--only 1:0 GPU-6f1a MIG-6f1a', {'only': ('1:0', 'GPU-6f1a', 'MIG-6f1a')}),
        ('-ov', {'only_visible': True}),
        ('-c -g', {'compute': True, 'graphics': True}),
        ('-C -G --no-only-graphics', {'only_compute': True, 'only_graphics': False}),
        ('-u', {'users': ()}),
        ('-p 12 34', {'pids': (12, 34)}),
        ('--no-host --host', {'show_host': True}),
        ('--demo mig -1', {'demo': 'mig', 'once': True}),
    ],
)
def test_arguments(line: str, expected: dict[str, object]) -> None:
    invocation = parse_arguments(line.split())
    assert invocation.layer == expected
    assert isinstance(merge(invocation.layer), Options)
