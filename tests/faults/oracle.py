"""What may be said of a machine whose every value is known: what is true, or that it is not known."""

from __future__ import annotations

from typing import Iterator

from nvitop.api.metrics import METRICS
from nvitop.sampling.types import DeviceInfo, DeviceKey, DeviceSample, ProcessSample, Sample
from tests.faults.bench import MOVING, Bench
from tests.faults.drawings import Drawings

#: Field of a sample → what a reason for its gap is called.
_WHAT = {metric.field: metric.name for metric in METRICS}
#: Samples of this tick are drawn too.
DRAWN_TICK = 1
_IDENTITY = ('key', 'info', 'status', 'reason')
#: What nobody asks for here.
_UNASKED = ('extended',)
_LOADS = tuple(f'gpu_{what}_utilization_percent' for what in ('sm', 'memory', 'encoder', 'decoder'))
_LISTS = ('processes', 'graphics_processes', 'mps_processes')


def true_samples(count: int, driver: str = 'newest') -> list[Sample]:
    """The samples of a machine on which nothing fails."""
    bench = Bench(driver)
    with bench.opened():
        samples = [bench.sample() for _ in range(count)]
    assert all(device.status == 'ok' for sample in samples for device in sample.devices)
    return samples


class Oracle:
    """Knows the truth of each tick, in samples and as it is drawn."""

    def __init__(self, truth: list[Sample]) -> None:
        self.truth = truth
        self._drawings = Drawings({DRAWN_TICK: truth[DRAWN_TICK]})

    def untrue(self, sample: Sample, tick: int) -> list[str]:
        """What a sample says that is not so, and what it does not say why it does not say it."""
        is_drawn = tick == DRAWN_TICK  # drawing takes longest by far
        drawn = self._drawings.untrue(sample, tick) if is_drawn else []
        return [*self._untrue(sample, tick), *drawn]

    def _untrue(self, sample: Sample, tick: int) -> Iterator[str]:
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
                yield from self._untrue_of_device(device, true, reasons)
        for place in truth:
            gpu = {what for key, what in reasons if key and key.physical_index == place[0]}
            if not gpu and not is_driver_lost:
                yield f'{place}: a device is missing, and nobody says why'
        yield from self._untrue_of_processes(sample, tick, reasons)
        for name in ('driver_version', 'cuda_driver_version'):
            said, is_true = getattr(sample, name), getattr(self.truth[tick], name)
            if said not in (None, is_true):
                yield f'{name}: {said}'
            if said is None and not is_driver_lost:
                yield f'{name}: nobody says why it is missing'

    def _untrue_of_device(
        self,
        device: DeviceSample,
        true: DeviceSample,
        reasons: set[tuple[DeviceKey | None, str]],
    ) -> Iterator[str]:
        label = device.key.label
        if device.key.uuid not in ('', true.key.uuid):
            yield f'{label}: uuid {device.key.uuid}'
        yield from self._untrue_of_info(device.info, label)
        if device.status != 'ok':
            if not device.reason:
                yield f'{label}: {device.status} without a reason'
            if any(value not in (None, ()) for value in device[len(_IDENTITY) :]):
                yield f'{label}: {device.status}, but has values'
            return
        for field, said in zip(device._fields, device):
            if field in (*_IDENTITY, *_UNASKED):
                continue
            is_true = getattr(true, field)
            if said is None:
                is_explained = field in MOVING or (device.key, _WHAT[field]) in reasons
                if is_true is not None and not is_explained:
                    yield f'{label}: {field}: nobody says why it is missing'
            elif not self._may_be(field, said, is_true, device.key):
                yield f'{label}: {field}: {said!r}, not {is_true!r}'

    def _may_be(self, field: str, said: object, is_true: object, key: DeviceKey) -> bool:
        if field not in MOVING:
            return bool(said == is_true)
        every = [
            getattr(device, field)
            for sample in self.truth
            for device in sample.devices
            if device.key[:2] == key[:2]
        ]
        known = [value for value in every if value is not None]
        return isinstance(said, (int, float)) and bool(
            known and 0.98 * min(known) - 1 <= said <= 1.02 * max(known) + 1
        )

    def _untrue_of_info(self, info: DeviceInfo, label: str) -> Iterator[str]:
        known = [d.info for s in self.truth for d in s.devices if d.key.label == label]
        for field, said in zip(info._fields, info):
            true = {getattr(each, field) for each in known}
            if field == 'key' or said is None or said in true:
                continue
            yield f'{label}: info: {field}: {said!r}, not {true!r}'

    def _untrue_of_processes(
        self, sample: Sample, tick: int, reasons: set[tuple[DeviceKey | None, str]]
    ) -> Iterator[str]:
        truth = {(p.key.pid, p.key.device[:2]): p for p in self.truth[tick].processes}
        troubled = {key[:2] for key, what in reasons if key and what in (*_LISTS, 'status')}
        for process in sample.processes:
            place = (process.key.pid, process.key.device[:2])
            true = truth.pop(place, None)
            if true is None and (process.key.device, 'mig_mode') in reasons:
                continue  # of one of its MIG devices, if it has any
            if true is None:
                yield f'{place}: no such process'
                continue
            for field, said in zip(process._fields, process):
                is_true = getattr(true, field)
                if field == 'key' or said == is_true:
                    continue
                if said is not None:
                    if field != 'type' or place[1] not in troubled:
                        yield f'{place}: {field}: {said!r}, not {is_true!r}'
                elif not self._is_explained(process, field, reasons):
                    yield f'{place}: {field}: nobody says why it is missing'
        lost = {d.key[:2] for d in sample.devices if d.status != 'ok'}
        listed = {d.key[:2] for d in sample.devices}
        for place in truth:
            if place[1] not in troubled | lost and place[1] in listed:
                yield f'{place}: a process is missing, and nobody says why'

    def _is_explained(
        self, process: ProcessSample, field: str, reasons: set[tuple[DeviceKey | None, str]]
    ) -> bool:
        whats = {what for key, what in reasons if key == process.key.device}
        if field in _LOADS:
            return not whats.isdisjoint({'process_utilization', *_LISTS})
        return not whats.isdisjoint({'memory_total', *_LISTS})

    def unhealed(self, sample: Sample, tick: int, *, facts: bool = True) -> list[str]:
        """In what a sample differs from one of a machine on which nothing has failed.

        Without ``facts``, what never changes may be missing: it has been denied for ever.
        """
        true = self.truth[tick]
        wrong = [*self.untrue(sample, tick)]
        devices = {device.key: device for device in sample.devices}
        for that in true.devices:
            this = devices.get(that.key)
            if this is None or this.status != 'ok':
                wrong.append(f'{that.key.label}: still missing')
            else:
                wrong += [
                    f'{that.key.label}: {field}: still missing'
                    for field in that._fields
                    if getattr(this, field) is None and getattr(that, field) is not None
                    # Whether a GPU has these counters at all is a fact.
                    if facts or not field.startswith('gpm_')
                ]
                if facts and this.info != that.info:
                    wrong.append(f'{that.key.label}: facts still missing')
        if sample.processes != true.processes:
            wrong.append('processes still missing')
        if facts and set(sample.problems) != set(true.problems):
            wrong.append(f'problems that are over: {set(sample.problems) - set(true.problems)}')
        return wrong
