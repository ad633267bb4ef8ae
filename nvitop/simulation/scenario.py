# SPDX-License-Identifier: Apache-2.0
"""A simulated machine as plain values: what a scenario file says, checked and with units applied."""

from __future__ import annotations

import math
from typing import Mapping, Union

from nvitop.namedtuple import NamedTuple
from nvitop.simulation.waveforms import Signal

#: A value of a GPU: moving or fixed number, text, flag; :data:`None` is *not available*.
Value = Union[Signal, str, bool, int, None]

ZERO = Signal(0.0)


class ScenarioError(ValueError):
    """A scenario cannot be used; the message names file, line, key and what is allowed."""


class Mig(NamedTuple):
    """A MIG device: ``[[gpu.mig]]``."""

    mig_index: int
    #: ``'3g.40gb'``.
    profile: str
    gpu_slices: int
    compute_slices: int
    gpu_instance: int
    compute_instance: int
    values: Mapping[str, Value]
    #: Exists from … until (seconds).
    start: float = -math.inf
    stop: float = math.inf


class Gpu(NamedTuple):
    """A GPU: ``[[gpu]]``, one for each of its ``count``."""

    position: int
    #: Keys of ``nvitop.simulation.schema.FIELDS``; a missing key is computed.
    values: Mapping[str, Value]
    migs: tuple[Mig, ...] = ()


class ProcessSpec(NamedTuple):
    """A process: ``[[process]]``, one for each of its GPUs unless it is shared."""

    command: tuple[str, ...]
    #: Positions of the GPUs it uses.
    gpus: tuple[int, ...]
    #: Index of the MIG device on that GPU.
    mig: int | None = None
    user: str = ''
    #: ``C``, ``G``, ``C+G`` or ``M`` (through MPS).
    type: str = 'C'
    #: Bytes; :data:`None`: the driver does not know (Windows).
    memory: Signal | None = ZERO
    sm: Signal = ZERO
    memory_utilization: Signal = ZERO
    encoder: Signal = ZERO
    decoder: Signal = ZERO
    #: Runs from … until (seconds).
    start: float = -math.inf
    stop: float = math.inf
    #: ``running``, ``zombie``, or ``gone``: listed by the driver, unknown to the system.
    state: str = 'running'
    #: A PID for it, whatever it is: wins over the machine's way to give PIDs.
    pid: int | None = None


class Event(NamedTuple):
    """From a moment on, or for a while, some keys of some GPUs are others: ``[[event]]``."""

    at: float
    gpus: tuple[int, ...]
    values: Mapping[str, Value]
    #: When they are again what they were before.
    until: float = math.inf


class Fault(NamedTuple):
    """Calls that fail, are slow or hang: ``[[fault]]``."""

    #: Name of an NVML or CUDA function, with ``*`` and ``?``.
    call: str
    #: Position of a GPU (and its MIG devices), ``(gpu, mig)``, or :data:`None` for any.
    gpu: int | tuple[int, int] | None = None
    #: Return code; :data:`None`: the call succeeds (late).
    code: int | None = None
    delay: float = 0.0
    hang: bool = False
    #: So many matching calls pass first; then every *every*-th is hit, at most *times* in all.
    after: int = 0
    every: int = 1
    times: int | None = None
    #: Seconds: only between.
    start: float = -math.inf
    stop: float = math.inf


class Scenario(NamedTuple):
    """A simulated machine."""

    name: str
    description: str = ''
    seed: int = 0
    driver_version: str = '580.65.06'
    #: 13000 is 13.0.
    cuda_version: int = 13000
    #: Symbols the driver lacks, beside those that are newer than its version.
    hidden: tuple[str, ...] = ()
    #: What ``…RunningProcesses_v3`` writes: ``v2`` (24 bytes) or ``v3`` (32 bytes, some R535).
    process_struct: str = 'v2'
    #: Utilization samples kept for each process.
    process_samples: int = 1
    #: What calls return that MIG devices do not have.
    mig_code: int = 2
    #: How long nvmlDeviceGetPcieThroughput takes, in seconds; a real one takes 0.02.
    pcie_throughput_seconds: float = 0.0
    gpus: tuple[Gpu, ...] = ()
    processes: tuple[ProcessSpec, ...] = ()
    events: tuple[Event, ...] = ()
    faults: tuple[Fault, ...] = ()
