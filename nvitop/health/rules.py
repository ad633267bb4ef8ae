# SPDX-License-Identifier: Apache-2.0
"""Find what is wrong with the devices of a sample, how severe it is, and what to do.

Pure rules: nothing here calls a driver. Each rule looks at one device and returns findings,
such as 'too hot' and 'slowed down by heat'.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Callable, Iterable, Iterator, Literal

from nvitop.health.states import BUSY_PERCENT, percent_of
from nvitop.health.types import (
    IMPORTANCE,
    KINDS,
    SEVERITIES,
    Case,
    Finding,
    Severity,
    cause,
    value_words,
)
from nvitop.health.xid import (
    ACTIONS,
    announced,
    are_contained,
    event_texts,
    events_that_matter,
    is_about_memory,
    unlisted,
)
from nvitop.platforms.nvidia import short_bus_id
from nvitop.sampling.types import (
    GRAPHICS_PROCESSES,
    MPS_PROCESSES,
    PROCESSES,
    STATUS,
    DeviceKey,
    DeviceSample,
    Problem,
    Sample,
)

_Rule = Callable[[Case], Iterator[Finding]]

#: Metrics without which a rule cannot judge: if reading one fails, the health is unknown.
_NEEDED_METRICS = (
    'recovery_action',
    'temperature',
    'temperature_slowdown_threshold',
    'max_temperature_threshold',
    'clock_event_reasons',
    'total_volatile_uncorrected_ecc_errors',
    'remapped_rows_pending',
    'remapped_rows_failure',
    'remapping_banks_none',
    'sram_threshold_exceeded',
    'fabric_state',
    'pcie_link_generation',
    'pcie_link_width',
    'max_pcie_link_generation',
    'max_pcie_link_width',
    'nvlink_link_count',
    'nvlink_down_count',
    'mig_mode',
    'gpu_utilization',
    'performance_state',
)
#: Metrics that the rules read, and the list of processes: some failures show only there.
RULE_METRICS: tuple[str, ...] = (
    *_NEEDED_METRICS,
    'name',
    'bus_id',
    'memory_used',
    'sm_clock',
    'max_sm_clock',
    'power_usage',
    'power_limit',
    PROCESSES,
)
_NVLINK_ERRORS = (
    'nvlink_crc_flit_errors',
    'nvlink_crc_data_errors',
    'nvlink_replay_errors',
    'nvlink_recovery_errors',
)
#: What a check measures in addition. It would take too long for each sample of the monitor.
CHECK_METRICS: tuple[str, ...] = (
    *RULE_METRICS,
    'retired_pages_pending',
    'retired_pages_single_bit_ecc',
    'retired_pages_double_bit_ecc',
    'inforom_checksum_validation',
    'pcie_replays',
    *_NVLINK_ERRORS,
)
#: Metrics that lead to critical findings. A GPU that does not respond is one without them.
CRITICAL_METRICS = (
    'name',
    'recovery_action',
    'total_volatile_uncorrected_ecc_errors',
    'remapped_rows_failure',
    'sram_threshold_exceeded',
    'retired_pages_single_bit_ecc',
    'retired_pages_double_bit_ecc',
    'fabric_state',
    'nvlink_link_count',
    'nvlink_down_count',
    'mig_mode',
    PROCESSES,
)
_PROCESS_LISTS = frozenset({PROCESSES, GRAPHICS_PROCESSES, MPS_PROCESSES})
#: Problems of other values lead to no finding, so that a verdict does not depend on what is shown.
_JUDGED = frozenset({*CHECK_METRICS, STATUS}) | _PROCESS_LISTS

#: A GPU this close (°C) to its slowdown threshold is nearly too hot.
NEARLY_HOT_CELSIUS = 5
#: GPU utilization from which its link should be at full speed: links of idle GPUs save power.
_WORKING_PERCENT = 10
#: Performance states in which a GPU is ready for work.
_BUSY_STATES = ('P0', 'P1', 'P2')
#: Utilization (percent) that is doubtful at idle power and clocks: some drivers report it forever
#: after a suspend.
_STUCK_PERCENT = 90
_IDLE_STATES = tuple(f'P{number}' for number in range(8, 16))
#: Maximum number of implausible or unreadable values in the evidence.
_MAX_VALUES = 3

#: Errors of all NVLinks together per second: transmission errors, and repetitions and recoveries.
_NVLINK_CRC_RATE, _NVLINK_REPLAY_RATE = 100.0, 1.0
#: Packets that are sent again on PCIe per second.
_PCIE_REPLAY_RATE = 8 / 60
#: Number of pages of memory that can be retired, and from which a board should be replaced.
_RETIRABLE_PAGES, _MANY_RETIRED_PAGES = 64, 60
#: Number of GPUs that a board with NVSwitches has at least. A virtual machine may have fewer.
_BOARD_GPUS = 4
_FABRIC_STATES = ('Not Started', 'In Progress', 'Completed')
#: Products whose NVLinks all lead to other GPUs or NVSwitches. Those of PCIe cards need a bridge.
_FABRIC_PRODUCT = re.compile(r'SXM[4-9]|HBM3\b|\bG?B[23]00\b|\bH200\b(?! NVL)')
#: Finding → findings about the same fault, which become part of its evidence.
_SAME_FAULT: dict[str, tuple[str, ...]] = {
    'lost': ('xid', 'reset_needed', 'reboot_needed'),
    'not_responding': ('xid',),
    'failing': ('xid',),
    'memory_errors': ('remap_pending', 'retired_pages', 'reset_needed'),
    'xid': ('reset_needed', 'reboot_needed', 'recovery_needed'),
    'fabric': ('nvlink_down',),
    'hot': ('thermal_slowdown', 'hardware_slowdown'),
}
_RESET = ACTIONS['reset'].text
_REPLACE = 'Run the field diagnostics and have the board replaced'
_COOL = 'Check fans, airflow and room temperature; lowering the power limit helps meanwhile'
#: Recovery action of the driver → kind, words, what to do.
_RECOVERY: dict[str, tuple[str, str, str]] = {
    'GPU Reset': ('reset_needed', 'needs a reset', _RESET),
    'Bus Reset': ('reset_needed', 'needs a reset of its bus', 'Reset its bus, or reboot'),
    'Drain and Reset': ('reset_needed', 'needs a reset soon', f'Start no new work on it. {_RESET}'),
    'Node Reboot': ('reboot_needed', 'needs a reboot of the machine', 'Reboot the machine'),
    'System Reboot': ('reboot_needed', 'needs a reboot of the system', 'Reboot the system'),
    'Drain P2P': (
        'recovery_needed',
        'needs peer-to-peer traffic to stop',
        'Stop the processes that use it together with other GPUs',
    ),
    'Recover IMEX Domain': (
        'recovery_needed',
        'needs a recovery of its IMEX domain',
        'Restart the IMEX service on all nodes of the domain',
    ),
}


def findings(
    sample: Sample, earlier: Iterable[Finding] = (), before: Sample | None = None
) -> tuple[Finding, ...]:
    """Return what is wrong with the devices of a sample, by device, the most severe first.

    A value that the device does not have, or that this user may not read, leads to no finding.

    Args:
        sample: The sample. :data:`RULE_METRICS` should be measured.
        earlier: Findings of the sample before, whose times are kept.
        before: An earlier sample, to see how fast counters grow.
    """
    problems: dict[DeviceKey, list[Problem]] = {}
    for problem in sample.problems:
        subject = problem.subject
        if isinstance(subject, DeviceKey) and problem.is_failure and problem.what in _JUDGED:
            problems.setdefault(subject, []).append(problem)
    linked = frozenset(
        device.info.name or ''
        for device in sample.devices
        if _active_links(device) > 0  # None of them may be wired in other machines.
    )
    products = Counter(device.info.name for device in sample.devices if not device.key.is_mig)
    old = {} if before is None else {device.key: device for device in before.devices}
    busy = {p.key.device for p in sample.processes if (percent_of(p) or 0) >= BUSY_PERCENT}
    all_findings: list[Finding] = []
    for device in sample.devices:
        case = Case(
            device,
            tuple(problems.get(device.key, ())),
            events_that_matter(device.key, sample),
            linked,
            products[device.info.name],
            device.key in busy,
            old.get(device.key),
            0.0 if before is None else sample.timestamp - before.timestamp,
            sample.host.uptime_seconds,
        )
        rules = _RULES if device.status == 'ok' else _RULES_WITHOUT_VALUES
        all_findings += sorted(_merged([f for rule in rules for f in rule(case)]), key=importance)
    all_findings += map(missing_finding, range(len(sample.missing_gpus)), sample.missing_gpus)
    all_findings += unlisted(sample)
    first = {(finding.device, finding.kind): finding.since for finding in earlier}
    return tuple(
        f._replace(since=f.since or first.get((f.device, f.kind), sample.timestamp))
        for f in all_findings
    )


def _merged(device_findings: list[Finding]) -> list[Finding]:
    for kind, part_kinds in _SAME_FAULT.items():
        main = next((f for f in device_findings if f.kind == kind and is_wrong(f)), None)
        parts = [f for f in device_findings if f.kind in part_kinds and is_wrong(f)]
        if main is None or not parts:
            continue
        texts = [f.words if f.kind == 'xid' else f.evidence for f in parts]
        whole = main._replace(
            severity=min(main.severity, *(f.severity for f in parts), key=SEVERITIES.index),
            evidence='; '.join(dict.fromkeys(filter(None, [main.evidence, *texts]))),
            # The driver knows best what it needs.
            action=parts[0].action if kind == 'xid' else main.action,
        )
        device_findings = [whole if f is main else f for f in device_findings if f not in parts]
    return device_findings


def importance(finding: Finding) -> tuple[int, DeviceKey, int]:
    """Return a sort key: the most severe finding first, then by device, the most important first."""
    return SEVERITIES.index(finding.severity), finding.device, IMPORTANCE[finding.kind]


def is_wrong(finding: Finding) -> bool:
    """Return whether something is wrong: the severity is not just ``'info'``."""
    return finding.severity != 'info'


def worst_findings(findings: Iterable[Finding]) -> dict[DeviceKey, Finding]:
    worst: dict[DeviceKey, Finding] = {}
    for finding in sorted(findings, key=importance):
        worst.setdefault(finding.device, finding)
    return worst


def health_status(found: Iterable[Finding]) -> Literal['ok', 'unknown', 'warning', 'critical']:
    """Return the highest severity of the findings about a device, ``'ok'`` if nothing is wrong."""
    severities = {finding.severity for finding in found}
    for severity in SEVERITIES:
        if severity in severities and severity != 'info':
            return severity
    return 'ok'


def headline(findings: Iterable[Finding]) -> str:
    """Return the number of GPUs with each problem: ``'2 GPUs: 1 lost, 1 hot'``, ``''`` if none.

    The problem of a single GPU is named with its index: ``'GPU 5: too hot'``.
    A GPU with several problems counts once, with its most severe one, MIG devices included.
    """
    worst: dict[int, Finding] = {}
    for finding in sorted(filter(is_wrong, findings), key=importance):
        worst.setdefault(finding.device.physical_index, finding)
    if not worst:
        return ''
    if len(worst) == 1:
        (finding,) = worst.values()
        return f'GPU {finding.device._replace(mig_index=-1).label}: {finding.words}'
    counts = Counter(KINDS[finding.kind].counted for finding in worst.values())
    parts = ', '.join(f'{count} {words}' for words, count in counts.items())
    return f'{len(worst)} GPUs: {parts}'


# Rules


_NOT_LISTED = 'on the PCI bus, but not listed by the driver'


def missing_finding(number: int, name: str, evidence: str = _NOT_LISTED) -> Finding:
    """Return the finding about a missing GPU, given its bus ID or another name, ``''`` if unknown."""
    bus_id = short_bus_id(name) or None
    action = 'Look for NVRM in the kernel log; reboot. If it stays missing, check power and seating'
    label = KINDS['missing'].mark
    device = DeviceKey(-1 - number, -1, name)
    return Finding(device, 'missing', 'critical', 'missing', evidence, action, label, None, bus_id)


def _unusable(case: Case) -> Iterator[Finding]:
    status, reason = case.device.status, case.device.reason
    if status == 'lost':
        action = 'Reboot, or reset it. If it is lost again, check power, cooling and seating'
        yield case.finding('lost', 'critical', 'lost', reason, action)
    elif status == 'timed out':
        action = 'Stop its processes. If it does not recover, reboot'
        yield case.finding('not_responding', 'critical', 'not responding', reason, action)
    elif status == 'error':
        action = 'Look for NVRM in the kernel log, then reset it or reboot'
        yield case.finding('failing', 'critical', 'fails all queries', reason, action)
    elif status == 'not permitted':
        action = 'Ask for the GPU where this session was started: job scheduler, container or administrator'
        yield case.finding('not_permitted', 'unknown', 'not permitted', reason, action)


def _slow(case: Case) -> Iterator[Finding]:
    for problem in case.problems:
        if problem.kind == 'slow':
            action = 'Check the programs that query it; it may be about to hang'
            evidence = problem.reason.replace('takes ', '').replace(' to respond', '')
            yield case.finding('slow', 'warning', 'responds slowly', evidence, action)


def _recovery(case: Case) -> Iterator[Finding]:
    name = case.device.recovery_action
    if name is None or name == 'None':
        for problem in case.problems:
            if problem.kind == 'reset needed':
                evidence = f'{value_words(problem.what)} unreadable'
                yield case.finding('reset_needed', 'critical', 'needs a reset', evidence, _RESET)
                return
        return
    unknown: tuple[str, str, str] = ('recovery_needed', 'needs recovery', 'See the kernel log')
    kind, words, action = _RECOVERY.get(name, unknown)
    yield case.finding(kind, 'critical', words, f'recovery action: {name}', action)


def _temperature(case: Case) -> Iterator[Finding]:
    device, info = case.device, case.device.info
    now = device.temperature_celsius
    slowdown = info.temperature_slowdown_threshold_celsius
    normal = info.max_temperature_threshold_celsius
    if now is None:
        return
    if slowdown is not None and now >= slowdown:
        evidence = f'{now}°C, slows down at {slowdown}°C'
        yield case.finding('hot', 'warning', 'too hot', evidence, _COOL)
    elif slowdown is not None and now >= slowdown - NEARLY_HOT_CELSIUS:
        evidence = f'{now}°C, slows down at {slowdown}°C'
        yield case.finding('hot', 'warning', 'nearly too hot', evidence, _COOL)
    elif slowdown is None and normal is not None and now > normal:
        evidence = f'{now}°C, keeps its clocks up to {normal}°C'
        yield case.finding('hot', 'warning', 'too hot for its full clocks', evidence, _COOL)


def _throttling(case: Case) -> Iterator[Finding]:
    reasons = case.device.clock_event_reasons or ()
    is_hot = any(finding.kind == 'hot' for finding in _temperature(case))  # it has the temperature
    evidence = _clocks(case.device, with_temperature=not is_hot)
    if 'hw_thermal_slowdown' in reasons:
        yield case.finding('thermal_slowdown', 'warning', 'slowed down by heat', evidence, _COOL)
    if 'hw_power_brake_slowdown' in reasons:
        words = 'slowed down by the power brake'
        action = 'Check the power supply, its cables and the power budget of the rack'
        yield case.finding('power_brake', 'warning', words, evidence, action)
    if 'hw_slowdown' in reasons and not {'hw_thermal_slowdown', 'hw_power_brake_slowdown'} & {
        *reasons
    }:
        words, action = 'slowed down by hardware', 'Check cooling and power supply'
        yield case.finding('hardware_slowdown', 'warning', words, evidence, action)
    if 'sw_thermal_slowdown' in reasons:
        words = 'at its temperature limit'
        yield case.finding('thermal_cap', 'info', words, evidence)
    if 'sw_power_cap' in reasons:
        words = 'at its power limit'
        yield case.finding('power_cap', 'info', words, evidence)


def _memory(case: Case) -> Iterator[Finding]:
    device = case.device
    errors = device.total_volatile_uncorrected_ecc_errors
    if errors:
        evidence = f'{errors} uncorrected ECC errors since the driver was loaded'
        events = [event for event in case.events if is_about_memory(event)]
        if events:
            evidence += f'; {event_texts(events)}'
        if are_contained(case.events):
            words, action = 'contained memory errors', ACTIONS['restart'].text
            yield case.finding('memory_errors', 'warning', words, evidence, action)
        else:
            words, action = 'uncorrected memory errors', f'Results may be wrong. {_RESET}'
            yield case.finding('memory_errors', 'critical', words, evidence, action)
    if device.remapped_rows_failure:
        evidence = 'a memory row could not be remapped'
        yield case.finding('remap_failed', 'critical', 'failed row remapping', evidence, _REPLACE)
    if device.sram_threshold_exceeded:
        evidence = 'more SRAM errors over its life than the limit of the driver'
        yield case.finding('sram_errors', 'critical', 'too many SRAM errors', evidence, _REPLACE)
    if device.remapped_rows_pending:
        evidence = 'a memory row will be remapped at the next reset'
        action = 'Reset it when convenient: nvidia-smi --gpu-reset -i {index}. '
        action += 'Running work is not affected'
        yield case.finding('remap_pending', 'warning', 'pending row remapping', evidence, action)
    yield from _retired_pages(case)
    banks = device.remapping_banks_none
    if banks:
        evidence = f'{banks} memory {"bank has" if banks == 1 else "banks have"} no spare rows'
        yield case.finding('remap_exhausted', 'warning', 'no spare memory rows', evidence, _REPLACE)


def _retired_pages(case: Case) -> Iterator[Finding]:
    """GPUs before Ampere retire pages instead of remapping rows."""
    device = case.device
    count = (device.retired_pages_single_bit_ecc or 0) + (device.retired_pages_double_bit_ecc or 0)
    if count >= _MANY_RETIRED_PAGES:
        is_full = count >= _RETIRABLE_PAGES
        words = 'no more pages can be retired' if is_full else 'many retired pages'
        evidence = f'{count} of {_RETIRABLE_PAGES} pages of memory are retired'
        severity: Severity = 'critical' if is_full else 'warning'
        yield case.finding('retired_pages', severity, words, evidence, _REPLACE)
    elif device.extended_value('retired_pages_pending'):
        evidence = 'pages of memory will be retired when the driver is loaded again'
        action = (
            'When convenient, stop its processes and reset it: nvidia-smi --gpu-reset -i {index}'
        )
        yield case.finding('retired_pages', 'warning', 'pending retired pages', evidence, action)


def _inforom(case: Case) -> Iterator[Finding]:
    if case.device.extended_value('inforom_checksum_validation') == 'invalid':
        evidence = 'the checksum of its inforom is wrong'
        action = 'Reset it. If this lasts, have the board replaced'
        yield case.finding('inforom', 'warning', 'corrupt inforom', evidence, action)


def _pcie(case: Case) -> Iterator[Finding]:
    device, info = case.device, case.device.info
    generation, width = device.pcie_link_generation, device.pcie_link_width
    top_generation, top_width = info.max_pcie_link_generation, info.max_pcie_link_width
    is_slow = generation and top_generation and generation < top_generation
    is_narrow = width and top_width and width < top_width
    if not (is_slow or is_narrow) or not _is_busy(device):
        return
    evidence = f'{_link(generation, width)}, possible {_link(top_generation, top_width)}'
    words = 'PCIe link is narrow' if is_narrow else 'PCIe link is slow'
    action = 'Check the seating of the board, risers and cables, and the settings of the slot'
    yield case.finding('pcie_link', 'warning', words, evidence, action)


def _pcie_errors(case: Case) -> Iterator[Finding]:
    rate = case.per_second(lambda device: device.pcie_replays)
    if rate > _PCIE_REPLAY_RATE:
        evidence = f'{60 * rate:.0f} packets per minute are sent again'
        action = 'Check the seating of the board, risers and cables'
        yield case.finding('pcie_errors', 'warning', 'PCIe errors', evidence, action)


def _nvlink(case: Case) -> Iterator[Finding]:
    device, name = case.device, case.device.info.name or ''
    total, active = device.info.nvlink_link_count or 0, _active_links(device)
    if active < 0 or active == total or device.mig_mode == 'Enabled':
        return
    is_fabric = device.fabric_state in _FABRIC_STATES or bool(_FABRIC_PRODUCT.search(name))
    if name not in case.linked_products and not (is_fabric and case.gpus_of_product >= _BOARD_GPUS):
        return  # it may be alone in a virtual machine, or without a bridge
    evidence = f'{total - active} of {total}'
    action = ACTIONS['fabric'].text
    severity: Severity = 'critical' if is_fabric else 'warning'
    yield case.finding('nvlink_down', severity, 'NVLinks are down', evidence, action)


def _nvlink_errors(case: Case) -> Iterator[Finding]:
    def count(*names: str) -> Callable[[DeviceSample], int]:
        def total(device: DeviceSample) -> int:
            values = [device.extended_value(name) for name in names]
            return sum(value for value in values if isinstance(value, int))

        return total

    crc, replays = (
        case.per_second(count(*names)) for names in (_NVLINK_ERRORS[:2], _NVLINK_ERRORS[2:])
    )
    if crc > _NVLINK_CRC_RATE or replays > _NVLINK_REPLAY_RATE:
        evidence = (
            f'{crc:.0f} transmission errors, {replays:.0f} repetitions and recoveries per second'
        )
        action = ACTIONS['fabric'].text
        yield case.finding('nvlink_errors', 'warning', 'NVLink errors', evidence, action)


def _fabric(case: Case) -> Iterator[Finding]:
    state = case.device.fabric_state
    # Without active NVLinks, a virtual machine may have one GPU of several.
    if state not in _FABRIC_STATES[:2] or _active_links(case.device) == 0:
        return
    action = 'Programs cannot use it until it has joined: check the fabric manager'
    yield case.finding('fabric', 'critical', 'not in its NVLink fabric', f'state: {state}', action)


def _implausible(case: Case) -> Iterator[Finding]:
    values = [
        f'{value_words(problem.what)}: {cause(problem.reason)}'
        for problem in case.problems
        if problem.kind == 'impossible' and problem.what not in _PROCESS_LISTS
    ]
    if values:
        action = 'These values are dropped. If this lasts, update or reload the driver'
        yield case.finding('implausible', 'warning', 'implausible values', _some(values), action)
    elif _is_stuck(case.device) and not case.has_busy_process:
        device = case.device
        watts = '' if device.power_usage_mw is None else f'{device.power_usage_mw / 1000:.0f} W'
        where = f' in {device.performance_state}' if device.performance_state else ''
        evidence = (
            f'{device.gpu_utilization_percent} % at {watts or f"{device.sm_clock_mhz} MHz"}{where}'
        )
        action = 'It may be stuck and the GPU idle. Reload the driver, or reboot'
        yield case.finding('implausible', 'warning', 'doubtful utilization', evidence, action)


def _is_stuck(device: DeviceSample) -> bool:
    """Return whether a device reports that it is busy while its power and clock are those at idle."""
    power, limit = device.power_usage_mw, device.power_limit_mw
    clock, top = device.sm_clock_mhz, device.info.max_sm_clock_mhz
    if (device.gpu_utilization_percent or 0) < _STUCK_PERCENT:
        return False
    is_slow = clock is not None and top is not None and 4 * clock <= top
    is_idle = device.performance_state in _IDLE_STATES
    if not power or not limit:  # as on most laptops
        return is_slow and is_idle
    return 4 * power <= limit and (is_slow or is_idle)


def _unreadable(case: Case) -> Iterator[Finding]:
    causes: dict[str, list[str]] = {}
    for problem in case.problems:
        if problem.kind == 'error' and problem.what in _NEEDED_METRICS:
            causes.setdefault(cause(problem.reason), []).append(value_words(problem.what))
    if causes:
        evidence = _some([f'{_some(names, ", ")} ({why})' for why, names in causes.items()])
        action = 'Its health is unknown without them. If this lasts, reload the driver'
        yield case.finding('unreadable', 'unknown', 'unreadable values', evidence, action)


_RULES_WITHOUT_VALUES: tuple[_Rule, ...] = (_unusable, announced)
_RULES: tuple[_Rule, ...] = (
    announced,
    _slow,
    _recovery,
    _temperature,
    _throttling,
    _memory,
    _inforom,
    _pcie,
    _pcie_errors,
    _nvlink,
    _nvlink_errors,
    _fabric,
    _implausible,
    _unreadable,
)


def _is_busy(device: DeviceSample) -> bool:
    utilization, state = device.gpu_utilization_percent, device.performance_state
    if utilization is not None:
        return utilization >= _WORKING_PERCENT and state in (None, *_BUSY_STATES)
    return state in _BUSY_STATES


def _active_links(device: DeviceSample) -> int:
    """Return the number of active NVLinks, -1 if it is not known."""
    total, down = device.info.nvlink_link_count, device.nvlink_down_count
    return -1 if total is None or down is None else total - down


def _some(values: list[str], separator: str = '; ') -> str:
    more = f'{separator}{len(values) - _MAX_VALUES} more' if len(values) > _MAX_VALUES else ''
    return separator.join(sorted(values)[:_MAX_VALUES]) + more  # the driver is read in any order


def _clocks(device: DeviceSample, with_temperature: bool) -> str:
    now, top = device.sm_clock_mhz, device.info.max_sm_clock_mhz
    parts = []
    if now is not None:
        parts.append(f'SM clock {now} MHz' if top is None else f'SM clock {now} of {top} MHz')
    if device.power_usage_mw is not None and device.power_limit_mw:
        parts.append(f'{device.power_usage_mw / 1000:.0f} of {device.power_limit_mw / 1000:.0f} W')
    if with_temperature and device.temperature_celsius is not None:
        parts.append(f'{device.temperature_celsius}°C')
    return ', '.join(parts)


def _link(generation: int | None, width: int | None) -> str:
    return f'{"" if generation is None else f"Gen{generation} "}{"" if width is None else f"x{width}"}'.strip()
