# SPDX-License-Identifier: Apache-2.0
"""A simulated cluster for ``nvitop fleet --demo``. Pure: the same time has the same values."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Callable

from nvitop.fleet.types import (
    Fleet,
    FleetFinding,
    FleetGpu,
    FleetHost,
    FleetOwner,
    FleetUse,
)
from nvitop.owner.types import Layer
from nvitop.sampling.types import (
    DeviceInfo,
    DeviceKey,
    DeviceSample,
    HostSample,
    ProcessKey,
    ProcessSample,
    Sample,
)

if TYPE_CHECKING:
    from nvitop.health.states import DeviceWord

#: Number of GPUs of each machine.
GPUS = 8
_USERS = ('alice', 'bob', 'carol', 'dave', 'erin', 'frank')
_MODEL = 'NVIDIA H100 80GB HBM3'
_GIB = 1 << 30
_MEMORY = 80.0 * _GIB
#: Hosts that are read over ssh, with nvitop and without it.
_OVER_SSH = {3: 'ssh', 5: 'nvidia-smi'}
#: Time (seconds) between two values of a host.
_STEP = 15.0


class DemoSource:
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
        return _sample(_host(_number(host), self._clock()))

    def past(self, host: FleetHost, sample: Sample) -> list[tuple[float, Sample]]:
        """Return samples of the last hour with their times, oldest first."""
        now = self._clock()
        moments = [now - _STEP * step for step in range(240, 0, -1)]
        return [(moment, _sample(_host(_number(host), moment))) for moment in moments]

    def close(self) -> None:
        """Do nothing."""


def _number(host: FleetHost) -> int:
    return int(host.name[len('gpu') :]) - 1


def _host(number: int, now: float) -> FleetHost:
    name = f'gpu{number + 1:04}'
    kind = _OVER_SSH.get(number % 20, 'dcgm' if number % 3 == 1 else 'own')
    measured = now - now % _STEP - (200 if number % 41 == 17 else 0)
    if number % 53 == 31:
        finding = FleetFinding('exporter does not respond')
        return FleetHost(name, findings=(finding,), measured=now - 700, is_gone=True)
    gpus = tuple(_gpu(number, gpu, measured, kind) for gpu in range(GPUS))
    return FleetHost(name, kind, gpus, measured=measured)


def _gpu(host: int, index: int, now: float, kind: str) -> FleetGpu:
    uuid, findings = f'gpu-{host:08x}-0000-4000-8000-{index:012x}', []
    gpu = FleetGpu(uuid, str(index), uuid, _MODEL)
    if kind == 'own' and host % 37 == 6 and index == 3:
        return gpu._replace(state='lost', findings=(FleetFinding('not responding'),))
    if host % 29 == 21 and index == 1:
        findings.append(FleetFinding('Xid 79'))
    if host % 19 == 12 and index == 5:
        findings.append(FleetFinding('too hot', 'warning'))
    user, percent, used = _load(host, index, now)
    # nvidia-smi does not say which process uses the GPU.
    unused: DeviceWord = 'in use' if kind == 'nvidia-smi' else 'held'
    state: DeviceWord = 'busy' if percent else unused if user else 'free'
    uses, owners = [], []
    if user:
        layer = Layer('slurm', str(41000 + host // 4 * 10 + len(user)))
        if not percent:
            layer = Layer('jupyter', str(host), 'work/try.ipynb')
        if kind != 'nvidia-smi':
            owners.append(FleetOwner('' if kind == 'dcgm' else user, layer))
        uses.append(FleetUse(user, used, 1))
    return gpu._replace(
        state=state,
        utilization_percent=percent,
        memory_used_bytes=used,
        memory_total_bytes=_MEMORY,
        power_watts=float(round(75 + 6.2 * percent)),
        power_limit_watts=None if kind == 'dcgm' else 700.0,
        temperature_celsius=float(round(31 + 0.38 * percent + (host + index) % 5)),
        findings=tuple(findings),
        uses=() if kind == 'dcgm' else tuple(uses),
        owners=tuple(owners),
    )


def _load(host: int, gpu: int, now: float) -> tuple[str, float, float]:
    """Return user, utilization and memory in use of a GPU."""
    job = host // 4
    user = _USERS[job % len(_USERS)]
    if job % 11 == 5 and gpu >= GPUS // 2:  # memory is held, and nothing runs
        return user, 0.0, 40.0 * _GIB
    if job % 5 == 4 or (job % 3 == 2 and gpu >= GPUS // 2):
        return '', 0.0, 0.0
    if job % 7 == 3 and gpu % 2:
        user = _USERS[(job + 1) % len(_USERS)]
    wave = math.sin(now / (37 + job % 23) + gpu * (job % 3) / 4 + job)
    percent = max(6.0, min(100.0, 62 + job % 31 + 18 * wave))
    return user, float(round(percent)), (30 + job % 45 + 2 * wave) * _GIB


def _sample(host: FleetHost) -> Sample:
    devices, processes = [], []
    for index, gpu in enumerate(host.gpus):
        key = DeviceKey(index, -1, f'GPU-{gpu.id[len("gpu-") :]}')
        info = DeviceInfo(key, index, gpu.model, key.uuid, memory_total_bytes=int(_MEMORY))
        if gpu.state == 'lost':
            devices.append(DeviceSample(key, info, 'lost', 'GPU is lost'))
            continue
        used = int(gpu.memory_used_bytes or 0)
        devices.append(
            DeviceSample(key, info)._replace(
                gpu_utilization_percent=int(gpu.utilization_percent or 0),
                memory_utilization_percent=round(0.6 * (gpu.utilization_percent or 0)),
                memory_used_bytes=used,
                memory_free_bytes=int(_MEMORY) - used,
                memory_percent=100 * used / _MEMORY,
                power_usage_mw=round(1000 * (gpu.power_watts or 0)),
                power_limit_mw=700_000,
                temperature_celsius=round(gpu.temperature_celsius or 0),
            )
        )
        for use in gpu.uses:
            process = ProcessSample(ProcessKey(1000 + index, -1.0, key), type='C', name='python')
            percent = int(gpu.utilization_percent or 0)
            processes.append(
                process._replace(
                    username=use.user, gpu_memory_bytes=used, gpu_sm_utilization_percent=percent
                )
            )
    return Sample(
        host.measured or 0.0,
        driver_version='580.65.06',
        cuda_driver_version='13.0',
        host=HostSample(hostname=host.name),
        devices=tuple(devices),
        processes=tuple(processes),
    )
