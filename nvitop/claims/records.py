# SPDX-License-Identifier: Apache-2.0
"""Files of claims: who has which GPU. All that is read here was written by other users.

``UUID.lock`` is locked with flock by the process tree that uses the GPU and is never removed.
``UUID.PID.TIME.claim`` describes a claim in JSON. A claim is live while the process in it runs, or
while the lock is held, because ``sudo`` and daemons close the descriptor of the lock. Nothing enforces
claims: they coordinate programs that look at them.

The files must be visible to all users and gone after a reboot, so they are in memory file systems.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections import Counter
from typing import Iterator, NamedTuple

from nvitop.basics.text import printable
from nvitop.platforms import ProcessIdentity, is_running, this_process
from nvitop.platforms.files import (
    is_locked,
    make_shared,
    read_json,
    user_id,
    why_unusable,
    write_locked,
)
from nvitop.platforms.kernel import name_of_user

#: Names the directory of claims instead of the usual places.
VARIABLE = 'NVITOP_CLAIMS'
#: The usual places, best first. For the first one, see share/systemd/nvitop-claims.conf.
PLACES = ('/run/nvitop', '/run/lock/nvitop', '/dev/shm/nvitop')
#: The devices that ``nvitop run`` has claimed for a program, separated by commas.
CLAIM_VARIABLE = 'NVITOP_CLAIM'
#: Maximum number of files of one user that are read in a directory.
_MAX_FILES = 128
#: Number of characters of a command that are kept.
_MAX_COMMAND = 200
_CLAIM_NAME = re.compile(r'((?:GPU|MIG)-[0-9A-Za-z_-]{1,80})\.\d{1,10}\.\d{1,20}\.claim')


class ClaimError(RuntimeError):
    """Devices cannot be claimed, however long a program waits."""


def _places() -> tuple[str, ...]:
    place = os.environ.get(VARIABLE)
    return (place,) if place else PLACES


def directories_to_read() -> list[str]:
    """Return all directories that may have claims."""
    return [place for place in _places() if not why_unusable(place)]


def directory_to_write() -> str:
    """Return the directory for new claims; create it if there is none.

    Raises:
        ClaimError: No place can be used; the text says why.
    """
    for existing in directories_to_read():
        return existing
    for place in _places():
        if not os.path.lexists(place):  # the mode of an existing one is its owner's decision
            with contextlib.suppress(OSError):
                make_shared(place)
        if not why_unusable(place):
            return place
    reasons = '; '.join(f'{place}: {why_unusable(place)}' for place in _places())
    raise ClaimError(f'no directory for claims ({reasons}); set {VARIABLE}')


class Claim(NamedTuple):
    """A claim of a device."""

    uuid: str
    #: Owner of the file.
    uid: int
    username: str
    process: ProcessIdentity
    #: Seconds since 1970.
    since: float
    command: str
    path: str


def read_claims() -> dict[str, Claim]:
    """Return the live claim of each claimed device, by UUID."""
    claims_by_uuid: dict[str, Claim] = {}
    for directory in directories_to_read():
        by_uuid: dict[str, list[Claim]] = {}
        for claim in _claims_in(directory):
            by_uuid.setdefault(claim.uuid, []).append(claim)
        for uuid, claims in by_uuid.items():
            live = live_claim(claims, lock_path(directory, uuid))
            if live is not None:
                claims_by_uuid.setdefault(uuid, live)
    return claims_by_uuid


def claimed_by_others() -> frozenset[str]:
    """Return the UUIDs of all claimed devices, except those that ``nvitop run`` gave to this program."""
    return frozenset(read_claims()) - {*os.environ.get(CLAIM_VARIABLE, '').split(',')}


def live_claim(claims: list[Claim], lock: str) -> Claim | None:
    """Return the live one among claims of a device."""
    newest_first = sorted(claims, key=lambda claim: claim.since, reverse=True)
    for claim in newest_first:
        if is_running(claim.process):
            return claim
    return newest_first[0] if is_locked(lock) else None


def keeper(claim: Claim) -> int | None:
    """Return the PID of a process that keeps a claim by the lock it has inherited, if one can be seen.

    ``None`` if the process that claimed runs, or if only the user of the claim and root can see it.
    """
    if is_running(claim.process):
        return None
    with contextlib.suppress(OSError):
        lock = os.stat(lock_path(os.path.dirname(claim.path), claim.uuid))
        for name in filter(str.isdecimal, os.listdir('/proc')):
            folder = f'/proc/{name}/fd'
            with contextlib.suppress(OSError):  # of another user, or it has ended
                if any(
                    os.path.samestat(os.stat(f'{folder}/{n}'), lock) for n in os.listdir(folder)
                ):
                    return int(name)
    return None


def remove_dead_claims(directory: str) -> None:
    """Remove files of this user's claims that ended."""
    for claim in _claims_in(directory):
        if claim.uid == user_id() and not live_claim([claim], lock_path(directory, claim.uuid)):
            with contextlib.suppress(OSError):
                os.unlink(claim.path)


def lock_path(directory: str, uuid: str) -> str:
    """Return the path of the lock of a device."""
    return os.path.join(directory, f'{_file_name(uuid)}.lock')


def _file_name(uuid: str) -> str:
    return uuid.replace('/', '_')  # in UUIDs of MIG devices with old drivers


def _claims_in(directory: str) -> Iterator[Claim]:
    """Yield the claims in a directory, a limited number for each user."""
    counts: Counter[int] = Counter()
    try:
        entries = os.scandir(directory)
    except OSError:
        return
    with entries:
        for entry in entries:
            match = _CLAIM_NAME.fullmatch(entry.name)
            if match is None:
                continue
            with contextlib.suppress(OSError, ValueError, TypeError, KeyError, RecursionError):
                uid = entry.stat(follow_symlinks=False).st_uid
                counts[uid] += 1
                if counts[uid] <= _MAX_FILES:
                    yield _read_claim(entry.path, match[1])


def _read_claim(path: str, name: str) -> Claim:
    import json  # a report of a machine without claims needs none

    text, status = read_json(path)
    values = json.loads(text)
    uuid = str(values['uuid'])
    if _file_name(uuid) != name:
        raise ValueError(f'not the claim of {name}: {path}')
    return Claim(
        uuid=uuid,
        uid=status.st_uid,
        username=printable(name_of_user(status.st_uid)),
        process=ProcessIdentity(
            _whole(values['pid']),
            _whole(values['start_time']),
            str(values['boot_id']),
            str(values['namespace']),
        ),
        # A claim cannot be from the future; it would count as the newest one. NaN becomes 0.
        since=min(max(0.0, float(values['since'])), time.time()),
        command=printable(str(values['command']))[:_MAX_COMMAND],
        path=path,
    )


def _whole(value: object) -> int:
    if not isinstance(value, int) or not 0 < value < 1 << 63:
        raise ValueError(f'not a whole number: {value!r}')
    return value


def write_claim(directory: str, uuid: str, masked_command: str) -> str:
    """Write the file of a claim by this process; return its path. It appears complete or not at all.

    Raises:
        OSError: It cannot be written, for example because the file system is full.
    """
    import json

    process = this_process()
    values = {
        **process._asdict(),
        'uuid': uuid,
        'since': time.time(),
        'command': masked_command.encode('utf-8', 'replace').decode()[:_MAX_COMMAND],
    }
    name = f'{_file_name(uuid)}.{process.pid}.{process.start_time}.claim'
    path = os.path.join(directory, name)
    os.close(write_locked(path, json.dumps(values).encode()))
    return path
