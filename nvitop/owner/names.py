# SPDX-License-Identifier: Apache-2.0
"""Names of containers and pods, found by their IDs, and jobs of Slurm.

By default only files that every user may read are used: entries in ``/var/log/containers`` and
``/var/log/pods``, and the arguments of the processes that watch containers. The names
of Docker are only known to its socket. Users of such a socket can become root, so it is used only if
the user asks for it.
"""

from __future__ import annotations

import functools
import glob
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from typing import Callable, Iterable, NamedTuple, Optional, Sequence, Tuple

from nvitop.api.system import system
from nvitop.owner.cgroup import shape
from nvitop.owner.types import ContainerName
from nvitop.platforms.kernel import renew_in_child

#: Settings: no lookups, files that every user may read, or the sockets of Docker and Podman too.
LOOKUPS = ('none', 'files', 'sockets')

#: Time (seconds) for which an answer of a socket counts, also if it has no name.
KEPT_SECONDS = 60.0
#: Maximum number of containers whose names are kept.
_MAX_NAMES = 4096
#: Maximum time (seconds) for which a socket may be silent, and maximum size (bytes) of its response.
TIMEOUT_SECONDS = 0.5
_MAX_BYTES = 1 << 20

_DNS = '[a-z0-9][a-z0-9.-]{0,252}'
_LABEL = '[a-z0-9][a-z0-9-]{0,62}'
_is_name = shape(r'/?([A-Za-z0-9][A-Za-z0-9_.-]{0,254})')
_log = shape(rf'({_DNS})_({_LABEL})_({_LABEL})-([0-9a-f]{{64}})\.log')
_pod = shape(rf'({_LABEL})_({_DNS})_([0-9a-f]{{32}}|[0-9a-f-]{{36}})')


class Places(NamedTuple):
    container_logs: str = '/var/log/containers'
    pod_logs: str = '/var/log/pods'
    #: Sockets of the system.
    docker: str = '/run/docker.sock'
    podman: str = '/run/podman/podman.sock'
    #: Sockets of users below this directory and their UID.
    users: str = '/run/user'


_Parse = Callable[[str], Optional[Tuple[str, ContainerName]]]


class _Directory:
    """The names in a directory, read again only when they changed."""

    def __init__(self, path: str, parse: _Parse) -> None:
        self._path = path
        self._parse = parse
        self._changed = -1
        self._names: dict[str, ContainerName] = {}

    def find(self, key: str) -> ContainerName | None:
        try:
            changed = os.stat(self._path).st_mtime_ns
            if changed != self._changed:
                self._names = _parsed(os.listdir(self._path), self._parse)
                self._changed = changed
        except OSError:
            return None
        return self._names.get(key)


def _parsed(names: list[str], parse: _Parse) -> dict[str, ContainerName]:
    return dict(filter(None, map(parse, names[: 8 * _MAX_NAMES])))


class NameLookup:
    """Finds names by IDs, and remembers them. Threads may share it."""

    def __init__(
        self,
        lookups: str = 'files',
        *,
        places: Places | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Set how to look up names; ValueError if it is none of :data:`LOOKUPS`."""
        if lookups not in LOOKUPS:
            raise ValueError(f'{lookups!r} is none of {", ".join(LOOKUPS)}')
        self.lookups = lookups
        self._places = places or Places()
        self._clock = clock
        self._lock = threading.Lock()
        renew_in_child(self, _lock=threading.Lock)
        self._logs = _Directory(self._places.container_logs, parse_container_log)
        self._pods = _Directory(self._places.pod_logs, parse_pod_log)
        #: Container → when a socket was asked, and the name.
        self._answers: dict[str, tuple[float, str | None]] = {}

    @property
    def uses_files(self) -> bool:
        """Whether names are looked up at all."""
        return self.lookups != 'none'

    def of_container(self, container_id: str) -> ContainerName | None:
        """Return names of a container and its pod, from the name of its log."""
        replacements = _parsed(system().container_logs(), parse_container_log)
        if container_id in replacements:
            return replacements[container_id]
        with self._lock:
            return self._logs.find(container_id)

    def of_pod(self, uid: str) -> ContainerName | None:
        """Return the name of a pod, from the name of its directory of logs."""
        with self._lock:
            return self._pods.find(uid)

    def from_sockets(self, container_id: str, runtime: str, uid: str | None) -> str | None:
        """Return the name of a container from Docker or Podman; ``None`` if unknown.

        Args:
            container_id: The ID, 64 digits.
            runtime: ``'docker'``, ``'podman'`` or ``'container'``.
            uid: User whose containers these are; ``None``: the system's.
        """
        if self.lookups != 'sockets':
            return None
        now = self._clock()
        with self._lock:
            at, name = self._answers.get(container_id, (float('-inf'), None))
        if now - at < KEPT_SECONDS:
            return name
        names = (container_name(path, container_id) for path in self._sockets(runtime, uid))
        name = next(filter(None, names), None)
        with self._lock:
            if len(self._answers) >= _MAX_NAMES:
                self._answers.clear()
            self._answers[container_id] = (now, name)
        return name

    def _sockets(self, runtime: str, uid: str | None) -> Iterable[str]:
        places = self._places
        if uid is not None:
            docker, podman = (
                f'{places.users}/{uid}/{socket}' for socket in ('docker.sock', 'podman/podman.sock')
            )
        else:
            docker, podman = places.docker, places.podman
        return {'docker': (docker,), 'podman': (podman,)}.get(runtime, (docker, podman))


@functools.lru_cache(maxsize=None)
def lookup_names(lookups: str = 'files') -> NameLookup:
    """Return the lookup that callers with this setting share; ValueError for another word."""
    return NameLookup(lookups)


def parse_container_log(name: str) -> tuple[str, ContainerName] | None:
    """Return ID and names in ``POD_NAMESPACE_CONTAINER-ID.log``, of ``/var/log/containers``."""
    match = _log(name)
    if match is None:
        return None
    pod, namespace, container, container_id = match.groups()
    return container_id, ContainerName(container_id, '', container, f'{namespace}/{pod}')


def parse_pod_log(name: str) -> tuple[str, ContainerName] | None:
    """Return UID and names in ``NAMESPACE_POD_UID``, of ``/var/log/pods``."""
    match = _pod(name)
    if match is None:
        return None
    namespace, pod, uid = match.groups()
    return uid, ContainerName('', '', None, f'{namespace}/{pod}', uid)


def container_name(path: str, container_id: str) -> str | None:
    """Ask Docker or Podman for the name of a container; ``None`` if the socket does not have it."""
    import json  # only for names from sockets

    try:
        described = json.loads(_request(path, f'/containers/{container_id}/json'))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(described, dict) or described.get('Id') != container_id:
        return None
    match = _is_name(str(described.get('Name')))
    return match[1] if match else None


def _request(path: str, target: str) -> bytes:
    """Return the body of a response to an HTTP request; OSError if there is none."""
    if sys.platform == 'win32':
        raise FileNotFoundError(path)  # it has no such sockets
    import http.client  # only for names from sockets
    import socket

    class Connection(http.client.HTTPConnection):
        def connect(self) -> None:
            self.sock = socket.socket(socket.AF_UNIX)
            self.sock.settimeout(TIMEOUT_SECONDS)
            self.sock.connect(path)

    connection = Connection('localhost')
    try:
        connection.request('GET', target)
        response = connection.getresponse()
        body = response.read(_MAX_BYTES)
    except http.client.HTTPException as error:
        raise OSError(str(error)) from error
    finally:
        connection.close()
    if response.status != 200:
        raise OSError(response.reason)
    return body


#: Where control groups of version 2 and 1 have a directory for each job.
_GROUPS = ('system.slice/*slurmstepd.scope/job_*', '*/slurm*/uid_*/job_*')
#: Time (seconds) between two looks at the control groups, and limit of a command.
LOOK_SECONDS = 15.0
COMMAND_SECONDS = 10.0
#: Maximum number of jobs and of GPUs of a job.
MOST_JOBS = 1000
MOST_GPUS = 256

_FIELD = re.compile(r'(?:^|\s)(JobId|UserId|Account|Partition)=(\S*)')
#: The GPUs of a job on some nodes: ``Nodes=gpu[07-08] CPU_IDs=0-3 Mem=0 GRES=gpu:h100:2(IDX:0-1)``.
_NODES = re.compile(r'\sNodes=(\S+)\s+CPU_IDs=\S*\s+Mem=\S*\s+GRES=(\S*)')
_GPUS = re.compile(r'(?:^|,)gpu(?::[^:,()]+)?:\d+\(IDX:([\d,-]+)\)')


class Job(NamedTuple):
    id: str
    user: str
    account: str
    partition: str
    #: Numbers of its GPUs on this machine, as Slurm counts them; empty if it has none.
    gpus: tuple[int, ...]


def parse_job(text: str, node: str) -> Job | None:
    """Return the job in a line of ``scontrol show job -d -o``; ``None``: it is not one.

    >>> parse_job('JobId=42 UserId=ann(1000) Account=ml Partition=gpu', 'gpu07')
    Job(id='42', user='ann', account='ml', partition='gpu', gpus=())
    """
    fields: dict[str, str] = {}
    for name, value in _FIELD.findall(text):
        fields.setdefault(name, '' if value in ('(null)', 'N/A') else value)
    if not fields.get('JobId', '').isdecimal():
        return None
    gpus: list[int] = []
    for nodes, resources in _NODES.findall(text):
        if node in expand_nodes(nodes):
            gpus += [gpu for numbers in _GPUS.findall(resources) for gpu in _numbers(numbers)]
    user = fields.get('UserId', '').partition('(')[0]
    account, partition = fields.get('Account', ''), fields.get('Partition', '')
    return Job(fields['JobId'], user, account, partition, tuple(gpus))


def expand_nodes(text: str) -> set[str]:
    """Return the names in a list of nodes.

    >>> sorted(expand_nodes('login,gpu[07-09,12]'))
    ['gpu07', 'gpu08', 'gpu09', 'gpu12', 'login']
    """
    nodes: set[str] = set()
    for prefix, numbers, suffix in re.findall(r'([^,\[\]]+)(?:\[([\d,-]+)\]([^,\[\]]*))?', text):
        if not numbers:
            nodes.add(prefix)
        for part in filter(None, numbers.split(',')):
            first, _, last = part.partition('-')
            count = min(int(last or first) - int(first) + 1, 1 << 16)
            nodes.update(
                f'{prefix}{int(first) + number:0{len(first)}}{suffix}' for number in range(count)
            )
    return nodes


def _numbers(text: str) -> list[int]:
    """Return the numbers in ``'0-1,3'``."""
    numbers: list[int] = []
    for part in filter(None, text.split(',')):
        first, _, last = part.partition('-')
        numbers += range(int(first), int(last or first) + 1)[:MOST_GPUS]
    return numbers


def job_ids(root: str = '/sys/fs/cgroup') -> set[str]:
    paths = (path for pattern in _GROUPS for path in glob.iglob(os.path.join(root, pattern)))
    numbers = {os.path.basename(path)[len('job_') :] for path in paths}
    return {number for number in sorted(numbers)[:MOST_JOBS] if number.isdecimal()}


def _show(job: str) -> str:
    """Return what Slurm says about a job, ``''`` if it does not."""
    command = shutil.which('scontrol')
    if command is None:
        return ''
    try:
        done = subprocess.run(
            [command, 'show', 'job', '-d', '-o', job],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return ''
    return done.stdout.decode('utf-8', 'replace')


class SlurmJobs:
    """The jobs on this machine, read in the background: Slurm may respond slowly."""

    def __init__(
        self,
        node: str,
        *,
        ids: Callable[[], set[str]] = job_ids,
        show: Callable[[str], str] = _show,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._node = node.partition('.')[0]
        self._ids = ids
        self._show = show
        self._clock = clock
        self._due = float('-inf')
        self._jobs: dict[str, Job | None] = {}
        #: Jobs of processes; Slurm may run without control groups.
        self._running: set[str] = set()
        self._thread: threading.Thread | None = None

    def read(self, running: Iterable[str] = ()) -> Sequence[Job]:
        """Return the jobs that are known; look for others in the background at intervals.

        ``running`` are the jobs of processes.
        """
        before, self._running = self._running, {job for job in running if job.isdecimal()}
        if not self._running <= before:
            self._due = float('-inf')  # stays due while an earlier look is not finished
        if self._clock() >= self._due and (self._thread is None or not self._thread.is_alive()):
            self._due = self._clock() + LOOK_SECONDS
            self._thread = threading.Thread(target=self.look, name='nvitop-slurm', daemon=True)
            self._thread.start()
        return [job for job in list(self._jobs.values()) if job is not None]

    def look(self) -> None:
        ids = self._ids() | self._running
        jobs = {number: job for number, job in self._jobs.items() if number in ids}
        for number in ids - jobs.keys():
            jobs[number] = parse_job(self._show(number), self._node)
        self._jobs = jobs
