# SPDX-License-Identifier: Apache-2.0
"""The operating system as samples see it: the host, its processes, and their files.

A simulated machine replaces what its children and this host cannot show, such as other users and
long running times, by a subclass of :class:`System`. This is the only place where it does so, as
``use_library`` is for NVML.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Callable, Mapping, NamedTuple

from nvitop.api import host
from nvitop.platforms.kernel import is_superuser
from nvitop.platforms.nvidia import (
    GpuPower,
    SleepInfo,
    expected_gpus,
    read_driver_version,
    read_gpu_powers,
    read_runtime_status,
    read_sleep_info,
)

if TYPE_CHECKING:
    from nvitop.api.process.facts import HostFacts


class Past(NamedTuple):
    """Values of an earlier moment, by the names of the fields of samples."""

    host: Mapping[str, float]
    #: By the index of the GPU.
    devices: Mapping[int, Mapping[str, float | None]]
    #: By PID.
    processes: Mapping[int, Mapping[str, float | None]]


class System:
    """Host and processes, as the operating system reports them."""

    #: Name of the scenario, ``''`` if the machine is not simulated.
    scenario = ''
    #: Where ``/sys``, ``/proc`` and ``/dev`` of the GPUs are.
    root = '/'

    def past(self, seconds: float) -> Past | None:
        """Return the values of this many seconds ago, ``None`` unless a simulation knows them."""
        return None

    # Processes

    def process_facts(self, pid: int, actual: Callable[[], HostFacts]) -> HostFacts | None:
        """Return the values of a simulated process, ``None`` for any other.

        A child process stands in for it; ``actual`` reads the values of that child.
        """
        return None

    def start_time(self, pid: int, actual: float) -> float:
        """Return the start time to show of a process that started at ``actual``."""
        return actual

    def process_details(self, pid: int) -> Mapping[str, Any]:
        """Return the details of a simulated process, by the names of the fields of samples."""
        return {}

    def process_file(self, pid: int, name: str) -> bytes | None:
        """Return the content that replaces that of ``/proc/<pid>/<name>``; ``None``: nothing does."""
        return None

    def container_logs(self) -> list[str]:
        """Return names that ``/var/log/containers`` contains in addition."""
        return []

    # Host: functions of the module of that name

    hostname = staticmethod(host.hostname)
    username = staticmethod(host.getuser)
    is_superuser = staticmethod(is_superuser)
    cpu_count = staticmethod(os.cpu_count)
    cpu_seconds = staticmethod(host.cpu_seconds)
    core_seconds = staticmethod(host.core_seconds)
    load_average = staticmethod(host.load_average)
    memory_usage = staticmethod(host.memory_usage)
    swap_usage = staticmethod(host.swap_usage)
    uptime = staticmethod(host.uptime)

    def expected_gpus(self) -> tuple[str, ...]:
        """Return the PCI bus IDs of the GPUs that the driver should list; empty if unknown."""
        return expected_gpus(self.root)

    def gpu_powers(self) -> tuple[GpuPower, ...]:
        """Return the GPUs in the order of NVML; empty if none sleeps or may sleep."""
        return read_gpu_powers(self.root)

    def driver_version(self) -> str:
        """Return the version of NVIDIA's kernel driver without calling it, ``''`` if unknown."""
        return read_driver_version(self.root)

    def runtime_status(self, bus_id: str) -> str:
        """Return whether a GPU is ``'active'``, ``'suspended'``, …; ``''`` if unknown."""
        return read_runtime_status(bus_id, self.root)

    def sleep_info(self, bus_id: str) -> SleepInfo:
        """Return what is known of a GPU without waking it."""
        return read_sleep_info(bus_id, self.root)


_actual = System()
_current = _actual


def system() -> System:
    """Return the operating system, or the simulated one that replaces it."""
    return _current


def use_system(replacement: System | None) -> None:
    """Replace the operating system; ``None`` restores it."""
    global _current
    _current = _actual if replacement is None else replacement
