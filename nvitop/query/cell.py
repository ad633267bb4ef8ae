# SPDX-License-Identifier: Apache-2.0
"""The text of one value: as nvidia-smi spells it, safe for spreadsheets, safe for terminals."""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING, Any, Callable

if TYPE_CHECKING:
    from nvitop.query.columns import QueryColumn, Value

NOT_AVAILABLE = '[N/A]'
_MIB = 1 << 20

#: What is written after numbers, and after names in headers, where it is not the unit itself.
_UNITS_IN_CSV = {'B': 'MiB', '°C': '', 'µs': 'us', 'count': ''}

#: What a spreadsheet would take for a formula or skip over, and what would read as "not available";
#: all of it also with apostrophes before it, so that taking one off again gives back the text.
_RISKY = re.compile(r"[\s']*[=+\-@＝＋－＠]|'*[\t\r\n]|'*\[N/A\]\Z")
_NEEDS_QUOTES = re.compile(r'[,"\r\n]|\A\s|\s\Z|\A\Z')


def escape(text: str) -> str:
    """Text from outside, so that no spreadsheet computes it: ``'=1+1'`` becomes ``"'=1+1"``.

    An apostrophe is put before texts that begin, after spaces or apostrophes, with one of
    ``= + - @`` or with a tab or line break, and before the text ``[N/A]``. :func:`unescape` gives
    every text back.
    """
    return f"'{text}" if _RISKY.match(text) else text


def unescape(cell: str) -> str:
    """The text that :func:`escape` was given."""
    return cell[1:] if cell.startswith("'") and _RISKY.match(cell, 1) else cell


def quote(text: str) -> str:
    """A field of CSV (RFC 4180): in quotes where it has commas, quotes or line breaks."""
    if not _NEEDS_QUOTES.search(text):
        return text
    return '"' + text.replace('"', '""') + '"'


def unit_in_csv(column: QueryColumn) -> str:
    """The unit of a column in CSV, ``''`` for none. nvidia-smi gives temperatures without one."""
    return _UNITS_IN_CSV.get(column.unit, column.unit)


def header_text(column: QueryColumn) -> str:
    """The name of a column with its unit: ``'memory.used [MiB]'``."""
    unit = unit_in_csv(column)
    return f'{column.header} [{unit}]' if unit else column.header


def value_text(column: QueryColumn, value: Value, *, units: bool) -> str:
    """A value as nvidia-smi spells it: ``'1234 MiB'``, ``'68.23 W'``, ``'[N/A]'``."""
    if value is None:
        return NOT_AVAILABLE
    if column.text is not None:
        return column.text(value)
    unit = unit_in_csv(column)
    text = _BY_UNIT[column.unit](value) if column.unit in _BY_UNIT else _BY_KIND[column.kind](value)
    return f'{text} {unit}' if units and unit else text


def _moment(seconds: float) -> str:
    moment = datetime.fromtimestamp(seconds)
    return f'{moment:%Y/%m/%d %H:%M:%S}.{moment.microsecond // 1000:03}'


def _whole_mib(size: int) -> str:
    return str(size // _MIB)


_BY_UNIT: dict[str, Callable[[Any], str]] = {'B': _whole_mib, 'W': '{:.2f}'.format}
_BY_KIND: dict[str, Callable[[Any], str]] = {
    'int': str,
    'float': '{:.1f}'.format,
    'str': str,
    'bool': lambda flag: 'Yes' if flag else 'No',
    'list': ';'.join,
    'time': _moment,
}
