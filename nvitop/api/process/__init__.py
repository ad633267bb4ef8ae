# SPDX-License-Identifier: Apache-2.0
"""Live processes: on the host, and on a device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvitop.basics.lazy import lazy_names

if TYPE_CHECKING:
    from nvitop.api.process.facts import HostFacts, command_join
    from nvitop.api.process.gpuprocess import GpuProcess
    from nvitop.api.process.hostprocess import HostProcess

__all__ = ['GpuProcess', 'HostFacts', 'HostProcess', 'command_join']

if not TYPE_CHECKING:  # it would hide misspelled names
    # HostProcess needs psutil, which is slow to import, and reports use neither class.
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            'nvitop.api.process.facts': 'HostFacts command_join',
            'nvitop.api.process.gpuprocess': 'GpuProcess',
            'nvitop.api.process.hostprocess': 'HostProcess',
        },
    )
