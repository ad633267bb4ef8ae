# SPDX-License-Identifier: GPL-3.0-only
"""Everything that lists of processes share: the styles of their rows, and messages."""

from __future__ import annotations

from typing import NamedTuple

from nvitop.gui.model.choices import ProcessFilter
from nvitop.gui.render.style import PLAIN, Role, Style
from nvitop.gui.render.width import safe
from nvitop.gui.state.usage import devices_text, unknown_devices
from nvitop.sampling.types import (
    PROCESSES,
    DeviceKey,
    HostProcessSample,
    HostSample,
    ProcessSample,
    Sample,
)

#: Note on a machine without lists of processes.
NO_LISTS = 'processes are not reported'
#: Maximum length of options that a message repeats.
_MAX_OPTIONS = 32


def row_style(
    process: ProcessSample | HostProcessSample,
    host: HostSample,
    *,
    is_selected: bool,
    is_tagged: bool,
    selected: Role = Role.SELECTED,
) -> Style:
    """Return the style of the row of a process; ``selected`` is the role of the selected row."""
    if is_tagged:
        return Style(Role.SELECTED_TAGGED if is_selected else Role.TAGGED)
    if is_selected:
        return Style(selected)
    if process.status == 'gone':
        return Style(Role.ERROR)
    if process.status in ('zombie', 'no permission'):
        return Style(Role.WARNING)
    if isinstance(process, ProcessSample) and process.is_outdated:
        return Style(Role.DIM)
    return PLAIN if process.is_own or host.is_superuser else Style(Role.DIM)


def has_no_lists(sample: Sample) -> bool:
    """Whether no device can list processes, as with most exporters of a fleet."""
    missing = {row.device for row in sample.problems if row.what == PROCESSES and row.kind == 'na'}
    return bool(sample.devices) and missing.issuperset(device.key for device in sample.devices)


def unknown_note(sample: Sample) -> tuple[str, ...]:
    """Return which GPUs do not list their processes, the longest form first; ``()`` if none."""
    if has_no_lists(sample):
        return (NO_LISTS,)
    unknown = unknown_devices(sample)
    count = f'{len(unknown)} {"GPU" if len(unknown) == 1 else "GPUs"} unknown'
    return (f'not readable on {devices_text(unknown)}', count) if unknown else ()


def no_processes_message(sample: Sample) -> str:
    """Return the message of a list without processes; GPUs that do not respond may have some."""
    silent = sum(device.status != 'ok' for device in sample.devices)
    if (
        sample.devices
        and not silent
        and not {d.key for d in sample.devices} - {*unknown_devices(sample)}
    ):
        return 'Running processes are unknown'
    no_driver = any(row.subject == 'driver' and row.is_failure for row in sample.problems)
    if silent == len(sample.devices) and (silent or no_driver):
        return 'No GPU is responding: running processes are unknown'
    if not silent:
        return 'No process is running on a GPU'
    return 'No process is running on the GPUs that respond'


class Limits(NamedTuple):
    """Filters that leave processes out of the lists."""

    options: ProcessFilter = ProcessFilter()
    query: str = ''
    #: The selected device.
    device: DeviceKey | None = None

    @property
    def is_only_device(self) -> bool:
        """Whether all processes of the selected device are listed."""
        return self.device is not None and not self.query and self.options == ProcessFilter()

    @property
    def text(self) -> str:
        """The limits for messages."""
        if self.options == ProcessFilter():
            if self.device is not None:
                return f'{"the filter and " if self.query else ""}GPU {self.device.label}'
            return 'the filter'
        return _options_text(self.options) + (' and the filter' if self.query else '')


def _options_text(options: ProcessFilter) -> str:
    """Return the options of a filter as they were given, or ``the options`` if they are long."""
    text = ' '.join(
        f'{option} {" ".join(map(str, sorted(given)))}'
        for option, given in (('-u', options.users), ('-p', options.pids))
        if given
    )
    is_short = text and options.types is None and len(text) <= _MAX_OPTIONS
    return safe(text) if is_short else 'the options'


def no_match_message(total: int, limits: Limits) -> str:
    """Return the message of a list if none of ``total`` processes matches the limits."""
    if limits.is_only_device:
        return f'No process is running on {limits.text}'
    return f'No match: {total} process{"" if total == 1 else "es"} hidden by {limits.text}'
