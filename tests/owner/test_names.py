"""Names of containers and pods by their IDs, and jobs of Slurm."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Iterator

import pytest

from nvitop.owner import NameLookup, names
from nvitop.owner.names import (
    KEPT_SECONDS,
    Job,
    Places,
    SlurmJobs,
    container_name,
    expand_nodes,
    job_ids,
    parse_job,
)
from tests.clock import Clock
from tests.owner.values import CONTAINER, OUTER, POD
from tests.waiting import PATIENCE, wait_until

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


#: As Slurm 22.05 and 23.11 print a job of two nodes, without the fields in between.
TEXT = (
    'JobId=42 JobName=train UserId=ann(1000) GroupId=ml(100) Account=vision QOS=normal '
    'JobState=RUNNING Partition=gpu NodeList=gpu[07-08] NumNodes=2 JOB_GRES=gpu:h100:3 '
    'Nodes=gpu07 CPU_IDs=0-3 Mem=1024 GRES=gpu:h100:2(IDX:0,2) '
    'Nodes=gpu08 CPU_IDs=0-1 Mem=1024 GRES=gpu:h100:1(IDX:1),shard:0(N/A) MinMemoryNode=1G'
)


@pytest.mark.parametrize(
    ('node', 'gpus'), [('gpu07', (0, 2)), ('gpu08', (1,)), ('gpu09', ()), ('gpu7', ())]
)
def test_job_has_the_gpus_of_this_node(node: str, gpus: tuple[int, ...]) -> None:
    assert parse_job(TEXT, node) == Job('42', 'ann', 'vision', 'gpu', gpus)
    text = 'JobId=7 UserId=bob(1) Account=(null) Nodes=a[1-3] CPU_IDs=0 Mem=0 GRES=gpu:4(IDX:0-3)'
    assert parse_job(text, 'a2') == Job('7', 'bob', '', '', (0, 1, 2, 3))


def test_lists_of_nodes_are_bounded() -> None:
    assert len(expand_nodes('n[0-99999999999]')) == 1 << 16


def test_jobs_have_control_groups_of_both_versions(tmp_path: Path) -> None:
    for path in (
        'system.slice/slurmstepd.scope/job_42/step_0',
        'system.slice/gpu07_slurmstepd.scope/job_43',
        'memory/slurm/uid_1000/job_44',
        'memory/slurm/uid_1000/job_x',
    ):
        (tmp_path / path).mkdir(parents=True)
    assert job_ids(str(tmp_path)) == {'42', '43', '44'}


@pytest.mark.skipif(os.name == 'nt', reason='the program is a shell script')
def test_scontrol_describes_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = SlurmJobs('gpu07', ids=lambda: {'42'})
    program = tmp_path / 'scontrol'
    program.write_text(f'#!/bin/sh\necho "{TEXT} $4 $5"\n')
    program.chmod(0o755)
    monkeypatch.setenv('PATH', str(tmp_path / 'missing'))
    jobs.look()
    assert list(jobs.read()) == []
    monkeypatch.setenv('PATH', f'{tmp_path}:{os.defpath}')
    jobs = SlurmJobs('gpu07', ids=lambda: {'42'})
    jobs.look()
    assert [job.user for job in jobs.read()] == ['ann']


def test_each_job_is_described_once_and_forgotten_at_its_end() -> None:
    clock, ids, asked = Clock(), {'42'}, []

    def show(job: str) -> str:
        asked.append(job)
        return TEXT if job == '42' else ''

    jobs = SlurmJobs('gpu07.example.org', ids=lambda: set(ids), show=show, clock=clock)
    wait_until(lambda: jobs.read(), 'no job')
    assert [job.id for job in jobs.read()] == ['42']
    ids.add('43')  # Slurm says nothing about it
    for _ in range(3):
        jobs.look()
    assert sorted(asked) == ['42', '43']
    wait_until(lambda: jobs.read(['44']) and '44' in asked, 'the job of a process')
    ids.clear()
    clock.turn(60)
    wait_until(lambda: not jobs.read(), 'the job is still there')


def test_a_job_that_begins_during_a_look_is_described_by_the_next() -> None:
    asked, answered = threading.Event(), threading.Event()

    def show(job: str) -> str:
        asked.set()
        answered.wait(PATIENCE)
        return TEXT if job == '42' else TEXT.replace('JobId=42', f'JobId={job}')

    jobs = SlurmJobs('gpu07.example.org', ids=lambda: {'42'}, show=show, clock=Clock())
    jobs.read()
    asked.wait(PATIENCE)
    jobs.read(['44'])  # the thread has asked for the numbers of the jobs already
    answered.set()
    wait_until(lambda: len(jobs.read(['44'])) == 2, 'the job of a process')
