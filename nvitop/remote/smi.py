# SPDX-License-Identifier: Apache-2.0
"""A sample from what ``nvidia-smi -q -x`` and ``ps`` print on a machine without nvitop.

What these two do not print is not available: utilization of processes, the host, energy.
"""

from __future__ import annotations

import io
import pathlib
import re
from typing import Any, Mapping, NamedTuple

from nvitop.basics.metrics import METRICS, Metric
from nvitop.basics.units import MiB
from nvitop.sampling.types import (
    DeviceInfo,
    DeviceKey,
    DeviceSample,
    HostSample,
    ProcessKey,
    ProcessSample,
    Sample,
)
from nvitop.simulation.capture import Capture, CapturedGpu, is_missing, read_xml
from nvitop.simulation.scenario import ScenarioError
from nvitop.simulation.schema import CLOCK_EVENT_REASONS

#: What runs on the machine in each interval. Elapsed time and memory (KiB) are numbers everywhere.
PS = 'ps -eo pid=,user:32=,etimes=,pcpu=,rss=,args='
_PROCESS = re.compile(r'\s*(\d+)\s+(\S+)\s+(\d+)\s+([\d.]+)\s+(\d+)\s+(.*)')
_NUMBER = re.compile(r'-?\d+(?:\.\d+)?')
_FLAGS = {'yes': True, 'no': False, 'enabled': True, 'disabled': False, 'active': True}
_STATIC = frozenset(DeviceInfo._fields)
_MEASURED = frozenset(DeviceSample._fields)


class SmiError(Exception):
    """The text is not the output of nvidia-smi. The text is shown to the user."""


class _HostProcess(NamedTuple):
    """A line of ``ps``."""

    username: str
    seconds: int
    cpu_percent: float
    memory_bytes: int
    command: str


def read_smi(xml: bytes, ps: str, *, timestamp: float, monotonic: float, host: str) -> Sample:
    """Return a sample of a machine.

    Args:
        xml: Output of ``nvidia-smi -q -x``.
        ps: Output of :data:`PS`; ``''`` if it failed: then processes have a PID and a name only.
        timestamp: When both were read, in seconds since the epoch.
        monotonic: The same on the monotonic clock of this machine.
        host: Name of the machine.

    Raises:
        SmiError: The output is something else, or damaged.
    """
    try:
        capture = read_xml(io.BytesIO(xml), pathlib.Path(host))
    except ScenarioError as error:
        raise SmiError(str(error)) from None
    lines = (_PROCESS.match(line) for line in ps.splitlines())
    on_host = {
        int(match[1]): _HostProcess(
            match[2], int(match[3]), float(match[4]), int(match[5]) << 10, match[6]
        )
        for match in lines
        if match is not None
    }
    devices: list[DeviceSample] = []
    processes: list[ProcessSample] = []
    for index, gpu in enumerate(capture.gpus):
        device, listed = _device(index, gpu), list(_mig_devices(index, gpu))
        devices += [device, *listed]
        for process in gpu.processes:
            leaf = _leaf_of(process, device, gpu, listed)
            processes += _process(process, leaf, on_host, timestamp)
    return Sample(
        timestamp,
        monotonic,
        driver_version=capture.driver_version or None,
        cuda_driver_version=_known(capture, 'cuda_version'),
        host=HostSample(hostname=host),
        devices=tuple(devices),
        processes=tuple(
            sorted(processes, key=lambda p: (p.key.device, p.username or '', p.key.pid))
        ),
        processes_monotonic=monotonic,
    )


def _known(capture: Capture, name: str) -> str | None:
    text = getattr(capture, name)
    return None if is_missing(text) else text


def _value(metric: Metric, text: str) -> Any:
    """Return the raw value of a metric, ``None`` if the text has none."""
    if metric.name == 'clock_event_reasons':
        return tuple(word for word, bit in CLOCK_EVENT_REASONS.items() if bit & int(text, 16))
    if metric.kind == 'bool':
        return _FLAGS.get(text.lower())
    if metric.kind == 'str':
        return text
    match = _NUMBER.search(text)
    if match is None:
        return None
    number = float(match[0])
    if metric.unit == 'B':
        number *= MiB if 'MiB' in text else 1
    number *= metric.divisor
    return int(number) if metric.lowest <= number <= metric.highest else None


def _device(index: int, gpu: CapturedGpu) -> DeviceSample:
    values: dict[str, Any] = {}
    for metric in METRICS:
        text = gpu.texts.get(metric.name, '')
        if not is_missing(text) and metric.field in _STATIC | _MEASURED:
            values[metric.field] = _value(metric, text.strip())
    is_lost = any(text.strip('[]').endswith('GPU is lost') for text in gpu.texts.values())
    used, total = values.get('memory_used_bytes'), values.get('memory_total_bytes')
    if used is not None and total:
        values['memory_percent'] = 100.0 * used / total
    key = DeviceKey(index, -1, values.get('uuid') or '')
    static = {name: values.pop(name) for name in list(values) if name in _STATIC}
    return DeviceSample(
        key,
        DeviceInfo(key, index, **static),
        'lost' if is_lost else 'ok',
        'GPU is lost' if is_lost else '',
        **values,
    )


def _mig_devices(index: int, gpu: CapturedGpu) -> list[DeviceSample]:
    devices = []
    for number, mig in enumerate(gpu.migs):
        key = DeviceKey(index, _integer(mig.get('index')) or number)
        total, used = _size(mig.get('memory_total')), _size(mig.get('memory_used'))
        info = DeviceInfo(
            key,
            index,
            name=gpu.texts.get('name'),
            memory_total_bytes=total,
            gpu_instance_id=_integer(mig.get('gpu_instance_id')),
            compute_instance_id=_integer(mig.get('compute_instance_id')),
        )
        percent = 100.0 * used / total if used is not None and total else None
        devices.append(DeviceSample(key, info, memory_used_bytes=used, memory_percent=percent))
    return devices


def _leaf_of(
    process: Mapping[str, str], device: DeviceSample, gpu: CapturedGpu, migs: list[DeviceSample]
) -> DeviceSample:
    instance = tuple(_integer(process.get(f'{kind}_instance_id')) for kind in ('gpu', 'compute'))
    for mig in migs:
        if (mig.info.gpu_instance_id, mig.info.compute_instance_id) == instance:
            return mig
    return device


def _process(
    process: Mapping[str, str],
    device: DeviceSample,
    on_host: Mapping[int, _HostProcess],
    timestamp: float,
) -> list[ProcessSample]:
    pid = _integer(process.get('pid'))
    if pid is None:
        return []
    known = on_host.get(pid)
    memory, total = _size(process.get('used_memory')), device.info.memory_total_bytes
    name = process.get('process_name') or None
    return [
        ProcessSample(
            ProcessKey(pid, -1.0 if known is None else timestamp - known.seconds, device.key),
            type=process.get('type') or None,
            status='foreign' if known is None else 'running',
            username=known.username if known else None,
            name=name.rpartition('/')[2] if name else None,
            command=known.command if known else name,
            gpu_memory_bytes=memory,
            gpu_memory_percent=100.0 * memory / total if memory is not None and total else None,
            cpu_percent=known.cpu_percent if known else None,
            host_memory_bytes=known.memory_bytes if known else None,
            running_time_seconds=float(known.seconds) if known else None,
        )
    ]


def _integer(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() else None


def _size(text: str | None) -> int | None:
    match = re.match(r'(\d+) MiB', text or '')
    return int(match[1]) * MiB if match else None
