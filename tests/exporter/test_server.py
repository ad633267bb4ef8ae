"""The web server: what it serves, and clients that try to keep others out."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from typing import Mapping

import pytest

from nvitop.exporter import server as server_module
from nvitop.exporter.server import Response, WebServer
from nvitop.sampling.types import Sample
from tests.exporter.serving import get, make_site, serving, talk
from tests.waiting import PATIENCE, wait_until


def test_paths() -> None:
    site, pages = make_site(sequence=0)
    with serving(WebServer(site.respond)) as address:
        assert get(address, '/-/ready')[0] == get(address, '/metrics')[0] == 503
        pages.write(Sample(1.0, sequence=1))
        assert get(address, '/-/ready')[0] == 200
        assert get(address, '/-/healthy')[0] == 200
        status, body, headers = get(address, '/metrics?x=1')
        assert (status, headers['Content-Type']) == (
            200,
            'text/plain; version=0.0.4; charset=utf-8',
        )
        assert body.startswith(b'# HELP')
        status, body, _ = get(address, '/')
        assert b'href="/metrics"' in body
        assert get(address, '/metricsx')[0] == 404
        assert get(address, '/metrics', 'DELETE')[0] == 405
        assert get(address, '/metrics', 'HEAD')[:2] == (200, b'')


def test_format_and_compression_are_negotiated() -> None:
    site, _ = make_site()
    with serving(WebServer(site.respond)) as address:
        _, body, headers = get(
            address,
            '/metrics',
            Accept='application/openmetrics-text; version=1.0.0',
            Accept_Encoding='gzip',
        )
        assert headers['Content-Type'].startswith('application/openmetrics-text; version=1.0.0')
        assert headers['Content-Encoding'] == 'gzip'
        assert body.startswith(b'\x1f\x8b')


def test_ipv6() -> None:
    site, _ = make_site()
    try:
        with serving(WebServer(site.respond), '::1') as address:
            assert get(address, '/-/healthy')[0] == 200
    except OSError as error:
        pytest.skip(f'NOT TESTED: no IPv6: {error}')


def test_too_many_requests_get_status_503(monkeypatch: pytest.MonkeyPatch) -> None:
    site, pages = make_site(max_requests=1)
    waiting, go_on = threading.Event(), threading.Event()

    def page(media: object, *, is_compressed: bool) -> bytes:
        waiting.set()
        go_on.wait(PATIENCE)
        return b'done'

    monkeypatch.setattr(pages, 'page', page)
    with serving(WebServer(site.respond)) as address:
        found: list[int] = []
        first = threading.Thread(target=lambda: found.append(get(address, '/metrics')[0]))
        first.start()
        assert waiting.wait(PATIENCE)
        status, _, headers = get(address, '/metrics')
        assert (status, headers['Retry-After']) == (503, '1')
        go_on.set()
        first.join(PATIENCE)
        assert found == [200]
        assert get(address, '/metrics')[0] == 200


def test_silent_clients_block_no_others() -> None:
    """A server that served one client after another would wait for the first one for ever."""
    site, _ = make_site()
    server = WebServer(site.respond, request_seconds=10 * PATIENCE)
    with serving(server) as address, contextlib.ExitStack() as stack:
        for begin in (b'', b'GET /metrics HTTP/1.1\r\nHo'):
            silent = socket.create_connection(address, timeout=PATIENCE)
            stack.enter_context(silent).sendall(begin)
        assert get(address, '/-/healthy')[0] == 200


def test_silent_clients_are_disconnected() -> None:
    site, _ = make_site()
    with contextlib.ExitStack() as stack:
        address = stack.enter_context(serving(WebServer(site.respond, request_seconds=0.2)))
        silent = stack.enter_context(socket.create_connection(address, timeout=PATIENCE))
        silent.sendall(b'GET /metrics HTTP/1.1\r\nHo')
        with contextlib.suppress(ConnectionError):
            assert silent.recv(1) == b''


def test_client_that_sends_byte_by_byte_is_disconnected() -> None:
    """Each byte would start the timeout of a socket again."""
    site, _ = make_site()
    with contextlib.ExitStack() as stack:
        address = stack.enter_context(serving(WebServer(site.respond, request_seconds=0.3)))
        client = stack.enter_context(socket.create_connection(address, timeout=PATIENCE))
        client.sendall(b'GET /metrics HTTP/1.1\r\nHo')
        client.settimeout(0.05)
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            try:
                client.sendall(b'o')
                assert client.recv(1) == b''
                break
            except socket.timeout:
                pass
            except ConnectionError:
                break
        else:
            pytest.fail('still connected')


def test_idle_connection_is_kept_longer_than_a_request_may_take() -> None:
    site, _ = make_site()
    with contextlib.ExitStack() as stack:
        address = stack.enter_context(serving(WebServer(site.respond, request_seconds=0.5)))
        client = stack.enter_context(socket.create_connection(address, timeout=PATIENCE))
        for _ in range(2):
            client.sendall(b'HEAD /-/healthy HTTP/1.1\r\n\r\n')
            assert client.recv(4096).startswith(b'HTTP/1.1 200')
            client.settimeout(1.0)
            with pytest.raises(socket.timeout):  # the server neither sends nor disconnects
                client.recv(1)


def test_any_number_of_silent_clients_keeps_no_scrape_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, 'MAX_CONNECTIONS', 8)
    site, _ = make_site()
    server = WebServer(site.respond, request_seconds=10 * PATIENCE)
    with serving(server) as address, contextlib.ExitStack() as stack:
        for _ in range(20):
            for _ in range(8):
                stack.enter_context(socket.create_connection(address, timeout=PATIENCE))
            assert get(address, '/metrics')[0] == 200
            assert len(server._connections) <= 8


def test_connection_that_is_being_served_is_not_closed_for_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server_module, 'MAX_CONNECTIONS', 2)
    waiting, go_on = threading.Event(), threading.Event()

    def respond(path: str, headers: Mapping[str, str]) -> Response:
        if path == '/slow':
            waiting.set()
            go_on.wait(PATIENCE)
        return Response(b'done')

    with serving(WebServer(respond, request_seconds=10 * PATIENCE)) as address:
        found: list[int] = []
        slow = threading.Thread(target=lambda: found.append(get(address, '/slow')[0]))
        slow.start()
        assert waiting.wait(PATIENCE)
        with contextlib.ExitStack() as stack:
            for _ in range(4):
                stack.enter_context(socket.create_connection(address, timeout=PATIENCE))
            assert get(address, '/')[0] == 200
        go_on.set()
        slow.join(PATIENCE)
        assert found == [200]


def test_clients_that_do_not_read_keep_no_scrape_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their responses do not fit into the buffers of the system."""
    site, pages = make_site(max_requests=5)
    begun: list[object] = []

    def page(media: object, *, is_compressed: bool) -> bytes:
        begun.append(media)
        return bytes(1 << 25)

    monkeypatch.setattr(pages, 'page', page)
    server = WebServer(site.respond, request_seconds=10 * PATIENCE)
    with serving(server) as address, contextlib.ExitStack() as stack:
        for _ in range(5):
            client = stack.enter_context(socket.create_connection(address, timeout=PATIENCE))
            client.sendall(b'GET /metrics HTTP/1.1\r\n\r\n')
        wait_until(lambda: len(begun) == 5, 'five requests')
        assert get(address, '/-/healthy')[0] == 200


SMUGGLED = b'GET /-/healthy HTTP/1.1\r\n\r\n'


@pytest.mark.parametrize(
    'header',
    [
        f'Content-Length: {len(SMUGGLED)}',
        f'Content-Length: 0\r\nContent-Length: {len(SMUGGLED)}',
        f'Content-Length : {len(SMUGGLED)}',
        f'no header\r\nContent-Length: {len(SMUGGLED)}',
        'Content-Length: +0',
        f'X: y\r\n Content-Length: {len(SMUGGLED)}',
        'Content-Length: 0\r\nContent-Length: 0',
        'Transfer-Encoding: chunked',
    ],
)
def test_what_may_be_a_body_is_no_second_request(header: str) -> None:
    site, _ = make_site()
    with serving(WebServer(site.respond)) as address:
        request = f'GET /-/healthy HTTP/1.1\r\n{header}\r\n\r\n'.encode()
        received = talk(address, request + SMUGGLED)
        assert received.count(b'HTTP/1.1 200') == 1
        assert b'Connection: close' in received


def test_failures_are_responses() -> None:
    def respond(path: str, headers: Mapping[str, str]) -> Response:
        raise ValueError('broken')

    with serving(WebServer(respond)) as address:
        assert get(address, '/')[:2] == (500, b'ValueError: broken\n')
