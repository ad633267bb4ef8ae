# SPDX-License-Identifier: Apache-2.0
"""Names of containers and pods, found by their IDs.

By default only files that every user may read are used: entries in ``/var/log/containers`` and
``/var/log/pods``, and the arguments of the processes that watch containers. The names
of Docker are only known to its socket. Users of such a socket can become root, so it is used only if
the user asks for it.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
import time
from typing import Callable, Iterable, NamedTuple, Optional, Tuple

from nvitop.api.system import system
from nvitop.owner.cgroup import shape
from nvitop.owner.statements import ContainerName
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
    """Where names are looked up."""

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
        self._found: dict[str, ContainerName] = {}

    def find(self, key: str) -> ContainerName | None:
        """Return the names in the entry with this ID."""
        try:
            changed = os.stat(self._path).st_mtime_ns
            if changed != self._changed:
                self._found = _parsed(os.listdir(self._path), self._parse)
                self._changed = changed
        except OSError:
            return None
        return self._found.get(key)


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
        """Set how to look up names, one of :data:`LOOKUPS`.

        Raises:
            ValueError: It is not one of them.
        """
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
        """Return the sockets that may know a container."""
        places = self._places
        if uid is not None:
            docker, podman = (
                f'{places.users}/{uid}/{each}' for each in ('docker.sock', 'podman/podman.sock')
            )
        else:
            docker, podman = places.docker, places.podman
        return {'docker': (docker,), 'podman': (podman,)}.get(runtime, (docker, podman))


@functools.lru_cache(maxsize=None)
def lookup_names(lookups: str = 'files') -> NameLookup:
    """Return the lookup that all callers with this setting share.

    Raises:
        ValueError: It is none of :data:`LOOKUPS`.
    """
    return NameLookup(lookups)


def parse_container_log(name: str) -> tuple[str, ContainerName] | None:
    """Parse an entry of ``/var/log/containers``: ``POD_NAMESPACE_CONTAINER-ID.log``.

    Returns the ID and the names, ``None`` for other names.
    """
    match = _log(name)
    if match is None:
        return None
    pod, namespace, container, container_id = match.groups()
    return container_id, ContainerName(container_id, '', container, f'{namespace}/{pod}')


def parse_pod_log(name: str) -> tuple[str, ContainerName] | None:
    """Parse an entry of ``/var/log/pods``: ``NAMESPACE_POD_UID``.

    Returns the UID and the names, ``None`` for other names.
    """
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
    """Return the body of a response to an HTTP request.

    Raises:
        OSError: There is no such socket, it is silent, or the response is an error.
    """
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
