# SPDX-License-Identifier: Apache-2.0
"""Errors that the driver announces: Xids, memory errors, GPUs that become unavailable.

One daemon thread waits inside the driver. At rest it wakes up once a minute. NVML must not be shut
down meanwhile, so the thread leaves the driver before NVML is restarted, see
:meth:`EventWatcher.pause`. The restart follows at once, because events are missed until then. A
program that exits leaves the thread behind.
"""

from __future__ import annotations

import contextlib
import threading
import time
from typing import Any, Callable, Sequence

from nvitop.api import libnvml
from nvitop.api.libnvml import _errors
from nvitop.api.libnvml._binding import BINDING
from nvitop.api.libnvml._query import address_of
from nvitop.api.libnvml._session import SESSION
from nvitop.platforms.kernel import renew_in_child
from nvitop.sampling.threads import start_daemon
from nvitop.sampling.types import DeviceEvent, DeviceKey, DeviceSample

#: Bit of an NVML event → its kind. Others are not registered: some occur many times a second.
KINDS = {0x8: 'xid', 0x2: 'memory error', 0x2000: 'memory error', 0x4000: 'unavailable'}
#: Longest time (milliseconds) inside the driver, and that while a GPU is lost: then NVML is
#: restarted, which has to wait for it.
WAIT_MS, BRIEF_WAIT_MS = 60_000, 1_000
#: Pause (seconds) after a failure, and time after which a repeated event is announced again.
PAUSE_SECONDS = 10.0
#: Maximum number of different events that are kept; the oldest are dropped first.
MAX_EVENTS = 256


class EventLog:
    """Counts events, and forgets none while it matters. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        renew_in_child(self, _lock=threading.Lock)
        self._events: dict[tuple[str | int, str, int], DeviceEvent] = {}
        #: GPUs that have not worked since their last event.
        self._broken: set[str | int] = set()

    def add(self, device: DeviceKey, kind: str, code: int, now: float) -> bool:
        """Count an event; return whether it is new, or the first one for a while."""
        with self._lock:
            place = _identity(device), kind, code
            before = self._events.pop(place, None)
            event = DeviceEvent(device, kind, code, now, now)
            if before is not None:
                first = now if before.is_over else before.first
                event = event._replace(first=first, times=before.times + 1)
            self._events[place] = event
            while len(self._events) > MAX_EVENTS:
                del self._events[next(iter(self._events))]
            return before is None or before.is_over or now - before.last > PAUSE_SECONDS

    def observe(self, devices: Sequence[DeviceSample]) -> tuple[DeviceEvent, ...]:
        """Return the events, the newest last; those of GPUs that have recovered are over.

        A GPU has recovered if it works after it did not, or after the driver asked for a reset.
        """
        with self._lock:
            if not self._events:
                return ()
            keys = {_identity(device.key): device.key for device in devices}
            for device in devices:
                identity = _identity(device.key)
                if device.status != 'ok' or device.recovery_action not in (None, 'None'):
                    self._broken.add(identity)
                elif identity in self._broken:
                    self._broken.discard(identity)
                    for place, event in self._events.items():
                        if place[0] == identity:
                            self._events[place] = event._replace(is_over=True)
            # The index of a GPU may have changed.
            return tuple(
                event._replace(device=keys.get(place[0], event.device))
                for place, event in self._events.items()
            )


def _identity(key: DeviceKey) -> str | int:
    return key.uuid or key.physical_index


class EventWatcher:
    """Waits for events in a daemon thread.

    >>> watcher = EventWatcher(on_event=print)
    >>> watcher.start()
    >>> watcher.stop()  # before NVML is shut down

    Args:
        on_event: Called in that thread with each event that is new or was not seen for a while.
        on_pause: Called in that thread when it has left the driver because of :meth:`pause`.
        wall_clock: Seconds since the epoch.
    """

    def __init__(
        self,
        on_event: Callable[[DeviceEvent], None] | None = None,
        *,
        on_pause: Callable[[], None] | None = None,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self.log = EventLog()
        #: Why no events can be received, ``''``: they can, or it is not known yet.
        self.problem = ''
        self.on_event = on_event
        self._on_pause = on_pause
        self._wall_clock = wall_clock
        self._condition = threading.Condition()
        self._is_paused = self._is_stopped = self._is_inside = self._has_started = False

    @property
    def events(self) -> tuple[DeviceEvent, ...]:
        """The events so far, the newest last."""
        return self.log.observe(())

    def start(self) -> None:
        """Start the thread, unless it was started before."""
        if not self._has_started:
            self._has_started = self._is_inside = True
            start_daemon('nvitop-events', self._run)

    def stop(self) -> None:
        """End the thread when the driver returns from its wait; do not wait for that."""
        with self._condition:
            self._is_stopped = True
            self._condition.notify_all()

    def pause(self) -> bool:
        """Ask the thread to leave the driver; return whether it has left."""
        with self._condition:
            self._is_paused = True
            return not self._is_inside

    def resume(self) -> None:
        """Let the thread return to the driver."""
        with self._condition:
            self._is_paused = False
            self._condition.notify_all()

    def _run(self) -> None:
        try:
            while self._may_enter():
                try:
                    self._listen()
                except AttributeError as error:  # an old binding
                    self.problem = str(error)
                    return
                except libnvml.NVMLError as error:
                    if _errors.is_unsupported(error):
                        self.problem = str(error)
                        return
                    self._rest(1.0 if _errors.is_lost(error) else PAUSE_SECONDS)
        finally:
            with self._condition:
                self._is_inside = False

    def _may_enter(self) -> bool:
        """Wait while paused; return whether to enter the driver."""
        with self._condition:
            self._is_inside = False
            is_awaited = self._is_paused and not self._is_stopped
        if is_awaited and self._on_pause is not None:
            self._on_pause()
        with self._condition:
            self._condition.wait_for(lambda: not self._is_paused or self._is_stopped)
            self._is_inside = not self._is_stopped
            return self._is_inside

    def _rest(self, seconds: float) -> None:
        """Leave the driver for a while after a failure."""
        with self._condition:
            self._is_inside = False
            self._condition.wait_for(lambda: self._is_stopped, seconds)

    def _listen(self) -> None:
        """Register all GPUs that support it, and wait until one is lost or a pause is due.

        Without a lost GPU, return after a while, to register it again.

        Raises:
            NVMLError: A GPU was lost, no GPU supports events, or the driver failed.
        """
        events = libnvml.nvmlQuery('nvmlEventSetCreate', ignore_errors=False)
        epoch = SESSION.epoch
        try:
            devices, is_complete = _register(events)
            limit = WAIT_MS if is_complete else BRIEF_WAIT_MS
            registered = time.monotonic()
            while not (self._is_paused or self._is_stopped):
                began = time.monotonic()
                if not is_complete and began - registered > PAUSE_SECONDS:
                    return
                try:
                    # nvmlQuery would repeat the call after a restart, when the set is gone.
                    data = BINDING.nvmlEventSetWait_v2(events, limit)
                except libnvml.NVMLError_Timeout:
                    if time.monotonic() - began < limit / 2000:
                        raise  # it does not wait
                    continue
                self._note(devices.get(address_of(data.device)), data)
        finally:
            if SESSION.ready and SESSION.epoch == epoch:  # otherwise it no longer exists
                with contextlib.suppress(libnvml.NVMLError):
                    BINDING.nvmlEventSetFree(events)

    def _note(self, device: DeviceKey | None, data: Any) -> None:
        kind = KINDS.get(data.eventType)
        if device is None or kind is None:
            return
        code = int(data.eventData) if kind == 'xid' else 0
        now = self._wall_clock()
        if self.log.add(device, kind, code, now) and self.on_event is not None:
            self.on_event(DeviceEvent(device, kind, code, now, now))


def _register(events: Any) -> tuple[dict[int, DeviceKey], bool]:
    """Register the events that each GPU supports.

    Returns the GPUs by the address in their handle, and whether none of them is lost.
    """
    is_complete = True
    devices: dict[int, DeviceKey] = {}
    refused: libnvml.NVMLError = libnvml.NVMLError(_errors.NOT_SUPPORTED)
    for index in range(libnvml.nvmlQuery('nvmlDeviceGetCount', ignore_errors=False)):
        try:
            query = libnvml.nvmlQuery
            handle = query('nvmlDeviceGetHandleByIndex', index, ignore_errors=False)
            supported = query('nvmlDeviceGetSupportedEventTypes', handle, ignore_errors=False)
            wanted = supported & sum(KINDS)
            if wanted:
                BINDING.nvmlDeviceRegisterEvents(handle, wanted, events)
                uuid = query('nvmlDeviceGetUUID', handle, default='')
                devices[address_of(handle)] = DeviceKey(index, -1, uuid)
        except libnvml.NVMLError as error:
            refused = error
            is_complete = is_complete and not _errors.is_lost(error)
    if not devices:
        raise refused
    return devices, is_complete
