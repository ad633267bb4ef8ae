# SPDX-License-Identifier: Apache-2.0
"""Text formats of rows: CSV, JSON, JSON lines and tables for people."""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Any, Callable, Iterator, List, NamedTuple, Sequence

from nvitop.printable import printable
from nvitop.query.cell import (
    branch_of,
    escape,
    header_text,
    quote,
    unit_in_csv,
    value_text,
)
from nvitop.query.measure import plain_row
from nvitop.query.nvidia_smi import DEPRECATED, NOT_AVAILABLE
from nvitop.times import iso_time

if TYPE_CHECKING:
    from typing import Union

    from nvitop.query.columns import DeviceQueryRow, ProcessQueryRow, QueryColumn
    from nvitop.query.list_tables import ItemRow
    from nvitop.query.measure import QueryResult, TableQuery

    AnyRow = Union[DeviceQueryRow, ProcessQueryRow, ItemRow]

#: Version of the JSON structure; raised if programs would misread a change.
SCHEMA = 1
KINDS = ('csv', 'json', 'jsonl', 'table', 'prometheus')
#: Parts of the JSON that a JSON line repeats only if they change.
CONSTANT_PARTS = ('schema', 'hostname', 'driver_version', 'simulated', 'units')


class OutputStyle(NamedTuple):
    """A format with its options: ``--format``."""

    kind: str = 'csv'
    header: bool = True
    #: Whether values are followed by their units.
    units: bool = True


#: The format of ``--list-gpus``, and the columns that it needs.
LIST = OutputStyle('list')
GPU_LIST = 'index, name, uuid, mig_index, mig_profile'
#: Formats one result after another: text in pieces, each to be written as a whole or not at all.
Format = Callable[['QueryResult'], List[str]]


def parse_style(text: str) -> OutputStyle:
    """Parse a text such as ``'csv,noheader,nounits'``.

    Raises:
        ValueError: Unknown word, two formats, or an option that the format does not have.
    """
    words = text.replace(',', ' ').split()
    kinds = [word for word in words if word in KINDS]
    others = {word for word in words if word not in KINDS}
    unknown = sorted(others - {'noheader', 'nounits'})
    if unknown:
        known = ', '.join((*KINDS, 'noheader', 'nounits'))
        raise ValueError(f'unknown format {unknown[0]!r}; use {known}')
    if len(set(kinds)) > 1:
        raise ValueError(f'{" and ".join(kinds)} cannot be combined')
    kind = kinds[0] if kinds else 'csv'
    if others and kind not in ('csv', 'table'):
        raise ValueError(f'{sorted(others)[0]} cannot be combined with {kind}')
    return OutputStyle(kind, 'noheader' not in others, 'nounits' not in others)


def make_format(query: TableQuery, style: OutputStyle, *, for_terminal: bool) -> Format:
    """Make the format of a style; for a terminal, control characters are replaced."""
    if style.kind == 'json':
        return functools.partial(_json, query)
    if style.kind == 'jsonl':
        return _JsonLines(query).pieces
    if style.kind == 'table':
        return _Table(query, style).pieces
    if style == LIST:
        return _list_of_gpus
    if style.kind == 'prometheus':
        return functools.partial(_series, query)
    return _Csv(query, style, for_terminal=for_terminal).pieces


class _Csv:
    """CSV like that of nvidia-smi: a piece for each row, and the header the first time."""

    def __init__(self, query: TableQuery, style: OutputStyle, *, for_terminal: bool) -> None:
        self._query = query
        self._style = style
        self._for_terminal = for_terminal
        self._has_header = not style.header

    def pieces(self, result: QueryResult) -> list[str]:
        pieces = []
        for _, columns, rows in _tables(self._query, result):
            if not self._has_header:
                self._has_header = True
                pieces.append(_line([quote(header_text(column)) for column in columns]))
            pieces += [_line([self._cell(c, row) for c in columns]) for row in rows]
        return pieces

    def _cell(self, column: QueryColumn, row: AnyRow) -> str:
        branch = branch_of(row.sample.driver_version)
        if branch >= column.deprecated_since > 0:
            return DEPRECATED
        value = column.value(row)
        text = value_text(column, value, units=self._style.units, branch=branch)
        if self._for_terminal:
            text = printable(text)
        return quote(escape(text) if isinstance(value, str) else text)


def _line(cells: list[str]) -> str:
    """Join cells; no space before a quote, which readers accept only at the start of a field."""
    if cells == ['']:
        return '""\n'  # readers skip empty lines
    others = (f',{cell}' if cell.startswith('"') else f', {cell}' for cell in cells[1:])
    return cells[0] + ''.join(others) + '\n'


def _list_of_gpus(result: QueryResult) -> list[str]:
    """Return a line for each GPU and MIG device, as ``nvidia-smi -L`` prints them."""
    lines = []
    for row in result.devices:
        info, uuid = row.device.info, row.device.info.uuid or NOT_AVAILABLE
        if info.key.is_mig:
            profile = f'{info.mig_profile or NOT_AVAILABLE:<11}'
            line = f'  MIG {profile} Device {info.key.mig_index:>2}: (UUID: {uuid})'
        else:
            line = f'GPU {info.physical_index}: {info.name or NOT_AVAILABLE} (UUID: {uuid})'
        lines.append(printable(line) + '\n')
    return lines


def _json(query: TableQuery, result: QueryResult) -> list[str]:
    """Return one indented JSON object, in ASCII."""
    return [json.dumps(document(query, result), indent=2) + '\n']


class _JsonLines:
    """One JSON object per line; constant parts are in the first line only."""

    def __init__(self, query: TableQuery) -> None:
        self._query = query
        self._known: dict[str, Any] = {}

    def pieces(self, result: QueryResult) -> list[str]:
        whole = document(self._query, result)
        constant = {key: whole[key] for key in CONSTANT_PARTS if key in whole}
        left_out = constant if constant == self._known else {}
        self._known = constant
        line = {key: value for key, value in whole.items() if key not in left_out}
        return [json.dumps(line, separators=(',', ':')) + '\n']


def document(query: TableQuery, result: QueryResult) -> dict[str, Any]:
    """Return a result as JSON data, without tables that are not part of the query."""
    sample = result.sample
    made: dict[str, Any] = {
        'schema': SCHEMA,
        'timestamp': iso_time(sample.timestamp),
        'hostname': sample.host.hostname,
        'driver_version': sample.driver_version,
    }
    if sample.simulated:
        made['simulated'] = sample.simulated
    made['units'] = {c.name: c.unit for c in query.columns if c.unit}
    for name, columns, rows in _tables(query, result):
        made[name] = [plain_row(columns, row) for row in rows]
    return made


def _series(query: TableQuery, result: QueryResult) -> list[str]:
    """Return series that Prometheus reads, with the names of ``nvitop exporter``."""
    from nvitop.exporter.exposition import render
    from nvitop.exporter.families import make_families
    from nvitop.exporter.tables import Observation, SeriesOptions

    options = SeriesOptions(processes=query.processes is not None)
    return [render(make_families(['own'], Observation(result.sample, options)))]


class _Table:
    """Aligned columns for people: a piece for each table, with an empty line between tables."""

    def __init__(self, query: TableQuery, style: OutputStyle) -> None:
        self._query = query
        self._style = style
        self._is_first = True

    def pieces(self, result: QueryResult) -> list[str]:
        pieces = []
        for _, columns, rows in _tables(self._query, result):
            lines = self._lines(columns, rows)
            text = ''.join(f'{line.rstrip()}\n' for line in lines)
            pieces.append(text if self._is_first else f'\n{text}')
            self._is_first = False
        return pieces

    def _lines(self, columns: tuple[QueryColumn, ...], rows: Sequence[Any]) -> list[str]:
        units = self._style.units
        cells = [
            [printable(value_text(c, c.value(row), units=units)) for c in columns] for row in rows
        ]
        if self._style.header:
            # Units follow the values, or else the names.
            names = [column.header if units else header_text(column) for column in columns]
            cells.insert(0, names)
        widths = [max(map(_width, column), default=0) for column in zip(*cells)]
        lines = []
        for line in cells:
            padded = []
            for column, text, width in zip(columns, line, widths):
                space = ' ' * (width - _width(text))
                is_number = column.kind in ('int', 'float') or unit_in_csv(column)
                padded.append(space + text if is_number else text + space)
            lines.append('  '.join(padded))
        return lines


def _width(text: str) -> int:
    """Width of a text in terminal cells."""
    if text.isascii():
        return len(text)
    from wcwidth import wcswidth  # 25 ms: only for texts that need it

    width: int = wcswidth(text)
    return max(0, width)


def _tables(
    query: TableQuery, result: QueryResult
) -> Iterator[tuple[str, tuple[QueryColumn, ...], Sequence[AnyRow]]]:
    """Yield the requested tables: name in JSON, columns and rows."""
    if query.devices is not None:
        yield 'devices', query.devices, result.devices
    if query.processes is not None:
        yield 'processes', query.processes, result.processes
    if query.items is not None:
        table, columns = query.items
        yield table.name, columns, result.items
