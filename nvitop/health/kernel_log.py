# SPDX-License-Identifier: Apache-2.0
"""Errors in the kernel log, which has those from before this program was started."""

from __future__ import annotations

import calendar
import json
import os
import re
import stat
import time
from typing import Iterable, Iterator, NamedTuple

from nvitop.health.xid import EVENT_SECONDS
from nvitop.platforms.nvidia import short_bus_id
from nvitop.sampling.types import DeviceEvent, DeviceKey, DeviceSample, Sample

#: The log of this start of the system.
KMSG = '/dev/kmsg'
#: Errors of one fault that follow each other within this time (seconds) count once.
BURST_SECONDS = 1.0
#: A time further in the future (seconds) is unknown; clocks of machines may differ.
_AHEAD_SECONDS = 60.0
#: Maximum size of a file that is read.
_MAX_BYTES = 64 << 20

_PLACE = r'(?:PCI:)?([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2})(?:\.[0-7])?'
#: With MIG, the instances follow the place.
_XID = re.compile(rf'NVRM: Xid \({_PLACE}(?: [^)]*)?\): (\d{{1,6}})\b(.*)')
#: Some lines say that a GPU has fallen off the bus (Xid 79) without the number, or three lines do.
_OFF_THE_BUS = 79
_FALLEN = re.compile(rf'NVRM: GPU (?:at )?{_PLACE}:? (?:GPU )?has fallen off the bus')
_FALLING = re.compile(rf'NVRM: The NVIDIA GPU {_PLACE}')
_FALLING_END = 'fallen off the bus'
_INIT_FAILED = re.compile(rf'NVRM: (?:GPU {_PLACE}: )?RmInitAdapter failed')
_GSP_TIMEOUT = re.compile(r'(?i)NVRM: .*(?:GSP.*heartbeat.*time|heartbeat.*GSP.*time)')
_ANY_PLACE = re.compile(_PLACE)
#: Number that the kernel module gives a GPU.
_MODULE_NUMBER = re.compile(r'\bGPU ?(\d{1,3})\b')
_SXID = re.compile(rf'SXid \({_PLACE}\): (\d{{1,6}}), (Non-fatal|Fatal)')
_LOADED = 'NVRM: loading NVIDIA'
_WORDS = ('NVRM: ', 'SXid ')
#: Begins a message with characters that cannot be printed, in the journal as JSON.
_NUMBERS = '"MESSAGE":['

#: Clocks in the beginning of a line. Of kmsg (microseconds since boot), ``journalctl -o short-unix``,
#: ISO 8601 (``dmesg --time-format iso``, ``journalctl -o short-iso``, rsyslog), ``dmesg -T``, syslog and
#: ``journalctl`` (without a year), ``dmesg`` (seconds since boot).
_KMSG_TIME = re.compile(r'^\d+,\d+,(\d+),[^;]*;')
_UNIX_TIME = re.compile(r'^(\d{9,11}\.\d+) ')
_ISO_TIME = re.compile(
    r'(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)([.,]\d+)? ?(Z|UTC|[+-]\d\d:?\d\d)?'
)
_CTIME = re.compile(r'[A-Z][a-z]{2} ([A-Z][a-z]{2}) +(\d+) (\d\d):(\d\d):(\d\d) (\d{4})')
_SYSLOG_TIME = re.compile(r'^(?:<\d+>)?([A-Z][a-z]{2}) +(\d{1,2}) (\d\d):(\d\d):(\d\d)\b')
_DMESG_TIME = re.compile(r'\[ *(\d+\.\d+)\]')
_MONTHS = {name: number for number, name in enumerate(calendar.month_abbr) if name}


class LoggedError(NamedTuple):
    #: Seconds since the epoch, 0.0 if the line has no time.
    time: float
    #: PCI domain, bus and device: ``'0000:3d:00'``; otherwise the number that the kernel module gives
    #: the GPU (``'kernel number 0'``), ``''`` if there is none.
    place: str
    code: int
    #: Kind of the event, see :class:`~nvitop.sampling.types.DeviceEvent`.
    kind: str = 'xid'
    text: str = ''


def parse_kernel_log(
    lines: Iterable[str], *, boot: float = 0.0, now: float = 0.0, since: float = 0.0
) -> list[LoggedError]:
    """Return the errors since the driver was last loaded.

    Args:
        lines: Lines of kmsg, ``dmesg``, ``journalctl -k`` or syslog, with any of their clocks.
        boot: Start of the system in seconds since the epoch.
        now: The present time, for lines without a year.
        since: Older errors are left out; those without a time are not.
    """
    errors: list[LoggedError] = []
    last: dict[tuple[str, str, int], float] = {}
    falling = ''
    for line in lines:
        # Nearly all lines are about something else, and a log may have a million.
        if not any(word in line for word in (*_WORDS, _NUMBERS)):
            continue
        moment, text = _split(line, boot, now)
        if (
            now and moment > now + _AHEAD_SECONDS
        ):  # of another start of the system, or of a wrong clock
            moment = 0.0
        if _LOADED in text:
            errors, last = [], {}
            continue
        start = _FALLING.search(text)
        falling = start[1] if start else falling
        error = _error_in(text, moment)
        if falling and _FALLING_END in text:
            error = error or LoggedError(moment, _place_of(falling), _OFF_THE_BUS)
            falling = ''
        if error is None or (moment and moment < since):
            continue
        before = last.get((error.kind, error.place, error.code))
        last[error.kind, error.place, error.code] = moment
        if before is None or not 0 <= moment - before <= BURST_SECONDS:
            errors.append(error)
    return errors


def _error_in(text: str, moment: float) -> LoggedError | None:
    if match := _XID.search(text):
        return LoggedError(moment, _place_of(match[1]), int(match[2]), text=_recovery(match[3]))
    if match := _SXID.search(text):
        return LoggedError(moment, _place_of(match[1]), int(match[2]), 'nvswitch', match[3])
    if match := _FALLEN.search(text):
        return LoggedError(moment, _place_of(match[1]), _OFF_THE_BUS)
    if match := _INIT_FAILED.search(text):
        return LoggedError(moment, _place_of(match[1] or ''), 0, 'init failed')
    if _GSP_TIMEOUT.search(text):
        match = _ANY_PLACE.search(text)
        number = _MODULE_NUMBER.search(text)
        place = f'kernel number {number[1]}' if number else ''
        return LoggedError(moment, _place_of(match[1]) if match else place, 0, 'gsp timeout')
    return None


def _recovery(text: str) -> str:
    """Return the part of the text of an Xid that says what to do, ``''`` if there is none."""
    match = re.search(r'action changed from .*? to .*?(\([^)]*\)|$)', text)
    return f'changed to {match[1]}' if match else ''


def _place_of(bus_id: str) -> str:
    return short_bus_id(f'{bus_id}.0')[:-2]


def _split(line: str, boot: float, now: float) -> tuple[float, str]:
    """Return the time of a line, 0.0 if it has none, and its text."""
    if line.startswith('{'):
        return _journal_entry(line)
    place = min((line.find(word) for word in _WORDS if word in line), default=0)
    return _time_of(line[:place], boot, now), line[place:]


def _journal_entry(line: str) -> tuple[float, str]:
    """Return the time and message of a line of ``journalctl -o json``."""
    try:
        entry = json.loads(line)
        message, moment = entry['MESSAGE'], int(entry.get('__REALTIME_TIMESTAMP', 0)) / 1e6
        if isinstance(message, list):  # with characters that cannot be printed
            message = bytes(message).decode('utf-8', 'replace')
        return moment, str(message)
    except (ValueError, TypeError, KeyError, AttributeError):
        return 0.0, line


def _time_of(head: str, boot: float, now: float) -> float:
    if match := _KMSG_TIME.search(head):
        return boot + int(match[1]) / 1e6
    if match := _UNIX_TIME.search(head):
        return float(match[1])
    try:
        if match := _ISO_TIME.search(head):
            moment = _seconds([int(part) for part in match.groups()[:6]], match[8])
            return moment + float((match[7] or '0').replace(',', '.'))
        if match := _CTIME.search(head):
            month, day, hour, minute, second, year = match.groups()
            return _seconds([int(year), _MONTHS[month], *map(int, (day, hour, minute, second))])
        if match := _SYSLOG_TIME.search(head):
            year = time.localtime(now).tm_year
            parts = [_MONTHS[match[1]], *map(int, match.groups()[1:])]
            moment = _seconds([year, *parts])
            return moment if moment <= now + 86400 else _seconds([year - 1, *parts])
    except (ValueError, KeyError, OverflowError):
        return 0.0
    match = _DMESG_TIME.search(head)
    return boot + float(match[1]) if match else 0.0


def _seconds(parts: list[int], zone: str | None = None) -> float:
    """Return seconds since the epoch; without a zone, the time is local."""
    if zone is None:
        year, month, day, hour, minute, second = parts
        return time.mktime((year, month, day, hour, minute, second, 0, 0, -1))
    digits = zone.replace(':', '')
    offset = 0 if zone in ('Z', 'UTC') else int(digits[1:3]) * 3600 + int(digits[3:]) * 60
    return calendar.timegm((*parts, 0, 0, 0)) - (-offset if zone.startswith('-') else offset)


def read_kernel_log(path: str = KMSG, since: float | None = None) -> list[LoggedError]:
    """Return the errors in the log of the kernel, or in a file with its lines.

    Args:
        path: The file.
        since: Older errors are left out; ``None``: those from before the start of the system.

    Raises:
        OSError: It cannot be read, often because only root may do so.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, 'O_NONBLOCK', 0))
    try:
        if stat.S_ISCHR(os.fstat(descriptor).st_mode):
            lines = list(_records(descriptor))
        else:
            with os.fdopen(os.dup(descriptor), 'rb') as file:
                lines = file.read(_MAX_BYTES).decode('utf-8', 'replace').splitlines()
    finally:
        os.close(descriptor)
    now = time.time()
    boot = now - time.monotonic()
    return parse_kernel_log(lines, boot=boot, now=now, since=boot if since is None else since)


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


def with_logged_events(sample: Sample, errors: Iterable[LoggedError]) -> Sample:
    """Return a sample with the errors of its GPUs, of its NVSwitches, and of GPUs that are gone.

    Older ones are over if the GPU works and nothing asks for a reset.
    """
    devices = {
        _place_of((device.info.bus_id or '').rpartition('.')[0]): device
        for device in sample.devices
        if not device.key.is_mig and device.info.bus_id
    }
    broken = {problem.subject for problem in sample.problems if problem.kind == 'reset needed'}
    keys: dict[str, DeviceKey] = {}
    events: dict[tuple[DeviceKey, str, int], DeviceEvent] = {}
    for error in errors:
        device = None if error.kind == 'nvswitch' else devices.get(error.place)
        # Indices of missing GPUs begin at -1.
        unlisted = DeviceKey(-2048 - len(keys), -1, error.place or 'unknown')
        key = keys.setdefault(error.place, unlisted) if device is None else device.key
        # An NVSwitch, or a GPU without a bus ID, may be that of any GPU.
        concerned = [device] if device is not None else sample.devices
        is_gone = device is None and error.kind != 'nvswitch' and ':' in error.place
        is_usable = not is_gone and all(d.key not in broken and _is_usable(d) for d in concerned)
        is_over = is_usable and sample.timestamp - error.time > EVENT_SECONDS
        event = DeviceEvent(
            key, error.kind, error.code, error.time, error.time, is_over=is_over, text=error.text
        )
        before = events.get((key, error.kind, error.code))
        if before is not None:
            event = event._replace(first=before.first, times=before.times + 1)
        events[key, error.kind, error.code] = event
    return sample._replace(events=(*sample.events, *events.values()))


def _is_usable(device: DeviceSample) -> bool:
    """Return whether a GPU works; before R550, the driver names no recovery action."""
    return device.status == 'ok' and device.recovery_action in (None, 'None')
