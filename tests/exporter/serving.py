"""A running web server of the exporter, and its clients."""

from __future__ import annotations

import contextlib
import http.client
import pathlib
import socket
import ssl
import subprocess
from typing import Iterator, Mapping

from nvitop.exporter.dialects import SeriesOptions
from nvitop.exporter.pages import Pages
from nvitop.exporter.server import MetricsServer
from nvitop.sampling.types import Sample
from tests.waiting import PATIENCE


def make_pages(sequence: int = 1) -> Pages:
    pages = Pages(['own'], SeriesOptions(), interval=5.0)
    pages.write(Sample(1.0, sequence=sequence))
    return pages


@contextlib.contextmanager
def serving(
    pages: Pages | None = None, *, host: str = '127.0.0.1', tls: ssl.SSLContext | None = None
) -> Iterator[tuple[str, int]]:
    server = MetricsServer((host, 0), pages or make_pages(), tls)
    server.start()
    try:
        yield str(server.server_address[0]), server.server_port
    finally:
        server.shutdown()
        server.server_close()


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
        received = b''
        with contextlib.suppress(OSError):
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            while True:
                chunk = connection.recv(65536)
                if not chunk:
                    break
                received += chunk
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
