"""The web server: what it serves, and that no client can block or crash it."""

from __future__ import annotations

import contextlib
import http.client
import socket
import threading
from typing import Mapping

import pytest

from nvitop.exporter import server as server_module
from nvitop.exporter.server import Response, WebServer
from nvitop.sampling.types import Sample
from tests.exporter.serving import get, make_site, serving
from tests.patience import PATIENCE


def test_paths() -> None:
    site, pages = make_site()
    with serving(WebServer(site.respond)) as address:
        assert get(address, '/-/ready')[0] == 503
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


def test_one_connection_serves_many_requests() -> None:
    site, _ = make_site()
    with serving(WebServer(site.respond)) as address:
        connection = http.client.HTTPConnection(*address, timeout=PATIENCE)
        for _ in range(3):
            connection.request('GET', '/metrics')
            assert connection.getresponse().read().startswith(b'# HELP')
        connection.close()


def test_ipv6() -> None:
    site, _ = make_site()
    try:
        with serving(WebServer(site.respond), '::1') as address:
            assert get(address, '/-/healthy')[0] == 200
    except OSError as error:
        pytest.skip(f'NOT TESTED: no IPv6: {error}')


def test_too_many_requests_get_status_503() -> None:
    waiting, go_on = threading.Event(), threading.Event()

    def respond(path: str, headers: Mapping[str, str]) -> Response:
        waiting.set()
        go_on.wait(PATIENCE)
        return Response(b'done')

    with serving(WebServer(respond, max_requests=1)) as address:
        found: list[int] = []
        first = threading.Thread(target=lambda: found.append(get(address, '/')[0]))
        first.start()
        assert waiting.wait(PATIENCE)
        assert get(address, '/')[0] == 503
        go_on.set()
        first.join(PATIENCE)
        assert found == [200]
        assert get(address, '/')[0] == 200


def test_silent_and_slow_clients_block_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, 'MAX_CONNECTIONS', 8)
    site, _ = make_site()
    with serving(WebServer(site.respond, request_seconds=0.3)) as address:
        silent = [socket.create_connection(address, timeout=PATIENCE) for _ in range(4)]
        silent[0].sendall(b'GET /metrics HTTP/1.1\r\nHo')
        assert get(address, '/-/healthy')[0] == 200
        for connection in silent:
            with contextlib.suppress(ConnectionError):
                assert connection.recv(1) == b''  # closed by the server
            connection.close()
        assert get(address, '/-/healthy')[0] == 200


def test_failures_are_responses() -> None:
    def respond(path: str, headers: Mapping[str, str]) -> Response:
        raise ValueError('broken')

    with serving(WebServer(respond)) as address:
        assert get(address, '/')[:2] == (500, b'ValueError: broken\n')
