# SPDX-License-Identifier: Apache-2.0
"""A scenario as plain values: the content of a scenario file, checked and in the driver's units.

Defaults and meanings are in :mod:`nvitop.simulation.schema`.
"""

from __future__ import annotations

import math
from typing import Mapping, NamedTuple, Union

from nvitop.simulation.waveforms import Signal

#: A value of a GPU: a number that may change, text, a flag; :data:`None` is *not available*.
Value = Union[Signal, str, bool, int, Mapping[str, int], None]


class ScenarioError(ValueError):
    """A scenario has a mistake; the message names file, line and key, and what is allowed."""


class Mig(NamedTuple):
    """A MIG device: ``[[gpu.mig]]``."""

    mig_index: int
    profile: str
    gpu_slices: int
    compute_slices: int
    gpu_instance: int
    compute_instance: int
    values: Mapping[str, Value]
    #: Number of units of each kind; :data:`None`: computed from the profile.
    engines: Mapping[str, int] | None = None
    start: float = -math.inf
    stop: float = math.inf


class Gpu(NamedTuple):
    """A GPU: ``[[gpu]]``, once for each of its ``count``."""

    position: int
    #: Values by the names in ``GPU_KEYS``; missing ones are computed.
    values: Mapping[str, Value]
    migs: tuple[Mig, ...] = ()


class ProcessSpec(NamedTuple):
    """A process: ``[[process]]``, once for each of its GPUs unless it is shared."""

    command: tuple[str, ...]
    #: Positions of the GPUs that it uses.
    gpus: tuple[int, ...]
    type: str
    #: Bytes; :data:`None`: the driver does not know it.
    memory: Signal | None
    sm: Signal
    memory_utilization: Signal
    encoder: Signal
    decoder: Signal
    state: str
    # Values in process lists; None and '' stand for the actual value of its child.
    user: str = ''
    #: Percent of one CPU.
    cpu: Signal | None = None
    #: Bytes.
    host_memory: Signal | None = None
    threads: int | None = None
    #: Running time (seconds) when the scenario starts.
    age: float | None = None
    #: Contents of its files in ``/proc``.
    cgroup: str = '0::/'
    environ: tuple[str, ...] = ()
    mountinfo: str = ''
    login_uid: int | None = None
    container_log: str = ''
    mig: int | None = None
    start: float = -math.inf
    stop: float = math.inf
    pid: int | None = None


class Host(NamedTuple):
    """The host as it is shown: ``[host]``."""

    cpus: int
    #: Percent of all CPUs, without the processes of the scenario.
    cpu: Signal
    memory: Signal
    memory_base: Signal
    swap: Signal
    swap_used: Signal
    #: Time (seconds) since boot when the scenario starts.
    uptime: float
    #: ``''``: that of this host.
    name: str = ''
    user: str = ''


class Event(NamedTuple):
    """A change of values of GPUs at a time: ``[[event]]``."""

    at: float
    gpus: tuple[int, ...]
    values: Mapping[str, Value]
    #: Time at which the previous values return.
    until: float = math.inf


class Fault(NamedTuple):
    """Calls that fail, are slow or hang: ``[[fault]]``."""

    call: str
    #: Position of a GPU and its MIG devices, ``(gpu, mig)``, or :data:`None` for any.
    gpu: int | tuple[int, int] | None = None
    #: Return code; :data:`None`: the call succeeds, but late.
    code: int | None = None
    delay: float = 0.0
    hang: bool = False
    after: int = 0
    every: int = 1
    times: int | None = None
    start: float = -math.inf
    stop: float = math.inf


class Scenario(NamedTuple):
    """A simulated machine."""

    name: str
    description: str
    seed: int
    driver_version: str
    #: 13000 is 13.0.
    cuda_version: int
    process_struct: str
    process_samples: int
    #: Return code of functions that MIG devices do not support.
    mig_code: int
    pcie_throughput_seconds: float
    gpus: tuple[Gpu, ...]
    processes: tuple[ProcessSpec, ...]
    events: tuple[Event, ...]
    faults: tuple[Fault, ...]
    #: :data:`None`: the host that runs this program is shown.
    host: Host | None = None
    #: Names of missing functions, with ``*`` and ``?``.
    hidden: tuple[str, ...] = ()
    #: Whether functions and fields newer than the driver exist, as far as GPUs have values.
    complete: bool = False
