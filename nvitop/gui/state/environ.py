# SPDX-License-Identifier: GPL-3.0-only
"""The environment screen: reading variables and hiding the values of secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from nvitop.basics.masking import MASK, is_secret
from nvitop.basics.units import NA
from nvitop.gui.model.choices import Screen
from nvitop.gui.state.app_state import AppState, EnvironState, Result
from nvitop.gui.state.events import EnvironmentRead, ReadEnvironment
from nvitop.gui.state.notices import refuse
from nvitop.gui.state.selection import selected_key, selected_process
from nvitop.sampling.types import HostProcessSample, ProcessSample

if TYPE_CHECKING:
    from nvitop.owner.types import Layer

#: Part of the height of the screen that owners may take.
_OWNER_SHARE = 3
#: Source of a layer → its name for people.
_SOURCES = {
    'cgroup': 'its cgroup',
    'parent': 'a process above it',
    'mountinfo': 'its mounts',
    'loginuid': 'its login',
    'cmdline': 'its arguments',
    'environ': 'its environment',
}


class OwnerLine(NamedTuple):
    """A line about the owner of the process."""

    text: str
    #: Where it was read, who can make it up, and its full ID.
    source: str
    #: Whether this layer owns the process.
    is_owner: bool = False


def environ_lines(environ: EnvironState) -> tuple[tuple[str, str], ...]:
    """Return names and values as they are shown, in order. The text is not safe to draw yet."""
    variables = environ.variables or ()
    if environ.reveals_secrets:
        return variables
    return tuple((name, MASK if value and is_secret(name) else value) for name, value in variables)


def owner_lines(state: AppState) -> tuple[OwnerLine, ...]:
    """Return the lines above the variables: what the process belongs to, as far as there is room."""
    environ = state.environ
    if environ.owner is None:
        lines = [OwnerLine('Owner', environ.no_owner)] if environ.no_owner else []
    else:
        best = environ.owner.layer
        lines = [
            OwnerLine(str(layer), _source_text(layer), layer is best)
            for layer in environ.owner.layers
        ]
    return tuple(lines[: state.height // _OWNER_SHARE])


def _source_text(layer: Layer) -> str:
    text = f'from {_SOURCES.get(layer.source, layer.source)}'
    if layer.is_statement:
        text += ', which the process set itself'
    elif layer.claim:
        text += ', which its user set'
    more = [
        each for each in (layer.name, layer.id, layer.detail) if each and each not in str(layer)
    ]
    return f'{text}: {" ".join(more)}' if more else text


def begin_reading(before: AppState, state: AppState) -> Result:
    """Show the environment of the process on the metrics screen or selected ``before``."""
    process: ProcessSample | HostProcessSample | None
    if before.screen is Screen.METRICS and before.metrics is not None:
        pid, start_time, _ = before.metrics
        process = next((row for row in before.shown.processes if row.key == before.metrics), None)
    else:
        pid, start_time = selected_key(before) or (0, -1.0)
        process = selected_process(before)
    title = '' if process is None else process.username or str(NA)
    if isinstance(process, ProcessSample):
        title += f', {process.type or "?"}'
    environ = EnvironState(pid, start_time, title)
    return state._replace(environ=environ), (ReadEnvironment(pid, start_time),)


def show_variables(state: AppState, event: EnvironmentRead) -> AppState:
    environ = state.environ
    # The user may have opened the environment of another process meanwhile.
    if event.pid != environ.pid:
        return state
    return state._replace(environ=environ._replace(**event._asdict()))


def toggle_secrets(state: AppState) -> Result:
    environ = state.environ
    if not environ.variables:
        return refuse(state, 'There are no variables')
    if not any(is_secret(name) for name, _ in environ.variables):
        return refuse(state, 'No name here looks like a secret')
    environ = environ._replace(reveals_secrets=not environ.reveals_secrets)
    return state._replace(environ=environ), ()
