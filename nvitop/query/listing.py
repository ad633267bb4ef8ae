# SPDX-License-Identifier: Apache-2.0
"""Lists of all fields with unit and meaning: ``--list`` and ``--help-query-…``."""

from __future__ import annotations

from typing import Callable

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


def list_of_names() -> str:
    """All fields of nvitop, for ``--list``."""
    return '\n'.join(
        [
            _list('GPUs: --gpu=', device_table(), _in_nvitop),
            _list('Processes: --processes=', process_table(), _in_nvitop),
            *(
                _list(f'Lists: --query-{one.option}=', one.table, _in_nvitop)
                for one in list_tables().values()
            ),
        ]
    )


def help_on(query: str) -> str:
    """The fields of one option ``--query-…`` of nvidia-smi."""
    title = f'fields for --query-{query}=, comma-separated:'
    return _list(title, table_of(query), _in_nvidia_smi)


def _in_nvitop(table: QueryTable, column: QueryColumn) -> tuple[str, ...]:
    return column.name, column.query or '', column.unit, column.help


def _in_nvidia_smi(table: QueryTable, column: QueryColumn) -> tuple[str, ...]:
    if column.query is None:
        return ()
    others = [n for n, c in table.by_name.items() if c is column and n not in column[:2]]
    return ' or '.join([column.query, *others]), unit_in_csv(column), column.help


def _list(
    title: str, table: QueryTable, describe: Callable[[QueryTable, QueryColumn], tuple[str, ...]]
) -> str:
    lines = [line for line in (describe(table, column) for column in table.columns) if line]
    widths = [max(map(len, cells)) for cells in zip(*lines)]
    widths[0] = max(len(line[0]) for line in lines if len(line[0]) <= _LONGEST_NAME)
    text = [title]
    for first, *others in lines:
        if len(first) > widths[0]:
            text.append(f'  {first}')
            first = ''
        padded = (cell.ljust(width) for cell, width in zip((first, *others), widths))
        text.append('  ' + '  '.join(padded).rstrip())
    return '\n'.join(text) + '\n'
