# SPDX-License-Identifier: Apache-2.0
"""One check of the health of GPUs within a time limit, even if the driver hangs."""

from __future__ import annotations

import functools
import threading
import time
from typing import Any, Callable, Collection, Container, Iterable, Iterator, Mapping, NamedTuple

from nvitop.api.system import system
from nvitop.console.device_names import match_measured
from nvitop.health.kernel_log import LoggedError, with_logged_events
from nvitop.health.rules import CHECK_METRICS, findings, missing_finding
from nvitop.health.types import Finding
from nvitop.platforms import stuck_calls
from nvitop.platforms.nvidia import short_bus_id
from nvitop.sampling.device_reader import ListedProcess
from nvitop.sampling.driver_reader import DriverReader
from nvitop.sampling.plan import DeviceSelection, Due
from nvitop.sampling.threads import StepOutcome, Watchdog, start_daemon
from nvitop.sampling.types import (
    PROCESSES,
    DeviceSample,
    HostSample,
    ProcessKey,
    ProcessSample,
    Sample,
)

#: Time (seconds) between two looks at values that may be high only for a moment.
SECOND_LOOK_SECONDS = 1.0
#: Number of errors from which it matters whether there are more now.
MANY_ERRORS = 100
#: What is measured: nothing that the rules do not need, and the serial number for a replacement.
_DUE = Due(metrics=frozenset({*CHECK_METRICS, 'serial'} - {PROCESSES}), slow=True, processes=True)


class HealthCheck(NamedTuple):
    sample: Sample
    #: All findings about the chosen devices.
    findings: tuple[Finding, ...] = ()
    #: Number of GPUs that were chosen, and that there should be.
    gpus: int = 0
    expected: int = 0
    #: Why nothing is known; ``''``: the driver works.
    error: str = ''
    #: Why the kernel log is unknown, although it was asked for.
    log_error: str = ''
    #: Whether no GPU can be used: there is no driver, or all of it hangs, which only a reboot ends.
    is_unusable: bool = False


class _Together(Watchdog):
    """Runs all steps at the same time, until a deadline that all rounds share."""

    def __init__(self, seconds: float) -> None:
        super().__init__('nvitop-health')
        self._deadline = time.monotonic() + seconds

    def run(
        self,
        steps: Mapping[Any, Callable[[], Any]],
        *,
        limit: float,
        detached: Container[Any] = (),
        while_waiting: Callable[[], None] | None = None,
    ) -> dict[Any, StepOutcome]:
        """Run the steps; those that have not returned at the deadline are abandoned."""
        condition = threading.Condition()
        outcomes: dict[Any, StepOutcome] = {}

        def work(subject: object, step: Callable[[], Any]) -> None:
            try:
                outcome = StepOutcome(step())
            except Exception as error:
                outcome = StepOutcome(error=error)
            with condition:
                outcomes[subject] = outcome
                condition.notify_all()

        started = time.monotonic()
        for subject, step in steps.items():
            start_daemon('nvitop-health', functools.partial(work, subject, step))
        with condition:
            remaining = max(0.0, self._deadline - started)
            condition.wait_for(lambda: len(outcomes) == len(steps), remaining)
            silent = max(time.monotonic() - started, 1e-9)
            return {
                subject: outcomes.get(subject) or StepOutcome(silent_seconds=silent)
                for subject in steps
            }


def check_health(
    names: Collection[str] | None = None,
    *,
    expected: int | None = None,
    timeout: float = 4.0,
    logged: Iterable[LoggedError] = (),
) -> HealthCheck:
    """Measure the GPUs now and judge them. Raises nothing because of a driver.

    Args:
        names: Devices to check: indices, ``GPU:MIG`` indices, UUIDs, PCI bus IDs or serial numbers.
            ``None``: all. A device that should be listed and is not is missing; any other
            name is an error.
        expected: Number of GPUs that the driver should list: without a driver, none of them works.
            ``None``: those on the PCI bus, unless ``names`` are given.
        logged: Errors of the kernel log, see :func:`~nvitop.health.kernel_log.read_kernel_log`.
        timeout: Time (seconds) after which a GPU, or the driver, is not responding.
    """
    deadline = time.monotonic() + timeout
    reader = DriverReader(_selection(names), _Together(timeout), limit=timeout)
    sample = _measured(reader, expected)
    error = next((p.reason for p in sample.problems if p.subject == 'driver' and p.is_failure), '')
    if error:
        holder = stuck_calls.find_holder(stuck_calls.DRIVER)
        hangs = holder is not None and holder.seconds > stuck_calls.HANGING_SECONDS
        is_absent = bool(expected) and reader.info.is_absent
        failure = (
            f'the driver lists 0 of {expected} GPUs' if is_absent else 'the driver does not work'
        )
        return HealthCheck(
            sample,
            expected=expected or 0,
            error=f'{failure}: {error}',
            is_unusable=hangs or is_absent,
        )
    sample = with_logged_events(sample, logged)
    before = None
    if _must_look_twice(sample) and deadline - time.monotonic() > 2 * SECOND_LOOK_SECONDS:
        time.sleep(SECOND_LOOK_SECONDS)
        before, again = sample, _measured(reader, expected)
        sample = again._replace(events=sample.events)
    if names is None:
        reported = _findings(sample, before)
        gpus = sum(not device.key.is_mig for device in sample.devices)
    else:
        try:
            reported, gpus = _about(names, sample, _findings(sample, before), reader, expected or 0)
        except ValueError as unknown:
            return HealthCheck(sample, error=str(unknown))
    if expected is not None:
        reported = (*reported, *_fewer(expected, reader, sample.timestamp))
    if not gpus and not reported:
        return HealthCheck(sample, error='the driver lists no GPU')
    wanted = gpus + sum(finding.kind == 'missing' for finding in reported)
    return HealthCheck(sample, reported, gpus, wanted)


def _measured(reader: DriverReader, expected: int | None) -> Sample:
    reader.read(_DUE)
    return Sample(
        time.time(),
        driver_version=reader.info.driver_version,
        simulated=system().scenario,
        host=HostSample(hostname=system().hostname(), uptime_seconds=system().uptime()),
        devices=tuple(_with_bus_ids(reader)),
        processes=tuple(map(_utilization, reader.processes)),
        problems=reader.problems,
        missing_gpus=() if expected is not None else reader.missing_gpus,
    )


def _utilization(record: ListedProcess) -> ProcessSample:
    """Return how much a process uses its GPU, which rules compare with that of the GPU."""
    usage = record.usage
    return ProcessSample(
        ProcessKey(usage.pid, -1.0, record.device),
        gpu_sm_utilization_percent=usage.gpu_sm_utilization,
        gpu_encoder_utilization_percent=usage.gpu_encoder_utilization,
        gpu_decoder_utilization_percent=usage.gpu_decoder_utilization,
    )


def _must_look_twice(sample: Sample) -> bool:
    """Return whether a temperature may be a single high value, or errors may be growing now."""
    return any(
        finding.kind == 'hot' and not finding.device.is_mig for finding in findings(sample)
    ) or any(
        isinstance(count, int) and count >= MANY_ERRORS
        for device in sample.devices
        for count in (device.pcie_replays, *dict(device.extended).values())
        if not isinstance(count, bool)
    )


def _findings(sample: Sample, before: Sample | None) -> tuple[Finding, ...]:
    latest = findings(sample, before=before)
    if before is None:
        return latest
    hot = {finding.device for finding in findings(before) if finding.kind == 'hot'}
    return tuple(f for f in latest if f.kind != 'hot' or f.device in hot)


def _with_bus_ids(reader: DriverReader) -> Iterator[DeviceSample]:
    """Yield the devices with their PCI bus IDs, which lost GPUs no longer report.

    The driver lists GPUs in the order of the bus.
    """
    places = reader.expected_gpus
    are_known = len(places) == reader.info.device_count and all(
        short_bus_id(device.info.bus_id) == places[device.key.physical_index]
        for device in reader.devices
        if device.info.bus_id
    )
    for device in reader.devices:
        if are_known and not device.key.is_mig and not device.info.bus_id:
            bus_id = places[device.key.physical_index]
            device = device._replace(info=device.info._replace(bus_id=bus_id))
        yield device


def _selection(names: Iterable[str] | None) -> DeviceSelection:
    """Return the devices to read: only indices are known before that."""
    if names is None or not all(name.isdecimal() and len(name) < 10 for name in names):
        return DeviceSelection()
    return DeviceSelection(map(int, names))


def _about(
    names: Iterable[str],
    sample: Sample,
    all_findings: Iterable[Finding],
    reader: DriverReader,
    expected: int,
) -> tuple[tuple[Finding, ...], int]:
    """Return the findings about devices with these names, and the number of their GPUs.

    Findings about the GPU of a MIG device concern the device as well.

    Raises:
        ValueError: A name is that of no GPU.
    """
    matches, unknown = match_measured(names, sample.devices)
    gpus = {key.physical_index for key in matches}
    kept = [
        finding
        for finding in all_findings
        if finding.device in matches
        or (finding.device.physical_index in gpus and not finding.device.is_mig)
    ]
    unnamed = [device for device in sample.devices if not device.key.uuid]
    silent = [device.key.label for device in unnamed if device.is_silent]
    asleep = [device.key.label for device in unnamed if device.status == 'asleep']
    evidence = 'the driver lists no such GPU'
    if asleep:
        evidence += f'; asleep, so that only the bus ID is known: GPU {", ".join(asleep)}'
    if silent:
        evidence += f'; GPU {", ".join(silent)} is not responding'
    places = [short_bus_id(bus_id) for bus_id in system().expected_gpus()]
    expected = max(expected, len(places), reader.info.device_count)
    for number, name in enumerate(unknown):
        if name.isdecimal() and len(name) < 10:
            is_possible = int(name) < expected
        elif any(place.endswith(short_bus_id(name) or name.lower()) for place in places):
            is_possible = True
        else:  # a UUID, a serial number, or a MIG device
            is_possible = bool(unnamed) or reader.info.device_count < expected
        if not is_possible:
            raise ValueError(f'no GPU is {name!r}; the driver lists {reader.info.device_count}')
        kept.append(missing_finding(number, name, evidence)._replace(since=sample.timestamp))
    return tuple(kept), len(gpus)


def _fewer(expected: int, reader: DriverReader, now: float) -> Iterator[Finding]:
    """Yield a finding for each GPU by which the driver lists fewer than expected."""
    listed = reader.info.device_count
    evidence = f'the driver lists {listed} of {expected} GPUs'
    known = reader.missing_gpus
    for number in range(expected - listed):
        name = known[number] if number < len(known) else ''
        # After those that were asked for by name.
        yield missing_finding(1024 + number, name, evidence)._replace(since=now)
