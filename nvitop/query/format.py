# SPDX-License-Identifier: Apache-2.0
"""Rows of values as text: CSV, JSON, JSON lines, a table for people."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Protocol, Sequence

from nvitop.namedtuple import NamedTuple
from nvitop.printable import printable
from nvitop.query.ask import iso_time, plain_row
from nvitop.query.cell import (
    escape,
    header_text,
    quote,
    unit_in_csv,
    value_text,
)

if TYPE_CHECKING:
    from typing import Union

    from nvitop.query.ask import Answer, Question
    from nvitop.query.columns import DeviceQueryRow, ProcessQueryRow, QueryColumn
    from nvitop.query.lists import ItemRow

    AnyRow = Union[DeviceQueryRow, ProcessQueryRow, ItemRow]

#: Version of the JSON; it changes when a reader of the last one would misread the new one.
SCHEMA = 1
KINDS = ('csv', 'json', 'jsonl', 'table')
#: Parts of the JSON that JSON lines have in the first line only, as long as they stay the same.
CONSTANT_PARTS = ('schema', 'hostname', 'driver_version', 'simulated', 'units')


class OutputStyle(NamedTuple):
    """How rows are written: ``--format``."""

    kind: str = 'csv'
    header: bool = True
    #: Whether units stand behind values.
    units: bool = True


class Format(Protocol):
    """Writes one answer after another."""

    def pieces(self, answer: Answer) -> list[str]:
        """The text of an answer, in pieces of which each is to be written whole or not at all."""


def parse_style(text: str) -> OutputStyle:
    """The style of a text such as ``'csv,noheader,nounits'``.

    Raises:
        ValueError: A word that means nothing, two kinds, or a word that does not go with the kind.
    """
    words = text.replace(',', ' ').split()
    kinds = [word for word in words if word in KINDS]
    others = {word for word in words if word not in KINDS}
    unknown = sorted(others - {'noheader', 'nounits'})
    if unknown:
        known = ', '.join((*KINDS, 'noheader', 'nounits'))
        raise ValueError(f'there is no {unknown[0]!r}: use {known}')
    if len(set(kinds)) > 1:
        raise ValueError(f'{" and ".join(kinds)} are two formats')
    kind = kinds[0] if kinds else 'csv'
    if others and kind.startswith('json'):
        raise ValueError(f'{sorted(others)[0]} does not go with {kind}')
    return OutputStyle(kind, 'noheader' not in others, 'nounits' not in others)


def make_format(question: Question, style: OutputStyle, *, for_terminal: bool) -> Format:
    """The format of this style. What goes to a terminal is made safe for it."""
    if style.kind == 'json':
        return JsonFormat(question)
    if style.kind == 'jsonl':
        return JsonLinesFormat(question)
    if style.kind == 'table':
        return TableFormat(question, style)
    return CsvFormat(question, style, for_terminal=for_terminal)


class CsvFormat:
    """CSV as nvidia-smi writes it; fields with commas, quotes or line breaks in quotes."""

    def __init__(
        self, question: Question, style: OutputStyle, *, for_terminal: bool = False
    ) -> None:
        self._question = question
        self._style = style
        self._for_terminal = for_terminal
        self._has_header = not style.header

    def pieces(self, answer: Answer) -> list[str]:
        """The header, the first time, and a piece for each row."""
        pieces = []
        for columns, rows in _tables(self._question, answer):
            if not self._has_header:
                self._has_header = True
                pieces.append(_line([quote(header_text(column)) for column in columns]))
            pieces += [_line([self._cell(c, row) for c in columns]) for row in rows]
        return pieces

    def _cell(self, column: QueryColumn, row: AnyRow) -> str:
        value = column.value(row)
        text = value_text(column, value, units=self._style.units)
        if self._for_terminal:
            text = printable(text)
        return quote(escape(text) if isinstance(value, str) else text)


def _line(cells: list[str]) -> str:
    """A row. Readers know a quote only at the very beginning of a field: no space before it."""
    others = (f',{cell}' if cell.startswith('"') else f', {cell}' for cell in cells[1:])
    return cells[0] + ''.join(others) + '\n'


class JsonFormat:
    """One JSON object for each answer, easy to read. All of it is ASCII."""

    def __init__(self, question: Question) -> None:
        self._question = question

    def pieces(self, answer: Answer) -> list[str]:
        """One piece."""
        return [json.dumps(document(self._question, answer), indent=2) + '\n']


class JsonLinesFormat:
    """One JSON object a line; what does not change is in the first line only."""

    def __init__(self, question: Question) -> None:
        self._question = question
        self._known: dict[str, Any] = {}

    def pieces(self, answer: Answer) -> list[str]:
        """One piece."""
        whole = document(self._question, answer)
        constant = {key: whole[key] for key in CONSTANT_PARTS if key in whole}
        left_out = constant if constant == self._known else {}
        self._known = constant
        line = {key: value for key, value in whole.items() if key not in left_out}
        return [json.dumps(line, separators=(',', ':')) + '\n']


def document(question: Question, answer: Answer) -> dict[str, Any]:
    """An answer as JSON has it: see ``schema.json``. Tables that are not asked for are not in it."""
    sample = answer.sample
    made: dict[str, Any] = {
        'schema': SCHEMA,
        'timestamp': iso_time(sample.timestamp),
        'hostname': sample.host.hostname,
        'driver_version': sample.driver_version,
    }
    if sample.simulated:
        made['simulated'] = sample.simulated
    made['units'] = {c.name: c.unit for c in question.columns if c.unit}
    if question.devices is not None:
        made['devices'] = [plain_row(question.devices, row) for row in answer.devices]
    if question.processes is not None:
        made['processes'] = [plain_row(question.processes, row) for row in answer.processes]
    if question.items is not None:
        table, columns = question.items
        made[table.name] = [plain_row(columns, row) for row in answer.items]
    return made


class TableFormat:
    """Aligned columns for people."""

    def __init__(self, question: Question, style: OutputStyle) -> None:
        self._question = question
        self._style = style
        self._is_first = True

    def pieces(self, answer: Answer) -> list[str]:
        """One piece for each table, with an empty line between tables."""
        pieces = []
        for columns, rows in _tables(self._question, answer):
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
            # Units stand behind the values, or else behind the names.
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
    """How many cells of a terminal a text takes."""
    if text.isascii():
        return len(text)
    from wcwidth import wcswidth  # 25 ms: only for texts that need it

    width: int = wcswidth(text)
    return max(0, width)


def _tables(
    question: Question, answer: Answer
) -> list[tuple[tuple[QueryColumn, ...], Sequence[AnyRow]]]:
    tables: list[tuple[tuple[QueryColumn, ...], Sequence[AnyRow]]] = []
    if question.devices is not None:
        tables.append((question.devices, answer.devices))
    if question.processes is not None:
        tables.append((question.processes, answer.processes))
    if question.items is not None:
        tables.append((question.items[1], answer.items))
    return tables
