# SPDX-License-Identifier: Apache-2.0
"""The web server. A client that is slow, silent or hostile does not keep others out."""

from __future__ import annotations

import contextlib
import io
import re
import socket
import ssl
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from nvitop.version import __version__

if TYPE_CHECKING:
    from nvitop.exporter.pages import Pages

METRICS_PATH, HEALTHY_PATH, READY_PATH = '/metrics', '/-/healthy', '/-/ready'
#: Number of connections that the system accepts while this program is busy.
BACKLOG = 128
#: Maximum number of connections; a further one ends the oldest.
MAX_CONNECTIONS = 256
#: Maximum time (seconds) of a TLS handshake, of a request, and of sending its response.
REQUEST_SECONDS = 10.0
#: Maximum length (bytes) of a request with its headers.
MAX_REQUEST_BYTES = 1 << 16
_TEXT = 'text/plain; charset=utf-8'
_METRICS = 'text/plain; version=0.0.4; charset=utf-8'


class MetricsServer(ThreadingHTTPServer):
    """Serves pages over HTTP/1.0, one request for each connection.

    Args:
        address: Host and port; ``''`` is all interfaces.
        pages: Makes the pages with metrics.
        tls: Context for TLS; ``None`` is plain HTTP.

    Raises:
        OSError: The host is unknown, or the address cannot be used.
    """

    daemon_threads = True

    def __init__(
        self, address: tuple[str, int], pages: Pages, tls: ssl.SSLContext | None = None
    ) -> None:
        self.pages = pages
        self._tls = tls
        #: Guards the connections, the oldest first.
        self._lock = threading.Lock()
        self._connections: dict[socket.socket, None] = {}
        is_dual = address[0] in ('', '::') and socket.has_dualstack_ipv6()
        family = socket.AF_INET6 if is_dual or ':' in address[0] else socket.AF_INET
        # Without the name look-up of the base class.
        super().__init__(address, _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = socket.create_server(
            address, family=family, backlog=BACKLOG, dualstack_ipv6=is_dual
        )
        self.server_address = self.socket.getsockname()
        self.server_port = self.server_address[1]

    def start(self) -> None:
        """Serve in a background thread."""
        threading.Thread(target=self.serve_forever, name='nvitop-server', daemon=True).start()

    def get_request(self) -> tuple[Any, Any]:
        """Accept a connection, and end the oldest one if there are too many."""
        try:
            connection, address = super().get_request()
            if self._tls is not None:  # its own thread waits for the handshake
                connection = self._tls.wrap_socket(
                    connection, server_side=True, do_handshake_on_connect=False
                )
        except OSError:
            time.sleep(0.05)  # out of file descriptors, perhaps
            raise
        connection.settimeout(REQUEST_SECONDS)
        with self._lock:
            self._connections[connection] = None
            if len(self._connections) > MAX_CONNECTIONS:
                oldest = next(iter(self._connections))
                del self._connections[oldest]
                with contextlib.suppress(OSError):  # its thread closes it
                    # SSLSocket.shutdown would change state that the other thread uses.
                    socket.socket.shutdown(oldest, socket.SHUT_RDWR)
        return connection, address

    def shutdown_request(self, request: Any) -> None:
        """Close a connection."""
        with self._lock:
            self._connections.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log nothing: any client could fill the disk."""


class _Handler(BaseHTTPRequestHandler):
    error_message_format = '%(code)d %(message)s\n'
    error_content_type = _TEXT
    server_version, sys_version = f'nvitop/{__version__}', ''
    server: MetricsServer

    def setup(self) -> None:
        if isinstance(self.request, ssl.SSLSocket):
            self.request.do_handshake()
        super().setup()
        self.rfile = io.BufferedReader(_Head(self.connection))

    def do_GET(self) -> None:
        try:
            status, content_type, body = self._answer()
        except Exception as error:
            status, content_type, body = 500, _TEXT, f'{type(error).__name__}: {error}\n'.encode()
        self.send_response(status)
        self.send_header('Content-Type', content_type)
        self.send_header('Content-Length', str(len(body)))
        if body.startswith(b'\x1f\x8b'):
            self.send_header('Content-Encoding', 'gzip')
        self.send_header('Vary', 'Accept-Encoding')
        self.end_headers()
        if self.command != 'HEAD':
            self.wfile.write(body)

    do_HEAD = do_GET

    def _answer(self) -> tuple[int, str, bytes]:
        # A proxy may send the whole URL.
        path = re.sub(r'^https?://[^/?]*|\?.*', '', self.path)
        pages = self.server.pages
        if path == METRICS_PATH and pages.has_sample:
            accepted = self.headers.get('Accept-Encoding', '')
            is_compressed = 'gzip' in accepted and not re.search(
                r'gzip *; *q=0(\.0*)? *(,|$)', accepted
            )
            return 200, _METRICS, pages.page(is_compressed=is_compressed)
        if path in ('/', HEALTHY_PATH):
            return 200, _TEXT, f'nvitop exporter: metrics are at {METRICS_PATH}\n'.encode()
        if path in (METRICS_PATH, READY_PATH):
            is_ready = pages.has_sample
            return (200, _TEXT, b'ready\n') if is_ready else (503, _TEXT, b'no sample yet\n')
        return 404, _TEXT, f'not found; metrics are at {METRICS_PATH}\n'.encode()

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: any client could fill the disk."""


class _Head(io.RawIOBase):
    """Reads a request, which has a maximum size and must arrive in time, however slowly."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._remaining = MAX_REQUEST_BYTES
        self._deadline = time.monotonic() + REQUEST_SECONDS

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._connection.settimeout(max(0.001, self._deadline - time.monotonic()))
        count = self._connection.recv_into(memoryview(buffer)[: self._remaining])
        self._remaining -= count
        return count
