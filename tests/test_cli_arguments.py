"""Arguments of ``nvitop``: their meaning, and usage errors."""

from __future__ import annotations

import re

import pytest

from nvitop.console.options import Invocation, Options, make_parser, merge, parse_arguments


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
        ('--interval=7', {'interval': 7.0}),
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
        ('--gpu-util-thresh 75 10', {'gpu_thresholds': (10, 75)}),
        ('--mem-util-thresh 1 99', {'memory_thresholds': (1, 99)}),
        ('-o 0 1', {'only': ('0', '1')}),
        ('--only 1:0 GPU-6f1a MIG-6f1a', {'only': ('1:0', 'GPU-6f1a', 'MIG-6f1a')}),
        ('-o 01 2:00', {'only': ('1', '2:0')}),
        ('-ov', {'only_visible': True}),
        ('--only-visible', {'only_visible': True}),
        ('-c', {'compute': True}),
        ('-C', {'only_compute': True}),
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


@pytest.mark.parametrize(
    ('line', 'message'),
    [
        ('-1 -m', 'not allowed with argument'),
        ('-m wide', 'invalid choice'),
        ('--interval 0.249', '0.25 seconds or more'),
        ('--interval nan', '0.25 seconds or more'),
        ('--interval inf', '0.25 seconds or more'),
        ('--interval 1e7', 'below 1000000'),
        ('--interval soon', "not a number of seconds: 'soon'"),
        ('--gpu-util-thresh 0 50', 'from 1 to 99'),
        ('--gpu-util-thresh 50 100', 'from 1 to 99'),
        ('--gpu-util-thresh a b', 'from 1 to 99'),
        ('--mem-util-thresh 10', 'expected 2 arguments'),
        ('-o -1', 'expected at least one argument'),
        ('-o gpu0', "'gpu0'"),
        ('-o 1:', "'1:'"),
        ('-p 0', "not a PID: '0'"),
        ('-p x', "not a PID: 'x'"),
        ('-p', 'expected at least one argument'),
        ('extra', 'unrecognized arguments'),
    ],
)
def test_invalid_arguments_are_usage_errors(
    line: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as leaving:
        parse_arguments(line.split())
    assert leaving.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ''
    (error,) = captured.err.splitlines()
    assert error.startswith('nvitop: error: ')
    assert message in error


@pytest.mark.parametrize('option', ['-h', '--help'])
def test_help_fits_a_terminal(
    option: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('COLUMNS', '100')
    with pytest.raises(SystemExit) as leaving:
        parse_arguments([option])
    assert leaving.value.code == 0
    text = re.sub('\x1b\\[[0-9;]*m', '', capsys.readouterr().out)
    assert all(len(line) <= 100 for line in text.splitlines())
    for action in make_parser()._actions:
        if action.help != '==SUPPRESS==':
            assert action.option_strings[-1] in text
    assert 'nvitop query --help' in text


@pytest.mark.parametrize('option', ['-V', '--version'])
def test_version_goes_to_stdout(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    from nvitop.version import __version__

    with pytest.raises(SystemExit) as leaving:
        parse_arguments([option])
    assert leaving.value.code == 0
    assert capsys.readouterr().out == f'nvitop {__version__}\n'
