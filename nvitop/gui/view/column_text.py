# SPDX-License-Identifier: GPL-3.0-only
"""Texts of the cells of the process panel, for each column of ``gui.model.columns``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable, Optional

from nvitop.gui.model.columns import COLUMNS_BY_NAME, owner_text
from nvitop.gui.render.width import cell_width
from nvitop.gui.view import format as fmt
from nvitop.sampling.types import ProcessSample

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    #: Formats the text of a process on a device with this driver model.
    CellText = Callable[[ProcessSample, Optional[str]], str]

#: Text of a value that a device reported before it stopped responding.
_UNKNOWN = '?'
_USER = COLUMNS_BY_NAME['user'].width


def _gpu_memory(process: ProcessSample, driver_model: str | None) -> str:
    is_wddm = driver_model == 'WDDM'
    return fmt.format_gpu_memory(process.gpu_memory_bytes, is_wddm=is_wddm)


def _of_device(text_of: CellText) -> CellText:
    """Format a value of the device, which is unknown if it no longer lists the process."""
    return lambda process, driver_model: (
        _UNKNOWN if process.is_outdated else text_of(process, driver_model)
    )


def _command(process: ProcessSample, _: str | None = None) -> str:
    return fmt.format_command(process.command, process.status, name=process.name)


# fmt: off
#: Column → its text, which is safe to draw.
CELLS: Mapping[str, CellText] = {
    'gpu': lambda process, _: process.key.device.label,
    'pid': lambda process, _: str(process.key.pid),
    'type': lambda process, _: fmt.format_process_type(process.type),
    'user': lambda process, _: fmt.format_user(process.username, _USER),
    'owner': lambda process, _: owner_text(process),
    'gpu_memory': _of_device(_gpu_memory),
    'gpu_memory_percent': _of_device(lambda process, _: fmt.format_cpu_percent(process.gpu_memory_percent)),
    'idle': _of_device(lambda process, _: fmt.format_idle_time(process.gpu_idle_seconds, is_longer=process.is_idle_longer)),
    'sm': _of_device(lambda process, _: fmt.format_count(process.gpu_sm_utilization_percent)),
    'gmbw': _of_device(lambda process, _: fmt.format_count(process.gpu_memory_utilization_percent)),
    'encoder': _of_device(lambda process, _: fmt.format_count(process.gpu_encoder_utilization_percent)),
    'decoder': _of_device(lambda process, _: fmt.format_count(process.gpu_decoder_utilization_percent)),
    'cpu': lambda process, _: fmt.format_cpu_percent(process.cpu_percent),
    'memory': lambda process, _: fmt.format_cpu_percent(process.memory_percent),
    'host_memory': lambda process, _: fmt.format_bytes(process.host_memory_bytes),
    'start': lambda process, _: fmt.format_start(process.key.start_time, process.running_time_seconds),
    'time': lambda process, _: fmt.format_running_time(process.running_time_seconds),
    'command': _command,
}
# fmt: on


def longest_command(processes: Iterable[ProcessSample]) -> int:
    """Return the width in cells of the longest command of these processes."""
    return max((cell_width(_command(process)) for process in processes), default=0)
