# SPDX-License-Identifier: Apache-2.0
"""The text of one value: in the format of nvidia-smi, safe for spreadsheets and terminals."""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING, Any, Callable

if TYPE_CHECKING:
    from nvitop.query.columns import CellValue, QueryColumn

_MIB = 1 << 20
#: First driver branch known to round memory up to whole MiB. R536 and older ones round it down.
ROUNDS_UP_SINCE = 590

#: Unit of a column → unit in CSV, if it differs.
_UNITS_IN_CSV = {'B': 'MiB', '°C': '', 'µs': 'us', 'count': ''}

#: Beginnings that spreadsheets evaluate or skip, and the text for "not available". Apostrophes
#: before them count too, so that :func:`unescape` can reverse :func:`escape`.
_RISKY = re.compile(r"[\s']*[=+\-@＝＋－＠]|'*[\t\r\n]|'*\[N/A\]\Z")
_NEEDS_QUOTES = re.compile(r'[,"\r\n]|\A\s|\s\Z')
_BRANCH = re.compile(r'[0-9]{1,9}')


def escape(text: str) -> str:
    """Prevent spreadsheets from evaluating a text: ``'=1+1'`` becomes ``"'=1+1"``.

    Texts that begin, after spaces or apostrophes, with one of ``= + - @``, a tab or a line break,
    and the text ``[N/A]``, are prefixed with an apostrophe. :func:`unescape` reverses this.
    """
    return f"'{text}" if _RISKY.match(text) else text


def unescape(cell: str) -> str:
    """Return the text that was passed to :func:`escape`."""
    return cell[1:] if cell.startswith("'") and _RISKY.match(cell, 1) else cell


def quote(text: str) -> str:
    """Format a CSV field (RFC 4180): quoted if it has commas, quotes or line breaks."""
    if not _NEEDS_QUOTES.search(text):
        return text
    return '"' + text.replace('"', '""') + '"'


def unit_in_csv(column: QueryColumn) -> str:
    """The unit of a column in CSV, ``''`` for none; as in nvidia-smi, temperatures have none."""
    return _UNITS_IN_CSV.get(column.unit, column.unit)


def header_text(column: QueryColumn) -> str:
    """Header of a column with its unit: ``'memory.used [MiB]'``."""
    unit = unit_in_csv(column)
    return f'{column.header} [{unit}]' if unit else column.header


def value_text(column: QueryColumn, value: CellValue, *, units: bool, branch: int = 0) -> str:
    """Format a value like nvidia-smi: ``'1234 MiB'``, ``'68.23 W'``, ``'[N/A]'``.

    ``branch`` is the branch of the driver whose nvidia-smi is followed.
    """
    if value is None:
        return column.missing
    unit = unit_in_csv(column)
    form = column.text or _BY_UNIT.get(column.unit) or _BY_KIND[column.kind]
    if column.unit == 'B' and isinstance(value, int) and branch >= ROUNDS_UP_SINCE:
        value += _MIB - 1
    text = form(value)
    return f'{text} {unit}' if units and unit else text


def branch_of(driver_version: str | None) -> int:
    """``'580.65.06'`` → 580; 0 if unknown."""
    branch = _BRANCH.match(driver_version or '')
    return int(branch[0]) if branch else 0


def _moment(seconds: float) -> str:
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
    'time': _moment,
}
