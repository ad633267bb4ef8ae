# SPDX-License-Identifier: GPL-3.0-only
"""Crash reports: everything needed to reproduce a crash, without private data."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import tempfile
import traceback
from importlib import metadata
from typing import TYPE_CHECKING, Iterable

from nvitop.gui.render.width import cell_width
from nvitop.gui.state.app_state import AppState
from nvitop.owner.types import make_owner
from nvitop.sampling.serialization import serialize
from nvitop.sampling.types import ProcessSample, Sample
from nvitop.version import __version__

if TYPE_CHECKING:
    from nvitop.owner.types import Owner

#: Minimum length of texts that are replaced in the traceback. Shorter ones are in every word.
_SHORTEST_SECRET = 3


def placeholder(text: str) -> str:
    """Return a text of the same width without the content."""
    return 'x' * cell_width(text)


def redact_sample(sample: Sample) -> Sample:
    """Replace commands, names and users by placeholders of the same width."""
    return sample._replace(
        host=sample.host._replace(
            hostname=placeholder(sample.host.hostname), username=placeholder(sample.host.username)
        ),
        processes=tuple(_redact_process(process) for process in sample.processes),
        host_processes=tuple(
            process._replace(username=_or_none(process.username), command=_or_none(process.command))
            for process in sample.host_processes
        ),
    )


def _redact_process(process: ProcessSample) -> ProcessSample:
    return process._replace(
        username=_or_none(process.username),
        name=_or_none(process.name),
        command=_or_none(process.command),
        owner=None if process.owner is None else _redact_owner(process.owner),
    )


def _redact_owner(owner: Owner) -> Owner:
    layers = tuple(
        layer._replace(id=placeholder(layer.id), name=_or_none(layer.name))
        for layer in owner.layers
    )
    return make_owner(layers, is_deleted=owner.is_deleted)


def _or_none(text: str | None) -> str | None:
    return None if text is None else placeholder(text)


def _secrets(state: AppState) -> list[str]:
    """Return all texts from outside in the state, the longest first."""
    texts: set[str | None] = {state.query}
    for sample in (state.sample, state.shown):
        texts |= {sample.host.hostname, sample.host.username}
        for process in sample.processes:
            texts |= {process.username, process.name, process.command}
        for host_process in sample.host_processes:
            texts |= {host_process.username, host_process.command}
    for name, value in state.environ.variables or ():
        texts |= {name, value}
    found = {text for text in texts if text is not None and len(text) >= _SHORTEST_SECRET}
    return sorted(found, key=len, reverse=True)


def format_crash(error: BaseException, state: AppState, events: Iterable[str]) -> str:
    """Return the text of the report."""
    # Imported here and below because only a crash needs them; they take a megabyte.
    trace = ''.join(traceback.format_exception(type(error), error, error.__traceback__))
    for secret in _secrets(state):
        trace = trace.replace(secret, placeholder(secret))
    sample = json.dumps(serialize(redact_sample(state.shown)), indent=1)
    lines = [
        f'nvitop {__version__}, Python {platform.python_version()}, {platform.platform()}',
        ', '.join(_versions()),
        f'driver {state.shown.driver_version}, CUDA {state.shown.cuda_driver_version}',
        f'terminal {os.environ.get("TERM")}, {state.width} x {state.height}',
        f'screen {state.screen.value}, view {state.view}, sort {state.main.sort}',
        '',
        trace,
        'Last events, oldest first:',
        *(f'  {event}' for event in events),
        '',
        'What was shown, with names, users and commands replaced:',
        sample,
    ]
    return '\n'.join(lines) + '\n'


def _versions() -> list[str]:
    found = []
    for name in ('nvidia-ml-py', 'psutil', 'wcwidth', 'cachetools', 'windows-curses'):
        with contextlib.suppress(metadata.PackageNotFoundError):
            found.append(f'{name} {metadata.version(name)}')
    return found


def write_crash(error: BaseException, state: AppState, events: Iterable[str]) -> str | None:
    """Write the report to a file for this user only; return its path, or ``None`` if that fails."""
    path = None
    try:
        text = format_crash(error, state, events)
        descriptor, path = tempfile.mkstemp(prefix='nvitop-crash-', suffix='.txt', text=True)
        with os.fdopen(descriptor, 'w', encoding='utf-8', errors='backslashreplace') as file:
            file.write(text)
    except Exception:  # no error in here may hide the crash
        if path is not None:  # an incomplete report on a full disk
            with contextlib.suppress(OSError):
                os.unlink(path)
        return None
    return path


def explain_crash(error: BaseException, path: str | None) -> str:
    """Return one line about the crash for the user, with its place if there is no report."""
    what = f'the monitor crashed with {type(error).__name__}'
    if isinstance(error, OSError) and error.strerror:
        what += f' ({error.strerror})'  # without the name of a file
    if path:
        return f'{what}; see {path}'
    trace, place = error.__traceback__, ''
    while trace is not None:
        code = trace.tb_frame.f_code
        place = f' in {code.co_name} ({code.co_filename}:{trace.tb_lineno})'
        trace = trace.tb_next
    return f'{what}{place}; no report could be written'
