# SPDX-License-Identifier: Apache-2.0
"""Findings about errors that the driver announced, as events or in the kernel log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvitop.basics.times import format_time
from nvitop.health.types import KINDS, SEVERITIES, Case, Finding
from nvitop.health.xid import (
    ACTIONS,
    CONTAINED,
    MEMORY_XIDS,
    Severity,
    XidAction,
    action_of,
    xid_of,
)
from nvitop.sampling.types import DeviceEvent, DeviceKey, Sample

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Time (seconds) for which an event that is not critical is a finding.
EVENT_SECONDS = 600.0
#: Maximum number of events in the evidence.
_MAX_EVENTS = 3
#: Kind of an event without a number → its words, and a key of :data:`ACTIONS`.
_WITHOUT_NUMBER = {
    'memory error': ('double-bit memory error announced', 'reset'),
    'unavailable': ('announced as unavailable by the driver', 'reset'),
    'init failed': ('could not be initialized', 'reboot'),
    'gsp timeout': ('no response from the GPU system processor', 'reset'),
}


def events_that_matter(key: DeviceKey, sample: Sample) -> tuple[DeviceEvent, ...]:
    """Return events of a GPU: critical ones until it recovers, others for some minutes."""
    events = [
        event
        for event in sample.events
        if event.device == key
        and not event.is_over
        and (
            _advice(event).severity == 'critical' or sample.timestamp - event.last <= EVENT_SECONDS
        )
    ]
    return tuple(sorted(events, key=lambda event: -event.last))


def announced(case: Case) -> Iterator[Finding]:
    """Yield the most severe event; the evidence names the others.

    Those about memory belong to the finding about memory errors.
    """
    has_errors = bool(case.device.total_volatile_uncorrected_ecc_errors)
    events = [e for e in case.events if not (has_errors and is_about_memory(e))]
    if not events:
        return
    event = min(events, key=lambda e: (SEVERITIES.index(_advice(e).severity), e.kind != 'xid'))
    advice = _advice(event)
    yield case.finding(
        'xid', advice.severity, event_words(event), event_texts(events), advice.text
    )._replace(since=event.first)


def unlisted(sample: Sample) -> Iterator[Finding]:
    """Yield findings about NVSwitches, and about GPUs that the driver no longer lists."""
    for event in sample.events:
        key = event.device
        if key.physical_index >= 0 or event.is_over:
            continue
        kind, evidence, advice = 'xid', event_texts([event]), _advice(event)
        severity: Severity = 'critical'
        if event.kind == 'nvswitch':
            kind, severity = 'nvswitch', 'critical' if event.text == 'Fatal' else 'warning'
            advice = ACTIONS['fabric']
        elif key.uuid[:1].isdigit():
            if advice.severity == 'info':  # nothing was wrong: it may have got another driver
                continue
            evidence += '; the driver no longer lists this GPU'
            advice = ACTIONS['reboot']
        else:
            evidence += '; the log does not name its PCI bus ID'
        yield Finding(
            key,
            kind,
            severity,
            event_words(event),
            evidence,
            advice.text.replace(' -i {index}', ''),
            KINDS[kind].mark,
            bus_id=f'{key.uuid}.0' if key.uuid[:1].isdigit() else None,
            since=event.first,
        )


def is_about_memory(event: DeviceEvent) -> bool:
    """Return whether the event announced errors of the memory."""
    return event.kind == 'memory error' or (event.kind == 'xid' and event.code in MEMORY_XIDS)


def are_contained(events: tuple[DeviceEvent, ...]) -> bool:
    """Return whether all memory errors that were announced affect only one program each."""
    codes = {event.code for event in events if is_about_memory(event)}
    return CONTAINED in codes and codes <= {CONTAINED, 63}


def event_words(event: DeviceEvent) -> str:
    """Return what an announced error means: ``'Xid 79: GPU has fallen off the bus'``."""
    if event.kind == 'xid':
        return f'Xid {event.code}: {xid_of(event.code).words}'
    if event.kind == 'nvswitch':
        return f'NVSwitch error {event.code} ({event.text.lower()})'
    words, _ = _WITHOUT_NUMBER.get(event.kind, (event.kind, ''))
    return words


def event_texts(events: list[DeviceEvent]) -> str:
    """Return which events there were and when, as evidence."""
    return '; '.join(map(_event_text, events[:_MAX_EVENTS]))


def _advice(event: DeviceEvent) -> XidAction:
    if event.kind == 'xid':
        return action_of(event.code, event.text)
    _, action = _WITHOUT_NUMBER.get(event.kind, ('', 'reset'))
    return ACTIONS[action]


def _event_text(event: DeviceEvent) -> str:
    name = f'Xid {event.code}' if event.kind == 'xid' else event.kind
    times = f'{event.times} times, last ' if event.times > 1 else ''
    text = f' ({event.text})' if event.text and event.kind == 'xid' else ''
    moment = f'at {format_time(event.last)}' if event.last else 'at an unknown time'
    return f'{name} {times}{moment}{text}'
