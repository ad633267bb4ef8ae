"""Keys of real processes, as if they ran on a GPU."""

from __future__ import annotations

from nvitop.api.process import HostProcess
from nvitop.sampling.types import DeviceKey, ProcessKey

GPU = DeviceKey(0)


def key_of(pid: int) -> ProcessKey:
    """Return the key of the process that has this PID now."""
    return ProcessKey(pid, HostProcess(pid).create_time(), GPU)
