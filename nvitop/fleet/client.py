# SPDX-License-Identifier: Apache-2.0
"""Requests to the HTTP API of Prometheus, over one connection that is kept open."""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import threading
import urllib.parse
import urllib.request
import zlib
from typing import TYPE_CHECKING, Iterator, Mapping, NamedTuple

from nvitop.fleet.response import parse_history, parse_response
from nvitop.fleet.settings import Settings, basic_login
from nvitop.fleet.types import CurrentValues, FleetError, PastValues
from nvitop.version import __version__

if TYPE_CHECKING:
    from nvitop.fleet.source import Question

#: Maximum size (bytes) of a response, after decompression.
MAX_RESPONSE = 64 << 20
#: Maximum number of redirects within a server.
MAX_REDIRECTS = 3
_CHUNK = 1 << 16
_REDIRECTS = (301, 302, 303, 307, 308)


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
