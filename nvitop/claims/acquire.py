# SPDX-License-Identifier: Apache-2.0
"""Waiting for free devices and claiming them; :func:`claim`.

Programs that wait form a queue: first come, first served. Each of them has a ticket, a locked file
whose name begins with the time. The first one keeps what it has locked while it waits for more, so
that requests for many GPUs do not starve. If two collect at the same time, because one was suspended
or late, the later one gives back what it has.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import random
import re
import shlex
import sys
import time
from typing import TYPE_CHECKING, Callable, Iterable, Iterator, NamedTuple, Sequence

from nvitop.api.device import Device
from nvitop.basics.masking import mask_command
from nvitop.basics.text import counted
from nvitop.claims.records import (
    ClaimError,
    directory_to_write,
    lock_path,
    read_claims,
    remove_dead_claims,
    write_claim,
)
from nvitop.platforms.files import (
    is_locked,
    make_shared,
    read_json,
    release_lock,
    take_lock,
    why_unusable,
    write_locked,
)
from nvitop.select.choice import (
    FREE,
    Criteria,
    Selection,
    SelectOptions,
    all_gpus,
    criteria_from,
    read_in_turn,
    select,
    user_names,
)

if TYPE_CHECKING:
    from nvitop.select.choice import Gather

#: A program that has not looked at the queue for this time (seconds), because it is suspended or its
#: driver hangs, is skipped until it does, unless it holds locks.
STALE_SECONDS = 15.0
_NAME = re.compile(r'\d{20}\.\d{1,10}\.ticket')
#: Times (seconds) between two looks at the devices: at first, and after a long wait.
_POLL_SECONDS = (1.0, 5.0)


class Ticket:
    """A place in the queue of a directory of claims, until :meth:`close`."""

    def __init__(self, directory: str, uuids: Sequence[str]) -> None:
        """Take the last place.

        Args:
            directory: Directory of claims.
            uuids: Devices that may be used. Only programs that want one of them wait for each other.

        Raises:
            ClaimError: The directory of the queue cannot be trusted.
            OSError: The file cannot be written.
        """
        self._folder = os.path.join(directory, 'queue')
        if not os.path.lexists(self._folder):
            make_shared(self._folder)
        reason = why_unusable(self._folder)
        if reason:
            raise ClaimError(f'{self._folder}: {reason}')
        self._uuids = frozenset(uuids)
        self._is_collecting = False
        name = f'{time.time_ns():020}.{os.getpid()}.ticket'
        self._path = os.path.join(self._folder, name)
        self._lock = write_locked(self._path, self._text())

    def _text(self) -> bytes:
        # Of the same length for both values of is_collecting, because it is overwritten.
        values = {'uuids': sorted(self._uuids), 'is_collecting': int(self._is_collecting)}
        return json.dumps(values).encode()

    def close(self) -> None:
        """Leave the queue."""
        with contextlib.suppress(OSError):
            os.unlink(self._path)
        os.close(self._lock)

    def set_collecting(self, is_collecting: bool) -> None:
        """Tell others whether this program holds locks, or is about to take some."""
        if is_collecting != self._is_collecting:
            self._is_collecting = is_collecting
            os.lseek(self._lock, 0, os.SEEK_SET)
            os.write(self._lock, self._text())
        os.utime(self._path)

    def programs_ahead(self) -> int:
        """Return how many programs come first; 0: this one may collect.

        A later program is ahead if this one was skipped, and it has begun to collect.
        """
        own_name = os.path.basename(self._path)
        ahead = 0
        for name, is_collecting, is_stale in self._others():
            if name < own_name:
                ahead += is_collecting or not is_stale
            elif is_collecting and not self._is_collecting:
                ahead += 1
        return ahead

    def _others(self) -> Iterator[tuple[str, bool, bool]]:
        """Yield name, whether it collects, and whether it is stale, for live tickets in the way."""
        for name in os.listdir(self._folder):
            path = os.path.join(self._folder, name)
            if _NAME.fullmatch(name) is None or path == self._path:
                continue
            if not is_locked(path):
                with contextlib.suppress(OSError):  # one of another user stays
                    os.unlink(path)
                continue
            try:
                text, status = read_json(path)
                values = json.loads(text)
                uuids, is_collecting = frozenset(values['uuids']), bool(values['is_collecting'])
            except (OSError, ValueError, KeyError, TypeError, RecursionError):
                continue
            if uuids & self._uuids:
                yield name, is_collecting, time.time() - status.st_mtime > STALE_SECONDS


class ClaimRequest(NamedTuple):
    """What to wait for."""

    devices: Sequence[Device | int]
    needed: int = 1
    criteria: Criteria = Criteria()
    #: Whose memory counts as free, and whether unhealthy and claimed devices are taken.
    options: SelectOptions = SelectOptions()
    #: Maximum time to wait; ``None``: as long as it takes.
    timeout_seconds: float | None = None
    #: Reads the devices.
    gather: Gather = read_in_turn

    def matching(self, skipped: Iterable[str] = (), criteria: Criteria | None = None) -> Selection:
        """Return the devices that match now, best first."""
        if criteria is None:
            criteria = self.criteria if self.criteria.has_limits else FREE
        options = self.options._replace(
            min_count=self.needed,
            format='device',
            ignore_claims=True,
            skipped=frozenset(skipped),
            enough=self.needed,
        )
        return select(self.devices, criteria, options, self.gather)

    def possible(self) -> list[Device]:
        """Return the devices that can match some day.

        Raises:
            ClaimError: They are too few.
        """
        sizes = (self.criteria.min_total_memory, self.criteria.min_free_memory)
        largest = max((size for size in sizes if size is not None), default=None)
        selection = self.matching(criteria=Criteria(min_total_memory=largest))
        if len(selection.chosen) < self.needed:
            limit = '' if largest is None else f' with {largest / 2**30:.4g} GiB of memory'
            bad = len(selection.unhealthy) + len(selection.lost)
            unusable = f' and {bad} that must not be used, see nvitop health' if bad else ''
            raise ClaimError(
                f'{counted(self.needed, "GPU")} needed, but this machine has {len(selection.chosen)}{limit}{unusable}'
            )
        return selection.chosen


class ClaimedDevices(NamedTuple):
    """Claimed devices, and what keeps the claim."""

    devices: list[Device]
    #: Descriptors of the locks, and files of the claims.
    locks: list[int]
    files: list[str]

    def release(self) -> None:
        """Give the devices back."""
        for path in self.files:
            with contextlib.suppress(OSError):
                os.unlink(path)
        for descriptor in self.locks:
            release_lock(descriptor)


def wait_and_claim(
    request: ClaimRequest,
    command: str,
    announce: Callable[[str], object] = lambda _text: None,
    *,
    sleep: Callable[[float], object] = time.sleep,
) -> ClaimedDevices:
    """Wait until enough devices match, and claim them.

    Others see ``command``. ``announce`` is called with a line about the wait whenever it changes.

    Raises:
        ClaimError, NVMLError, TimeoutError: As :func:`claim`.
    """
    try:
        with contextlib.closing(_Waiter(request)) as waiter:
            return waiter.wait(command, announce, sleep)
    except TimeoutError:  # an OSError too
        raise
    except OSError as error:  # the directory is full or was removed, for example
        raise ClaimError(f'cannot write claims: {error}') from error


class _Waiter:
    """Collects the locks of devices that match."""

    def __init__(self, request: ClaimRequest) -> None:
        self._request = request
        uuids = [str(device.uuid()) for device in request.possible()]
        self._directory = directory_to_write()
        remove_dead_claims(self._directory)
        self._ticket = Ticket(self._directory, uuids)
        #: UUID → device, of those that match now, best first.
        self._matching: dict[str, Device] = {}
        #: UUID → descriptor of its lock.
        self._locks: dict[str, int] = {}

    def close(self) -> None:
        """Leave the queue, without locks that are not part of a claim."""
        self._release(set(self._locks))
        self._ticket.close()

    def wait(
        self, command: str, announce: Callable[[str], object], sleep: Callable[[float], object]
    ) -> ClaimedDevices:
        """Wait until enough devices match, and claim them."""
        limit = self._request.timeout_seconds
        limit = math.inf if limit is None else limit
        started = now = time.monotonic()
        said = ''
        while True:
            self._look()
            ahead = self._ticket.programs_ahead()
            if ahead:
                self._release(set(self._locks))
            else:
                self._collect()
                if self._has_enough():
                    # Again under the locks, because not all programs look at claims.
                    self._look()
                if self._has_enough():
                    return self._claim(mask_command(command))
            self._ticket.set_collecting(bool(self._locks))
            needed, held = self._request.needed, len(self._locks)
            text = f'waiting for {counted(needed - held, "more GPU" if held else "GPU")}'
            if held:
                text = f'{text}, {held} kept for you'
            elif ahead:
                text = f'{text}, {ahead} ahead in the queue'
            if now >= started + limit:
                raise TimeoutError(f'{text}; gave up after {limit:g} s')
            if text != said:
                announce(text)
                said = text
            first, last = _POLL_SECONDS
            pause = min(last, max(first, (now - started) / 20)) * random.uniform(0.8, 1.2)
            sleep(max(0.05, min(pause, started + limit - now)))
            now = time.monotonic()

    def _has_enough(self) -> bool:
        return len(self._locks) == self._request.needed

    def _look(self) -> None:
        """Find the devices that match and are not claimed by others; give back what no longer does."""
        claimed = () if self._request.options.ignore_claims else read_claims()
        devices = self._request.matching({*claimed} - {*self._locks}).chosen
        self._matching = {str(device.uuid()): device for device in devices}
        self._release(self._locks.keys() - self._matching.keys())

    def _collect(self) -> None:
        """Lock devices that match until there are enough."""
        if self._matching:
            self._ticket.set_collecting(True)
        for uuid in self._matching:
            if uuid not in self._locks and not self._has_enough():
                lock = take_lock(lock_path(self._directory, uuid))
                if lock is None and self._request.options.ignore_claims:
                    lock = os.open(os.devnull, os.O_RDONLY)
                if lock is not None:
                    self._locks[uuid] = lock

    def _release(self, uuids: Iterable[str]) -> None:
        for uuid in uuids:
            os.close(self._locks.pop(uuid))

    def _claim(self, masked_command: str) -> ClaimedDevices:
        files: list[str] = []
        try:
            # Files that were written before an error are in the list then.
            files.extend(write_claim(self._directory, uuid, masked_command) for uuid in self._locks)
        except OSError:
            ClaimedDevices([], [], files).release()
            raise
        locks, self._locks = self._locks, {}
        # In the order of CUDA, which programs expect.
        devices = sorted((self._matching[uuid] for uuid in locks), key=lambda device: device.index)
        return ClaimedDevices(devices, list(locks.values()), files)


@contextlib.contextmanager
def claim(
    count: int = 1,
    *,
    devices: Iterable[Device] | None = None,
    min_free_memory: int | str | None = None,
    min_total_memory: int | str | None = None,
    max_gpu_utilization: float | None = None,
    max_memory_utilization: float | None = None,
    free_accounts: str | Iterable[str] | None = None,
    timeout: float | None = None,
    ignore_claims: bool = False,
    include_unhealthy: bool = False,
) -> Iterator[list[Device]]:
    """Wait until devices are free, and claim them for the block, so that others see and skip them.

    >>> with claim(count=2, min_free_memory='20GiB', timeout=600) as devices:
    ...     os.environ['CUDA_VISIBLE_DEVICES'] = ','.join(device.uuid() for device in devices)

    Programs get devices in the order in which they began to wait. Without limits, a device is free
    if at most 10 % of its memory is used. Claims bind only programs that look at them.

    Args:
        count: Number of devices.
        timeout: Maximum time to wait in seconds; ``None``: as long as it takes.
        ignore_claims: Take devices that others have claimed.

    All other arguments are those of :func:`nvitop.select_devices`.

    Yields:
        The claimed devices, in the order of their indices.

    Raises:
        ClaimError: Too few devices can ever match, or there is no usable directory for claims.
        TimeoutError: They did not match in time.
        NVMLError: The driver does not work.
        ValueError: A limit is invalid, or ``count`` is not positive.
    """
    if count < 1:
        raise ValueError(f'count must be 1 or more, not {count!r}')
    criteria = criteria_from(
        min_free_memory, min_total_memory, max_gpu_utilization, max_memory_utilization
    )
    options = SelectOptions(
        accounts=user_names(free_accounts),
        include_unhealthy=include_unhealthy,
        ignore_claims=ignore_claims,
    )
    among: Sequence[Device | int] = all_gpus() if devices is None else list(devices)
    request = ClaimRequest(among, count, criteria, options, timeout)
    held = wait_and_claim(request, shlex.join(['python', *sys.argv]))
    try:
        yield held.devices
    finally:
        held.release()
