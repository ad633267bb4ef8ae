# SPDX-License-Identifier: GPL-3.0-only
"""Which binding of a key counts now, and the function of each action."""

from __future__ import annotations

from functools import partial
from typing import Callable

from nvitop.gui.model.choices import Screen, Sort
from nvitop.gui.state.app_state import AppState, ListState, Result, TreeState
from nvitop.gui.state.appearance import (
    change_time,
    choose_column,
    choose_mode,
    move_column,
    next_graph,
    next_theme,
    save_settings,
    toggle_details,
    toggle_hints,
    toggle_host,
    way_to_run,
)
from nvitop.gui.state.bindings import Action, Binding, Need
from nvitop.gui.state.dialog import ask_for_signal, has_targets, why_no_target
from nvitop.gui.state.environ import toggle_secrets
from nvitop.gui.state.events import (
    CaptureMouse,
    Quit,
    ReadEnvironment,
    Redraw,
    Refresh,
    Suspend,
)
from nvitop.gui.state.input_line import open_field
from nvitop.gui.state.navigation import (
    go_back,
    move_by_lines,
    move_by_pages,
    move_by_steps,
    move_to_edge,
    move_to_first,
    move_to_last,
    open_screen,
    scroll_by_lines,
)
from nvitop.gui.state.notices import answer
from nvitop.gui.state.process_lists import relist, sort_by
from nvitop.gui.state.process_rows import next_order
from nvitop.gui.state.selection import (
    clear_selection,
    hidden_by_filter,
    select_by_index,
    select_device,
    select_next_device,
    selected_process,
    show_device,
    show_user,
    toggle_page,
    toggle_subtree_tags,
    toggle_tag,
)
from nvitop.gui.state.times import toggle_freeze, travel


def binding_for(state: AppState, keys: str) -> Binding | None:
    """Return the first binding of keys on the screen whose needs are met, else the first one."""
    bindings = state.keymap.find_all(state.screen, keys)
    working = (binding for binding in bindings if not unmet_need(state, binding))
    return next(working, bindings[0] if bindings else None)


def working_binding(state: AppState, keys: str, met: dict[Need, bool]) -> Binding | None:
    """Return the first binding of keys whose needs are met; ``met`` keeps them for other keys."""
    for binding in state.keymap.find_all(state.screen, keys):
        for need in binding.needs:
            if need not in met:
                met[need] = not _REASONS[need](state)
            if not met[need]:
                break
        else:
            return binding
    return None


def unmet_need(state: AppState, binding: Binding) -> str:
    """Return why a binding cannot work now; ``''`` if it can."""
    return next(filter(None, (_REASONS[need](state) for need in binding.needs)), '')


def _why_no_process(state: AppState) -> str:
    if selected_process(state) is not None:
        return ''
    return hidden_by_filter(state) or 'Select a process first'


def _why_hidden(state: AppState) -> str:
    return '' if state.screen is Screen.METRICS else hidden_by_filter(state)


def _why_no_target(state: AppState) -> str:
    return '' if has_targets(state) else why_no_target(state)


#: Need → why it is not met; ``''`` if it is.
_REASONS: dict[Need, Callable[[AppState], str]] = {
    Need.DEVICE: lambda state: '' if state.main.selected_device else 'Select a GPU first',
    Need.PROCESS: _why_no_process,
    Need.NOT_HIDDEN: _why_hidden,
    Need.TARGET: _why_no_target,
    Need.BY_USER: lambda state: 'Already by owner' if state.sums_by_owner else '',
    Need.PAST: lambda state: (
        '' if state.origin.can_travel else 'No samples of other times are kept'
    ),
    Need.RECORDING: lambda state: 'Works only in a recording' if state.origin.is_live else '',
    Need.HERE: lambda state: state.origin.no_signals,
}


_SIGNALS = {Action.INTERRUPT: 'SIGINT', Action.TERMINATE: 'SIGTERM', Action.KILL: 'SIGKILL'}


def act(state: AppState, binding: Binding) -> Result:
    """Carry out the action of a binding whose needs are met."""
    of_screen = state.spec.actions.get(binding.action)
    if of_screen is not None:
        return of_screen(state, binding)
    if binding.opens is not None:
        return open_screen(state, binding.opens)
    if binding.action in _SIGNALS:
        return ask_for_signal(state, _SIGNALS[binding.action])
    if binding.action is Action.SORT_BY:
        reverse = binding.argument.startswith('-')
        return sort_by(state, Sort(binding.argument.lstrip('-'), reverse)), ()
    if binding.action is Action.SELECT_DEVICE:
        return select_by_index(state, int(binding.argument))
    return _ACTIONS[binding.action](state)


def _refresh(state: AppState) -> Result:
    effects = (Refresh(), Redraw())
    if state.frozen is not None:
        state = answer(state, 'key', f'Not shown while paused{way_to_run(state)}')
    if state.screen is Screen.ENVIRON:
        shown = state.environ
        return state, (*effects, ReadEnvironment(shown.pid, shown.start_time))
    if state.screen is Screen.TREE:
        return state, effects
    state = clear_selection(state)
    main = state.main._replace(scroll_x=0, scroll_y=0)
    return state._replace(main=main, tree=TreeState(), listing=ListState()), effects


def _clear(state: AppState) -> Result:
    if state.query:
        return relist(state._replace(query='')), ()
    cleared = clear_selection(state)
    if cleared == state and state.main.shows_page:
        return toggle_page(state)
    if cleared == state and state.main.selected_device is not None:
        return select_device(state, None), ()
    if cleared == state and state.screen is Screen.TREE:
        return go_back(state)
    return cleared, ()


def _tag(state: AppState) -> Result:
    return move_by_lines(toggle_tag(state), 1)[0], ()


def _toggle_mouse(state: AppState) -> Result:
    captured = not state.captures_mouse
    return state._replace(captures_mouse=captured), (CaptureMouse(captured),)


def _sort_step(state: AppState, step: int) -> Result:
    return sort_by(state, Sort(next_order(state.main.sort.order, step))), ()


def _sort_reverse(state: AppState) -> Result:
    sort = state.main.sort
    return sort_by(state, sort._replace(reverse=not sort.reverse)), ()


def _sum_by_owner(state: AppState) -> Result:
    return state._replace(sums_by_owner=True, listing=ListState()), ()


_ACTIONS: dict[Action, Callable[[AppState], Result]] = {
    Action.QUIT: lambda state: (state, (Quit(),)),
    Action.BACK: go_back,
    Action.MODE_AUTO: partial(choose_mode, mode='auto'),
    Action.MODE_FULL: partial(choose_mode, mode='full'),
    Action.MODE_COMPACT: partial(choose_mode, mode='compact'),
    Action.REFRESH: _refresh,
    Action.FREEZE: toggle_freeze,
    Action.SUSPEND: lambda state: (state, (Suspend(),)),
    Action.SELECT_PREVIOUS: partial(move_by_lines, step=-1),
    Action.SELECT_NEXT: partial(move_by_lines, step=1),
    Action.SELECT_FIRST: move_to_first,
    Action.SELECT_LAST: move_to_last,
    Action.CLEAR: _clear,
    Action.TAG: _tag,
    Action.TAG_SUBTREE: lambda state: (toggle_subtree_tags(state), ()),
    Action.SCROLL_UP: partial(move_by_pages, step=-1),
    Action.SCROLL_DOWN: partial(move_by_pages, step=1),
    Action.LINE_UP: partial(scroll_by_lines, step=-1),
    Action.LINE_DOWN: partial(scroll_by_lines, step=1),
    Action.PREVIOUS_DEVICE: partial(select_next_device, step=-1),
    Action.NEXT_DEVICE: partial(select_next_device, step=1),
    Action.SHOW_PAGE: toggle_page,
    Action.SHOW_USER: show_user,
    Action.SHOW_DEVICE: show_device,
    Action.SCROLL_LEFT: partial(move_by_steps, steps=-1),
    Action.SCROLL_RIGHT: partial(move_by_steps, steps=1),
    Action.SCROLL_BEGIN: partial(move_to_edge, direction=-1),
    Action.SCROLL_END: partial(move_to_edge, direction=1),
    Action.TOGGLE_DETAILS: toggle_details,
    Action.TOGGLE_HOST: toggle_host,
    Action.NEXT_GRAPH: partial(next_graph, is_upper=False),
    Action.NEXT_UPPER_GRAPH: partial(next_graph, is_upper=True),
    Action.LONGER_TIME: partial(change_time, step=1),
    Action.SHORTER_TIME: partial(change_time, step=-1),
    Action.FILTER: partial(open_field, purpose='filter'),
    Action.SEARCH: partial(open_field, purpose='search'),
    Action.NEXT_THEME: next_theme,
    Action.TOGGLE_MOUSE: _toggle_mouse,
    Action.SORT_NEXT: partial(_sort_step, step=1),
    Action.SORT_PREVIOUS: partial(_sort_step, step=-1),
    Action.SORT_REVERSE: _sort_reverse,
    Action.SORT_MENU: lambda state: (
        state._replace(prefix=state.keymap.sort_prefix(state.screen)),
        (),
    ),
    Action.TOGGLE_HINTS: toggle_hints,
    Action.SAVE_SETTINGS: save_settings,
    Action.REVEAL: toggle_secrets,
    Action.SUM_BY_OWNER: _sum_by_owner,
    Action.PREVIOUS_FRAME: partial(travel, unit='frame', amount=-1),
    Action.NEXT_FRAME: partial(travel, unit='frame', amount=1),
    Action.PREVIOUS_MINUTE: partial(travel, unit='seconds', amount=-60),
    Action.NEXT_MINUTE: partial(travel, unit='seconds', amount=60),
    Action.PREVIOUS_HOUR: partial(travel, unit='seconds', amount=-3600),
    Action.NEXT_HOUR: partial(travel, unit='seconds', amount=3600),
    Action.GO_TO_TIME: partial(open_field, purpose='time'),
    Action.FIRST_FRAME: partial(travel, unit='end', amount=-1),
    Action.LAST_FRAME: partial(travel, unit='end', amount=1),
    Action.PREVIOUS_EVENT: partial(travel, unit='event', amount=-1),
    Action.NEXT_EVENT: partial(travel, unit='event', amount=1),
    Action.FASTER: partial(travel, unit='speed', amount=1),
    Action.SLOWER: partial(travel, unit='speed', amount=-1),
    Action.CHOOSE: choose_column,
    Action.MOVE_UP: partial(move_column, step=-1),
    Action.MOVE_DOWN: partial(move_column, step=1),
}
