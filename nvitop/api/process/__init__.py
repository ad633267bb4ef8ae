# SPDX-License-Identifier: Apache-2.0
"""Live processes: on the host, and on a device."""

from __future__ import annotations

from nvitop.api.process.command import command_join
from nvitop.api.process.gpuprocess import GpuProcess
from nvitop.api.process.hostprocess import HostFacts, HostProcess

__all__ = ['GpuProcess', 'HostFacts', 'HostProcess', 'command_join']

# Where users find them is where they say they are, in reprs, pickles and documents.
for _public in (GpuProcess, HostFacts, HostProcess, command_join):
    _public.__module__ = __name__
del _public
