# SPDX-License-Identifier: GPL-3.0-only
"""What keys do, except moving: appearance, columns, environment, and sorting."""

from __future__ import annotations

from nvitop.basics.metrics import METRICS_BY_NAME
from nvitop.gui.model.choices import GRAPHS, Screen, neighbor
from nvitop.gui.model.columns import COLUMNS
from nvitop.gui.model.main_layout import least_height_of_full
from nvitop.gui.model.table import CLASSIC
from nvitop.gui.render.theme import THEMES
from nvitop.gui.state import events, navigation, time_travel
from nvitop.gui.state.app_state import AppState, EnvironState, ListPosition, Result, notify, refuse
from nvitop.gui.state.events import EnvironmentRead, ReadEnvironment
from nvitop.gui.state.lists import layout_of, list_sort, sort_list

#: Minutes shown by the width of a history; 0: two seconds per cell.
TIME_BASES = (0, 1, 2, 5, 10, 15, 30, 60)


def choose_mode(state: AppState, mode: str) -> Result:
    if state.main.shows_page:
        return refuse(state, 'The page of a GPU has one layout')
    if mode == 'full' and why_not_full(state):
        return refuse(state, why_not_full(state))
    changed = state._replace(view=state.view._replace(mode=mode))
    if layout_of(changed) == layout_of(state):
        return refuse(changed, f'Already {"as large as possible" if mode == "auto" else mode}')
    return changed, ()


def why_not_full(state: AppState) -> str:
    """Return the size that full panels need; ``''`` if the screen is large enough or there is no GPU."""
    if state.width < CLASSIC:
        return f'Full panels need {CLASSIC} columns'
    hints = state.height - state.body_height
    least = least_height_of_full(state.lists.devices) + hints if state.lists.devices else 0
    return '' if state.height >= least else f'Full panels need {least} rows'


def toggle_host(state: AppState) -> Result:
    was_hidden = not state.view.show_host
    shown = state._replace(view=state.view._replace(show_host=True))
    if was_hidden and not layout_of(shown).host:
        return refuse(shown, 'The host needs a higher screen')
    return state._replace(view=state.view._replace(show_host=was_hidden)), ()


def toggle_hints(state: AppState) -> Result:
    view = state.view._replace(hints=not state.view.hints)
    return state._replace(view=view), ()


def save_settings(state: AppState) -> Result:
    theme = 'auto' if state.theme_is_auto else state.theme
    return state, (events.SaveSettings((*state.view._asdict().items(), ('theme', theme))),)


def note_saved(state: AppState, event: events.SettingsSaved) -> AppState:
    if event.error:
        why = f'{event.path}: {event.error}'.lstrip(': ')
        return notify(state, 'Saved', f'Not saved: {why}')
    if not event.path:
        return notify(state, 'Saved', 'Theme and layout are those of the configuration')
    return notify(state, 'Saved', f'Saved theme and layout to {event.path}')


def columns_in_order(state: AppState) -> tuple[str, ...]:
    """Return the lines of the columns screen. A hidden column keeps its place."""
    shown = state.view.columns
    hidden = tuple(column.name for column in COLUMNS if column.name not in shown)
    # The command takes the rest of the row, so hidden columns are listed before it.
    end = len(shown) - (shown[-1:] == ('command',))
    return state.view.column_order or (*shown[:end], *hidden, *shown[end:])


def choose_column(state: AppState) -> Result:
    order = columns_in_order(state)
    name = order[navigation.current_line(state) or 0]
    shown = frozenset(state.view.columns) ^ {name}
    if not shown:
        return refuse(state, 'At least one column must be shown')
    return _arrange(state, order, shown, name), ()


def move_column(state: AppState, step: int) -> Result:
    order = list(columns_in_order(state))
    at = navigation.current_line(state) or 0
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
    return state if state.job is None else navigation.deselect(state), ()


def report_background(state: AppState, event: events.BackgroundReported) -> Result:
    """Draw with the theme for the background of the terminal, unless the user chose one."""
    theme = 'light' if event.is_light else 'dark'
    if not state.theme_is_auto or theme == state.theme:
        return state, ()
    return state._replace(theme=theme), (events.Redraw(),)


def next_theme(state: AppState) -> Result:
    theme = neighbor([theme.name for theme in THEMES], state.theme, 1)
    state = state._replace(theme=theme, theme_is_auto=False)
    return notify(state, 'Theme', f'Theme: {theme}'), (events.Redraw(),)


def next_graph(state: AppState, step: int) -> Result:
    graphs = state.main.graphs
    metric = neighbor([metric.name for metric in GRAPHS], graphs.metric, step)
    state = state._replace(main=state.main._replace(graphs=graphs._replace(metric=metric)))
    return notify(state, 'key', f'History: {METRICS_BY_NAME[metric].graph}'), ()


def change_time(state: AppState, step: int) -> Result:
    """Let histories show a longer (1) or shorter (-1) time."""
    graphs = state.main.graphs
    bases = sorted(TIME_BASES, key=lambda minutes: 60 * minutes or state.width)
    at = bases.index(graphs.minutes) + step
    if not 0 <= at < len(bases):
        return refuse(state, f'Histories show no {"longer" if step > 0 else "shorter"} time')
    graphs = graphs._replace(minutes=bases[at])
    return state._replace(main=state.main._replace(graphs=graphs)), ()


def begin_reading(before: AppState, state: AppState) -> Result:
    """Show the environment of the process selected ``before``, or of the one on its page."""
    identity, processes = before.selection[:2]
    pid, start_time = identity or (0, -1.0)
    user = processes[0].username or 'unknown user' if processes else ''
    environ = EnvironState(pid, start_time, user)
    return state._replace(environ=environ), (ReadEnvironment(pid, start_time),)


def show_variables(state: AppState, event: EnvironmentRead) -> AppState:
    environ = state.environ
    # The user may have opened the environment of another process meanwhile.
    if (event.pid, event.start_time) != (environ.pid, environ.start_time):
        return state
    return state._replace(environ=environ._replace(reading=event))


def toggle_secrets(state: AppState) -> Result:
    environ = state.environ
    environ = environ._replace(reveals_secrets=not environ.reveals_secrets)
    return state._replace(environ=environ), ()


def open_sort_menu(state: AppState) -> Result:
    return state._replace(prefix=state.keymap.sort_prefix(state.screen)), ()


def refresh(state: AppState) -> Result:
    """Measure now, and clear the selection."""
    effects = (events.Refresh(), events.Redraw())
    if state.frozen is not None:
        state = notify(
            state, 'key', f'Not shown while paused{state.with_key("z", " ({}: resume)")}'
        )
    if state.screen is Screen.ENVIRON:
        shown = state.environ
        return state, (*effects, events.ReadEnvironment(shown.pid, shown.start_time))
    if state.screen is Screen.TREE:
        return state, effects
    return navigation.clear_selection(state)._replace(positions={}), effects


def clear(state: AppState) -> Result:
    """Clear the filter, else the selection, else leave the page of a device, the tree or the pause."""
    if state.query:
        return state.filtered(''), ()
    state = state._replace(searched='')
    cleared = navigation.clear_selection(state)
    if cleared != state:
        return cleared, ()
    if state.main.shows_page:
        return navigation.toggle_page(state)
    if state.main.selected_device is not None:
        return navigation.select_device(state, None), ()
    if state.screen is Screen.TREE:
        return navigation.go_back(state)
    if state.frozen is not None:
        return time_travel.toggle_freeze(state)
    return navigation.leave(state) if state.origin.is_chosen else (state, ())


def toggle_mouse(state: AppState) -> Result:
    captured = not state.captures_mouse
    return state._replace(captures_mouse=captured), (events.CaptureMouse(captured),)


def sort_by_neighbor(state: AppState, step: int) -> Result:
    """Sort by the next (1) or previous (-1) order."""
    names = [order.name for order in state.spec.orders]
    name = neighbor(names, list_sort(state, state.screen).order, step)
    return sort_list(state, name, reverse=False)


def reverse_order(state: AppState) -> Result:
    name, reverse = list_sort(state, state.screen)
    return sort_list(state, name, reverse=not reverse)


def sum_by_owner(state: AppState) -> Result:
    """Sum up by owner on the users screen, or by user again."""
    by_owner = not state.sums_by_owner
    return state._replace(sums_by_owner=by_owner).at(ListPosition()), ()
