"""Texts of single values: escaping for spreadsheets, CSV quoting, printable text."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nvitop.printable import printable
from nvitop.query import escape, unescape
from nvitop.query.formats import quote

texts = st.one_of(
    st.text(), st.text(alphabet='\'=+-@ \t\n"[N/A],x＝'), st.sampled_from(['[N/A]', "'[N/A]", ''])
)


@given(texts)
def test_an_escaped_text_reads_back(text: str) -> None:
    assert unescape(escape(text)) == text


@given(texts)
def test_no_escaped_text_is_a_formula_or_not_available(text: str) -> None:
    escaped = escape(text)
    assert not escaped.strip().startswith(('=', '+', '-', '@', '＝', '＋', '－', '＠'))
    assert not escaped.startswith(('\t', '\r', '\n'))
    assert escaped != '[N/A]'


@given(st.lists(st.text(st.characters(blacklist_categories=['Cs', 'Cc'])), min_size=1))
def test_quoted_fields_read_back_behind_commas_and_spaces(fields: list[str]) -> None:
    line = ', '.join(map(quote, fields)) + '\n'
    read = list(csv.reader(io.StringIO(line, newline=''), skipinitialspace=True))
    assert read == [fields] or fields == ['']


def test_line_breaks_and_quotes_read_back() -> None:
    fields = ['a\nb', 'say "hi"', 'x,\r\ny', ' padded ', '']
    line = ', '.join(map(quote, fields)) + '\n'
    assert list(csv.reader(io.StringIO(line, newline=''), skipinitialspace=True)) == [fields]


@pytest.mark.parametrize('text', ['python3', '/usr/bin/x', '1,5', "it's", 'a=b', 'N/A', "'x'"])
def test_harmless_texts_are_unchanged(text: str) -> None:
    assert escape(text) == text


def test_control_characters_are_replaced() -> None:
    assert printable('a\x1b[2Jb\x9bc\u202ed\ne\udc80') == 'a�[2Jb�c�d�e�'
    assert printable('größe 変数') == 'größe 変数'
