# SPDX-License-Identifier: Apache-2.0
"""Settings of a server, requests to its HTTP API of Prometheus, and the responses.

Arguments come over the environment, and this over the table ``[fleet]``.
"""

from __future__ import annotations

import base64
import http.client
import json
import queue
import socket
import ssl
import urllib.error
import urllib.parse
import urllib.request
import zlib
from typing import Any, Iterator, Mapping, NamedTuple, cast

from nvitop.basics.text import printable
from nvitop.basics.toml import unknown
from nvitop.basics.units import read_duration
from nvitop.fleet.series import LABEL, Scope
from nvitop.fleet.types import FleetError, PastValues, Series
from nvitop.sampling.threads import start_daemon
from nvitop.version import __version__

#: Default limit (seconds) of a request.
TIMEOUT = 10.0
#: Default minimum time (seconds) between requests.
INTERVAL = 5.0
#: Limits of both.
MIN_SECONDS, MAX_SECONDS = 1, 3600
_DURATIONS = frozenset({'interval', 'timeout'})


class Settings(NamedTuple):
    """Server, login and queries."""

    url: str = ''
    match: str = ''
    host_label: str = ''
    interval: float = INTERVAL
    timeout: float = TIMEOUT
    #: File with a header on each line; a line without a colon is a bearer token.
    headers_file: str = ''
    #: Machines to read over ssh if there is no server.
    hosts: tuple[str, ...] = ()
    #: ``user:password`` of the URL.
    login: str = ''

    @property
    def scope(self) -> Scope:
        """Scope of the queries."""
        match = self.match.strip()
        match = match[1:-1] if match.startswith('{') and match.endswith('}') else match
        return Scope(match.strip(' ,'), self.host_label)

    def request_headers(self) -> dict[str, str]:
        """Return the headers that log in. The file is read each time, because tokens change."""
        headers = {}
        if self.login:
            headers['Authorization'] = f'Basic {base64.b64encode(self.login.encode()).decode()}'
        if self.headers_file:
            headers.update(_read_headers(self.headers_file))
        return headers


class SettingsError(ValueError):
    """A setting is invalid. The text is shown to the user."""


#: Variable of the environment → setting.
VARIABLES = {'PROMETHEUS_URL': 'url', 'PROMETHEUS_HEADERS_FILE': 'headers_file'}
#: Keys of the configuration file.
KEYS = tuple(field.replace('_', '-') for field in Settings._fields if field != 'login')


def from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the settings of the environment. Empty variables do not count."""
    return {field: environ[name].strip() for name, field in VARIABLES.items() if environ.get(name)}


def from_table(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of the table ``[fleet]``. Raises SettingsError."""
    settings: dict[str, Any] = {}
    for key, value in table.items():
        name = key.replace('_', '-')
        if name not in KEYS:
            raise SettingsError(f'[fleet]: {unknown("key", key, KEYS)}')
        if name == 'hosts':
            if not isinstance(value, list) or not all(isinstance(host, str) for host in value):
                raise SettingsError(f'[fleet]: hosts must be a list of names, not {value!r}')
            value = tuple(value)
        elif name not in _DURATIONS and not isinstance(value, str):
            raise SettingsError(f'[fleet]: {key} must be a text, not {value!r}')
        settings[name.replace('-', '_')] = value
    return settings


def make_settings(*layers: Mapping[str, Any]) -> Settings:
    """Return the settings of layers, later ones over earlier ones. Raises SettingsError."""
    values = {name: value for layer in layers for name, value in layer.items() if value is not None}
    for name in values.keys() & _DURATIONS:
        try:
            values[name] = read_duration(values[name], MIN_SECONDS, MAX_SECONDS)
        except ValueError as error:
            raise SettingsError(f'{name.replace("_", "-")} {error}') from None
    settings = Settings(**values)
    if settings.host_label and not LABEL.fullmatch(settings.host_label):
        raise SettingsError(
            f'--host-label must be the name of a label, not {settings.host_label!r}'
        )
    return _without_login(settings) if settings.url else settings


def _without_login(settings: Settings) -> Settings:
    """Return the settings with user name and password of the URL moved out of it."""
    url = settings.url if '://' in settings.url else f'http://{settings.url}'
    shown = settings.url.rpartition('@')[2]
    try:
        parts = urllib.parse.urlsplit(url)
        is_valid = parts.port is None or bool(parts.port)
    except ValueError as error:
        raise SettingsError(f'invalid URL {shown!r}: {error}') from None
    if not is_valid or parts.scheme not in ('http', 'https') or not parts.hostname:
        raise SettingsError(f'invalid URL {shown!r}; expected http://HOST:PORT')
    if not url.isascii() or not url.isprintable() or ' ' in url:
        raise SettingsError(f'invalid URL {shown!r}: only ASCII characters are allowed')
    path = parts.path.rstrip('/')
    for suffix in ('/api/v1/query', '/api/v1', '/graph'):
        if path.endswith(suffix):
            path = path[: -len(suffix)]
    place = parts.netloc.rpartition('@')
    url = f'{parts.scheme}://{place[2].lower()}{path}'
    return settings._replace(url=url, login=urllib.parse.unquote(place[0]))


def has_login(url: str) -> bool:
    """Return whether a URL contains a user name or password: other users can see arguments."""
    return '@' in url.partition('://')[2].partition('/')[0]


def _read_headers(path: str) -> dict[str, str]:
    """Return the headers of a file. Raises FleetError."""
    headers = {}
    try:
        with open(path, encoding='utf-8') as file:
            lines = [line.strip() for line in file]
    except (OSError, UnicodeDecodeError) as error:
        words = getattr(error, 'strerror', None) or 'not a text'
        raise FleetError(f'{path} cannot be read: {words}', 'check headers-file') from None
    for number, line in enumerate(lines, 1):
        name, colon, value = line.partition(':')
        if not (line.isascii() and line.isprintable()) or (colon and not name.strip()):
            raise FleetError(f'{path}:{number}: not a header such as "Name: value"')
        if colon:
            headers[name.strip()] = value.strip()
        elif line:
            headers['Authorization'] = f'Bearer {line}'
    return headers


#: Maximum size (bytes) of a response, after decompression.
MAX_RESPONSE = 64 << 20
#: Maximum length of an error message or warning of the server.
MAX_MESSAGE = 300
#: Maximum number of warnings.
MAX_WARNINGS = 5
_NO_API = (
    'there is no Prometheus API at this URL',
    'check its path; use the server that scrapes the exporters, not an exporter',
)
#: Status → what happened, what to try.
_STATUSES = {
    200: ('the server rejects the query', ''),
    400: ('the server rejects the query', 'check --match and --host-label'),
    422: ('the server rejects the query', 'select fewer hosts: --match'),
    401: (
        'the server requires a login',
        'set PROMETHEUS_URL=http://USER:PASSWORD@HOST:PORT or PROMETHEUS_HEADERS_FILE',
    ),
    403: (
        'the server does not allow this',
        'check the token in PROMETHEUS_HEADERS_FILE, and X-Scope-OrgID if it needs one',
    ),
    404: _NO_API,
    405: _NO_API,
    501: _NO_API,
    407: ('the proxy requires a login', 'set HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT'),
    429: ('too many requests', 'refresh less often: --interval'),
    500: ('the server failed', ''),
    502: ('the server behind the proxy does not respond', 'try again later'),
    503: ('the server is too busy, or the query took too long', 'select fewer hosts: --match'),
    504: ('the server behind the proxy does not respond', 'select fewer hosts: --match'),
}


#: What keeps a request from the server, what happened, what to try.
_FAILURES: tuple[tuple[type[Exception], str, str], ...] = (
    (
        ssl.SSLCertVerificationError,
        'the certificate of {server} is not trusted ({reason})',
        'set SSL_CERT_FILE to the certificates of its authority',
    ),
    (
        ssl.SSLError,
        'no secure connection to {server} ({reason})',
        'check http:// or https://',
    ),
    (socket.gaierror, 'unknown host in {server}', 'check the URL'),
    (ConnectionRefusedError, 'no server at {server}', 'check host and port of the URL'),
    (http.client.IncompleteRead, 'the response is cut off', 'try again'),
    (zlib.error, 'the response is cut off', 'try again'),
    (http.client.HTTPException, '{server} does not speak HTTP', 'check http:// or https://'),
    (Exception, '{server} cannot be reached: {reason}', 'check the URL and proxies'),
)


class Response(NamedTuple):
    """The series of a response."""

    series: list[Series]
    #: Notes of the server.
    warnings: tuple[str, ...] = ()
    size_bytes: int = 0


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Refuses redirects: another server would get the login."""

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> None:
        fp.close()
        words = f'the server redirects to {_shown(newurl)}'
        raise FleetError(words, 'use that URL if you trust it')


class Client:
    """A server with the HTTP API of Prometheus. Each request has a thread, which may be abandoned."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._base = settings.url

    def query(self, expression: str) -> Response:
        """Return the current values of an expression. Raises FleetError."""
        body = self._send('/api/v1/query', {'query': expression})
        document = _document(body)
        series = []
        for labels, row in _rows(document, 'vector'):
            value = _number(row.get('value'))
            if value is not None:
                series.append(Series(labels.get('__name__', ''), labels, value))
        return Response(series, _warnings(document), len(body))

    def values_over_time(
        self, expression: str, start: float, end: float, step: float
    ) -> list[PastValues]:
        """Return the values of an expression in a range of time. Raises FleetError."""
        times = {'start': f'{start:.3f}', 'end': f'{end:.3f}', 'step': f'{step:.3f}'}
        body = self._send('/api/v1/query_range', {'query': expression, **times})
        history = []
        for labels, row in _rows(_document(body), 'matrix'):
            values = row.get('values')
            if isinstance(values, list):
                points = [(_number(pair, 0), _number(pair)) for pair in values]
                known = tuple(pair for pair in points if None not in pair)
                name = labels.get('__name__', '')
                history.append(PastValues(name, labels, cast('Any', known)))
        return history

    def _send(self, path: str, parameters: Mapping[str, str]) -> bytes:
        """Return the body of a response, within the time limit."""
        replies: queue.SimpleQueue[bytes | Exception] = queue.SimpleQueue()

        def send() -> None:
            try:
                replies.put(self._exchange(path, parameters))
            except Exception as error:
                replies.put(error)

        try:
            start_daemon('nvitop-request', send)
            reply = replies.get(timeout=self._settings.timeout)
        except queue.Empty:
            words = f'{_shown(self._base)} does not respond within {self._settings.timeout:g} s'
            raise FleetError(words, 'select fewer hosts: --match') from None
        except RuntimeError as error:
            raise FleetError(f'no thread can be started: {error}') from None
        if isinstance(reply, FleetError):
            raise reply
        if isinstance(reply, Exception):
            raise self._failure(reply) from reply
        return reply

    def _exchange(self, path: str, parameters: Mapping[str, str]) -> bytes:
        opener = urllib.request.build_opener(_NoRedirects())
        request = urllib.request.Request(
            self._base + path,
            urllib.parse.urlencode(parameters).encode(),
            {
                'Accept': 'application/json',
                'Accept-Encoding': 'gzip',
                'User-Agent': f'nvitop/{__version__}',
                **self._settings.request_headers(),
            },
        )
        try:
            # The caller gives up earlier, and abandons this thread.
            with opener.open(request, timeout=2 * self._settings.timeout) as response:
                body = _read(response)
                kind = response.headers.get('Content-Type') or ''
        except urllib.error.HTTPError as error:
            with error:
                text = _read(error).decode('utf-8', 'replace')
            raise _error(error.code, text) from None
        start = body.lstrip()[:1]
        if 'html' in kind or start == b'<':
            words = 'the server returned a web page, perhaps to log in'
            raise FleetError(words, 'check the URL and its path, or set a token')
        if start != b'{':
            raise FleetError('the response is not JSON', 'check the URL and its path')
        return body

    def _failure(self, error: Exception) -> FleetError:
        """Return what happened, as an error for the user."""
        if isinstance(error, urllib.error.URLError) and isinstance(error.reason, Exception):
            error = error.reason
        words, hint = next(row[1:] for row in _FAILURES if isinstance(error, row[0]))
        reason = getattr(error, 'verify_message', None) or getattr(error, 'reason', None)
        reason = reason or getattr(error, 'strerror', None) or str(error) or type(error).__name__
        return FleetError(words.format(server=_shown(self._base), reason=reason), hint)


def _read(response: Any) -> bytes:
    """Read and decompress a response, up to a size."""
    body: bytes = response.read(MAX_RESPONSE + 1)
    if getattr(response, 'length', None) and len(body) <= MAX_RESPONSE:
        raise http.client.IncompleteRead(b'')
    if response.headers.get('Content-Encoding') == 'gzip':
        body = zlib.decompressobj(wbits=31).decompress(body, MAX_RESPONSE + 1)
    if len(body) > MAX_RESPONSE:
        words = f'the response is larger than {MAX_RESPONSE >> 20} MB'
        raise FleetError(words, 'select fewer hosts: --match')
    return body


def _document(body: bytes) -> dict[str, Any]:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        raise FleetError('the response is not valid JSON', 'try again') from None
    if not isinstance(document, dict) or document.get('status') != 'success':
        raise _error(200, body.decode('utf-8', 'replace'))
    return document


def _rows(
    document: Mapping[str, Any], kind: str
) -> Iterator[tuple[dict[str, str], dict[str, Any]]]:
    """Yield the labels of each valid row, and the row."""
    data = document.get('data')
    data = data if isinstance(data, dict) else {}
    rows = data.get('result')
    if not isinstance(rows, list) or data.get('resultType') != kind:
        raise FleetError('the response is not one of Prometheus', 'check the URL and its path')
    for row in rows:
        labels = row.get('metric') if isinstance(row, dict) else None
        if isinstance(labels, dict) and all(isinstance(value, str) for value in labels.values()):
            yield labels, row


def _number(pair: Any, place: int = 1) -> float | None:
    """Return the time (0) or the value (1) of a pair; ``None`` if it is not valid."""
    try:
        return float(pair[place])
    except (TypeError, ValueError, LookupError, OverflowError):
        return None


def _shown(url: str) -> str:
    """Return a URL without user name, password, query and API path."""
    parts = urllib.parse.urlsplit(url)
    place, path = parts.netloc.rpartition('@')[2], parts.path.partition('/api/v1/')[0]
    return f'{parts.scheme}://{place}{path}'


def _warnings(document: dict[str, Any]) -> tuple[str, ...]:
    warnings = document.get('warnings')
    notes = [_message(note) for note in warnings] if isinstance(warnings, list) else []
    if document.get('isPartial') is True:
        notes.append('the response is partial: some servers behind this one do not respond')
    return tuple(notes[-MAX_WARNINGS:])


def _message(text: object) -> str:
    words = printable(' '.join(str(text)[: 4 * MAX_MESSAGE].split()))
    return words if len(words) <= MAX_MESSAGE else f'{words[: MAX_MESSAGE - 2]}..'


def _error(status: int, text: str) -> FleetError:
    """Return the error that a response reports, in the server's words if it has any."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        document = None
    words, hint = _STATUSES.get(status, (f'the server returned status {status}', 'check the URL'))
    if isinstance(document, dict) and document.get('error'):
        return FleetError(f'{words} ({status}: {_message(document["error"])})', hint)
    return FleetError(f'{words} ({status})' if status in _STATUSES else words, hint)
