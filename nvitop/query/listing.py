# SPDX-License-Identifier: Apache-2.0
"""Lists of all fields with unit and meaning: ``--list`` and ``--help-query-…``."""

from __future__ import annotations

import textwrap
from typing import Iterator

from nvitop.query.fields import (
    QueryTable,
    device_table,
    list_tables,
    process_table,
    remapped_rows_table,
)
from nvitop.query.formats import unit_in_csv

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
    """All fields of nvitop, for ``--list``.

    Args:
        width: Columns of the terminal: the fields are listed with their meaning below. ``None``:
            one line per field, in aligned columns.
    """
    return '\n'.join(
        [
            _list('GPUs: --gpu=', device_table(), width),
            _list('Processes: --processes=', process_table(), width),
            *(
                _list(f'Lists: --query-{one.option}=', one.table, width)
                for one in list_tables().values()
            ),
        ]
    )


def help_on(query: str, width: int | None = None) -> str:
    """The fields of one option ``--query-…`` of nvidia-smi, each a paragraph that begins with its names.

    Programs find the names in quotes at the beginnings of lines.

    Args:
        query: Name of the option without ``--query-``.
        width: Columns of the terminal; ``None``: descriptions are not wrapped.
    """
    table = table_of(query)
    paragraphs = [f'Fields for --query-{query}=, comma-separated:']
    for field in (*table.fields, *table.named_only):
        if field.query is not None:
            own = (field.name, field.query)
            others = [n for n, c in table.by_name.items() if c is field and n not in own]
            unit = unit_in_csv(field)
            text = field.help + (f' [{unit}]' if unit else '')
            names = ' or '.join(f'"{name}"' for name in (field.query, *others))
            lines = [text] if width is None else textwrap.wrap(text, max(width, 20))
            paragraphs.append('\n'.join([names, *lines]))
    return '\n\n'.join(paragraphs) + '\n'


def _list(title: str, table: QueryTable, width: int | None) -> str:
    rows = [(c.name, c.query or '', c.unit, c.help) for c in table.fields]
    lines = _aligned(rows) if width is None else _paragraphs(rows, width)
    return '\n'.join([title, *lines]) + '\n'


def _aligned(rows: list[tuple[str, str, str, str]]) -> Iterator[str]:
    widths = [max(map(len, cells)) for cells in zip(*rows)]
    widths[0] = max(len(row[0]) for row in rows if len(row[0]) <= _LONGEST_NAME)
    for first, *others in rows:
        if len(first) > widths[0]:
            yield f'  {first}'
            first = ''
        padded = (cell.ljust(width) for cell, width in zip((first, *others), widths))
        yield '  ' + '  '.join(padded).rstrip()


def _paragraphs(rows: list[tuple[str, str, str, str]], width: int) -> Iterator[str]:
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
