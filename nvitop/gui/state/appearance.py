# SPDX-License-Identifier: GPL-3.0-only
"""How things are drawn: panels, details, columns, graphs and their time, theme."""

from __future__ import annotations

from nvitop.basics.metrics import METRICS_BY_NAME
from nvitop.gui.model.choices import GRAPHS, neighbor
from nvitop.gui.model.columns import COLUMNS
from nvitop.gui.model.main_rows import least_height_of_full
from nvitop.gui.render.geometry import CLASSIC
from nvitop.gui.state import events
from nvitop.gui.state.app_state import AppState, Result
from nvitop.gui.state.cursor import current_line, deselect
from nvitop.gui.state.lists import panel_rows
from nvitop.gui.state.notices import answer, refuse, replace_notice

#: Minutes shown by the width of a history; 0: two seconds per cell.
TIME_BASES = (0, 1, 2, 5, 10, 15, 30, 60)


def choose_mode(state: AppState, mode: str) -> Result:
    if state.main.shows_page:
        return refuse(state, 'The page of a GPU has one layout')
    if mode == 'full' and why_not_full(state):
        return refuse(state, why_not_full(state))
    changed = state._replace(view=state.view._replace(mode=mode))
    if panel_rows(changed) == panel_rows(state):
        return refuse(changed, f'Already {"as large as possible" if mode == "auto" else mode}')
    return changed, ()


def why_not_full(state: AppState) -> str:
    """Return the size that full panels need; ``''`` if the screen is large enough or there is no GPU."""
    if state.width < CLASSIC:
        return f'Full panels need {CLASSIC} columns'
    hints = state.height - state.body_height
    least = least_height_of_full(state.devices) + hints if state.devices else 0
    return '' if state.height >= least else f'Full panels need {least} rows'


def toggle_host(state: AppState) -> Result:
    was_hidden = not state.view.show_host
    shown = state._replace(view=state.view._replace(show_host=True))
    if was_hidden and not panel_rows(shown).host:
        return refuse(shown, 'The host needs a higher screen')
    return state._replace(view=state.view._replace(show_host=was_hidden)), ()


def toggle_hints(state: AppState) -> Result:
    view = state.view._replace(shows_hints=not state.view.shows_hints)
    return state._replace(view=view), ()


def save_settings(state: AppState) -> Result:
    view = state.view
    values = {
        'theme': 'auto' if state.theme_is_auto else state.theme,
        'mode': view.mode,
        'show-host': view.show_host,
        'hints': view.shows_hints,
        'columns': view.columns,
    }
    return state, (events.SaveSettings(tuple(values.items())),)


def forget_settings(state: AppState) -> Result:
    """Forget the saved choices: the configuration file counts at the next start."""
    return state, (events.SaveSettings(()),)


def note_saved(state: AppState, event: events.SettingsSaved) -> AppState:
    if event.error:
        why = f'{event.path}: {event.error}'.lstrip(': ')
        return answer(state, 'Saved', f'Not saved: {why}')
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
    order = columns_in_order(state)
    name = order[current_line(state) or 0]
    shown = frozenset(state.view.columns) ^ {name}
    if not shown:
        return refuse(state, 'At least one column must be shown')
    return _arrange(state, order, shown, name), ()


def move_column(state: AppState, step: int) -> Result:
    order = list(columns_in_order(state))
    at = current_line(state) or 0
    to = at + step
    if not 0 <= to < len(order):
        return state, (events.RingBell(),)
    order[at], order[to] = order[to], order[at]
    return _arrange(state, tuple(order), frozenset(state.view.columns), order[to]), ()


def _arrange(
    state: AppState, order: tuple[str, ...], shown: frozenset[str], cursor: str
) -> AppState:
    columns = tuple(name for name in order if name in shown)
    view = state.view._replace(columns=columns, column_order=order)
    return state._replace(view=view).at(state.position._replace(key=cursor))


def toggle_flat(state: AppState) -> Result:
    view = state.view._replace(flat=not state.view.flat)
    state = state._replace(view=view)
    return state if state.job is None else deselect(state), ()


def set_theme(state: AppState, theme: str) -> AppState:
    view = state.view._replace(mono=theme == 'mono' or state.colors < 16)
    return state._replace(theme=theme, view=view)


def report_background(state: AppState, event: events.BackgroundReported) -> Result:
    """Draw with the theme for the background of the terminal, unless the user chose one."""
    theme = 'light' if event.is_light else 'dark'
    if not state.theme_is_auto or theme == state.theme:
        return state, ()
    return set_theme(state, theme), (events.Redraw(),)


def next_theme(state: AppState) -> Result:
    state = set_theme(state, neighbor(state.themes, state.theme, 1))
    state = state._replace(theme_is_auto=False)
    return replace_notice(state, 'Theme', state.theme), (events.Redraw(),)


def next_graph(state: AppState, step: int) -> Result:
    graphs = state.main.graphs
    metric = neighbor([metric.name for metric in GRAPHS], graphs.metric, step)
    state = state._replace(main=state.main._replace(graphs=graphs._replace(metric=metric)))
    return answer(state, 'key', f'History: {METRICS_BY_NAME[metric].graph}'), ()


def change_time(state: AppState, step: int) -> Result:
    """Let histories show a longer (1) or shorter (-1) time."""
    graphs = state.main.graphs
    bases = sorted(TIME_BASES, key=lambda minutes: 60 * minutes or state.width)
    at = bases.index(graphs.minutes) + step
    if not 0 <= at < len(bases):
        return refuse(state, f'Histories show no {"longer" if step > 0 else "shorter"} time')
    graphs = graphs._replace(minutes=bases[at])
    return state._replace(main=state.main._replace(graphs=graphs)), ()


def way_to_run(state: AppState) -> str:
    """Return which key shows the latest sample again, in parentheses; ``''`` if there is none."""
    key = state.keymap.instead_of(state.screen, 'z')
    return f' ({key}: resume)' if key else ''
