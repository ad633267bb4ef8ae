# SPDX-License-Identifier: GPL-3.0-only
"""The environment screen: reading variables and hiding the values of secrets."""

from __future__ import annotations

from nvitop.api.utils import NA
from nvitop.gui.model.effects import ReadEnvironment
from nvitop.gui.state.app_state import AppState, EnvironState, Result
from nvitop.gui.state.events import EnvironmentRead
from nvitop.gui.state.notices import refuse
from nvitop.gui.state.selection import selected_key, selected_process
from nvitop.masking import MASK, is_secret
from nvitop.sampling.types import HostProcessSample, ProcessSample


def environ_lines(environ: EnvironState) -> tuple[tuple[str, str], ...]:
    """Return names and values as they are shown, in order. The text is not safe to draw yet."""
    variables = environ.variables or ()
    if environ.reveals_secrets:
        return variables
    return tuple((name, MASK if value and is_secret(name) else value) for name, value in variables)


def begin_reading(before: AppState, state: AppState) -> Result:
    """Show the environment of the process selected ``before``, or of nvitop if there is none."""
    pid, start_time = selected_key(before) or (0, -1.0)
    environ = EnvironState(pid, start_time, _owner(selected_process(before)))
    return state._replace(environ=environ), (ReadEnvironment(pid, start_time),)


def show_variables(state: AppState, event: EnvironmentRead) -> AppState:
    """Show the variables that were read, or why they could not be read."""
    environ = state.environ
    # The user may have opened the environment of another process meanwhile.
    if event.pid != environ.pid:
        return state
    environ = environ._replace(
        variables=event.variables, error=event.error, start_time=event.start_time
    )
    last = max(0, len(event.variables) - 1)
    return state._replace(environ=environ._replace(cursor=min(environ.cursor, last)))


def toggle_secrets(state: AppState) -> Result:
    """Show or hide the values of secrets."""
    environ = state.environ
    if not environ.variables:
        return refuse(state, 'No secrets', 'there are no variables')
    if not any(is_secret(name) for name, _ in environ.variables):
        return refuse(state, 'No secrets', 'no name here looks like one')
    environ = environ._replace(reveals_secrets=not environ.reveals_secrets)
    return state._replace(environ=environ), ()


def _owner(process: ProcessSample | HostProcessSample | None) -> str:
    """Return the user of a process and what it uses the GPU for, as far as they are known."""
    if process is None:
        return ''
    user = process.username or str(NA)
    return f'{user}, {process.type or "?"}' if isinstance(process, ProcessSample) else user
