# SPDX-License-Identifier: Apache-2.0
"""Errors that the driver announces: what Xid numbers mean, what to do, and findings about them.

Numbers, severities and actions are those of NVIDIA's Xid catalog for drivers up to R580: the groups
"ignore", "restart app", "reset GPU", "restart node" and "contact support". Where the catalog says to
follow another error, the number itself is information.
"""

from __future__ import annotations

from typing import Iterator, NamedTuple

from nvitop.basics.units import format_time
from nvitop.health.types import KINDS, SEVERITIES, Case, Finding, Severity
from nvitop.sampling.types import DeviceEvent, DeviceKey, Sample


class XidAction(NamedTuple):
    severity: Severity
    #: ``{index}`` is the index of the GPU.
    text: str


#: Groups of Xids with the same action, by the name that the exporter uses.
ACTIONS: dict[str, XidAction] = {
    'none': XidAction('info', ''),
    'program': XidAction('info', 'Usually a mistake of the program on this GPU: look at its log'),
    'restart': XidAction(
        'warning',
        'Start its program again. When convenient, reset it: nvidia-smi --gpu-reset -i {index}',
    ),
    'cause': XidAction('warning', 'A result of another fault: look at the Xid before it'),
    'check': XidAction('warning', 'Check power connectors, cooling and the driver version'),
    'fabric': XidAction(
        'warning', 'See nvidia-smi nvlink --status; check the NVSwitches and the fabric manager'
    ),
    'support': XidAction('warning', 'If it occurs again, run the field diagnostics and ask NVIDIA'),
    'reset': XidAction(
        'critical', 'Stop its processes, then reset it: nvidia-smi --gpu-reset -i {index}'
    ),
    'drain': XidAction('critical', 'Stop the processes that use it together with other GPUs'),
    'reboot': XidAction('critical', 'Reboot. If it occurs again, check power, cooling and seating'),
}


class Xid(NamedTuple):
    """One number."""

    words: str
    #: A key of :data:`ACTIONS`.
    action: str
    #: If not that of the action.
    severity: Severity | None = None


#: Number → meaning. Words that several numbers share name the part of the GPU.
XIDS: dict[int, Xid] = {
    13: Xid('graphics engine exception', 'program'),
    31: Xid('memory page fault', 'program'),
    32: Xid('invalid command stream', 'program'),
    43: Xid('GPU stopped processing', 'none'),
    44: Xid('graphics engine fault', 'none'),
    45: Xid('channel removed', 'cause', 'info'),
    46: Xid('GPU stopped', 'reset'),
    48: Xid('double-bit memory error', 'reset'),
    54: Xid('auxiliary power is not connected', 'check'),
    60: Xid('video processor exception', 'program'),
    62: Xid('power management halted', 'reset'),
    63: Xid('memory page retired or row remapped', 'none'),
    64: Xid('page retirement or row remapping failed', 'reset'),
    68: Xid('video decoder exception', 'program'),
    69: Xid('graphics engine class error', 'program'),
    74: Xid('NVLink error', 'reset'),
    78: Xid('vGPU could not be started', 'check'),
    79: Xid('GPU has fallen off the bus', 'reboot'),
    80: Xid('corrupted command stream', 'program'),
    92: Xid('high rate of corrected memory errors', 'none'),
    93: Xid('inforom is worn out', 'none'),
    94: Xid('contained memory error', 'restart'),
    95: Xid('uncontained memory error', 'reset'),
    109: Xid('context switch timeout', 'reset'),
    110: Xid('security fault', 'reset'),
    119: Xid('no response from the GPU system processor', 'reset'),
    120: Xid('GPU system processor failed', 'reset'),
    121: Xid('corrected error of the chip-to-chip link', 'none'),
    136: Xid('link training failed', 'reset'),
    137: Xid('access to another GPU failed', 'none'),
    140: Xid('unrecovered memory error', 'reset'),
    143: Xid('initialization failed', 'reset'),
    151: Xid('key rotation failed', 'reboot'),
    154: Xid('recovery action changed', 'cause'),
    155: Xid('NVLink software error', 'reset'),
    156: Xid('resource retired', 'reset'),
    158: Xid('fatal timeout', 'reset'),
    159: Xid('incompatible memory driver', 'check'),
    160: Xid('channel retired', 'none'),
    162: Xid('power smoothing engaged again', 'none'),
    **{code: Xid('channel fault', 'program') for code in (8, 11, 25)},
    **{
        code: Xid('copy engine exception', 'program')
        for code in (39, 40, 41, 70, 71, 72, 75, 76, 77, 85, *range(126, 136))
    },
    **{code: Xid('video decoder fault', 'program') for code in (83, 84, 88, 89, 96, 97, 98)},
    **{code: Xid('JPEG engine fault', 'program') for code in (82, *range(99, 106))},
    **{code: Xid('optical flow engine fault', 'program') for code in (86, 139)},
    **{code: Xid('NVLink 5 error', 'fabric') for code in range(144, 151)},
    **{
        code: Xid('informational', 'none')
        for code in (14, 37, 38, 66, 67, 106, 107, 141, 152, 153, 157, 161)
    },
}
_OTHER = Xid('unclassified error', 'support')
#: Xids about errors of the memory, and the one of an error that only one program has seen.
MEMORY_XIDS = frozenset({48, 63, 64, 92, 94, 95, 140})
CONTAINED = 94
#: Xid whose action is in its text, and the part of the text → key of :data:`ACTIONS`.
RECOVERY_CHANGED = 154
_RECOVERY_TEXTS = {
    '(none)': 'none',
    'node reboot': 'reboot',
    'system reboot': 'reboot',
    'reset': 'reset',
    'drain': 'drain',
    'imex': 'fabric',
}


def xid_of(code: int) -> Xid:
    """Return the meaning of a number; numbers that are not in the table are for NVIDIA's support."""
    return XIDS.get(code, _OTHER)


def action_of(code: int, text: str = '') -> XidAction:
    """Return the severity of an Xid and what to do.

    Args:
        code: The number.
        text: Text of the error in the kernel log, if it is known.
    """
    if code == RECOVERY_CHANGED:
        wanted = text.lower().rpartition(' to ')[2]
        for part, action in _RECOVERY_TEXTS.items():
            if part in wanted:
                return ACTIONS[action]
    xid = xid_of(code)
    advice = ACTIONS[xid.action]
    return advice if xid.severity is None else advice._replace(severity=xid.severity)


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
