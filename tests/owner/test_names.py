"""Names of containers and pods by their IDs."""

from __future__ import annotations

import contextlib
import json
import pathlib
import socket
import sys
import threading
import time
from typing import Iterator

import pytest

from nvitop.owner import NameLookup, names
from nvitop.owner.names import KEPT_SECONDS, Places, container_name
from tests.clock import Clock
from tests.owner.values import CONTAINER, OUTER, POD

posix = pytest.mark.skipif(sys.platform == 'win32', reason='needs sockets with a path')


def test_names_in_logs(tmp_path: pathlib.Path) -> None:
    logs, pods = tmp_path / 'containers', tmp_path / 'pods'
    lookup = NameLookup(places=Places(container_logs=str(logs), pod_logs=str(pods)))
    assert lookup.of_container(CONTAINER) is None
    assert lookup.of_pod(POD) is None
    logs.mkdir()
    (pods / f'ml_train-0_{POD}').mkdir(parents=True)
    (logs / f'train-0_ml_main-{CONTAINER}.log').touch()
    (logs / f'{CONTAINER}.log').touch()
    found = lookup.of_container(CONTAINER)
    assert found is not None
    assert (found.name, found.pod_name, found.runtime) == ('main', 'ml/train-0', '')
    pod = lookup.of_pod(POD)
    assert pod is not None
    assert pod.pod_name == 'ml/train-0'
    assert lookup.of_container(OUTER) is None


class Daemon:
    """A program that answers each request on a socket with the same bytes; ``None``: not at all."""

    def __init__(self, path: pathlib.Path, answer: bytes | None) -> None:
        self.requests: list[bytes] = []
        self._answer = answer
        self._held: list[socket.socket] = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen(8)
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):  # it was closed
            while True:
                connection, _ = self._listener.accept()
                self._held.append(connection)
                self.requests.append(connection.recv(4096))
                if self._answer is not None:
                    with connection, contextlib.suppress(OSError):
                        connection.sendall(self._answer)

    def close(self) -> None:
        for each in (self._listener, *self._held):
            each.close()


def response(body: object, status: str = '200 OK') -> bytes:
    return f'HTTP/1.1 {status}\r\nServer: x\r\n\r\n'.encode() + json.dumps(body).encode()


@pytest.fixture
def short() -> Iterator[pathlib.Path]:
    """A directory whose path is short enough for sockets."""
    import shutil
    import tempfile

    path = pathlib.Path(tempfile.mkdtemp(dir='/tmp'))
    yield path
    shutil.rmtree(path)


@posix
@pytest.mark.parametrize(
    ('answer', 'name'),
    [
        (response({'Id': CONTAINER, 'Name': '/web'}), 'web'),
        (response({'Id': CONTAINER, 'Name': 'web'}), 'web'),
        (response({'Id': OUTER, 'Name': '/web'}), None),
        (response({'Id': CONTAINER, 'Name': '/\x1b[2J'}), None),
        (response({'Id': CONTAINER, 'Name': ['web']}), None),
        (response({'message': 'no such container'}, '404 Not Found'), None),
        (response(['web']), None),
        (response({})[:-1], None),
        (b'HTTP/1.1 200 OK\r\n\r\n' + b'[' * 100_000, None),
        (b'', None),
    ],
)
def test_name_from_a_socket(short: pathlib.Path, answer: bytes, name: str | None) -> None:
    daemon = Daemon(short / 'docker.sock', answer)
    assert container_name(str(short / 'docker.sock'), CONTAINER) == name
    assert daemon.requests[0].startswith(f'GET /containers/{CONTAINER}/json '.encode())
    daemon.close()


@posix
def test_silent_socket_costs_a_limited_time(
    short: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(names, 'TIMEOUT_SECONDS', 0.05)
    daemon = Daemon(short / 'docker.sock', None)
    begin = time.monotonic()
    assert container_name(str(short / 'docker.sock'), CONTAINER) is None
    assert time.monotonic() - begin < 5.0
    daemon.close()
    assert container_name(str(short / 'missing.sock'), CONTAINER) is None


@posix
def test_sockets_are_used_only_on_request(short: pathlib.Path) -> None:
    daemon = Daemon(short / 'docker.sock', response({'Id': CONTAINER, 'Name': '/web'}))
    (short / '1000' / 'podman').mkdir(parents=True)
    rootless = Daemon(
        short / '1000' / 'podman' / 'podman.sock', response({'Id': OUTER, 'Name': 'mine'})
    )
    places = Places(docker=str(short / 'docker.sock'), podman='/missing', users=str(short))
    clock = Clock()
    for lookups in ('none', 'files'):
        lookup = NameLookup(lookups, places=places)
        assert lookup.from_sockets(CONTAINER, 'docker', None) is None
    assert daemon.requests == []
    lookup = NameLookup('sockets', places=places, clock=clock)
    for _ in range(3):
        assert lookup.from_sockets(CONTAINER, 'docker', None) == 'web'
        assert lookup.from_sockets(OUTER, 'podman', '1000') == 'mine'
    assert (len(daemon.requests), len(rootless.requests)) == (1, 1)
    clock.turn(KEPT_SECONDS)
    assert lookup.from_sockets(CONTAINER, 'docker', None) == 'web'
    assert len(daemon.requests) == 2
    daemon.close()
    rootless.close()
