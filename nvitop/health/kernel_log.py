# SPDX-License-Identifier: Apache-2.0
"""Xid errors in the kernel log, which has those from before this program was started."""

from __future__ import annotations

import os
import re
import stat
import time
from typing import TYPE_CHECKING, Iterable, Iterator, NamedTuple

from nvitop.health.rules import EVENT_SECONDS
from nvitop.platforms.pci import short_bus_id
from nvitop.sampling.types import DeviceEvent, Sample

if TYPE_CHECKING:
    from nvitop.sampling.types import DeviceKey

#: The log of this start of the system.
KMSG = '/dev/kmsg'
#: Xids of one fault that follow each other within this time (seconds) count once.
BURST_SECONDS = 1.0
#: Xid of a GPU that has fallen off the bus. Some lines say it without the number.
_OFF_THE_BUS = 79
_PLACE = r'(?:PCI:)?([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2})(?:\.[0-7])?'
#: With MIG, the instances follow the place.
_XID = re.compile(rf'NVRM: Xid \({_PLACE}(?: [^)]*)?\): (\d{{1,6}})\b')
_FALLEN = re.compile(rf'NVRM: GPU (?:at )?{_PLACE}:? (?:GPU )?has fallen off the bus')
_LOADED = 'NVRM: loading NVIDIA'
#: Times of kmsg (microseconds since boot), ``journalctl -o short-unix`` (seconds since the epoch) and
#: ``dmesg`` (seconds since boot, in log files after the name of the host).
_KMSG_TIME = re.compile(r'^\d+,\d+,(\d+),[^;]*;')
_UNIX_TIME = re.compile(r'^(\d{9,11}\.\d+) ')
_DMESG_TIME = re.compile(r'\[ *(\d+\.\d+)\]')
#: Maximum size of a file that is read.
_MAX_BYTES = 64 << 20


class LoggedXid(NamedTuple):
    """An Xid in the log."""

    #: Seconds since the epoch, 0.0 if the line has no time.
    time: float
    #: PCI domain, bus and device: ``'0000:3d:00'``.
    place: str
    code: int


def parse_kernel_log(lines: Iterable[str], boot: float = 0.0) -> list[LoggedXid]:
    """Return the Xids since the driver was last loaded.

    Args:
        lines: Lines of kmsg, ``dmesg`` or ``journalctl -k -o short-unix``.
        boot: Start of the system in seconds since the epoch.
    """
    found: list[LoggedXid] = []
    last: dict[tuple[str, int], float] = {}
    for line in lines:
        if 'NVRM: ' not in line:  # nearly all: a log may have a million lines
            continue
        if _LOADED in line:
            found, last = [], {}
            continue
        match = _XID.search(line) or _FALLEN.search(line)
        if match is None:
            continue
        place = short_bus_id(f'{match[1]}.0')[:-2]
        code = int(match[2]) if match.re is _XID else _OFF_THE_BUS
        now = _time_of(line, boot)
        before = last.get((place, code))
        last[place, code] = now
        if before is None or not 0 <= now - before <= BURST_SECONDS:
            found.append(LoggedXid(now, place, code))
    return found


def _time_of(line: str, boot: float) -> float:
    for pattern, start, unit in (
        (_KMSG_TIME, boot, 1e-6),
        (_UNIX_TIME, 0.0, 1.0),
        (_DMESG_TIME, boot, 1.0),
    ):
        match = pattern.search(line)
        if match is not None:
            return start + float(match[1]) * unit
    return 0.0


def read_kernel_log(path: str = KMSG) -> list[LoggedXid]:
    """Return the Xids in the log of the kernel, or in a file with its lines.

    Raises:
        OSError: It cannot be read, often because only root may do so.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, 'O_NONBLOCK', 0))
    try:
        is_device = stat.S_ISCHR(os.fstat(descriptor).st_mode)
        if is_device:
            lines = list(_records(descriptor))
        else:
            with os.fdopen(os.dup(descriptor), 'rb') as file:
                lines = file.read(_MAX_BYTES).decode('utf-8', 'replace').splitlines()
    finally:
        os.close(descriptor)
    return parse_kernel_log(lines, time.time() - time.monotonic())


def _records(descriptor: int) -> Iterator[str]:
    """Yield the records of kmsg: each read returns one, or fails if it was overwritten."""
    while True:
        try:
            record = os.read(descriptor, 8192)
        except BrokenPipeError:
            continue
        except BlockingIOError:
            return
        if not record:
            return
        yield record.decode('utf-8', 'replace').partition('\n')[0]


def with_logged_events(sample: Sample, found: Iterable[LoggedXid]) -> Sample:
    """Return a sample with the Xids of its GPUs as events.

    Older ones are over if the driver says that the GPU needs no recovery.
    """
    devices = {
        short_bus_id(device.info.bus_id or '')[:-2]: device
        for device in sample.devices
        if not device.key.is_mig and device.info.bus_id
    }
    events: dict[tuple[DeviceKey, int], DeviceEvent] = {}
    for one in found:
        device = devices.get(one.place)
        if device is None:
            continue
        now = one.time or sample.timestamp
        is_usable = device.status == 'ok' and device.recovery_action == 'None'
        is_over = is_usable and sample.timestamp - now > EVENT_SECONDS
        event = DeviceEvent(device.key, 'xid', one.code, now, now, is_over=is_over)
        before = events.get((device.key, one.code))
        if before is not None:
            event = event._replace(first=before.first, times=before.times + 1)
        events[device.key, one.code] = event
    return sample._replace(events=(*sample.events, *events.values()))
