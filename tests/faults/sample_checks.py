"""Check of samples: every value is the known one, or is missing for a reported reason."""

from __future__ import annotations

from typing import Iterator

from nvitop.basics.metrics import METRICS
from nvitop.sampling.types import DeviceInfo, DeviceKey, DeviceSample, ProcessSample, Sample
from tests.faults.known_machine import VARYING, KnownMachine

#: Field of a sample → name of the metric in a problem.
_METRIC = {metric.field: metric.name for metric in METRICS}
_IDENTITY = ('key', 'info', 'status', 'reason')
#: Fields that the demand does not contain.
_NOT_DEMANDED = ('extended',)
_UTILIZATIONS = tuple(
    f'gpu_{what}_utilization_percent' for what in ('sm', 'memory', 'encoder', 'decoder')
)
#: Fields that depend on what was observed before.
_OBSERVED = ('key', 'is_outdated', 'gpu_idle_seconds', 'is_idle_longer')
_LISTS = ('processes', 'graphics_processes', 'mps_processes')


def true_samples(count: int) -> list[Sample]:
    bench = KnownMachine()
    with bench.opened():
        samples = [bench.sample() for _ in range(count)]
    assert all(device.status == 'ok' for sample in samples for device in sample.devices)
    return samples


class SampleChecker:
    """Compares samples with those of a machine without faults."""

    def __init__(self, truth: list[Sample]) -> None:
        self.truth = truth

    def check(self, sample: Sample, tick: int) -> Iterator[str]:
        reasons = {(p.device, p.what) for p in sample.problems if p.reason}
        if any(p.subject == 'driver' and not p.reason for p in sample.problems):
            yield 'a problem of the driver without a reason'
        is_driver_lost = any(p.subject == 'driver' for p in sample.problems)
        truth = {d.key[:2]: d for d in self.truth[tick].devices}
        for device in sample.devices:
            true = truth.pop(device.key[:2], None)
            if true is None:
                yield f'{device.key.label}: no such device'
            else:
                yield from self._check_device(device, true, reasons)
        for place in truth:
            gpu = {what for key, what in reasons if key and key.physical_index == place[0]}
            if not gpu and not is_driver_lost:
                yield f'{place}: a device is missing without a reason'
        yield from self._check_processes(sample, tick, reasons)
        for name in ('driver_version', 'cuda_driver_version'):
            found, expected = getattr(sample, name), getattr(self.truth[tick], name)
            if found not in (None, expected):
                yield f'{name}: {found}'
            if found is None and not is_driver_lost:
                yield f'{name}: missing without a reason'

    def _check_device(
        self, device: DeviceSample, true: DeviceSample, reasons: set[tuple[DeviceKey | None, str]]
    ) -> Iterator[str]:
        label = device.key.label
        if device.key.uuid not in ('', true.key.uuid):
            yield f'{label}: uuid {device.key.uuid}'
        yield from self._check_info(device.info, label)
        if device.status != 'ok':
            if not device.reason:
                yield f'{label}: {device.status} without a reason'
            if any(value not in (None, ()) for value in device[len(_IDENTITY) :]):
                yield f'{label}: {device.status}, but has values'
            return
        for field, found in zip(device._fields, device):
            if field in (*_IDENTITY, *_NOT_DEMANDED):
                continue
            expected = getattr(true, field)
            if found is None:
                is_explained = field in VARYING or (device.key, _METRIC[field]) in reasons
                if expected is not None and not is_explained:
                    yield f'{label}: {field}: missing without a reason'
            elif not self._may_be(field, found, expected, device.key):
                yield f'{label}: {field}: {found!r}, not {expected!r}'

    def _may_be(self, field: str, found: object, expected: object, key: DeviceKey) -> bool:
        if field not in VARYING:
            return bool(found == expected)
        every = [
            getattr(device, field)
            for sample in self.truth
            for device in sample.devices
            if device.key[:2] == key[:2]
        ]
        known = [value for value in every if value is not None]
        return isinstance(found, (int, float)) and bool(
            known and 0.98 * min(known) - 1 <= found <= 1.02 * max(known) + 1
        )

    def _check_info(self, info: DeviceInfo, label: str) -> Iterator[str]:
        known = [d.info for s in self.truth for d in s.devices if d.key.label == label]
        for field, found in zip(info._fields, info):
            true = {getattr(each, field) for each in known}
            if field == 'key' or found is None or found in true:
                continue
            yield f'{label}: info: {field}: {found!r}, not {true!r}'

    def _check_processes(
        self, sample: Sample, tick: int, reasons: set[tuple[DeviceKey | None, str]]
    ) -> Iterator[str]:
        truth = {(p.key.pid, p.key.device[:2]): p for p in self.truth[tick].processes}
        incomplete = {key[:2] for key, what in reasons if key and what in (*_LISTS, 'status')}
        silent = {d.key[:2] for d in sample.devices if d.status != 'ok'}
        for process in sample.processes:
            place = (process.key.pid, process.key.device[:2])
            if process.is_outdated and place[1] not in incomplete | silent:
                yield f'{place}: outdated without a reason'
            true = truth.pop(place, None)
            if true is None and (process.key.device, 'mig_mode') in reasons:
                continue  # it may run on a MIG device
            if true is None:
                if not process.is_outdated:  # it may have exited since
                    yield f'{place}: no such process'
                continue
            for field, found in zip(process._fields, process):
                expected = getattr(true, field)
                if field in _OBSERVED or found == expected:
                    continue
                if found is not None:
                    if field != 'type' or place[1] not in incomplete:
                        yield f'{place}: {field}: {found!r}, not {expected!r}'
                elif not self._is_explained(process, field, reasons):
                    yield f'{place}: {field}: missing without a reason'
        listed = {d.key[:2] for d in sample.devices}
        for place in truth:
            if place[1] not in incomplete | silent and place[1] in listed:
                yield f'{place}: a process is missing without a reason'

    def _is_explained(
        self, process: ProcessSample, field: str, reasons: set[tuple[DeviceKey | None, str]]
    ) -> bool:
        if process.is_outdated:
            return True
        whats = {what for key, what in reasons if key == process.key.device}
        if field in _UTILIZATIONS:
            return not whats.isdisjoint({'process_utilization', *_LISTS})
        return not whats.isdisjoint({'memory_total', *_LISTS})

    def check_recovery(self, sample: Sample, tick: int, *, constants: bool = True) -> list[str]:
        """Return the differences to a sample of a machine without faults.

        Without ``constants``, values that never change may be missing.
        """
        true = self.truth[tick]
        errors = [*self.check(sample, tick)]
        devices = {device.key: device for device in sample.devices}
        for that in true.devices:
            this = devices.get(that.key)
            if this is None or this.status != 'ok':
                errors.append(f'{that.key.label}: still missing')
            else:
                errors += [
                    f'{that.key.label}: {field}: still missing'
                    for field in that._fields
                    if getattr(this, field) is None and getattr(that, field) is not None
                    # Whether a GPU has these counters, or NVLinks, is constant.
                    if constants or not field.startswith(('gpm_', 'nvlink_'))
                ]
                if constants and this.info != that.info:
                    errors.append(f'{that.key.label}: constant values still missing')
        if sample.processes != true.processes:
            errors.append('processes still missing')
        if constants and set(sample.problems) != set(true.problems):
            errors.append(f'problems that are solved: {set(sample.problems) - set(true.problems)}')
        return errors
