"""Man pages and shell completions list every option of their command, and no other; metadata of the package."""

from __future__ import annotations

import importlib.metadata
import pathlib
import re

import pytest

from nvitop.console.arguments import ArgumentParser
from nvitop.console.commands import COMMANDS, EXPORTER, NVISEL
from nvitop.console.option_table import make_parser

SHARE = pathlib.Path(__file__).parent.parent.parent / 'share'
PARSERS: dict[str, ArgumentParser] = {
    'nvitop': make_parser(),
    **{f'nvitop-{command.name}': command.load().make_parser() for command in COMMANDS},
    'nvisel': NVISEL.load().make_parser(),
}
PAGES = {f'man/man1/{name}.1': {name} for name in PARSERS}
#: Completion file → the commands that it completes.
COMPLETIONS = {
    path.format(name): {other for other in PARSERS if other.partition('-')[0] == name}
    for path in (
        'bash-completion/completions/{}',
        'zsh/site-functions/_{}',
        'fish/vendor_completions.d/{}.fish',
    )
    for name in ('nvitop', 'nvisel')
}
#: The program of nvitop-exporter 1.7 has options, but no page of its own.
RELEASED = 'nvitop-exporter 1.7'
PARSERS[RELEASED] = EXPORTER.load().make_parser('nvitop-exporter')
COMPLETIONS.update(
    (path.replace('nvisel', 'nvitop-exporter'), {RELEASED})
    for path in [*COMPLETIONS]
    if 'nvisel' in path
)
FILES = {**PAGES, **COMPLETIONS}


def read(path: str) -> str:
    assert (SHARE / path).exists(), 'run: make share'
    return (SHARE / path).read_text(encoding='utf-8')


def options_in(path: str) -> set[str]:
    """Options that a file defines."""
    text = read(path)
    if path in PAGES:
        lines = re.findall(r'^\.TP\n(\\fB\\-.*)$', text, re.MULTILINE)
        return set(re.findall(r'\\fB(-[^\\]+)\\fR', '\n'.join(lines).replace('\\-', '-')))
    if path.endswith('.fish'):
        lines = re.findall(r'^complete -c .*', text, re.MULTILINE)
        names = re.findall(r' -([slo]) ([\w.-]+)', re.sub(r' -d .*', '', '\n'.join(lines)))
        return {('--' if kind == 'l' else '-') + name for kind, name in names}
    return set(re.findall(r'(?<![\w-])--?\w(?:[\w-]|\.(?=\w))*', text))


@pytest.mark.parametrize('file', FILES)
def test_every_option_is_in_the_file(file: str) -> None:
    expected = {option for name in FILES[file] for option in PARSERS[name].option_names()}
    found = options_in(file)
    assert expected <= found, 'run: make share'
    if file in PAGES or file.endswith('.fish'):
        assert found == expected, 'run: make share'


def test_there_are_no_other_files() -> None:
    directories = {path.partition('/')[0] for path in FILES}
    paths = [path.relative_to(SHARE) for path in SHARE.rglob('*') if path.is_file()]
    assert {path.as_posix() for path in paths if path.parts[0] in directories} == set(FILES)


# Metadata with which pip finds nvitop: what programs that require it rely on


METADATA = importlib.metadata.metadata('nvitop')


def test_version_satisfies_requirements_on_nvitop_1() -> None:
    assert int(METADATA['Version'].partition('.')[0]) >= 2


def test_extras_choose_a_driver_generation_or_the_exporter() -> None:
    extras = set(METADATA.get_all('Provides-Extra') or ()) - {'delivery', 'lint', 'test'}
    assert extras == {'cuda10', 'cuda11', 'cuda12', 'cuda13', 'exporter', 'prometheus'}
