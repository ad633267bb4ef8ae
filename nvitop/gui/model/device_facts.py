# SPDX-License-Identifier: GPL-3.0-only
"""What the page of a GPU shows as text: its identity, limits, modes and errors."""

from __future__ import annotations

from typing import Callable, NamedTuple

from nvitop.gui.model import format as fmt
from nvitop.gui.render.width import safe
from nvitop.sampling.types import DeviceSample


class Fact(NamedTuple):
    """A label, and the text of a device."""

    label: str
    text: Callable[[DeviceSample], str]


def _listed(*parts: tuple[str, object]) -> str:
    """Return the known values, each after its words: ``slowdown 89 °C, shutdown 92 °C``."""
    known = [f'{words} {safe(str(value))}'.strip() for words, value in parts if value is not None]
    return ', '.join(known) or fmt.NOT_AVAILABLE


def _measured(unit: str, value: float | None) -> str | None:
    return None if value is None else fmt.format_measured(unit, value)


def _name(device: DeviceSample) -> str:
    info = device.info
    name = info.name if info.mig_profile is None else f'MIG {info.mig_profile}'
    family = (info.architecture, info.cuda_compute_capability)
    return _listed(('', name), ('', ' '.join(filter(None, family)) or None))


def _link(device: DeviceSample) -> str:
    info = device.info
    now = fmt.format_pcie_link(device.pcie_link_generation, device.pcie_link_width)
    most = fmt.format_pcie_link(info.max_pcie_link_generation, info.max_pcie_link_width)
    if most not in (now, fmt.NOT_AVAILABLE):
        now += f' of {most}'
    links, down = info.nvlink_link_count, device.nvlink_down_count
    nvlinks = f'{links} NVLinks' if links else None
    return _listed(('PCIe', now), ('', nvlinks), ('NVLinks down:', down or None))


def _power(device: DeviceSample) -> str:
    info = device.info
    limits = (info.min_power_limit_mw, info.max_power_limit_mw)
    ends = None if None in limits else ' to '.join(f'{(mw or 0) / 1000:.0f}' for mw in limits)
    return _listed(
        ('limit', _measured('W', device.power_limit_mw)),
        ('of', ends and f'{ends} W'),
        ('default', _measured('W', info.default_power_limit_mw)),
    ).replace(', of', ' of')


def _thresholds(device: DeviceSample) -> str:
    info = device.info
    return _listed(
        ('slowdown', _measured('°C', info.temperature_slowdown_threshold_celsius)),
        ('shutdown', _measured('°C', info.temperature_shutdown_threshold_celsius)),
        ('memory', _measured('°C', info.max_memory_temperature_threshold_celsius)),
    )


def _clocks(device: DeviceSample) -> str:
    now = [_measured('MHz', clock) for clock in (device.sm_clock_mhz, device.memory_clock_mhz)]
    info = device.info
    most = [_measured('MHz', clock) for clock in (info.max_sm_clock_mhz, info.max_memory_clock_mhz)]
    texts = [part if full in (None, part) else f'{part} of {full}' for part, full in zip(now, most)]
    return _listed(*zip(('SM', 'memory'), texts))


def _ecc(device: DeviceSample) -> str:
    return _listed(
        ('uncorrected', device.total_volatile_uncorrected_ecc_errors),
        ('ever', device.total_aggregate_uncorrected_ecc_errors),
        ('corrected', device.total_volatile_corrected_ecc_errors),
    )


def _repairs(device: DeviceSample) -> str:
    rows = (device.remapped_rows_correctable, device.remapped_rows_uncorrectable)
    pages = (device.retired_pages_single_bit_ecc, device.retired_pages_double_bit_ecc)
    return _listed(
        ('rows', None if None in rows else sum(count or 0 for count in rows)),
        ('pages', None if None in pages else sum(count or 0 for count in pages)),
        ('', 'remapping pending' if device.remapped_rows_pending else None),
        ('', 'remapping failed' if device.remapped_rows_failure else None),
    )


def _modes(device: DeviceSample) -> str:
    return _listed(
        ('persistence', device.persistence_mode and fmt.format_switch(device.persistence_mode)),
        ('compute', device.compute_mode),
        ('MIG', device.mig_mode and fmt.format_switch(device.mig_mode)),
        ('', device.performance_state),
    )


#: Metrics that are measured only while the facts are shown.
FACT_METRICS: tuple[str, ...] = (
    'total_volatile_corrected_ecc_errors',
    'total_aggregate_uncorrected_ecc_errors',
    'remapped_rows_correctable',
    'remapped_rows_uncorrectable',
    'retired_pages_single_bit_ecc',
    'retired_pages_double_bit_ecc',
)

#: The most important ones first. A short screen shows only the first ones.
FACTS: tuple[Fact, ...] = (
    Fact('NAME', _name),
    Fact('UUID', lambda device: fmt.format_word(device.info.uuid)),
    Fact(
        'BUS ID',
        lambda device: _listed(('', device.info.bus_id), ('NUMA node', device.info.numa_node)),
    ),
    Fact('LINK', _link),
    Fact('POWER', _power),
    Fact('TEMP', _thresholds),
    Fact('CLOCKS', _clocks),
    Fact('CLOCK LIMIT', lambda device: fmt.format_reasons(device.clock_event_reasons)),
    Fact('ECC ERRORS', _ecc),
    Fact('REMAPPED', _repairs),
    Fact('MODES', _modes),
    Fact(
        'BOARD',
        lambda device: _listed(
            ('serial', device.info.serial), ('VBIOS', device.info.vbios_version)
        ),
    ),
)
