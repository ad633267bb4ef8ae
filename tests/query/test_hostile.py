"""Hostile names, users and commands in every format: programs read back the original text."""

from __future__ import annotations

import csv
import io
import json
import os
import tempfile
import unicodedata
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from nvitop.query import unescape
from nvitop.query.columns import device_table, process_table
from nvitop.query.formats import OutputStyle, make_format
from nvitop.query.measure import TableQuery, make_rows
from nvitop.query.output import Output
from nvitop.sampling.types import Sample
from tests.query.samples import DEVICES, PROCESSES, SAMPLE

#: Names of programs: bytes without NUL, not necessarily UTF-8.
names = st.binary(max_size=30).map(lambda name: os.fsdecode(name.replace(b'\0', b'')))
texts = st.one_of(
    names,
    st.text(st.characters(blacklist_categories=['Cs'], blacklist_characters='\0')),
    st.text(alphabet='\'"=+-@ \t\r\n,;[N/A]x＝\u202e\u2028\x1b\x85'),
    st.sampled_from(['[N/A]', '', "'", '"', ' ', '=1+1', "'=1+1", '\r\n', 'a\rb', '@SUM(A1)']),
)
#: First characters of formulas in spreadsheets.
FORMULA = ('=', '+', '-', '@', '＝', '＋', '－', '＠')


def sample_of(name: str, user: str, command: str) -> Sample:
    device = DEVICES[0]._replace(info=DEVICES[0].info._replace(name=name))
    process = PROCESSES[0]._replace(name=name, username=user, command=command)
    return SAMPLE._replace(devices=(device,), processes=(process,))


def written(query: TableQuery, style: str, sample: Sample, *, for_terminal: bool = False) -> bytes:
    """The bytes of the output file."""
    form = make_format(query, OutputStyle(style), for_terminal=for_terminal)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / 'rows'
        output = Output(str(path))
        output.write(form.pieces(make_rows(query, sample)))
        output.close()
        return path.read_bytes()


TASKS = TableQuery(processes=process_table().find('name,pid,user,command'))


@settings(max_examples=200, deadline=None)
@given(texts, texts, texts)
def test_csv_reads_back(name: str, user: str, command: str) -> None:
    text = written(TASKS, 'csv', sample_of(name, user, command)).decode('utf-8', 'surrogateescape')
    rows = list(csv.reader(io.StringIO(text, newline=''), skipinitialspace=True))
    assert [unescape(cell) for cell in rows[1]] == [name, '4242', user, command]
    assert len(rows) == 2
    # Readers that do not skip the space before fields find the same rows, and no formula.
    others = list(csv.reader(io.StringIO(text, newline='')))
    assert [len(row) for row in others] == [4, 4]
    cells = (*rows[1], *others[1])
    assert not any(cell.strip().startswith(FORMULA) for cell in cells)


@settings(max_examples=100, deadline=None)
@given(texts, texts, texts)
def test_json_reads_back(name: str, user: str, command: str) -> None:
    query = TASKS._replace(devices=device_table().find('name'))
    for style in ('json', 'jsonl'):
        data = written(query, style, sample_of(name, user, command))
        assert data.isascii()
        assert data.endswith(b'\n')
        made = json.loads(data)
        assert made['processes'][0]['command'] == command
        assert made['processes'][0]['user'] == user
        assert made['devices'][0]['name'] == name


@settings(max_examples=100, deadline=None)
@given(texts, texts, texts)
def test_terminals_receive_no_control_characters(name: str, user: str, command: str) -> None:
    for style in ('csv', 'table'):
        data = written(TASKS, style, sample_of(name, user, command), for_terminal=True)
        text = data.decode('utf-8')
        found = {unicodedata.category(character) for character in text if character != '\n'}
        assert found.isdisjoint(('Cc', 'Cf', 'Cs', 'Zl', 'Zp')), text


@settings(max_examples=50, deadline=None)
@given(st.text(st.characters(whitelist_categories=['Cs'])))
def test_lone_surrogates_can_be_written(text: str) -> None:
    for style in ('csv', 'table', 'json'):
        assert written(TASKS, style, sample_of(text, text, text)).endswith(b'\n')
