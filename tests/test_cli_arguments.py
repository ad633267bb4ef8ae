"""Arguments of ``nvitop``: their meaning, and usage errors."""

from __future__ import annotations

import pytest

from nvitop.console.option_table import parse_arguments
from nvitop.console.options import Invocation, Options, merge


@pytest.mark.parametrize(
    ('line', 'expected'),
    [
        ('', {}),
        ('-1', {'once': True}),
        ('--once', {'once': True}),
        ('-m', {'monitor': True}),
        ('--monitor full', {'monitor': True, 'mode': 'full'}),
        ('-m compact', {'monitor': True, 'mode': 'compact'}),
        ('--interval 0.25', {'interval': 0.25}),
        ('--interval=500ms', {'interval': 0.5}),
        ('--scroll-back 10', {'scroll_back': 600.0}),
        ('--scroll-back 2h', {'scroll_back': 7200.0}),
        ('-U', {'ascii': True}),
        ('--ascii', {'ascii': True}),
        ('--no-unicode', {'ascii': True}),
        ('--no-unicode --unicode', {'ascii': False}),
        ('--readonly', {'readonly': True}),
        ('--readonly --no-readonly', {'readonly': False}),
        ('--colorful', {'colorful': True}),
        ('--no-colorful', {'colorful': False}),
        ('--force-color', {'force_color': True}),
        ('--light', {'theme': 'light'}),
        ('--theme colorblind', {'theme': 'colorblind'}),
        ('--light --no-light', {'theme': 'dark'}),
        ('--mem-util-thresh 1 99', {'memory_thresholds': (1, 99)}),
        ('-o 0 1', {'only': ('0', '1')}),
        ('--only 1:0 GPU-6f1a MIG-6f1a', {'only': ('1:0', 'GPU-6f1a', 'MIG-6f1a')}),
        ('-ov', {'only_visible': True}),
        ('--only-visible', {'only_visible': True}),
        ('-c', {'compute': True}),
        ('-C', {'only_compute': True}),
        ('-c -g', {'compute': True, 'graphics': True}),
        ('-C -G --no-only-graphics', {'only_compute': True, 'only_graphics': False}),
        ('-g', {'graphics': True}),
        ('-G', {'only_graphics': True}),
        ('-u', {'users': ()}),
        ('-u ann bob', {'users': ('ann', 'bob')}),
        ('-p 12 34', {'pids': (12, 34)}),
        ('--no-host', {'show_host': False}),
        ('--no-host --host', {'show_host': True}),
        ('--demo', {'demo': ''}),
        ('--demo mig -1', {'demo': 'mig', 'once': True}),
    ],
)
def test_arguments(line: str, expected: dict[str, object]) -> None:
    invocation = parse_arguments(line.split())
    assert invocation.layer == expected
    assert isinstance(merge(invocation.layer), Options)


def test_options_about_the_configuration_file_are_not_in_the_layer() -> None:
    assert parse_arguments([]) == Invocation({})
    given = parse_arguments(['--config', 'x.toml', '-1'])
    assert given == Invocation({'once': True}, config='x.toml')
    assert not parse_arguments(['--no-config']).reads_config
    assert parse_arguments(['--print-config']).prints_config
