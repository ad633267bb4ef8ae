# SPDX-License-Identifier: Apache-2.0
"""Parse responses of the HTTP API; explain those that are errors. Pure."""

from __future__ import annotations

import json
import re
import time
from typing import Any, Callable

from nvitop.fleet.types import (
    PAUSE_SECONDS,
    SLICE,
    CurrentValues,
    FleetError,
    PastValues,
    Series,
    drained,
)
from nvitop.printable import printable

#: Maximum length of an error message or warning of the server.
MAX_MESSAGE = 300
#: Maximum number of warnings.
MAX_WARNINGS = 5
_RESULT = re.compile(r'"result"\s*:\s*\[')
_BETWEEN = ', \t\r\n'
#: Status → what happened, what to try.
_STATUSES = {
    401: ('the server requires a login', 'set PROMETHEUS_BEARER_TOKEN_FILE or bearer-token-file'),
    403: ('the server does not allow this', 'check the token, and X-Scope-OrgID if it needs one'),
    404: ('there is no Prometheus API at this URL', 'check the path of the URL'),
    405: ('there is no Prometheus API at this URL', 'check the path of the URL'),
    407: ('the proxy requires a login', 'set HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT'),
    429: ('too many requests', 'refresh less often: --interval'),
    500: ('the server failed', ''),
    502: ('the server behind the proxy does not respond', 'try again later'),
    503: ('the server is too busy, or the query took too long', 'select fewer hosts: --match'),
    504: ('the server behind the proxy does not respond', 'select fewer hosts: --match'),
}
#: Types of errors in responses → what to try.
_HINTS = {
    'bad_data': 'check --match and --host-label',
    'execution': 'select fewer hosts: --match',
    'timeout': 'select fewer hosts: --match',
    'canceled': '',
    'unavailable': 'try again later',
}


def parse_response(status: int, content_type: str, body: bytes) -> CurrentValues:
    """Return the series of an instant query.

    Rows are parsed one by one: one call for all of them would block other threads too long.

    Raises:
        FleetError: The response is an error or not a result.
    """
    series = []

    def keep(row: Any, labels: dict[str, str]) -> None:
        series.append(Series(labels.get('__name__', ''), labels, float(row['value'][1])))

    warnings = _read_rows(status, content_type, body, keep)
    return CurrentValues(drained(series), warnings)


def parse_history(status: int, content_type: str, body: bytes) -> list[PastValues]:
    """Return the series of a range query.

    Raises:
        FleetError: The response is an error or not a result.
    """
    found = []

    def keep(row: Any, labels: dict[str, str]) -> None:
        points = tuple((float(time), float(value)) for time, value in row['values'])
        found.append(PastValues(labels.get('__name__', ''), labels, points))

    _read_rows(status, content_type, body, keep)
    return found


def _read_rows(
    status: int, content_type: str, body: bytes, keep: Callable[[Any, dict[str, str]], None]
) -> tuple[str, ...]:
    """Pass each row of the result and its labels to a function; return the notes of the server."""

    def take(row: Any) -> None:
        try:
            labels = row['metric']
            if {*map(type, labels.values())} <= {str}:
                keep(row, labels)
        except (AttributeError, KeyError, TypeError, ValueError, IndexError):
            pass  # a histogram

    text = body.decode('utf-8', 'replace')
    if status != 200:
        raise _error(status, text)
    if text.lstrip()[:1] != '{':
        raise _not_json(content_type, text)
    match = _RESULT.search(text)
    rest = text
    if match is not None:
        end = _parse_rows(text, match.end(), take)
        rest = f'{text[: match.end()]}{text[end:]}'
    try:
        document = json.loads(rest)
    except (ValueError, RecursionError):
        if text.rstrip().endswith('}'):
            raise FleetError('the response is not valid JSON', 'check the URL') from None
        hint = 'try again, or select fewer hosts: --match'
        raise FleetError('the response is cut off', hint) from None
    if not isinstance(document, dict) or document.get('status') != 'success':
        raise _error(status, rest)
    data = document.get('data')
    if match is None or not isinstance(data, dict):
        raise FleetError('the response is not a result of a query', 'check the path of the URL')
    return _warnings(document)


def _parse_rows(text: str, start: int, keep: Callable[[Any], None]) -> int:
    """Parse the items of a list one by one; return where the list ends."""
    parse = json.JSONDecoder().raw_decode
    place, number = start, 0
    try:
        while True:
            number += 1
            if number % SLICE == 0:
                time.sleep(PAUSE_SECONDS)
            while text[place] in _BETWEEN:
                place += 1
            if text[place] == ']':
                return place
            row, place = parse(text, place)
            keep(row)
    except (ValueError, IndexError, RecursionError):
        return len(text)


def _warnings(document: dict[str, Any]) -> tuple[str, ...]:
    given = document.get('warnings')
    notes = [_message(note) for note in given] if isinstance(given, list) else []
    if document.get('isPartial') is True:
        notes.append('the response is partial: some servers behind this one do not respond')
    if len(notes) > MAX_WARNINGS:
        notes[MAX_WARNINGS:] = [f'and {len(notes) - MAX_WARNINGS} more']
    return tuple(notes)


def _message(text: object) -> str:
    words = printable(' '.join(str(text)[: 4 * MAX_MESSAGE].split()))
    return words if len(words) <= MAX_MESSAGE else f'{words[: MAX_MESSAGE - 1]}…'


def _error(status: int, text: str) -> FleetError:
    """Return the error that a response reports, in the server's words if it has any."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        document = None
    if isinstance(document, dict) and document.get('error'):
        kind = str(document.get('errorType', ''))
        words, hint = _STATUSES.get(status, ('the query failed', ''))
        if status in (200, 400, 422):
            words, hint = 'the server rejects the query', ''
        return FleetError(
            f'{words} ({status}: {_message(document["error"])})', _HINTS.get(kind, hint) or hint
        )
    if status in _STATUSES:
        words, hint = _STATUSES[status]
        return FleetError(f'{words} ({status})', hint)
    return FleetError(f'the server returned status {status}', 'check the URL')


def _not_json(content_type: str, text: str) -> FleetError:
    start = text.lstrip()[:100].lower()
    if 'html' in content_type or start.startswith(('<!doctype', '<html', '<')):
        return FleetError(
            'the server returned a web page, perhaps to log in',
            'check the URL and its path, or set a token',
        )
    if not text.strip():
        return FleetError('the response is empty', 'check the URL')
    return FleetError('the response is not JSON', 'check the URL and its path')
