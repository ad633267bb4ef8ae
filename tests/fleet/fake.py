"""A fake server that keeps requests and sends the replies that a test sets."""

from __future__ import annotations

import contextlib
import gzip
import http.server
import json
import ssl
import threading
import urllib.parse
from typing import Iterator, NamedTuple


class Received(NamedTuple):
    """A request."""

    target: str
    headers: dict[str, str]
    form: dict[str, str]


class Reply(NamedTuple):
    """A response: status, body, and headers."""

    status: int = 200
    body: bytes = b''
    headers: tuple[tuple[str, str], ...] = (('Content-Type', 'application/json'),)
    #: The body is shorter than announced.
    cut: bool = False
    compressed: bool = False


def result(*rows: tuple[dict[str, str], str], **more: object) -> bytes:
    """Return the JSON of a response with these rows."""
    result = [{'metric': labels, 'value': [1.0, value]} for labels, value in rows]
    data = {'resultType': 'vector', 'result': result}
    return json.dumps({'status': 'success', 'data': data, **more}).encode()


def one_host(**more: object) -> bytes:
    labels = {'__name__': 'nvitop_gpu_utilization_ratio', 'instance': 'gpu01:9101', 'uuid': 'GPU-1'}
    return result((labels, '0.5'), **more)


class FakeServer:
    """The replies that are still to be given, and the requests so far."""

    def __init__(self) -> None:
        self.replies: list[Reply] = []
        self.received: list[Received] = []
        self.url = ''

    def next_reply(self) -> Reply:
        """Return the next reply; the last one is repeated."""
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


@contextlib.contextmanager
def fake_server(certificate: str = '', key: str = '') -> Iterator[FakeServer]:
    """Run a fake server for the block, with TLS if it has a certificate (files)."""
    fake = FakeServer()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = 'HTTP/1.1'

        def do_POST(self) -> None:
            length = int(self.headers['Content-Length'])
            form = dict(urllib.parse.parse_qsl(self.rfile.read(length).decode()))
            fake.received.append(Received(self.path, dict(self.headers.items()), form))
            reply = fake.next_reply()
            body = gzip.compress(reply.body) if reply.compressed else reply.body
            with contextlib.suppress(OSError):
                self.send_response(reply.status)
                for name, value in reply.headers:
                    self.send_header(name, value)
                if reply.compressed:
                    self.send_header('Content-Encoding', 'gzip')
                self.send_header('Content-Length', str(len(body) + 100 * reply.cut))
                self.end_headers()
                self.wfile.write(body)
            self.close_connection = self.close_connection or reply.cut

        def log_message(self, format: str, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler) as server:
        server.daemon_threads = True
        scheme = 'http'
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate, key)
            server.socket = context.wrap_socket(server.socket, server_side=True)
            scheme = 'https'
        fake.url = f'{scheme}://127.0.0.1:{server.server_address[1]}'
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield fake
        finally:
            server.shutdown()
            thread.join()
