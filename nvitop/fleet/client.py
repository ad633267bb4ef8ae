# SPDX-License-Identifier: Apache-2.0
"""Requests to the HTTP API of Prometheus, over one connection that is kept open, and its responses."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import socket
import ssl
import threading
import time
import urllib.parse
import urllib.request
import zlib
from typing import TYPE_CHECKING, Any, Callable, Iterator, Mapping, NamedTuple

from nvitop.basics.printable import printable
from nvitop.fleet.settings import Settings, basic_login
from nvitop.fleet.types import (
    PAUSE_SECONDS,
    SLICE,
    CurrentValues,
    FleetError,
    PastValues,
    Series,
    drained,
)
from nvitop.version import __version__

if TYPE_CHECKING:
    from nvitop.fleet.source import Question

#: Maximum size (bytes) of a response, after decompression.
MAX_RESPONSE = 64 << 20
#: Maximum number of redirects within a server.
MAX_REDIRECTS = 3
_CHUNK = 1 << 16
_REDIRECTS = (301, 302, 303, 307, 308)
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


class RawResponse(NamedTuple):
    """A response before it is parsed."""

    status: int
    content_type: str
    body: bytes


class Client:
    """A server with the HTTP API of Prometheus. Requests to it are sent one at a time."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._connection: http.client.HTTPConnection | None = None
        #: A duplicate of its socket, which another thread may shut down even if TLS is in use.
        self._handle: socket.socket | None = None
        self._is_canceled = False
        self._is_late = False
        self._lock = threading.Lock()
        #: URL of the API, after redirects within the server.
        self._base = settings.url.rstrip('/')
        self._context: ssl.SSLContext | None = None
        #: Number of requests that were sent.
        self.requests = 0

    def query(self, question: Question) -> tuple[CurrentValues, int]:
        """Return the response, and its size in bytes. This is one request.

        Raises:
            FleetError: There is no valid response.
        """
        raw = self._send('/api/v1/query', {'query': question.expression})
        return parse_response(*raw), len(raw.body)

    def query_range(
        self, question: Question, start: float, end: float, step: float
    ) -> list[PastValues]:
        """Return the values of a range of time.

        Raises:
            FleetError: There is no valid response.
        """
        return self.values_over_time(question.expression, start, end, step)

    def values_over_time(
        self, expression: str, start: float, end: float, step: float
    ) -> list[PastValues]:
        """Return the values of an expression in a range of time.

        Raises:
            FleetError: There is no valid response.
        """
        times = {'start': f'{start:.3f}', 'end': f'{end:.3f}', 'step': f'{step:.3f}'}
        return parse_history(*self._send('/api/v1/query_range', {'query': expression, **times}))

    def cancel(self) -> None:
        """End the request in progress, if there is one. Any thread may call this."""
        self._is_canceled = True
        self._interrupt()

    def _expire(self) -> None:
        self._is_late = True
        self._interrupt()

    def _interrupt(self) -> None:
        connection, handle = self._connection, self._handle
        if handle is None and connection is not None:
            handle = connection.sock
        if handle is not None:
            with contextlib.suppress(OSError):
                handle.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection."""
        connection, self._connection = self._connection, None
        handle, self._handle = self._handle, None
        if connection is not None:
            connection.close()
        if handle is not None:
            handle.close()

    def _send(self, path: str, parameters: Mapping[str, str]) -> RawResponse:
        with self._lock:  # a canceled request of another thread may not have ended yet
            self._is_canceled = self._is_late = False
            # A socket's own timeout starts again with each byte.
            timer = threading.Timer(self._settings.timeout, self._expire)
            timer.daemon = True
            timer.start()
            try:
                return self._send_form(path, parameters)
            finally:
                timer.cancel()

    def _send_form(self, path: str, parameters: Mapping[str, str]) -> RawResponse:
        seconds = self._settings.timeout
        form = urllib.parse.urlencode({**parameters, 'timeout': f'{max(1, int(seconds))}s'})
        url = f'{self._base}{path}'
        for _ in range(MAX_REDIRECTS + 1):
            response, place = self._send_once(url, form.encode())
            if response.status not in _REDIRECTS:
                if url.endswith(path):
                    self._base = url[: -len(path)]
                return response
            url = self._redirected(url, place)
        raise FleetError('the server redirects too often', 'check the URL')

    def _redirected(self, url: str, place: str) -> str:
        """Return the target of a redirect. Other machines are refused: they must not get the login."""
        target = urllib.parse.urljoin(url, place)
        before, after = urllib.parse.urlsplit(url), urllib.parse.urlsplit(target)
        is_safe = after.scheme == before.scheme or after.scheme == 'https'
        has_api = after.path.endswith(('/api/v1/query', '/api/v1/query_range'))
        if after.hostname != before.hostname or not is_safe or not has_api:
            raise FleetError(
                f'the server redirects to {_shown(target)}',
                'use the URL of Prometheus itself, or set a token if this is a login page',
            )
        self.close()
        return target

    def _send_once(self, url: str, form: bytes) -> tuple[RawResponse, str]:
        """Send a request; send it again if the server closed the connection that was kept open."""
        may_repeat = self._connection is not None
        while True:
            try:
                return self._exchange(url, form)
            except FleetError:
                self.close()
                raise
            except (OSError, http.client.HTTPException) as error:
                self.close()
                # RemoteDisconnected is a ConnectionResetError.
                is_closed = isinstance(error, (BrokenPipeError, ConnectionResetError))
                if not is_closed or not may_repeat or self._reason():
                    raise self._failure(error) from error
                may_repeat = False

    def _exchange(self, url: str, form: bytes) -> tuple[RawResponse, str]:
        parts = urllib.parse.urlsplit(url)
        connection, target = self._connect(parts)
        headers = {
            'Content-Type': 'application/x-www-form-urlencoded',
            'Accept': 'application/json',
            'Accept-Encoding': 'gzip',
            'User-Agent': f'nvitop/{__version__}',
            **self._settings.request_headers(parts.hostname or ''),
        }
        if target.startswith('http://'):
            headers.update(_proxy_login(_proxy_of(parts)))
        self.requests += 1
        connection.request('POST', target, form, headers)
        response = connection.getresponse()
        kind = response.headers.get('Content-Type', '')
        body = _read(response)
        self._check()  # without a length, a shorter body looks complete
        response.close()  # the connection stays open
        if response.will_close:
            self.close()
        return RawResponse(response.status, kind, body), response.headers.get('Location', '')

    def _connect(self, parts: urllib.parse.SplitResult) -> tuple[http.client.HTTPConnection, str]:
        """Return the connection, and the target for the request line."""
        proxy = _proxy_of(parts)
        target = urllib.parse.urlunsplit(('', '', parts.path, parts.query, ''))
        if proxy is not None and parts.scheme == 'http':
            target = urllib.parse.urlunsplit(parts)
        if self._connection is not None:
            return self._connection, target
        is_secure = parts.scheme == 'https'
        context = self._tls() if is_secure else None
        host, port = parts.hostname or '', parts.port or (443 if is_secure else 80)
        place = (host, port) if proxy is None else (proxy.hostname or '', proxy.port or 8080)
        connection = http.client.HTTPConnection(*place, timeout=self._settings.timeout)
        if is_secure:
            connection.default_port = 443
            if proxy is not None:
                connection.set_tunnel(host, port, _proxy_login(proxy))
        self._check()
        self._connection = connection
        connection.connect()
        self._handle = connection.sock.dup()
        self._check()
        if context is not None:
            connection.sock = context.wrap_socket(connection.sock, server_hostname=host)
        return connection, target

    def _reason(self) -> FleetError | None:
        """Return why this client ended the request, if it did."""
        if self._is_canceled:
            return FleetError('canceled')
        if self._is_late:
            words = f'{_shown(self._base)} does not respond within {self._settings.timeout:g} s'
            return FleetError(words, 'select fewer hosts: --match')
        return None

    def _check(self) -> None:
        """Raise FleetError if this client ended the request."""
        reason = self._reason()
        if reason is not None:
            raise reason

    def _tls(self) -> ssl.SSLContext:
        if self._context is None:
            settings = self._settings
            try:
                self._context = ssl.create_default_context(cafile=settings.ca_file or None)
                if settings.client_certificate:
                    self._context.load_cert_chain(
                        settings.client_certificate, settings.client_key or None
                    )
            except (OSError, ssl.SSLError) as error:
                raise FleetError(
                    f'the certificates cannot be read: {error.strerror or error}',
                    'check ca-file, client-certificate and client-key',
                ) from error
        return self._context

    def _failure(self, error: Exception) -> FleetError:
        """Return what happened, as an error for the user."""
        self._is_late = self._is_late or isinstance(error, (socket.timeout, TimeoutError))
        reason = self._reason()
        if reason is not None:
            return reason
        server = _shown(self._base)
        if isinstance(error, ssl.SSLCertVerificationError):
            return FleetError(
                f'the certificate of {server} is not trusted ({error.verify_message})',
                'set ca-file to the certificate of its authority',
            )
        if isinstance(error, ssl.SSLError):
            return FleetError(
                f'no secure connection to {server} ({error.reason or error})',
                'check http:// or https://, and the client certificate',
            )
        if isinstance(error, socket.gaierror):
            return FleetError(f'unknown host in {server}', 'check the URL')
        if isinstance(error, ConnectionRefusedError):
            return FleetError(f'no server at {server}', 'check host and port of the URL')
        if isinstance(error, http.client.IncompleteRead):
            return FleetError('the response is cut off', 'try again')
        if isinstance(error, http.client.HTTPException):
            return FleetError(f'{server} does not speak HTTP', 'check http:// or https://')
        words = getattr(error, 'strerror', None) or str(error) or type(error).__name__
        return FleetError(f'{server} cannot be reached: {words}', 'check the URL and proxies')


def _read(response: http.client.HTTPResponse) -> bytes:
    """Read and decompress a response, up to a size."""
    body = bytearray()
    for data in _decompressed(response):
        body += data
        if len(body) > MAX_RESPONSE:
            raise FleetError(
                f'the response is larger than {MAX_RESPONSE >> 20} MB',
                'select fewer hosts: --match',
            )
    if response.length:
        raise http.client.IncompleteRead(b'')
    return bytes(body)


def _decompressed(response: http.client.HTTPResponse) -> Iterator[bytes]:
    """Yield the body of a response in pieces: a small one may become a thousand times as large."""
    is_compressed = response.headers.get('Content-Encoding', '').lower() == 'gzip'
    inflate = zlib.decompressobj(zlib.MAX_WBITS | 16)
    while True:
        data = response.read1(_CHUNK)
        if not data:
            yield inflate.flush()
            return
        if not is_compressed:
            yield data
        while is_compressed and data:
            try:
                yield inflate.decompress(data, _CHUNK)
            except zlib.error:
                raise FleetError('the compressed response is damaged', 'try again') from None
            data = inflate.unconsumed_tail


def _proxy_of(parts: urllib.parse.SplitResult) -> urllib.parse.SplitResult | None:
    """Return the proxy that the environment sets for a URL."""
    host = parts.hostname or ''
    proxy = urllib.request.getproxies().get(parts.scheme, '')
    if not proxy or urllib.request.proxy_bypass(host):
        return None
    return urllib.parse.urlsplit(proxy if '://' in proxy else f'http://{proxy}')


def _proxy_login(proxy: urllib.parse.SplitResult | None) -> dict[str, str]:
    if proxy is None or not proxy.username:
        return {}
    unquote = urllib.parse.unquote
    return {
        'Proxy-Authorization': basic_login(unquote(proxy.username), unquote(proxy.password or ''))
    }


def _shown(url: str) -> str:
    """Return a URL without user name, password, query and API path."""
    parts = urllib.parse.urlsplit(url)
    place = parts.hostname or ''
    if ':' in place:
        place = f'[{place}]'
    with contextlib.suppress(ValueError):
        place += f':{parts.port}' if parts.port else ''
    return f'{parts.scheme}://{place}{parts.path.partition("/api/v1/")[0]}'


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
