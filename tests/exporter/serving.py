"""A running web server of the exporter, and its clients."""

from __future__ import annotations

import contextlib
import http.client
import pathlib
import socket
import subprocess
from typing import Iterator, Mapping

import pytest

from nvitop.exporter.access import Access, WebConfig
from nvitop.exporter.dialects import SeriesOptions
from nvitop.exporter.pages import Pages
from nvitop.exporter.server import WebServer
from nvitop.exporter.site import Site
from nvitop.sampling.types import Sample
from tests.waiting import PATIENCE


@contextlib.contextmanager
def serving(server: WebServer, host: str = '127.0.0.1') -> Iterator[tuple[str, int]]:
    (address, *_) = server.listen(host, 0)
    server.start()
    try:
        yield address
    finally:
        server.close()


def make_site(
    config: WebConfig | None = None, max_requests: int = 40, sequence: int = 1
) -> tuple[Site, Pages]:
    pages = Pages(['own'], SeriesOptions(), interval=5.0)
    pages.write(Sample(1.0, sequence=sequence))
    access = Access(config or WebConfig(), on_problem=pytest.fail)
    return Site(pages, '/metrics', ['own'], access, max_requests), pages


def get(
    address: tuple[str, int], path: str, method: str = 'GET', **headers: str
) -> tuple[int, bytes, Mapping[str, str]]:
    connection = http.client.HTTPConnection(*address, timeout=PATIENCE)
    with contextlib.closing(connection):
        connection.request(
            method, path, headers={k.replace('_', '-'): v for k, v in headers.items()}
        )
        with connection.getresponse() as response:
            return response.status, response.read(), dict(response.getheaders())


def talk(address: tuple[str, int], data: bytes) -> bytes:
    with socket.create_connection(address, timeout=PATIENCE) as connection:
        with contextlib.suppress(OSError):
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
        received = b''
        with contextlib.suppress(ConnectionError):
            while True:
                more = connection.recv(65536)
                if not more:
                    break
                received += more
        return received


def make_certificate(directory: pathlib.Path, name: str) -> None:
    subprocess.run(
        [
            *('openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256'),
            *('-nodes', '-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1'),
            *('-keyout', f'{directory}/{name}.key', '-out', f'{directory}/{name}.pem'),
        ],
        check=True,
        capture_output=True,
    )
