# SPDX-License-Identifier: Apache-2.0
"""Leaves sleeping GPUs alone.

Idle GPUs are no longer queried after a while, so that they can fall asleep. Only GPUs that sleep, or
may sleep, are looked at. A server has none, so nothing changes there.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from nvitop.api.system import system
from nvitop.basics.times import format_duration
from nvitop.platforms.pci import is_asleep
from nvitop.sampling.gpu_reader import GpuReading
from nvitop.sampling.plan import DeviceSelection
from nvitop.sampling.types import PROCESSES, STATUS, DeviceInfo, DeviceKey, DeviceSample, Problem

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    from nvitop.platforms.pci import GpuPower
    from nvitop.sampling.plan import Due

#: Number of regular readings without processes and utilization after which a GPU is left alone.
IDLE_READINGS = 5
#: Time (seconds) that a GPU has to fall asleep. Afterwards it is queried again.
REST_SECONDS = 10.0

ASLEEP = 'asleep; reading its values would wake it'
RESTING = 'idle; not queried, so that it can fall asleep'
HELD_AWAKE = 'only nvitop seems to keep this GPU awake; quit it to let the GPU sleep'


class _SleepyGpu:
    """A GPU that sleeps or may sleep, or is next to one."""

    def __init__(self, index: int, power: GpuPower) -> None:
        self.bus_id, self.may_sleep = power.bus_id, power.may_sleep
        domain, _, rest = power.bus_id.upper().partition(':')
        key = DeviceKey(index)
        self.info = DeviceInfo(key, index, bus_id=f'{domain:0>8}:{rest}')
        #: ``'resting'``: left alone, but still awake.
        self.state: Literal['queried', 'resting', 'asleep'] = 'queried'
        #: When the state began, on the monotonic clock.
        self.since = 0.0
        self.power_state = ''
        #: Whether it was seen awake, so that it is known since when it sleeps.
        self.was_awake = False
        #: Number of idle readings in a row.
        self.idle_readings = 0
        #: Whether its processes were listed since it is queried.
        self.has_list = False
        #: Whether it did not fall asleep although it was left alone, and whether because of nvitop.
        self.stays_awake = self.is_held = False

    def begin(self, state: Literal['queried', 'resting', 'asleep'], now: float) -> None:
        self.state, self.since = state, now
        self.idle_readings, self.has_list = 0, False

    def fall_asleep(self, now: float) -> None:
        found = system().sleep_info(self.bus_id)
        self.power_state = found.power_state
        if self.info.name is None:
            key = self.info.key._replace(uuid=found.uuid)
            self.info = self.info._replace(
                key=key, name=found.name or None, uuid=found.uuid or None
            )
        self.stays_awake = self.is_held = False
        self.begin('asleep', now)

    def row(self, now: float, *, asks: bool) -> GpuReading:
        """Return the row of the GPU while it is not queried; ``asks``: say how to wake it."""
        reason = RESTING
        if self.state == 'asleep':
            deep = self.power_state.startswith('D3')
            reason = f'asleep ({self.power_state})' if deep else 'asleep'
            if self.was_awake and now - self.since >= 1:
                reason += f' for {format_duration(now - self.since)}'
            reason += '; press r to wake it' if asks else ''
        sample = DeviceSample(self.info.key, self.info, 'asleep', reason)
        why = ASLEEP if self.state == 'asleep' else RESTING
        return GpuReading((sample,), problems=(Problem(self.info.key, STATUS, why),))


class SleepWatch:
    """Decides which GPUs are not queried now.

    Args:
        selection: GPUs that are selected are queried, asleep or not.
        wake: ``'never'``: wake no other GPU; ``'ask'``: only on :meth:`refresh`; ``'always'``: query
            all GPUs.
        clock: Monotonic seconds.
    """

    def __init__(
        self,
        selection: DeviceSelection,
        wake: str = 'never',
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._selection = selection
        self._wake = wake
        self._clock = clock
        self._gpus: tuple[_SleepyGpu, ...] = ()
        self._is_refreshed = False
        #: Whether a GPU has been queried since NVML was last restarted.
        self._is_attached = False

    @property
    def is_on(self) -> bool:
        """Whether any GPU sleeps or may sleep."""
        return bool(self._gpus)

    @property
    def is_quiet(self) -> bool:
        """Whether no GPU is queried."""
        return self.is_on and all(gpu.state != 'queried' for gpu in self._gpus)

    @property
    def must_release(self) -> bool:
        """Whether NVML must be restarted: it cannot let go of a GPU, only of all of them."""
        return self._is_attached and self.is_quiet

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The GPUs that nvitop alone keeps awake."""
        held = [gpu for gpu in self._gpus if gpu.is_held and gpu.state == 'queried']
        return tuple(Problem(gpu.info.key, STATUS, HELD_AWAKE) for gpu in held)

    def bus_id(self, index: int) -> str:
        """Return the bus ID of a GPU to open it by, ``''`` if its index does not wake others."""
        return self._gpus[index].bus_id if index < len(self._gpus) else ''

    def find(self, count: int) -> None:
        """Look for GPUs that sleep or may sleep, at the start and when NVML lists another number."""
        powers = system().gpu_powers() if self._wake != 'always' else ()
        if len(powers) != count:
            powers = ()  # it is not known which GPU has which index
        known = {(index, gpu.bus_id): gpu for index, gpu in enumerate(self._gpus)}
        self._gpus = tuple(
            known.get((index, power.bus_id)) or _SleepyGpu(index, power)
            for index, power in enumerate(powers)
        )

    def released(self) -> None:
        """Take notice that NVML was restarted and holds no GPU."""
        self._is_attached = False

    def refresh(self) -> None:
        """Query GPUs that are only left alone, and with ``'ask'`` also those that sleep."""
        self._is_refreshed = True

    def rows(self) -> dict[int, GpuReading]:
        """Look at the GPUs, and return the rows of those that are not to be queried, by index."""
        refreshed, self._is_refreshed = self._is_refreshed, False
        now = self._clock()
        for index, gpu in enumerate(self._gpus):
            if self._may_wake(index, gpu, refreshed=refreshed):
                if gpu.state != 'queried':
                    gpu.begin('queried', now)
            else:
                self._look(gpu, now)
        left_alone = {i: gpu for i, gpu in enumerate(self._gpus) if gpu.state != 'queried'}
        rows = {i: gpu.row(now, asks=self._wake == 'ask') for i, gpu in left_alone.items()}
        self._is_attached = self._is_attached or len(rows) < len(self._gpus)
        return rows

    def _may_wake(self, index: int, gpu: _SleepyGpu, *, refreshed: bool) -> bool:
        """Return whether a GPU is queried even if it is asleep."""
        if not self._selection.wants_all:
            return self._selection.wants_gpu(index, gpu.info.key.uuid)
        return refreshed and (self._wake == 'ask' or gpu.state == 'resting')

    def _look(self, gpu: _SleepyGpu, now: float) -> None:
        """Read whether a GPU sleeps now, which is all that happens to a sleeping one each second."""
        if is_asleep(system().runtime_status(gpu.bus_id)):
            if gpu.state != 'asleep':
                gpu.fall_asleep(now)
        elif gpu.state == 'asleep':
            gpu.begin('queried', now)
        elif gpu.state == 'resting' and now - gpu.since >= REST_SECONDS:
            gpu.stays_awake, gpu.is_held = True, self._is_attached
            gpu.begin('queried', now)
        gpu.was_awake = gpu.was_awake or gpu.state != 'asleep'

    def observe(self, index: int, reading: GpuReading, due: Due) -> None:
        """Take notice of a reading; leave the GPU alone after several idle ones."""
        gpu = self._gpus[index] if index < len(self._gpus) else None
        if gpu is None or not reading.devices or reading.devices[0].status != 'ok':
            return
        sample = reading.devices[0]
        gpu.info = sample.info
        if not (due.fast and gpu.may_sleep and self._selection.wants_all):
            return
        gpu.has_list = gpu.has_list or due.processes
        unknown = any(problem.what == PROCESSES for problem in reading.problems)
        if reading.processes or unknown or sample.gpu_utilization_percent != 0:
            gpu.idle_readings = 0
            gpu.stays_awake = gpu.is_held = False
        elif gpu.has_list and not gpu.stays_awake:
            gpu.idle_readings += 1
            if gpu.idle_readings >= IDLE_READINGS:
                gpu.begin('resting', self._clock())
