"""Owners of real processes in real control groups, for ``make test-owners``.

The tests need root and a private mount namespace. They make directories below one of their own in
the control groups of the machine, and remove them.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
from typing import Callable, Iterator

import pytest

from nvitop import NA, HostProcess
from tests.e2e.monitor import OTHER_USER, bystander
from tests.e2e.program import environment
from tests.owner.values import REAL_OWNERS, filled
from tests.waiting import PATIENCE

pytestmark = [*REAL_OWNERS]

#: Directory of these tests below the root of a hierarchy.
HOME = f'nvitop-test-{os.getpid()}'
JOB = '/system.slice/slurmstepd.scope/job_42/step_0/user/task_0'


class Hierarchy:
    """A hierarchy of control groups, mounted for these tests only."""

    def __init__(self, path: pathlib.Path, *arguments: str) -> None:
        path.mkdir()
        self.path = path
        done = subprocess.run(
            ['mount', *arguments, 'none', str(path)], capture_output=True, check=False
        )
        if done.returncode:
            pytest.skip(f'NOT TESTED: cannot mount control groups: {done.stderr.decode().strip()}')

    def directory(self, path: str | bytes) -> bytes:
        """Make a directory for a path such as ``/system.slice/a.service``."""
        made = os.fsencode(self.path / HOME) + b'/' + os.fsencode(path).strip(b'/')
        os.makedirs(made, exist_ok=True)
        return made

    def put(self, pid: int, path: str | bytes) -> None:
        with open(os.path.join(self.directory(path), b'cgroup.procs'), 'w') as file:
            file.write(str(pid))

    def close(self) -> None:
        for folder, _, _ in os.walk(os.fsencode(self.path / HOME), topdown=False):
            deadline = time.monotonic() + PATIENCE
            while os.path.exists(folder):  # until its last process has exited
                with contextlib.suppress(OSError):
                    os.rmdir(folder)
                assert time.monotonic() < deadline, folder
        subprocess.run(['umount', str(self.path)], check=True)


@pytest.fixture
def groups(tmp_path: pathlib.Path) -> Iterator[Hierarchy]:
    made = Hierarchy(tmp_path / 'cgroup2', '-t', 'cgroup2')
    yield made
    made.close()


def owner_text(pid: int) -> str:
    owner = HostProcess(pid).owner()
    assert owner is not NA
    return str(owner)


def in_child(function: Callable[[], str]) -> str:
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        text = 'failed'
        try:
            text = function()
        finally:
            os.write(writer, text.encode())
            os._exit(0)
    os.close(writer)
    with open(reader, encoding='utf-8') as file:
        text = file.read()
    os.waitpid(pid, 0)
    return text


def owner_seen_by_other_user(pid: int) -> str:
    def text() -> str:
        os.setuid(OTHER_USER)
        return owner_text(pid)

    return in_child(text)


@pytest.mark.parametrize(
    ('path', 'text'),
    [
        (JOB, 'slurm 42.0'),
        ('/system.slice/docker-<C>.scope', 'docker 4f797c539e6c'),
        (
            '/kubepods.slice/kubepods-burstable-pod<Q>.slice/cri-containerd-<C>.scope',
            'pod 5ba385ca',
        ),
        ('/user.slice/user-1000.slice/session-3.scope', 'session 3'),
    ],
)
def test_layouts_of_version_2(groups: Hierarchy, path: str, text: str) -> None:
    with bystander('trainer') as child:
        groups.put(child.pid, filled(path))
        assert owner_text(child.pid) == text
        # As another user, of a process of root.
        assert owner_seen_by_other_user(child.pid) == text


def test_private_namespaces(groups: Hierarchy) -> None:
    """A reader in a cgroup namespace sees paths that begin with ``/..``."""
    path = os.fsdecode(groups.directory('/a/b'))
    inside = ['sh', '-c', 'echo $$ > "$0/cgroup.procs"; exec unshare --cgroup "$@"', path]
    code = 'import sys, nvitop; print(nvitop.HostProcess(*map(int, sys.argv[1:])).owner())'
    reader = [*inside, sys.executable, '-c', code]
    with bystander('trainer') as child:
        groups.put(child.pid, JOB)
        assert run(*inside, 'tail', '-n1', f'/proc/{child.pid}/cgroup').startswith('0::/../..')
        assert run(*reader, str(child.pid)) == 'slurm 42.0\n'
    # Its own cgroup is the root of its namespace: nothing is known.
    assert run(*reader) == '-\n'


def run(*command: str) -> str:
    return subprocess.run(
        command, check=True, capture_output=True, text=True, env=environment()
    ).stdout


@pytest.fixture
def sys_groups() -> Iterator[None]:
    """Version 2 alone in the usual place, as runtimes expect it."""
    place = '/sys/fs/cgroup'
    run('mount', '-t', 'cgroup2', 'none', place)
    yield
    run('umount', place)


@pytest.mark.usefixtures('sys_groups')
def test_podman_names_its_container(groups: Hierarchy, tmp_path: pathlib.Path) -> None:
    runroot = tempfile.mkdtemp(prefix='podman-')  # at most 50 characters
    if not shutil.which('podman'):
        pytest.skip('NOT TESTED: podman is not installed')
    root = tmp_path / 'root'
    mounted = []
    for name in ('bin', 'lib', 'lib64', 'usr'):
        (root / name).mkdir(parents=True)
        if os.path.isdir(f'/{name}'):
            run('mount', '--rbind', f'/{name}', str(root / name))
            mounted.append(str(root / name))
    podman = [
        *('podman', '--root', str(tmp_path / 'storage'), '--runroot', runroot),
        *('--storage-driver=vfs', '--cgroup-manager=cgroupfs', '--events-backend=file'),
    ]
    try:
        started = subprocess.run(
            [
                *podman,
                *('run', '--detach', '--network=none', '--name=web', '--privileged'),
                # The default limits may be higher than those of this process.
                *('--ulimit=nofile=1024:1024', '--ulimit=nproc=1024:1024', '--pids-limit=-1'),
                *(f'--cgroup-parent=/{HOME}', '--rootfs', str(root), 'sleep', '300'),
            ],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        if started.returncode:
            pytest.skip(f'NOT TESTED: podman cannot run here: {started.stderr.strip()[-200:]}')
        pid = int(run(*podman, 'inspect', '--format={{.State.Pid}}', 'web'))
        assert owner_text(pid) == 'podman web'
    finally:
        subprocess.run([*podman, 'rm', '--force', 'web'], capture_output=True, check=False)
        shutil.rmtree(runroot, ignore_errors=True)
        run('umount', '--recursive', *mounted)
