# SPDX-License-Identifier: Apache-2.0
"""A small HTTP server. A client that is slow, silent or hostile does not keep others out."""

from __future__ import annotations

import contextlib
import io
import selectors
import socket
import ssl
import threading
import time
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any, Callable, Iterator, Mapping, NamedTuple, cast

from nvitop.version import __version__

if TYPE_CHECKING:
    from socketserver import BaseServer

#: Maximum time (seconds) for the TLS handshake, for a request, and for a response.
REQUEST_SECONDS = 10.0
#: Time (seconds) that an idle connection is kept open.
IDLE_SECONDS = 60.0
#: Maximum number of connections. For a further one, the connection that has waited longest for its
#: client is closed.
MAX_CONNECTIONS = 256
#: Above this number of connections, each is closed after its response.
MAX_KEPT_CONNECTIONS = 64
#: Maximum length (bytes) of a request with its headers; a line may have half of that.
MAX_REQUEST_BYTES = 1 << 17
#: Maximum number of bytes read from a client before its connection is closed.
_MAX_DRAINED = 1 << 16

#: Makes the response to a path and the headers of a request; their names are in lower case.
Respond = Callable[[str, 'Mapping[str, str]'], 'Response']


class Response(NamedTuple):
    """A response to a request."""

    body: bytes
    content_type: str = 'text/plain; charset=utf-8'
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()


class WebServer:
    """Serves HTTP/1.1 in background threads.

    Args:
        respond: Makes responses; called in several threads at once.
        tls: Returns the context for TLS; ``None``: plain HTTP.
        request_seconds: Maximum time for a handshake, a request and a response.
    """

    def __init__(
        self,
        respond: Respond,
        *,
        tls: Callable[[], ssl.SSLContext] | None = None,
        request_seconds: float = REQUEST_SECONDS,
    ) -> None:
        self.respond = respond
        self.request_seconds = request_seconds
        self._tls = tls
        #: Guards the connections.
        self._lock = threading.Lock()
        self._connections: set[socket.socket] = set()
        #: Connections that wait for their client to send or read, in order of waiting time.
        self._waiting: dict[socket.socket, None] = {}
        self._listeners: list[socket.socket] = []
        self._selector = selectors.DefaultSelector()
        self._closed = threading.Event()

    def listen(self, host: str, port: int) -> list[tuple[str, int]]:
        """Open sockets for all addresses of a host; return them. ``''``: all interfaces.

        Raises:
            OSError: The host is not known, or no address can be used.
        """
        found: list[tuple[str, int]] = []
        failure: OSError | None = None
        known = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        for family, address in dict.fromkeys((one[0], one[4]) for one in known):
            try:
                listener = _listener(family, address)
            except OSError as error:
                failure = failure or error
            else:
                self._listeners.append(listener)
                self._selector.register(listener, selectors.EVENT_READ, listener.accept)
                found.append(listener.getsockname()[:2])
        if not found:
            raise failure or OSError(f'{host!r} has no address')
        return found

    def start(self) -> None:
        """Accept connections in a background thread."""
        threading.Thread(target=self._accept, name='nvitop-server', daemon=True).start()

    def close(self) -> None:
        """Close all sockets."""
        self._closed.set()
        for listener in self._listeners:
            self._selector.unregister(listener)
            listener.close()
        with self._lock:
            connections = list(self._connections)
        for connection in connections:
            _end_transfer(connection)

    @property
    def is_crowded(self) -> bool:
        """Whether idle connections are closed."""
        return len(self._connections) > MAX_KEPT_CONNECTIONS

    def _accept(self) -> None:
        while not self._closed.is_set():
            try:
                ready = self._selector.select(1.0)
                for key, _ in ready:
                    connection, _ = key.data()
                    self._begin(connection)
            except (OSError, ValueError, RuntimeError):
                # Out of file descriptors or threads, or closed by another thread.
                self._closed.wait(0.1)

    def _begin(self, connection: socket.socket) -> None:
        if self._tls is not None:
            try:
                # The handshake waits for the client, and so belongs to the connection's own thread.
                connection = self._tls().wrap_socket(
                    connection, server_side=True, do_handshake_on_connect=False
                )
            except (OSError, ValueError):
                connection.close()
                return
        with self._lock:
            if len(self._connections) >= MAX_CONNECTIONS and self._waiting:
                longest = next(iter(self._waiting))
                self._forget(longest)
                _end_transfer(longest)  # its thread closes it
            is_full = len(self._connections) >= MAX_CONNECTIONS
            if not is_full:
                self._connections.add(connection)
                self._waiting[connection] = None
        if is_full:
            connection.close()
            return
        thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
        try:
            thread.start()
        except RuntimeError:
            self._end(connection)
            raise

    def _forget(self, connection: socket.socket) -> None:
        self._connections.discard(connection)
        self._waiting.pop(connection, None)

    def _end(self, connection: socket.socket) -> None:
        with self._lock:
            self._forget(connection)
        connection.close()

    @contextlib.contextmanager
    def working(self, connection: socket.socket) -> Iterator[None]:
        """Protect a connection from being closed for another one."""
        with self._lock:
            self._waiting.pop(connection, None)
        try:
            yield
        finally:
            with self._lock:
                if connection in self._connections:
                    self._waiting[connection] = None

    def _serve(self, connection: socket.socket) -> None:
        try:
            connection.settimeout(self.request_seconds)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if isinstance(connection, ssl.SSLSocket):
                connection.do_handshake()
            _HttpConnection(connection, self)
        except Exception:
            pass
        finally:
            self._end(connection)


def _end_transfer(connection: socket.socket) -> None:
    """End a connection, whose thread then closes it."""
    with contextlib.suppress(OSError):
        # SSLSocket.shutdown would change state that the other thread uses.
        socket.socket.shutdown(connection, socket.SHUT_RDWR)


def _listener(family: int, address: Any) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        if hasattr(socket, 'SO_EXCLUSIVEADDRUSE'):  # Windows
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind(address)
        listener.listen(128)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener


class _RequestTooLong(Exception):
    """A request has more than :data:`MAX_REQUEST_BYTES`."""


class _Reader(io.RawIOBase):
    """Reads a socket up to a deadline and a length, which no trickle of bytes extends."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        #: Monotonic seconds.
        self.deadline = 0.0
        #: Number of bytes that may still be read.
        self.allowance = MAX_REQUEST_BYTES

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        remaining = self.deadline - time.monotonic()
        if remaining <= 0:
            raise socket.timeout('the request takes too long')
        if self.allowance <= 0:
            raise _RequestTooLong
        self._connection.settimeout(remaining)
        count = self._connection.recv_into(buffer)
        self.allowance -= count
        return count


class _HttpConnection(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = 'HTTP/1.1'
    error_message_format = '%(code)d %(message)s\n'
    error_content_type = 'text/plain; charset=utf-8'

    def __init__(self, connection: socket.socket, server: WebServer) -> None:
        self._server = server
        super().__init__(connection, ('', 0), cast('BaseServer', server))

    def version_string(self) -> str:
        return f'nvitop/{__version__}'

    def setup(self) -> None:
        self.connection = self.request
        self._reader = _Reader(self.connection)
        self.rfile = self._buffer = io.BufferedReader(self._reader)
        writer = _Writer(self.connection, self._server.request_seconds)
        self.wfile = cast('io.BufferedIOBase', writer)

    def finish(self) -> None:
        """Drain what the client still sends: closing earlier could discard the response."""
        with contextlib.suppress(OSError, ValueError):
            self.connection.shutdown(socket.SHUT_WR)
            self._reader.deadline = time.monotonic() + 1.0
            self._reader.allowance = _MAX_DRAINED
            with contextlib.suppress(_RequestTooLong):
                while self._buffer.read1(_MAX_DRAINED):
                    pass

    def handle_one_request(self) -> None:
        limit = self._server.request_seconds
        is_first = not hasattr(self, 'raw_requestline')
        self._reader.deadline = time.monotonic() + (limit if is_first else IDLE_SECONDS)
        if not self._buffer.peek(1):
            self.close_connection = True
            return
        self._reader.deadline = time.monotonic() + limit
        self._reader.allowance = MAX_REQUEST_BYTES
        try:
            super().handle_one_request()
        except _RequestTooLong:
            self.send_error(431)

    def do_GET(self) -> None:
        with self._server.working(self.connection):
            response = self._response()
        self._send(response)

    def do_POST(self) -> None:
        """Refuse methods that would change something."""
        self._send(Response(b'only GET and HEAD\n', status=405, headers=(('Allow', 'GET, HEAD'),)))

    do_HEAD = do_GET
    do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_POST

    def _response(self) -> Response:
        try:
            headers = {name.lower(): value for name, value in self.headers.items()}
            return self._server.respond(self.path, headers)
        except Exception as error:
            return Response(f'{type(error).__name__}: {error}\n'.encode(), status=500)

    def _send(self, response: Response) -> None:
        lengths = self.headers.get_all('Content-Length', ['0'])
        has_body = lengths != ['0'] or 'Transfer-Encoding' in self.headers
        is_folded = any('\n' in value for value in self.headers.values())
        # Another server may find the end of such a request elsewhere. Serve nothing that follows it.
        if has_body or is_folded or self.headers.defects or self._server.is_crowded:
            self.close_connection = True
        self.send_response(response.status)
        self.send_header('Content-Type', response.content_type)
        self.send_header('Content-Length', str(len(response.body)))
        for name, value in response.headers:
            self.send_header(name, value)
        if self.close_connection:
            self.send_header('Connection', 'close')
        self.end_headers()
        if self.command != 'HEAD':
            self.wfile.write(response.body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: any client could fill the disk."""


class _Writer:
    """Writes to a socket, with a limit for the time of each write."""

    def __init__(self, connection: socket.socket, limit: float) -> None:
        self._connection = connection
        self._limit = limit

    def write(self, data: bytes) -> int:
        self._connection.settimeout(self._limit)
        self._connection.sendall(data)
        return len(data)

    def flush(self) -> None:
        """Do nothing: writes are not buffered."""
