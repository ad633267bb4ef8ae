"""Man pages and completions contain exactly the options of the programs."""

from __future__ import annotations

import argparse
import pathlib
import re

import pytest

from nvitop.console import options
from nvitop.query import command as query
from nvitop.select import command as select

SHARE = pathlib.Path(__file__).parent.parent.parent / 'share'
PARSERS = {
    'nvitop': (options.make_parser, query.make_parser),
    'nvisel': (select.make_parser,),
}
FILES = (
    'man/man1/{}.1',
    'bash-completion/completions/{}',
    'zsh/site-functions/_{}',
    'fish/vendor_completions.d/{}.fish',
)

#: Options of the other command, named with the environment variables that correspond to them.
OF_OTHERS = {
    '--inherit',
    '--only-visible',
    '--gpu-util-thresh',
    '--mem-util-thresh',
    '--print-config',
}


def options_of(command: str) -> set[str]:
    """Return the options in the help of a command."""
    return {
        option
        for make_parser in PARSERS[command]
        for action in make_parser()._actions
        for option in action.option_strings
        if action.help != argparse.SUPPRESS
    }


def read(path: str) -> str:
    return (SHARE / path).read_text(encoding='utf-8')


def words(path: str) -> str:
    """Return the text of a file, with options spelled as on a command line."""
    text = re.sub(r'\\f[BIR]|\\[,/]', ' ', read(path)).replace('\\-', '-')
    if path.endswith('.fish'):
        # Skip the functions above, which have options of their own.
        text = text[text.index('complete -c') :]
        text = re.sub(r' -l (?=\w)', ' --', re.sub(r' -[so] (?=\w)', ' -', text))
    return text


@pytest.mark.parametrize('command', PARSERS)
@pytest.mark.parametrize('file', FILES)
def test_long_options_are_those_of_the_program(command: str, file: str) -> None:
    text = words(file.format(command))
    long = {option for option in options_of(command) if option.startswith('--')}
    # The library leaves --help out of man pages.
    expected = long - ({'--help'} if file.startswith('man') else set())
    found = set(re.findall(r'(?<![\w-])--[a-z][\w-]*', text))
    assert found >= expected, 'run: make share'
    assert found <= long | OF_OTHERS, 'run: make share'


@pytest.mark.parametrize('command', PARSERS)
@pytest.mark.parametrize('file', FILES)
def test_short_options_are_complete(command: str, file: str) -> None:
    text = words(file.format(command))
    for option in options_of(command) - {'-h'}:
        if not option.startswith('--'):
            assert re.search(rf'(?<![\w-]){re.escape(option)}(?![\w-])', text), (
                f'{option}: make share'
            )


def test_no_file_is_left_over() -> None:
    files = {path.relative_to(SHARE).as_posix() for path in SHARE.rglob('*') if path.is_file()}
    assert files == {file.format(command) for file in FILES for command in PARSERS}


@pytest.mark.parametrize('command', PARSERS)
def test_heading_of_a_man_page_does_not_depend_on_the_machine(command: str) -> None:
    heading = read(f'man/man1/{command}.1').splitlines()[0]
    assert re.fullmatch(
        rf'\.TH {command.upper()} "1" "(\d{{4}}-\d\d-\d\d)?" "nvitop [\w.]+" "User Commands"',
        heading,
    )
