# SPDX-License-Identifier: Apache-2.0
"""The GPUs that should not be chosen: the critical findings of the rules, and nothing else."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Iterable, NamedTuple

from nvitop.basics.units import NA
from nvitop.health.rules import CRITICAL_METRICS, findings
from nvitop.sampling.device_reader import DeviceReader
from nvitop.sampling.plan import Due
from nvitop.sampling.types import PROCESSES, DeviceKey, DeviceSample, Problem, Sample

if TYPE_CHECKING:
    from nvitop.api.device import Device
    from nvitop.health.types import Finding

_METRICS = frozenset(CRITICAL_METRICS) - {PROCESSES}


class Judged(NamedTuple):
    """A GPU with the values that lead to critical findings."""

    device: DeviceSample
    problems: tuple[Problem, ...]


def read_for_judgement(gpu: Device) -> Judged:
    """Read the values of a GPU that lead to critical findings.

    Raises:
        DeviceLostError: The GPU does not respond.
    """
    uuid = gpu.uuid()
    reader = DeviceReader(gpu, DeviceKey(gpu.physical_index, -1, '' if uuid is NA else str(uuid)))
    # A GPU with MIG devices has no processes of its own.
    lists = not gpu.is_mig_mode_enabled()
    reader.read(Due(slow=True, metrics=_METRICS, processes=lists, skips_process_utilization=True))
    return Judged(reader.sample, reader.problems)


def critical_faults(judged: Iterable[Judged]) -> dict[int, Finding]:
    """Return the most severe critical finding of each GPU that has one, by index."""
    by_key = {gpu.device.key: gpu for gpu in judged}
    sample = Sample(
        time.time(),
        devices=tuple(gpu.device for gpu in by_key.values()),
        problems=tuple(problem for gpu in by_key.values() for problem in gpu.problems),
    )
    faults: dict[int, Finding] = {}
    for finding in findings(sample):
        if finding.severity == 'critical':
            faults.setdefault(finding.device.physical_index, finding)
    return faults
