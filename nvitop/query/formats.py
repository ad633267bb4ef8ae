# SPDX-License-Identifier: Apache-2.0
"""Text formats of rows and values (CSV, JSON, JSON lines, tables), and the lists of all fields."""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import Any, Callable, Iterator, List, NamedTuple, Sequence, Union

from nvitop.basics.text import aligned, narrowed, printable
from nvitop.basics.toml import unknown
from nvitop.basics.units import iso_time
from nvitop.query.fields import (
    CellValue,
    DeviceQueryRow,
    ItemRow,
    ProcessQueryRow,
    QueryField,
    QueryTable,
    device_table,
    list_tables,
    process_table,
    remapped_rows_table,
)
from nvitop.query.measure import QueryResult, TableQuery, plain_row
from nvitop.query.nvidia_smi import NOT_AVAILABLE

AnyRow = Union[DeviceQueryRow, ProcessQueryRow, ItemRow]

#: Version of the JSON structure; raised if programs would misread a change.
SCHEMA = 1
KINDS = ('csv', 'json', 'jsonl', 'table')

_MIB = 1 << 20
#: First driver branch known to round memory up to whole MiB. R536 and older ones round it down.
ROUNDS_UP_SINCE = 580
#: First driver branch known to call power management *Enabled*. R525 and older ones say *Supported*.
SAYS_ENABLED_SINCE = 580

#: Unit of a field → unit in CSV, if it differs.
_UNITS_IN_CSV = {'B': 'MiB', '°C': '', 'µs': 'us', 'count': ''}

_NEEDS_QUOTES = re.compile(r'[,"\r\n]|\A\s|\s\Z')
_BRANCH = re.compile(r'[0-9]{1,9}')
#: Options ``--query-…`` of nvidia-smi.
QUERIES = ('gpu', 'compute-apps', 'remapped-rows', *list_tables())


class OutputStyle(NamedTuple):
    """A format with its options: ``--format``."""

    kind: str = 'csv'
    header: bool = True
    #: Whether values are followed by their units.
    units: bool = True


#: The format of ``--list-gpus``, and the fields that it needs.
LIST = OutputStyle('list')
GPU_LIST = 'index, name, uuid, mig_index, mig_profile'
#: Formats results one after another, as pieces of text that are written completely or not at all.
Format = Callable[['QueryResult'], List[str]]


def parse_style(text: str) -> OutputStyle:
    """Parse a text such as ``'csv,noheader,nounits'``; ValueError if it has other words."""
    words = text.replace(',', ' ').split()
    kinds = [word for word in words if word in KINDS]
    others = {word for word in words if word not in KINDS}
    wrong = sorted(others - {'noheader', 'nounits'})
    if wrong:
        raise ValueError(unknown('format', wrong[0], (*KINDS, 'noheader', 'nounits')))
    if len(set(kinds)) > 1:
        raise ValueError(f'{" and ".join(kinds)} cannot be combined')
    kind = kinds[0] if kinds else 'csv'
    if others and kind not in ('csv', 'table'):
        raise ValueError(f'{sorted(others)[0]} cannot be combined with {kind}')
    return OutputStyle(kind, 'noheader' not in others, 'nounits' not in others)


def make_format(query: TableQuery, style: OutputStyle, *, width: int = 0) -> Format:
    """Make the format of a style, for a terminal with this number of columns or for none (0).

    For a terminal, control characters are replaced, and tables cut commands.
    """
    if style.kind == 'json':
        return lambda result: [json.dumps(document(query, result), indent=2) + '\n']
    if style.kind == 'jsonl':  # each line needs no other line to be understood
        return lambda result: [json.dumps(document(query, result), separators=(',', ':')) + '\n']
    if style.kind == 'table':
        return _Table(query, style, width).pieces
    if style == LIST:
        return _list_of_gpus
    return _Csv(query, style, for_terminal=width > 0).pieces


class _Csv:
    """CSV like that of nvidia-smi: a piece for each row, and the header the first time."""

    def __init__(self, query: TableQuery, style: OutputStyle, *, for_terminal: bool) -> None:
        self._query = query
        self._style = style
        self._for_terminal = for_terminal
        self._has_header = not style.header

    def pieces(self, result: QueryResult) -> list[str]:
        pieces = []
        for _, fields, rows in _tables(self._query, result):
            if not self._has_header:
                self._has_header = True
                pieces.append(csv_line([quote(header_text(field)) for field in fields]))
            pieces += [csv_line([self._cell(c, row) for c in fields]) for row in rows]
        return pieces

    def _cell(self, field: QueryField, row: AnyRow) -> str:
        branch = branch_of(row.sample.driver_version)
        text = value_text(field, printed_value(field, row), units=self._style.units, branch=branch)
        return quote(printable(text) if self._for_terminal else text)


def csv_line(cells: list[str]) -> str:
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
    made['units'] = {c.name: c.unit for c in query.fields if c.unit}
    for name, fields, rows in _tables(query, result):
        made[name] = [plain_row(fields, row) for row in rows]
    return made


class _Table:
    """Aligned columns for people: a piece for each table, with an empty line between tables."""

    def __init__(self, query: TableQuery, style: OutputStyle, width: int) -> None:
        self._query = query
        self._style = style
        self._width = width
        self._is_first = True

    def pieces(self, result: QueryResult) -> list[str]:
        units = self._style.units
        pieces = []
        for _, fields, rows in _tables(self._query, result):
            cells = [
                [printable(value_text(c, printed_value(c, row), units=units)) for c in fields]
                for row in rows
            ]
            if self._style.header:
                # Units follow the values, or else the names.
                cells.insert(0, [f.header if units else header_text(f) for f in fields])
            commands = [at for at, field in enumerate(fields) if field.name == 'command']
            left = {at for at, field in enumerate(fields) if not _is_number(field)}
            text = aligned(narrowed(cells, commands, self._width), left)
            pieces.append(text if self._is_first else f'\n{text}')
            self._is_first = False
        return pieces


def _is_number(field: QueryField) -> bool:
    return field.kind in ('int', 'float') or bool(unit_in_csv(field))


def _tables(
    query: TableQuery, result: QueryResult
) -> Iterator[tuple[str, tuple[QueryField, ...], Sequence[AnyRow]]]:
    """Yield the requested tables: name in JSON, fields and rows."""
    if query.devices is not None:
        yield 'devices', query.devices, result.devices
    if query.processes is not None:
        yield 'processes', query.processes, result.processes
    if query.items is not None:
        table, fields = query.items
        yield table.name, fields, result.items


# The text of one value, in the format of nvidia-smi


def quote(text: str) -> str:
    """Format a CSV field (RFC 4180): quoted if it has commas, quotes or line breaks."""
    if not _NEEDS_QUOTES.search(text):
        return text
    return '"' + text.replace('"', '""') + '"'


def unit_in_csv(field: QueryField) -> str:
    """The unit of a field in CSV, ``''`` for none; as in nvidia-smi, temperatures have none."""
    return _UNITS_IN_CSV.get(field.unit, field.unit)


def header_text(field: QueryField) -> str:
    """Header of a field with its unit: ``'memory.used [MiB]'``."""
    unit = unit_in_csv(field)
    return f'{field.header} [{unit}]' if unit else field.header


def printed_value(field: QueryField, row: Any) -> CellValue:
    """Return the value of a field in CSV and tables: the index of a MIG device is ``0:1``."""
    if field.name == 'index' and row.device.key.is_mig:
        label: str = row.device.key.label
        return label
    return field.value(row)


def value_text(field: QueryField, value: CellValue, *, units: bool, branch: int = 0) -> str:
    """Format a value like nvidia-smi: ``'1234 MiB'``, ``'68.23 W'``, ``'[N/A]'``.

    ``branch`` is the branch of the driver whose nvidia-smi is followed.
    """
    if value is None:
        return field.missing
    unit = unit_in_csv(field)
    form = field.text or _BY_UNIT.get(field.unit) or _BY_KIND[field.kind]
    if field.name == 'power_management' and branch >= SAYS_ENABLED_SINCE:
        form = str
    if field.unit == 'B' and isinstance(value, int) and branch >= ROUNDS_UP_SINCE:
        value += _MIB - 1
    text = form(value)
    return f'{text} {unit}' if units and unit else text


def branch_of(driver_version: str | None) -> int:
    """``'580.65.06'`` → 580; 0 if unknown."""
    branch = _BRANCH.match(driver_version or '')
    return int(branch[0]) if branch else 0


def csv_time(seconds: float) -> str:
    """Format a time like nvidia-smi: ``'2026/11/22 14:05:30.123'``, in local time."""
    moment = datetime.fromtimestamp(seconds)
    return f'{moment:%Y/%m/%d %H:%M:%S}.{moment.microsecond // 1000:03}'


_BY_UNIT: dict[str, Callable[[Any], str]] = {
    'B': lambda size: str(size // _MIB),
    'W': '{:.2f}'.format,
}
_BY_KIND: dict[str, Callable[[Any], str]] = {
    'int': str,
    'float': '{:.1f}'.format,
    'str': str,
    'bool': lambda flag: 'Yes' if flag else 'No',
    'list': ';'.join,
    'time': csv_time,
}


def table_of(query: str) -> QueryTable:
    """The table of an option ``--query-…`` of nvidia-smi."""
    if query == 'gpu':
        return device_table()
    if query == 'remapped-rows':
        return remapped_rows_table()
    if query == 'compute-apps':
        return process_table(compute_apps=True)
    return list_tables()[query].table


def list_of_names() -> str:
    """All fields of nvitop, for ``--list``: a line for each, in aligned columns."""
    return '\n'.join(
        [
            _list('GPUs: --gpu=', device_table()),
            _list('Processes: --processes=', process_table()),
            *(
                _list(f'Lists: --query-{table.option}=', table.table)
                for table in list_tables().values()
            ),
        ]
    )


def help_on(query: str) -> str:
    """The fields of one option ``--query-…`` of nvidia-smi, each a paragraph that begins with its names.

    Programs find the names in quotes at the beginnings of lines.
    """
    table = table_of(query)
    paragraphs = [f'Fields for --query-{query}=, comma-separated:']
    for field in (*table.fields, *table.named_only):
        if field.query is not None:
            own = (field.name, field.query)
            others = [n for n, c in table.by_name.items() if c is field and n not in own]
            unit = unit_in_csv(field)
            names = ' or '.join(f'"{name}"' for name in (field.query, *others))
            paragraphs.append(f'{names}\n{field.help}{f" [{unit}]" if unit else ""}')
    return '\n\n'.join(paragraphs) + '\n'


def _list(title: str, table: QueryTable) -> str:
    rows = [('', field.name, field.query or '', field.unit, field.help) for field in table.fields]
    return f'{title}\n{aligned(rows, range(5))}'
