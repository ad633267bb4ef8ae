"""Programs read the original names of processes, users and devices from ``nvitop query``."""

from __future__ import annotations

import csv
import io
import json
import pathlib
import sys
import tempfile

from nvitop.console.output import Output
from nvitop.query.fields import QueryField, device_table, process_table
from nvitop.query.formats import make_format, parse_style
from nvitop.query.measure import QueryResult, TableQuery, make_rows
from nvitop.sampling.types import Sample
from tests.fuzz.input_count import check_seeds
from tests.fuzz.texts import Hostile

DEVICES = TableQuery(devices=device_table().fields, mig=True)
PROCESSES = TableQuery(processes=process_table().fields)
BOTH = TableQuery(devices=DEVICES.devices, processes=PROCESSES.processes, mig=True)


def written(query: TableQuery, style: str, sample: Sample, *, for_terminal: bool = False) -> bytes:
    """Write a query to a file and return its bytes."""
    form = make_format(query, parse_style(style), for_terminal=for_terminal)
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory, 'written')
        output = Output(str(path))
        output.write(form(make_rows(query, sample)))
        output.close()
        return path.read_bytes()


def as_utf8(text: str) -> str:
    """The text in UTF-8; undecodable bytes stay unchanged."""
    return ''.join(
        '\ufffd' if '\ud800' <= char <= '\udfff' and not '\udc80' <= char <= '\udcff' else char
        for char in text
    )


def as_utf16(text: str) -> str:
    """The text in JSON, where two surrogates form one character."""
    return text.encode('utf-16', 'surrogatepass').decode('utf-16', 'surrogatepass')


def readable(text: str) -> str:
    """The text that the csv module can read; before Python 3.11 it has no NUL."""
    return text if sys.version_info >= (3, 11) else text.replace('\0', '')


def texts_of(
    fields: tuple[QueryField, ...], rows: tuple[object, ...]
) -> list[tuple[int, int, str | None]]:
    """Row, field and value of all text cells."""
    return [
        (i, j, value)
        for i, row in enumerate(rows)
        for j, field in enumerate(fields)
        for value in (field.value(row),)
        if field.kind == 'str' and field.text is None and (value is None or isinstance(value, str))
    ]


def check_csv(seed: int) -> None:
    sample = Hostile(seed).machine(50)
    for query in (DEVICES, PROCESSES):
        text = readable(written(query, 'csv', sample).decode('utf-8', 'surrogateescape'))
        cells = list(csv.reader(io.StringIO(text, newline=''), skipinitialspace=True, strict=True))
        fields, rows = table_of(query, make_rows(query, sample))
        assert len(cells) == len(rows) + 1
        assert {len(line) for line in cells} == {len(fields)}
        # Readers that do not skip the space before fields find the same rows.
        others = list(csv.reader(io.StringIO(text, newline='')))
        assert [len(line) for line in others] == [len(line) for line in cells]
        for i, j, value in texts_of(fields, rows):
            cell = cells[i + 1][j]
            if value is None:
                assert cell == fields[j].missing
            else:
                assert cell == readable(as_utf8(value))


def check_json(seed: int) -> None:
    sample = Hostile(seed).machine(50)
    result = make_rows(BOTH, sample)
    for style in ('json', 'jsonl'):
        data = written(BOTH, style, sample)
        assert data.isascii()
        if style == 'jsonl':
            assert data.count(b'\n') == 1
        document = json.loads(data)
        for name, query in (('devices', DEVICES), ('processes', PROCESSES)):
            fields, rows = table_of(query, result)
            assert len(document[name]) == len(rows)
            for i, j, value in texts_of(fields, rows):
                found = document[name][i][fields[j].name]
                assert found == (None if value is None else as_utf16(value))


def table_of(
    query: TableQuery, result: QueryResult
) -> tuple[tuple[QueryField, ...], tuple[object, ...]]:
    """Fields and rows of a query for one table."""
    if query.devices is not None:
        return query.devices, tuple(result.devices)
    return query.processes or (), tuple(result.processes)


def test_csv_contains_the_original_text() -> None:
    limit = csv.field_size_limit(1 << 25)
    try:
        check_seeds(10, check_csv)
    finally:
        csv.field_size_limit(limit)


def test_json_contains_the_original_text() -> None:
    check_seeds(5, check_json)
