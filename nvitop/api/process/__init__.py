# SPDX-License-Identifier: Apache-2.0
"""Live processes: on the host, and on a device."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nvitop.api.process.command import command_join
    from nvitop.api.process.facts import HostFacts
    from nvitop.api.process.gpuprocess import GpuProcess
    from nvitop.api.process.hostprocess import HostProcess

__all__ = ['GpuProcess', 'HostFacts', 'HostProcess', 'command_join']

#: Where names live that are imported when they are first used: most of them need psutil.
_ON_USE = {
    'GpuProcess': 'gpuprocess',
    'HostFacts': 'facts',
    'HostProcess': 'hostprocess',
    'command_join': 'command',
}

if not TYPE_CHECKING:  # where it would hide misspelled names

    def __getattr__(name):
        if name not in _ON_USE:
            raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
        import importlib

        module = importlib.import_module(f'{__name__}.{_ON_USE[name]}')
        value = globals()[name] = getattr(module, name)
        return value

    def __dir__():
        return sorted({*globals(), *__all__})
