"""Help texts, suggestions and shared options of all commands."""

from __future__ import annotations

import argparse
import re
import shlex

import pytest

from nvitop.console.arguments import ArgumentParser, duration, size, whole_number
from nvitop.console.commands import COMMANDS, NVISEL
from nvitop.console.option_table import make_parser, parse_arguments
from nvitop.console.options import Options, merge
from nvitop.version import __version__

PARSERS: dict[str, ArgumentParser] = {
    parser.prog: parser
    for parser in (
        make_parser(),
        *(command.load().make_parser() for command in COMMANDS),
        NVISEL.load().make_parser(),
    )
}


@pytest.mark.parametrize('name', PARSERS)
def test_help_fits_80_columns_and_shows_every_option(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('COLUMNS', '80')
    for option in ('-V', '-h'):
        with pytest.raises(SystemExit) as leaving:
            PARSERS[name].parse([option])
        assert leaving.value.code == 0
    version, _, text = capsys.readouterr().out.partition('\n')
    assert version == f'{name} {__version__}'
    assert [line for line in text.splitlines() if len(line) >= 80] == []
    for action in PARSERS[name]._actions:
        assert ', '.join(action.option_strings) in text or action.help == argparse.SUPPRESS
    for command in COMMANDS if name == 'nvitop' else ():
        assert f'       nvitop {command.name} [OPTION ...]\n' in text
        assert re.search(f'^  nvitop {command.name} +{re.escape(command.help)}$', text, re.M)


@pytest.mark.parametrize('name', PARSERS)
def test_examples_of_the_help_can_be_parsed(name: str) -> None:
    lines = PARSERS[name].examples.splitlines()
    assert 3 <= len(lines) <= 4
    for line in lines:
        command = line.partition('  ')[0].partition(' | ')[0]
        command = command.replace('gpus=$(', '').partition(')')[0]
        program, *arguments = shlex.split(command)
        parser = PARSERS[name if program == name.partition(' ')[0] else program]
        parser.parse([word for word in arguments if f'{program} {word}' != name])


def test_limits_of_arguments_are_accepted() -> None:
    assert [whole_number(1, 3)(text) for text in '13'] == [1, 3]
    assert whole_number(0)('9' * 9) == 10**9 - 1
    assert [duration(0.5, 2)(text) for text in ('500ms', '2')] == [0.5, 2.0]
    assert [size('1M')(text) for text in ('1M', '64MiB')] == [1_000_000, 64 << 20]
    assert size()('0') == 0
    for convert, texts in (
        (whole_number(1, 3), '04'),
        (whole_number(0), ('9' * 10, '٣')),
        (duration(0.5, 2), ('499ms', '2001ms')),
    ):
        for text in texts:
            with pytest.raises(ValueError, match=f'not {text!r}'):
                convert(text)


@pytest.mark.parametrize('option', ['-o', '-i', '--only', '--id'])
def test_devices_are_separated_by_spaces_or_commas(option: str) -> None:
    words = [option, '0,1:0', '01', option, 'GPU-6f1a', '1B:00.0', '1320220000001']
    for name in ('nvitop', 'nvitop query'):
        assert PARSERS[name].parse(words).only == (*('0', '1:0', '01'), *words[4:])


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
        ('--colorful --gpu-util-thresh 10 75 --mem-util-thresh 1 99', {}),
        ('--only 1:0 GPU-6f1a MIG-6f1a', {'only': ('1:0', 'GPU-6f1a', 'MIG-6f1a')}),
        ('-ov', {'only_visible': True}),
        ('-c -g', {'compute': True, 'graphics': True}),
        ('-C -G --no-only-graphics', {'only_compute': True, 'only_graphics': False}),
        ('-u', {'users': ()}),
        ('-p 12 34 --pid 5,6', {'pids': (12, 34, 5, 6)}),
        ('--no-host --host', {'show_host': True}),
        ('--demo mig -1', {'demo': 'mig', 'once': True}),
    ],
)
def test_arguments(line: str, expected: dict[str, object]) -> None:
    invocation = parse_arguments(line.split())
    assert invocation.layer == expected
    assert isinstance(merge(invocation.layer), Options)
