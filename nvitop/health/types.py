# SPDX-License-Identifier: Apache-2.0
"""Findings about devices, their kinds, and what a rule is given."""

from __future__ import annotations

import re
from typing import Callable, Literal, NamedTuple

from nvitop.platforms.nvidia import short_bus_id
from nvitop.sampling.types import DeviceEvent, DeviceKey, DeviceSample, Problem

#: ``info``: normal, but worth knowing; ``unknown``: a value that a rule needs cannot be read;
#: ``warning``: slower or less reliable than it should be; ``critical``: not usable, or it
#: damages results or itself.
Severity = Literal['info', 'unknown', 'warning', 'critical']


class Finding(NamedTuple):
    """A rule that applies to a device."""

    device: DeviceKey
    #: One of :data:`KINDS`.
    kind: str
    severity: Severity
    #: Name of the fault: ``'too hot'``.
    words: str
    #: The values that show it: ``'91°C, slows down at 89°C'``; ``''``: the name says it all.
    evidence: str
    #: Advice for the user, ``''`` if there is nothing to do.
    action: str
    #: Short word for the row of the device: ``'hot'``.
    mark: str
    #: Serial number and PCI bus ID (``'0000:3d:00.0'``) of the device, if they were measured.
    serial: str | None = None
    bus_id: str | None = None
    #: When it was first found, or when it happened: seconds since the epoch.
    since: float = 0.0

    @property
    def text(self) -> str:
        """The fault and the values that show it: ``'too hot: 91°C, slows down at 89°C'``."""
        return ': '.join(filter(None, (self.words, self.evidence)))


class Label(NamedTuple):
    """Names of a kind of finding."""

    mark: str
    #: After a number of GPUs: ``'1 lost'``.
    counted: str


#: All kinds of findings, the most important first.
KINDS: dict[str, Label] = {
    'missing': Label('missing', 'missing'),
    'lost': Label('lost', 'lost'),
    'not_responding': Label('not resp', 'not responding'),
    'failing': Label('failing', 'failing'),
    'xid': Label('Xid', 'with Xid errors'),
    'nvswitch': Label('NVSwitch', 'with NVSwitch errors'),
    'reboot_needed': Label('reboot!', 'needing a reboot'),
    'reset_needed': Label('reset!', 'needing a reset'),
    'recovery_needed': Label('recover!', 'needing recovery'),
    'memory_errors': Label('ECC', 'with ECC errors'),
    'remap_failed': Label('remap', 'with failed row remapping'),
    'sram_errors': Label('SRAM', 'with too many SRAM errors'),
    'retired_pages': Label('pages', 'with retired pages'),
    'fabric': Label('fabric', 'outside their NVLink fabric'),
    'nvlink_down': Label('NVLink', 'with NVLinks down'),
    'hot': Label('hot', 'hot'),
    'thermal_slowdown': Label('hot', 'hot'),
    'power_brake': Label('brake', 'with power brake'),
    'hardware_slowdown': Label('slowed', 'slowed by hardware'),
    'slow': Label('slow', 'slow to respond'),
    'remap_pending': Label('remap', 'with pending row remapping'),
    'remap_exhausted': Label('no spare', 'without spare memory rows'),
    'nvlink_errors': Label('NVLink', 'with NVLink errors'),
    'pcie_link': Label('PCIe', 'with slow PCIe link'),
    'pcie_errors': Label('PCIe', 'with PCIe errors'),
    'inforom': Label('inforom', 'with a corrupt inforom'),
    'implausible': Label('implausible', 'with implausible values'),
    'unreadable': Label('unreadable', 'with unreadable values'),
    'not_permitted': Label('not perm', 'not permitted'),
    'thermal_cap': Label('temp limit', 'at its temperature limit'),
    'power_cap': Label('power limit', 'at its power limit'),
}
IMPORTANCE: dict[str, int] = {kind: place for place, kind in enumerate(KINDS)}
#: All severities, the highest first.
SEVERITIES: tuple[Severity, ...] = ('critical', 'warning', 'unknown', 'info')


#: Reasons of the driver, and what to show instead.
_PLAIN_REASONS = {
    'Unknown Error': 'unknown driver error',
    'Not Supported': 'not supported',
    'Insufficient Permissions': 'no permission',
    'GPU requires restart': 'GPU needs a reset',
}


def plain_reason(reason: str) -> str:
    """Return the reason with plain words instead of those of the driver."""
    for text, words in _PLAIN_REASONS.items():
        reason = reason.replace(text, words)
    return reason


#: Words in names of values that are written in another way.
_UPPER = re.compile(
    'gpu|gpm|sm|ecc|bar1|mig|mps|numa|dram|sram|pci|id|uuid|vbios|cuda|jpeg|ofa|rx|tx'
)
_SPELLING = {'pcie': 'PCIe', 'nvlink': 'NVLink'}


def value_words(name: str) -> str:
    """Return the name of a value in words: ``'GPU utilization'`` for ``'gpu_utilization'``."""
    words = name.replace('current_driver_model', 'driver_model').split('_')
    return ' '.join(
        word.upper() if _UPPER.fullmatch(word) else _SPELLING.get(word, word) for word in words
    )


def cause(reason: str) -> str:
    """Return the reason of a problem as the evidence of a finding has it."""
    return plain_reason(reason).replace(' is implausible', '')


class Case(NamedTuple):
    """A device, its failures, and what is known from the other devices."""

    device: DeviceSample
    problems: tuple[Problem, ...]
    #: Events that still matter, the newest first.
    events: tuple[DeviceEvent, ...]
    #: Names of products that have an active NVLink on at least one GPU.
    linked_products: frozenset[str] = frozenset()
    #: Number of GPUs of this product.
    gpus_of_product: int = 1
    #: Whether the samples of a process explain the utilization.
    has_busy_process: bool = False
    #: The device in an earlier sample, and how long ago (seconds) that was.
    before: DeviceSample | None = None
    seconds: float = 0.0
    #: Time (seconds) since the start of the machine, in which counters have grown at most.
    uptime: float | None = None

    def finding(
        self, kind: str, severity: Severity, words: str, evidence: str, action: str = ''
    ) -> Finding:
        """Return a finding about the device."""
        if kind not in KINDS:
            raise ValueError(f'KINDS has no row for {kind!r}, which a rule found')
        key = self.device.key
        return Finding(
            key,
            kind,
            severity,
            words,
            '' if evidence == f'GPU is {words}' else evidence,
            action.replace('{index}', str(key.physical_index)),
            KINDS[kind].mark,
            self.device.info.serial,
            short_bus_id(self.device.info.bus_id or '') or None,
        )

    def per_second(self, read: Callable[[DeviceSample], int | None]) -> float:
        """Return how fast a counter grows: since the earlier sample, or on average if that is more."""
        now = read(self.device)
        if not now:
            return 0.0
        average = now / self.uptime if self.uptime else 0.0
        earlier = None if self.before is None else read(self.before)
        # A single error says nothing about a rate.
        if earlier is None or now - earlier < 2 or self.seconds <= 0:
            return average
        return max(average, (now - earlier) / self.seconds)
