# SPDX-License-Identifier: GPL-3.0-only
"""How things are drawn: panels, details, columns, graphs and their time, theme."""

from __future__ import annotations

from nvitop.basics.metrics import METRICS_BY_NAME
from nvitop.gui.layout.main import GRAPHS_WIDTH
from nvitop.gui.model.choices import DETAILS, GRAPHS, Screen, is_measured, neighbor
from nvitop.gui.model.columns import COLUMNS
from nvitop.gui.render.geometry import CLASSIC
from nvitop.gui.state.app_state import AppState, Result
from nvitop.gui.state.events import (
    BackgroundReported,
    Redraw,
    RingBell,
    SaveSettings,
    SettingsSaved,
)
from nvitop.gui.state.lists import main_layout
from nvitop.gui.state.notices import answer, refuse, replace_notice

#: Minutes shown by the width of a graph; 0: one second per column of dots.
TIME_BASES = (0, 1, 2, 5, 10, 15, 30, 60)


def choose_mode(state: AppState, mode: str) -> Result:
    """Draw the panels in another mode."""
    if mode == 'full' and state.width < CLASSIC:
        return refuse(state, f'Full panels need {CLASSIC} columns')
    changed = state._replace(view=state.view._replace(mode=mode))
    if main_layout(changed) == main_layout(state):
        return refuse(changed, f'Already {"as large as possible" if mode == "auto" else mode}')
    return changed, ()


def toggle_host(state: AppState) -> Result:
    """Show or hide the host panel."""
    was_hidden = not state.view.show_host
    shown = state._replace(view=state.view._replace(show_host=True))
    if main_layout(shown).host.area.is_empty:
        return refuse(shown, 'The host panel needs a higher screen')
    return state._replace(view=state.view._replace(show_host=was_hidden)), ()


def toggle_hints(state: AppState) -> Result:
    """Show or hide the keys in the last row."""
    view = state.view._replace(shows_hints=not state.view.shows_hints)
    return state._replace(view=view), ()


def save_settings(state: AppState) -> Result:
    """Save the choices of the view."""
    view = state.view
    values = {
        'theme': 'auto' if state.theme_is_auto else state.theme,
        'mode': view.mode,
        'show-host': view.show_host,
        'hints': view.shows_hints,
        'columns': view.columns,
    }
    return state, (SaveSettings(tuple(values.items())),)


def forget_settings(state: AppState) -> Result:
    """Forget the saved choices: the configuration file counts at the next start."""
    return state, (SaveSettings(()),)


def note_saved(state: AppState, event: SettingsSaved) -> AppState:
    """Show where the settings were written, or why they could not be."""
    if event.error:
        why = f'{event.path}: {event.error}'.lstrip(': ')
        return answer(state, 'Saved', f'Not saved: {why}', is_warning=True)
    if not event.path:
        return answer(
            state, 'Saved', 'Theme, layout, columns and hints are those of the configuration'
        )
    return answer(state, 'Saved', f'Saved theme, layout, columns and hints to {event.path}')


def columns_in_order(state: AppState) -> tuple[str, ...]:
    """Return the lines of the columns screen. A hidden column keeps its place."""
    shown = state.view.columns
    hidden = tuple(column.name for column in COLUMNS if column.name not in shown)
    # The command takes the rest of the row, so hidden columns are listed before it.
    end = len(shown) - (shown[-1:] == ('command',))
    return state.view.column_order or (*shown[:end], *hidden, *shown[end:])


def choose_column(state: AppState) -> Result:
    """Show or hide the column under the cursor."""
    order = columns_in_order(state)
    name = order[state.position.cursor]
    shown = frozenset(state.view.columns) ^ {name}
    if not shown:
        return refuse(state, 'At least one column must be shown')
    return _arrange(state, order, shown, name), ()


def move_column(state: AppState, step: int) -> Result:
    """Move the column under the cursor, shown or hidden."""
    order = list(columns_in_order(state))
    at, to = state.position.cursor, state.position.cursor + step
    if not 0 <= to < len(order):
        return state, (RingBell(),)
    order[at], order[to] = order[to], order[at]
    return _arrange(state, tuple(order), frozenset(state.view.columns), order[to]), ()


def _arrange(
    state: AppState, order: tuple[str, ...], shown: frozenset[str], cursor: str
) -> AppState:
    columns = tuple(name for name in order if name in shown)
    return state._replace(
        view=state.view._replace(columns=columns, column_order=order),
        position=state.position._replace(cursor=order.index(cursor)),
    )


def toggle_details(state: AppState) -> Result:
    """Show or hide the details of devices."""
    devices = state.shown.devices
    if devices and all(device.key.is_mig for device in devices) and not state.view.shows_details:
        return refuse(state, 'MIG devices have no details, and no GPU is shown')
    is_missing = state.frozen is not None and not is_measured(state.shown, DETAILS)
    if is_missing and not state.view.shows_details:
        return refuse(state, f'Paused before details were measured{way_to_run(state)}')
    view = state.view._replace(shows_details=not state.view.shows_details)
    return state._replace(view=view), ()


def set_theme(state: AppState, theme: str) -> AppState:
    """Draw with a theme."""
    view = state.view._replace(by_load=theme == 'classic', mono=theme == 'mono' or state.colors < 8)
    return state._replace(theme=theme, view=view)


def report_background(state: AppState, event: BackgroundReported) -> Result:
    """Draw with the theme for the background of the terminal, unless the user chose one."""
    theme = 'light' if event.is_light else 'dark'
    if not state.theme_is_auto or theme == state.theme:
        return state, ()
    return set_theme(state, theme), (Redraw(),)


def next_theme(state: AppState) -> Result:
    """Draw with the next theme."""
    state = set_theme(state, neighbor(state.themes, state.theme, 1))
    state = state._replace(theme_is_auto=False)
    return replace_notice(state, 'Theme', state.theme), (Redraw(),)


def next_graph(state: AppState, *, is_upper: bool) -> Result:
    """Plot the next metric in the upper or lower graph of the devices."""
    if not main_layout(state).host.plots_devices:
        return refuse(state, f'No GPU graphs: {_way_to_graphs(state)}')
    graphs = state.main.graphs
    shown = graphs.upper if is_upper else graphs.lower
    metric = neighbor([metric.name for metric in GRAPHS], shown, 1)
    graphs = graphs._replace(upper=metric) if is_upper else graphs._replace(lower=metric)
    state = state._replace(main=state.main._replace(graphs=graphs))
    if state.frozen is not None and not is_measured(state.frozen.sample, (metric,)):
        title = METRICS_BY_NAME[metric].graph
        why = f'Paused before {title} was measured{way_to_run(state)}'
        state = answer(state, 'key', why, is_warning=True)
    return state, ()


def change_time(state: AppState, step: int) -> Result:
    """Let graphs show a longer (1) or shorter (-1) time."""
    if state.screen is Screen.MAIN and main_layout(state).host.widest_graph is None:
        return refuse(state, f'No graphs: {_way_to_graphs(state)}')
    graphs = state.main.graphs
    bases = _time_bases(state)
    at = bases.index(graphs.minutes) + step
    if not 0 <= at < len(bases):
        return refuse(state, f'Graphs show no {"longer" if step > 0 else "shorter"} time')
    graphs = graphs._replace(minutes=bases[at])
    return state._replace(main=state.main._replace(graphs=graphs)), ()


def way_to_run(state: AppState) -> str:
    """Return which key shows the latest sample again, in parentheses; ``''`` if there is none."""
    key = state.keymap.instead_of(state.screen, 'z')
    return f' ({key}: resume)' if key else ''


def _way_to_graphs(state: AppState) -> str:
    """Return what is needed to see graphs, in a text for which the narrowest screen has room.

    What no key can change comes first.
    """
    if state.width < GRAPHS_WIDTH:
        return f'{GRAPHS_WIDTH} columns needed'
    if not state.view.show_host:
        return f'press {state.keymap.instead_of(state.screen, "H")} to show the host panel'
    return f'press {state.keymap.instead_of(state.screen, "f")} for full panels'


def _time_bases(state: AppState) -> list[int]:
    """Return the time bases, shortest first.

    The time shown at one second per column of dots depends on the width of the graphs. On the
    metrics screen each graph has half of the screen.
    """
    natural = state.width
    if state.screen is Screen.MAIN:
        widest = main_layout(state).host.widest_graph
        natural = 2 * widest.width if widest is not None else 0
    return sorted(TIME_BASES, key=lambda minutes: 60 * minutes or natural)
