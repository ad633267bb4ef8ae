"""The web server: what it serves, and clients that try to keep others out."""

from __future__ import annotations

import contextlib
import gzip
import pathlib
import shutil
import socket
import ssl
import threading
import time
import urllib.request

import pytest

from nvitop.exporter import server as server_module
from nvitop.exporter.command import _tls_context, make_parser, parse
from nvitop.sampling.types import Sample
from tests.exporter.serving import get, make_certificate, make_pages, serving, talk
from tests.waiting import PATIENCE


def test_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    pages = make_pages(sequence=0)
    with serving(pages) as address:
        assert get(address, '/-/ready')[0] == get(address, '/metrics')[0] == 503
        pages.write(Sample(1.0, sequence=1))
        assert get(address, '/-/ready')[0] == get(address, '/-/healthy')[0] == 200
        assert b'/metrics' in get(address, '/')[1]
        status, body, headers = get(address, '/metrics?x=1')
        assert status == 200
        assert headers['Content-Type'] == 'text/plain; version=0.0.4; charset=utf-8'
        assert body.startswith(b'# HELP')
        assert get(address, 'http://proxy:80/metrics')[0] == 200
        assert get(address, '/metricsx')[0] == 404
        assert get(address, '/metrics', 'DELETE')[0] == 501
        assert get(address, '/metrics', 'HEAD')[:2] == (200, b'')
        monkeypatch.setattr(pages, 'page', lambda **_: 1 // 0)
        assert get(address, '/metrics')[0] == 500


def test_pages_are_compressed_if_the_client_accepts_it() -> None:
    with serving() as address:
        for accepted in ('gzip', 'deflate, gzip;q=0.5', 'gzip;q=0', 'identity'):
            _, body, headers = get(address, '/metrics', Accept_Encoding=accepted)
            is_compressed = headers.get('Content-Encoding') == 'gzip'
            assert is_compressed == (accepted[-3:] in ('zip', '0.5'))
            assert (gzip.decompress(body) if is_compressed else body).startswith(b'# HELP')


@pytest.mark.parametrize('host', ['::1', 'localhost', '', '::'])
def test_addresses_of_both_families(host: str) -> None:
    try:
        with serving(host=host) as address:
            target = '::1' if host == '::1' else '127.0.0.1'
            assert get((target, address[1]), '/-/healthy')[0] == 200
    except OSError as error:
        pytest.skip(f'NOT TESTED: {error}')


def test_slow_and_silent_clients_are_disconnected_and_block_no_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server_module, 'REQUEST_SECONDS', 0.5)
    with serving() as address, contextlib.ExitStack() as stack:
        clients = []
        for request in (b'', b'GET /metrics HTTP/1.1\r\nHo'):
            client = stack.enter_context(socket.create_connection(address, timeout=PATIENCE))
            client.sendall(request)
            clients.append(client)
        assert get(address, '/metrics')[0] == 200
        deadline = time.monotonic() + PATIENCE
        dripping = clients.pop()
        dripping.settimeout(0.05)
        while time.monotonic() < deadline:  # each byte would start the timeout of a socket again
            try:
                dripping.sendall(b'o')
                assert dripping.recv(1) == b''
                break
            except socket.timeout:
                pass
            except ConnectionError:
                break
        else:
            pytest.fail('still connected')
        with contextlib.suppress(ConnectionError):
            assert clients[0].recv(1) == b''


def test_any_number_of_silent_clients_keeps_no_scrape_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, 'MAX_CONNECTIONS', 8)
    with serving() as address, contextlib.ExitStack() as stack:
        for _ in range(20):
            for _ in range(8):
                stack.enter_context(socket.create_connection(address, timeout=PATIENCE))
            assert get(address, '/metrics')[0] == 200
        assert sum(thread.name.startswith('Thread-') for thread in threading.enumerate()) < 30


def test_clients_that_do_not_read_keep_no_scrape_out(monkeypatch: pytest.MonkeyPatch) -> None:
    pages = make_pages()
    # Too much for the buffers of the system.
    monkeypatch.setattr(pages, 'page', lambda *, is_compressed: bytes(1 << 25))
    with serving(pages) as address, contextlib.ExitStack() as stack:
        for _ in range(50):
            client = stack.enter_context(socket.create_connection(address, timeout=PATIENCE))
            client.sendall(b'GET /metrics HTTP/1.1\r\n\r\n')
        assert get(address, '/-/healthy')[0] == 200


_SECOND = b'GET /-/healthy HTTP/1.1\r\n\r\n'


@pytest.mark.parametrize(
    'request_',
    [
        b'',
        b'\x16\x03\x01\x02\x00\x01' + bytes(100),
        b'GET ' + b'/' * 100_000 + b' HTTP/1.1\r\n\r\n',
        b'GET / HTTP/1.1\r\n' + (b'x: ' + b'y' * 60_000 + b'\r\n') * 99 + b'\r\n',
        b'GET / HTTP/1.1\r\n' + b'x: y\r\n' * 500 + b'\r\n',
        b'GET / HTTP/9.9\r\n\r\n',
        b'GET http://[::1/ HTTP/1.1\r\n\r\n',
        b'POST /metrics HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
        b'GET /metrics HTTP/1.1\r\nAccept-Encoding: ' + b',;=' * 9999 + b'\r\n\r\n',
        b'GET /-/healthy HTTP/1.1\r\nContent-Length: 0\r\n\r\n' + _SECOND,
        b'GET /-/healthy HTTP/1.1\r\nX: y\r\n Transfer-Encoding: chunked\r\n\r\n' + _SECOND,
    ],
)
def test_malformed_requests_get_at_most_one_response(
    request_: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    with serving() as address:
        assert talk(address, request_).count(b'HTTP/1.0 ') <= 1
        assert get(address, '/-/healthy')[0] == 200
    assert capfd.readouterr().err == ''


@pytest.mark.skipif(not shutil.which('openssl'), reason='NOT INSTALLED: openssl')
def test_tls_and_client_certificates(tmp_path: pathlib.Path) -> None:
    for name in ('server', 'client'):
        make_certificate(tmp_path, name)
    files = [f'--certfile={tmp_path}/server.pem', f'--keyfile={tmp_path}/server.key']
    client = ssl.create_default_context(cafile=f'{tmp_path}/server.pem')
    for options in (files, [*files, f'--client-cafile={tmp_path}/client.pem']):
        tls = _tls_context(parse(make_parser(), options))
        with serving(tls=tls) as (host, port), contextlib.ExitStack() as stack:
            # A client that begins no handshake blocks no other.
            stack.enter_context(socket.create_connection((host, port), timeout=PATIENCE))
            url = f'https://{host}:{port}/-/ready'
            if options is not files:
                with pytest.raises(OSError, match=r'ertificate|reset|EOF|roken pipe'):
                    urllib.request.urlopen(url, timeout=PATIENCE, context=client)
                client.load_cert_chain(f'{tmp_path}/client.pem', f'{tmp_path}/client.key')
            with urllib.request.urlopen(url, timeout=PATIENCE, context=client) as response:
                assert response.status == 200
