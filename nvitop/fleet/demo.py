# SPDX-License-Identifier: Apache-2.0
"""A simulated cluster for ``nvitop fleet --demo``. Pure: the same time has the same values."""

from __future__ import annotations

import math
import time
from typing import Callable

from nvitop.basics.units import GiB
from nvitop.fleet.reading import host_of_sample
from nvitop.fleet.source import FleetSource
from nvitop.fleet.types import NOT_RESPONDING, Fleet, FleetHost
from nvitop.owner.types import Layer, make_owner
from nvitop.sampling.types import (
    PROCESSES,
    DeviceEvent,
    DeviceInfo,
    DeviceKey,
    DeviceSample,
    HostSample,
    Problem,
    ProcessKey,
    ProcessSample,
    Sample,
)

#: Number of GPUs of each machine.
GPUS = 8
_USERS = ('alice', 'bob', 'carol', 'dave', 'erin', 'frank')
_MODEL = 'NVIDIA H100 80GB HBM3'
_MEMORY = 80.0 * GiB
#: Hosts that are read over ssh, with nvitop and without it.
_OVER_SSH = {3: 'ssh', 5: 'nvidia-smi'}
#: Time (seconds) between two values of a host.
_STEP = 15.0


class DemoSource(FleetSource):
    """A cluster with own names on most hosts, those of dcgm-exporter on one of three, and a few over ssh."""

    def __init__(self, hosts: int, clock: Callable[[], float] = time.time) -> None:
        self._count = hosts
        self._clock = clock

    def read(self) -> Fleet:
        """Return all hosts."""
        now = self._clock()
        return Fleet(tuple(_host(number, now) for number in range(self._count)), now)

    def sample(self, host: FleetHost) -> Sample:
        """Return the sample of one host."""
        now, number = self._clock(), _number(host)
        sample = _sample(number, now - _age(number, now))
        if _kind(number) != 'dcgm':
            return sample
        # Its labels name jobs, not their processes.
        unlisted = [
            Problem(device.key, PROCESSES, 'the exporter reports no processes of this GPU')
            for device in sample.devices
        ]
        return sample._replace(processes=(), problems=tuple(unlisted))

    def past(self, host: FleetHost, sample: Sample) -> list[tuple[float, Sample]]:
        """Return samples of the last hour with their times, oldest first."""
        now = self._clock()
        moments = [now - _STEP * step for step in range(240, 0, -1)]
        return [(moment, _sample(_number(host), moment)) for moment in moments]


def _number(host: FleetHost) -> int:
    return int(host.name[len('gpu') :]) - 1


def _kind(number: int) -> str:
    return _OVER_SSH.get(number % 20, 'dcgm' if number % 3 == 1 else 'own')


def _age(number: int, now: float) -> float:
    return now % _STEP + (200 if number % 41 == 17 else 0)


def _host(number: int, now: float) -> FleetHost:
    name = f'gpu{number + 1:04}'
    if number % 53 == 31:
        return FleetHost(name, findings=(NOT_RESPONDING,), age_seconds=700.0, is_silent=True)
    age = _age(number, now)
    return host_of_sample(name, _sample(number, now - age), age)._replace(kind=_kind(number))


def _sample(number: int, now: float) -> Sample:
    kind = _kind(number)
    devices, processes, events = [], [], []
    for index in range(GPUS):
        key = DeviceKey(index, -1, f'GPU-{number:08x}-0000-4000-8000-{index:012x}')
        info = DeviceInfo(key, index, _MODEL, key.uuid, memory_total_bytes=int(_MEMORY))
        info = info._replace(temperature_slowdown_threshold_celsius=90)
        if kind == 'own' and number % 37 == 6 and index == 3:
            devices.append(DeviceSample(key, info, 'timed out', 'no response for 9 s'))
            continue
        if number % 29 == 21 and index == 1:
            events.append(DeviceEvent(key, 'xid', 79, now - 60, now - 60))
            devices.append(DeviceSample(key, info, 'lost', 'GPU is lost'))
            continue
        user, percent, used = _load(number, index, now)
        celsius = round(31 + 0.38 * percent + (number + index) % 5)
        devices.append(
            DeviceSample(key, info)._replace(
                gpu_utilization_percent=int(percent),
                memory_utilization_percent=round(0.6 * percent),
                memory_used_bytes=int(used),
                memory_free_bytes=int(_MEMORY - used),
                memory_percent=100 * used / _MEMORY,
                power_usage_mw=1000 * round(75 + 6.2 * percent),
                power_limit_mw=None if kind == 'dcgm' else 700_000,
                temperature_celsius=92 if number % 19 == 12 and index == 5 else celsius,
            )
        )
        if user:
            layer = Layer('slurm', str(41000 + number // 4 * 10 + len(user)))
            if not percent:
                layer = Layer('jupyter', str(number), 'work/try.ipynb')
            # nvidia-smi does not say which process uses the GPU, nor dcgm-exporter whose it is.
            is_smi = kind == 'nvidia-smi'
            process = ProcessSample(ProcessKey(1000 + index, -1.0, key), type='C', name='python')
            processes.append(
                process._replace(
                    username=None if kind == 'dcgm' else user,
                    owner=None if is_smi else make_owner((layer,)),
                    gpu_memory_bytes=int(used),
                    gpu_sm_utilization_percent=None if is_smi else int(percent),
                    gpu_idle_seconds=None if is_smi else 0.0 if percent else 3600.0,
                )
            )
    return Sample(
        now,
        driver_version='580.65.06',
        cuda_driver_version='13.0',
        host=HostSample(hostname=f'gpu{number + 1:04}'),
        devices=tuple(devices),
        processes=tuple(processes),
        events=tuple(events),
    )


def _load(host: int, gpu: int, now: float) -> tuple[str, float, float]:
    """Return user, utilization and memory in use of a GPU."""
    job = host // 4
    user = _USERS[job % len(_USERS)]
    if job % 11 == 5 and gpu >= GPUS // 2:  # memory is held, and nothing runs
        return user, 0.0, 40.0 * GiB
    if job % 5 == 4 or (job % 3 == 2 and gpu >= GPUS // 2):
        return '', 0.0, 0.0
    if job % 7 == 3 and gpu % 2:
        user = _USERS[(job + 1) % len(_USERS)]
    wave = math.sin(now / (37 + job % 23) + gpu * (job % 3) / 4 + job)
    percent = max(6.0, min(100.0, 62 + job % 31 + 18 * wave))
    return user, float(round(percent)), (30 + job % 45 + 2 * wave) * GiB
