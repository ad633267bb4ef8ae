# SPDX-License-Identifier: Apache-2.0
"""Lists of all fields with unit and meaning: ``--list`` and ``--help-query-…``."""

from __future__ import annotations

import textwrap
from typing import Callable, Iterator

from nvitop.query.cell import unit_in_csv
from nvitop.query.columns import (
    QueryColumn,
    QueryTable,
    device_table,
    process_table,
    remapped_rows_table,
)
from nvitop.query.list_tables import list_tables

#: Options ``--query-…`` of nvidia-smi.
QUERIES = ('gpu', 'compute-apps', 'remapped-rows', *list_tables())
#: Maximum width of the first column; longer names have a line of their own.
_LONGEST_NAME = 48


def table_of(query: str) -> QueryTable:
    """The table of an option ``--query-…`` of nvidia-smi."""
    if query == 'gpu':
        return device_table()
    if query == 'remapped-rows':
        return remapped_rows_table()
    if query == 'compute-apps':
        return process_table(compute_apps=True)
    return list_tables()[query].table


def list_of_names(width: int | None = None) -> str:
    """All fields of nvitop, for ``--list``; see :func:`help_on` for ``width``."""
    return '\n'.join(
        [
            _list('GPUs: --gpu=', device_table(), _in_nvitop, width),
            _list('Processes: --processes=', process_table(), _in_nvitop, width),
            *(
                _list(f'Lists: --query-{one.option}=', one.table, _in_nvitop, width)
                for one in list_tables().values()
            ),
        ]
    )


def help_on(query: str, width: int | None = None) -> str:
    """The fields of one option ``--query-…`` of nvidia-smi.

    Args:
        query: Name of the option without ``--query-``.
        width: Columns of the terminal: the fields are listed with their meaning below. ``None``:
            one line per field, in aligned columns.
    """
    title = f'fields for --query-{query}=, comma-separated:'
    return _list(title, table_of(query), _in_nvidia_smi, width)


def _in_nvitop(table: QueryTable, column: QueryColumn) -> tuple[str, ...]:
    return column.name, column.query or '', column.unit, column.help


def _in_nvidia_smi(table: QueryTable, column: QueryColumn) -> tuple[str, ...]:
    if column.query is None:
        return ()
    others = [n for n, c in table.by_name.items() if c is column and n not in column[:2]]
    return ' or '.join([column.query, *others]), unit_in_csv(column), column.help


def _list(
    title: str,
    table: QueryTable,
    describe: Callable[[QueryTable, QueryColumn], tuple[str, ...]],
    width: int | None,
) -> str:
    rows = [row for row in (describe(table, column) for column in table.columns) if row]
    lines = _columns(rows) if width is None else _paragraphs(rows, width)
    return '\n'.join([title, *lines]) + '\n'


def _columns(rows: list[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, cells)) for cells in zip(*rows)]
    widths[0] = max(len(row[0]) for row in rows if len(row[0]) <= _LONGEST_NAME)
    for first, *others in rows:
        if len(first) > widths[0]:
            yield f'  {first}'
            first = ''
        padded = (cell.ljust(width) for cell, width in zip((first, *others), widths))
        yield '  ' + '  '.join(padded).rstrip()


def _paragraphs(rows: list[tuple[str, ...]], width: int) -> Iterator[str]:
    for *names, unit, text in rows:
        label = ', '.join(dict.fromkeys(filter(None, names))) + (f' [{unit}]' if unit else '')
        for indent, part in (('  ', label), ('      ', text)):
            yield from textwrap.wrap(
                part,
                max(width, 20),
                initial_indent=indent,
                subsequent_indent=indent,
                break_on_hyphens=False,
            )
