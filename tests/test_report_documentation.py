"""``docs/report.md`` says what the program does: options, columns, variables, defaults."""

from __future__ import annotations

import pathlib
import re

import pytest

from nvitop.console.options import MODES, THEME_NAMES, Options, make_parser
from nvitop.gui.model.choices import ViewState
from nvitop.gui.model.columns import COLUMNS

ROOT = pathlib.Path(__file__).parent.parent
TEXT = (ROOT / 'docs' / 'report.md').read_text(encoding='utf-8')


def section(title: str) -> str:
    """The text under a heading, without the sections below it."""
    found = re.search(rf'^#+ {title}\n(.*?)(?=^#|\Z)', TEXT, re.MULTILINE | re.DOTALL)
    assert found, title
    return found.group(1)


def words(text: str) -> set[str]:
    """The first words of what stands between backquotes."""
    return {match.split()[0] for match in re.findall(r'`([^`]+)`', text)}


def first_cells(title: str) -> list[str]:
    """The first cells of the table in a section."""
    rows = re.findall(r'^\| (.*?) (?<!\\)\|', section(title), re.MULTILINE)
    return [row for row in rows[1:] if row != '---']


def test_every_option_is_documented_and_no_other() -> None:
    documented = words('\n'.join(first_cells('Options')))
    documented = {word for word in documented if word.startswith('-')}
    parser = make_parser()
    assert documented == {option for action in parser._actions for option in action.option_strings}


def test_options_of_one_meaning_stand_together() -> None:
    rows = [words(cell) for cell in first_cells('Options')]
    for action in make_parser()._actions:
        assert any(row.issuperset(action.option_strings) for row in rows), action.option_strings


@pytest.mark.parametrize('half', Options().thresholds._fields)
def test_thresholds_have_the_documented_defaults(half: str) -> None:
    option = {'gpu': '--gpu-util-thresh', 'memory': '--mem-util-thresh'}[half]
    row = next(row for row in section('Options').splitlines() if row.startswith(f'| `{option}'))
    low, high = getattr(Options().thresholds, half)
    assert row.endswith(f'default {low} {high} |')


def test_choices_are_documented() -> None:
    actions = {action.dest: action for action in make_parser()._actions if action.choices}
    assert set(actions) == {'monitor', 'theme'}
    assert r'\|'.join(MODES) in section('Options')
    row = next(row for row in section('Options').splitlines() if '`--theme`' in row)
    assert re.findall(r'`(\w+)`', row) == list(THEME_NAMES)


def test_columns_are_documented_in_their_order() -> None:
    cells = re.findall(r'`([^`]+)`', '\n'.join(first_cells('Processes')))
    assert cells == [column.title for column in COLUMNS if column.title]
    extra = {column.title for column in COLUMNS if column.name not in ViewState().columns}
    sentence = re.search(r'^(`.*?) are shown where', section('Processes'), re.MULTILINE)
    assert sentence
    assert words(sentence.group(1)) == extra


def test_every_variable_is_documented_and_no_other() -> None:
    documented = words('\n'.join(first_cells('Environment')))
    source = '\n'.join(
        path.read_text(encoding='utf-8')
        for path in sorted((ROOT / 'nvitop').rglob('*.py'))
        if path.parts[-2] != 'compat'
    )
    read = set(re.findall(r"environ(?:ment)?(?:\.get\(|\[)'([A-Z_]+)'", source))
    # Where programs are, and what terminals say of themselves, is nobody's option.
    read -= {'PATH', 'COLORTERM', 'WT_SESSION', 'STY', 'TMUX'}
    named = {name for name in documented if name in source or name.startswith('NVITOP_')}
    assert read <= documented
    assert named == documented
