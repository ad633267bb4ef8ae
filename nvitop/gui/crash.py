# SPDX-License-Identifier: GPL-3.0-only
"""Crash reports: where it happened, versions, sizes and the last events, without names of processes."""

from __future__ import annotations

import contextlib
import os
import platform
import tempfile
import traceback
from importlib import metadata
from typing import Iterable

from nvitop.gui.state.app_state import AppState
from nvitop.version import __version__


def format_crash(error: BaseException, state: AppState, events: Iterable[str]) -> str:
    # Without the message of the error, which may name a process.
    frames = traceback.extract_tb(error.__traceback__)
    versions = []
    for name in ('nvidia-ml-py', 'psutil', 'wcwidth', 'cachetools', 'windows-curses'):
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions.append(f'{name} {metadata.version(name)}')
    lines = [
        f'nvitop {__version__}, Python {platform.python_version()}, {platform.platform()}',
        ', '.join(versions),
        f'driver {state.shown.driver_version}, CUDA {state.shown.cuda_driver_version}',
        f'terminal {os.environ.get("TERM")}, {state.width} x {state.height}',
        f'{len(state.shown.devices)} devices, {len(state.shown.processes)} processes',
        f'screen {state.screen.value}, view {state.view}, sort {state.sort}',
        '',
        type(error).__name__,
        *(f'  {frame.filename}:{frame.lineno} in {frame.name}: {frame.line}' for frame in frames),
        '',
        'Last events, oldest first:',
        *(f'  {event}' for event in events),
    ]
    return '\n'.join(lines) + '\n'


def write_crash(error: BaseException, state: AppState, events: Iterable[str]) -> str | None:
    """Write the report to a file for this user only; return its path, or ``None`` if that fails."""
    try:
        text = format_crash(error, state, events)
        descriptor, path = tempfile.mkstemp(prefix='nvitop-crash-', suffix='.txt', text=True)
        with os.fdopen(descriptor, 'w', encoding='utf-8', errors='backslashreplace') as file:
            file.write(text)
    except Exception:  # no error in here may hide the crash
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
