# SPDX-License-Identifier: Apache-2.0
"""Events: changes between two samples that replays can jump to."""

from __future__ import annotations

from typing import NamedTuple

from nvitop.accounting.shares import gpu_of
from nvitop.accounting.usage import MAX_INTERVALS
from nvitop.basics.units import format_duration
from nvitop.health import Finding, event_words, findings
from nvitop.sampling.types import DeviceKey, Sample

#: Change (seconds) of the clock against the monotonic clock that counts as a step.
CLOCK_STEP_SECONDS = 2.0
#: Time (seconds) without a finding after which it has cleared: some come and go with each sample.
CLEAR_SECONDS = 60.0
#: Findings about the status of a device, which has events of its own.
_STATUSES = frozenset({'lost', 'not_responding', 'failing', 'xid'})


class RecordedEvent(NamedTuple):
    #: Seconds since the epoch.
    time: float
    #: ``'start'``, ``'stop'``, ``'gap'``, ``'clock'``, ``'driver'``, ``'added'``, ``'removed'``,
    #: ``'lost'``, ``'recovered'``, ``'finding'``, ``'cleared'``, ``'error'``, ``'note'``.
    kind: str
    #: The event as text.
    text: str
    #: UUID of the device, or its label if that is not known; ``''``: none.
    gpu: str = ''
    #: Kind of a finding; status of a lost device; number of an Xid.
    code: str = ''


class EventDetector:
    """Compares each sample with the one before it. ``interval`` is in seconds."""

    def __init__(self, interval: float) -> None:
        self.interval = interval
        self._last: Sample | None = None
        self._statuses: dict[DeviceKey, str] = {}
        #: How often each announced error had happened.
        self._errors: dict[tuple[DeviceKey, str, int], int] = {}
        #: Findings, and when they were last seen on the monotonic clock.
        self._findings: dict[tuple[DeviceKey, str], tuple[Finding, float]] = {}

    def compare(self, sample: Sample) -> list[RecordedEvent]:
        """Return the events between the last sample and this one."""
        last, self._last = self._last, sample
        events = [] if last is None else self._between(last, sample)
        return [
            *events,
            *self._of_devices(sample, is_first=last is None),
            *self._of_findings(sample),
            *self._of_errors(sample),
        ]

    def _between(self, last: Sample, sample: Sample) -> list[RecordedEvent]:
        events = []
        elapsed = sample.monotonic - last.monotonic
        if elapsed > MAX_INTERVALS * self.interval:
            text = f'no samples for {format_duration(elapsed)}'
            events.append(RecordedEvent(sample.timestamp, 'gap', text))
        step = sample.timestamp - last.timestamp - elapsed
        if abs(step) > CLOCK_STEP_SECONDS:
            # CLOCK_MONOTONIC stops while the machine is suspended.
            text = (
                f'clock {format_duration(step)} ahead: it was set, or the machine was suspended'
                if step > 0
                else f'clock set back by {format_duration(-step)}'
            )
            events.append(RecordedEvent(sample.timestamp, 'clock', text))
        drivers = (last.driver_version, sample.driver_version)
        if None not in drivers and drivers[0] != drivers[1]:
            text = f'driver {drivers[0]} was replaced by {drivers[1]}'
            events.append(RecordedEvent(sample.timestamp, 'driver', text, code=f'{drivers[1]}'))
        return events

    def _of_devices(self, sample: Sample, *, is_first: bool) -> list[RecordedEvent]:
        before = self._statuses
        self._statuses = {device.key: device.status for device in sample.devices}
        events = []
        for device in sample.devices:
            last = before.get(device.key)
            if last is None and not is_first:
                events.append(_event(sample, device.key, 'added', 'added'))
            if device.status == (last or 'ok'):
                continue
            if device.status == 'asleep':
                events.append(_event(sample, device.key, 'note', 'fell asleep'))
            elif device.status == 'not permitted':
                events.append(_event(sample, device.key, 'note', device.reason))
            elif last == 'asleep' and device.status == 'ok':
                events.append(_event(sample, device.key, 'note', 'woke up'))
            elif device.status == 'ok':
                events.append(_event(sample, device.key, 'recovered', 'works again'))
            else:
                why = device.reason or device.status
                events.append(_event(sample, device.key, 'lost', why, device.status))
        events += [
            _event(sample, key, 'removed', 'removed')
            for key in before.keys() - self._statuses.keys()
        ]
        return events

    def _of_errors(self, sample: Sample) -> list[RecordedEvent]:
        """Return the errors that the driver has announced since the last sample."""
        before = self._errors
        self._errors = {(e.device, e.kind, e.code): e.times for e in sample.events}
        events = []
        for error in sample.events:
            times = error.times - before.get((error.device, error.kind, error.code), 0)
            if times > 0:
                words = event_words(error)
                words += f' ({times} times)' if times > 1 else ''
                events.append(_event(sample, error.device, 'error', words, str(error.code or '')))
        return events

    def _of_findings(self, sample: Sample) -> list[RecordedEvent]:
        events = []
        for finding in findings(sample):
            place = finding.device, finding.kind
            if finding.severity == 'info' or finding.kind in _STATUSES:
                continue
            if place not in self._findings:
                text = finding.text
                events.append(_event(sample, finding.device, 'finding', text, finding.kind))
            self._findings[place] = finding, sample.monotonic
        for old, (finding, seen) in list(self._findings.items()):
            if not 0 <= sample.monotonic - seen < CLEAR_SECONDS:
                del self._findings[old]
                text = f'resolved: {finding.words}'
                events.append(_event(sample, finding.device, 'cleared', text, finding.kind))
        return events


def _event(sample: Sample, key: DeviceKey, kind: str, words: str, code: str = '') -> RecordedEvent:
    text = f'GPU {key.label}: {words}'
    return RecordedEvent(sample.timestamp, kind, text, gpu_of(key), code)
