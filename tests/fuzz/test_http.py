"""Malformed, long, slow and many requests: the exporter goes on serving, without a traceback."""

from __future__ import annotations

import contextlib
import random
import re
import socket
import threading
from typing import Any, Iterator

import pytest

from nvitop.exporter import server as server_module
from nvitop.exporter.server import MAX_REQUEST_BYTES, WebServer
from tests.exporter.serving import get, make_site, serving, talk
from tests.fuzz.input_count import check_seeds
from tests.fuzz.texts import Hostile
from tests.waiting import PATIENCE, wait_until

REQUEST = (
    b'GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: */*\r\nAccept-Encoding: gzip\r\n'
    b'Authorization: Basic YTpi\r\n\r\n'
)
CASES = [
    b'',
    b'\r\n' * 5,
    b'\x16\x03\x01\x02\x00\x01' + bytes(100),
    b'GET ' + b'/' * 100_000 + b' HTTP/1.1\r\n\r\n',
    b'GET / HTTP/1.1\r\n' + b'x: y\r\n' * 500 + b'\r\n',
    b'GET / HTTP/1.1\r\nx: ' + b'y' * 100_000 + b'\r\n\r\n',
    b'GET / HTTP/1.1\r\n' + (b'x: ' + b'y' * 60_000 + b'\r\n') * 99 + b'\r\n',
    b'GET / HTTP/9.9\r\n\r\n',
    b'GET /\r\n\r\n',
    b'GET http://[::1/ HTTP/1.1\r\n\r\n',
    b'GET * HTTP/1.1\r\n\r\n',
    b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    b'POST /metrics HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
    b'GET /metrics HTTP/1.1\r\nExpect: 100-continue\r\n\r\n',
    b'GET /metrics HTTP/1.1\r\nContent-Length: -1\r\nAccept: ' + b',;=' * 9999 + b'\r\n\r\n',
    b'GET /metrics HTTP/1.1\r\nContent-Length: 9' + b'9' * 5000 + b'\r\n\r\n',
    b'GET /metrics HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc' + REQUEST,
]
STATUSES = {100, 200, 400, 401, 404, 405, 414, 431, 501, 503, 505}


@pytest.fixture
def failures(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Exceptions in the server other than those of sockets; no client may cause one."""
    found: list[str] = []
    connection_type = server_module._HttpConnection

    class Watched(connection_type):  # type: ignore[valid-type, misc]
        def __init__(self, *arguments: Any) -> None:
            try:
                super().__init__(*arguments)
            except OSError:
                raise
            except Exception as error:
                found.append(repr(error))
                raise

    monkeypatch.setattr(server_module, '_HttpConnection', Watched)
    monkeypatch.setattr(threading, 'excepthook', lambda failure: found.append(repr(failure)))
    return found


def connections(server: WebServer) -> int:
    return len(server._connections)


def request_of(choose: random.Random, hostile: Hostile) -> bytes:
    """Return a request, mostly a malformed one."""
    kind = choose.randrange(5)
    if kind == 0:
        return choose.choice(CASES)
    if kind == 1:
        path = hostile.text().encode('utf-8', 'surrogatepass')
        return b'GET /' + path + b' HTTP/1.1\r\n\r\n'
    if kind == 2:
        name, value = (hostile.text().encode('utf-8', 'surrogatepass') for _ in range(2))
        known = choose.choice([name, b'Accept', b'Accept-Encoding', b'Authorization'])
        return b'GET /metrics HTTP/1.1\r\n' + known + b': ' + value + b'\r\n\r\n'
    data = bytearray(REQUEST)
    for _ in range(choose.randint(0, 8)):
        data[choose.randrange(len(data))] = choose.randrange(256)
    end = choose.randint(1, len(data)) if choose.random() < 0.3 else len(data)
    return bytes(data[:end])


def test_no_request_crashes_the_server(
    failures: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    site, _ = make_site()
    server = WebServer(site.respond)
    with serving(server) as address:

        def check(seed: int) -> None:
            choose, hostile = random.Random(seed), Hostile(seed)
            pipelined = [request_of(choose, hostile) for _ in range(choose.choice([1, 1, 1, 4]))]
            received = talk(address, b''.join(pipelined))
            assert not failures, failures
            assert b'Traceback' not in received
            if received.startswith(b'HTTP/'):  # not so for requests of HTTP/0.9
                found = {int(status) for status in re.findall(rb'^HTTP/1.1 (\d+)', received)}
                assert found <= STATUSES, received[:200]

        for case in CASES:
            talk(address, case)
        check_seeds(200, check)
        assert get(address, '/metrics')[0] == 200
        wait_until(lambda: connections(server) == 0, 'connections stay open')
    assert capfd.readouterr() == ('', '')


def test_long_requests_are_refused_before_they_are_read(failures: list[str]) -> None:
    site, _ = make_site()
    with serving(WebServer(site.respond)) as address:
        line = b'x: ' + b'y' * 60_000 + b'\r\n'
        assert b'431' in talk(address, b'GET / HTTP/1.1\r\n' + line * 3)[:20]
        assert 3 * len(line) > MAX_REQUEST_BYTES
        # The limit is for each request of a connection.
        request = REQUEST.replace(b'Host', b'X: ' + b'y' * 50_000 + b'\r\nHost')
        assert talk(address, request * 8).count(b'HTTP/1.1 200 OK') == 8
    assert not failures


@pytest.fixture
def opened() -> Iterator[list[socket.socket]]:
    found: list[socket.socket] = []
    yield found
    for connection in found:
        connection.close()


def test_number_of_connections_is_limited(
    failures: list[str], opened: list[socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Clients that send a part of a request and wait; they are disconnected in the end."""
    monkeypatch.setattr(server_module, 'MAX_CONNECTIONS', 40)
    site, _ = make_site()
    server = WebServer(site.respond, request_seconds=0.3)
    with serving(server) as address:
        for number in range(100):
            opened.append(socket.create_connection(address, timeout=PATIENCE))
            with contextlib.suppress(ConnectionError):  # one too many
                opened[-1].sendall(REQUEST[: number % len(REQUEST)])
            assert connections(server) <= 40
        for connection in opened:
            with contextlib.suppress(ConnectionError):
                assert connection.recv(1) == b''  # closed by the server
        wait_until(lambda: connections(server) == 0, 'slow clients stay connected')
        assert get(address, '/metrics')[0] == 200
    assert not failures
