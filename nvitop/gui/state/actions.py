# SPDX-License-Identifier: GPL-3.0-only
"""Carries out the actions of the table of keys: action → function of the state."""

from __future__ import annotations

from functools import partial
from typing import Callable

from nvitop.gui.model.choices import Sort
from nvitop.gui.model.effects import (
    CaptureMouse,
    Quit,
    ReadEnvironment,
    Redraw,
    Refresh,
    Suspend,
)
from nvitop.gui.model.screens import Screen
from nvitop.gui.state import (
    devices,
    environ,
    moving,
    opening,
    typing_keys,
    viewing,
)
from nvitop.gui.state.app_state import AppState, ListState, Result, TreeState
from nvitop.gui.state.bindings import Action, Binding
from nvitop.gui.state.dialog import ask_for_signal
from nvitop.gui.state.listing import relist, sort_by
from nvitop.gui.state.notices import answer
from nvitop.gui.state.ordering import next_order
from nvitop.gui.state.selection import (
    clear_selection,
    toggle_subtree_tags,
    toggle_tag,
)
from nvitop.gui.state.traveling import toggle_freeze, travel

_SIGNALS = {Action.INTERRUPT: 'SIGINT', Action.TERMINATE: 'SIGTERM', Action.KILL: 'SIGKILL'}


def act(state: AppState, binding: Binding) -> Result:
    """Carry out the action of a binding whose needs are met."""
    if binding.opens is not None:
        return opening.open_screen(state, binding.opens)
    if binding.action in _SIGNALS:
        return ask_for_signal(state, _SIGNALS[binding.action])
    if binding.action is Action.SORT_BY:
        reverse = binding.argument.startswith('-')
        return sort_by(state, Sort(binding.argument.lstrip('-'), reverse)), ()
    if binding.action is Action.SELECT_DEVICE:
        return devices.select_by_index(state, int(binding.argument))
    return _ACTIONS[binding.action](state)


def _refresh(state: AppState) -> Result:
    effects = (Refresh(), Redraw())
    if state.frozen is not None:
        state = answer(state, 'key', f'Not shown while paused{viewing.way_to_run(state)}')
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
        return devices.toggle_page(state)
    if cleared == state and state.main.selected_device is not None:
        return devices.select_device(state, None), ()
    if cleared == state and state.screen is Screen.TREE:
        return opening.go_back(state)
    return cleared, ()


def _tag(state: AppState) -> Result:
    return moving.move_by_lines(toggle_tag(state), 1)[0], ()


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
    Action.BACK: opening.go_back,
    Action.MODE_AUTO: partial(viewing.choose_mode, mode='auto'),
    Action.MODE_FULL: partial(viewing.choose_mode, mode='full'),
    Action.MODE_COMPACT: partial(viewing.choose_mode, mode='compact'),
    Action.REFRESH: _refresh,
    Action.FREEZE: toggle_freeze,
    Action.SUSPEND: lambda state: (state, (Suspend(),)),
    Action.SELECT_PREVIOUS: partial(moving.move_by_lines, step=-1),
    Action.SELECT_NEXT: partial(moving.move_by_lines, step=1),
    Action.SELECT_FIRST: moving.move_to_first,
    Action.SELECT_LAST: moving.move_to_last,
    Action.CLEAR: _clear,
    Action.TAG: _tag,
    Action.TAG_SUBTREE: lambda state: (toggle_subtree_tags(state), ()),
    Action.SCROLL_UP: partial(moving.move_by_pages, step=-1),
    Action.SCROLL_DOWN: partial(moving.move_by_pages, step=1),
    Action.LINE_UP: partial(moving.scroll_by_lines, step=-1),
    Action.LINE_DOWN: partial(moving.scroll_by_lines, step=1),
    Action.PREVIOUS_DEVICE: partial(devices.select_next_device, step=-1),
    Action.NEXT_DEVICE: partial(devices.select_next_device, step=1),
    Action.SHOW_PAGE: devices.toggle_page,
    Action.SHOW_USER: devices.show_user,
    Action.SHOW_DEVICE: devices.show_device,
    Action.SCROLL_LEFT: partial(moving.move_by_steps, steps=-1),
    Action.SCROLL_RIGHT: partial(moving.move_by_steps, steps=1),
    Action.SCROLL_BEGIN: partial(moving.move_to_edge, direction=-1),
    Action.SCROLL_END: partial(moving.move_to_edge, direction=1),
    Action.TOGGLE_DETAILS: viewing.toggle_details,
    Action.TOGGLE_HOST: viewing.toggle_host,
    Action.NEXT_GRAPH: partial(viewing.next_graph, is_upper=False),
    Action.NEXT_UPPER_GRAPH: partial(viewing.next_graph, is_upper=True),
    Action.LONGER_TIME: partial(viewing.change_time, step=1),
    Action.SHORTER_TIME: partial(viewing.change_time, step=-1),
    Action.FILTER: partial(typing_keys.open_field, purpose='filter'),
    Action.SEARCH: partial(typing_keys.open_field, purpose='search'),
    Action.NEXT_THEME: viewing.next_theme,
    Action.TOGGLE_MOUSE: _toggle_mouse,
    Action.SORT_NEXT: partial(_sort_step, step=1),
    Action.SORT_PREVIOUS: partial(_sort_step, step=-1),
    Action.SORT_REVERSE: _sort_reverse,
    Action.SORT_MENU: lambda state: (
        state._replace(prefix=state.keymap.sort_prefix(state.screen)),
        (),
    ),
    Action.TOGGLE_HINTS: viewing.toggle_hints,
    Action.SAVE_SETTINGS: viewing.save_settings,
    Action.REVEAL: environ.toggle_secrets,
    Action.SUM_BY_OWNER: _sum_by_owner,
    Action.PREVIOUS_FRAME: partial(travel, unit='frame', amount=-1),
    Action.NEXT_FRAME: partial(travel, unit='frame', amount=1),
    Action.PREVIOUS_MINUTE: partial(travel, unit='seconds', amount=-60),
    Action.NEXT_MINUTE: partial(travel, unit='seconds', amount=60),
    Action.PREVIOUS_HOUR: partial(travel, unit='seconds', amount=-3600),
    Action.NEXT_HOUR: partial(travel, unit='seconds', amount=3600),
    Action.GO_TO_TIME: partial(typing_keys.open_field, purpose='time'),
    Action.FIRST_FRAME: partial(travel, unit='end', amount=-1),
    Action.LAST_FRAME: partial(travel, unit='end', amount=1),
    Action.PREVIOUS_EVENT: partial(travel, unit='event', amount=-1),
    Action.NEXT_EVENT: partial(travel, unit='event', amount=1),
    Action.FASTER: partial(travel, unit='speed', amount=1),
    Action.SLOWER: partial(travel, unit='speed', amount=-1),
    Action.CHOOSE: viewing.choose_column,
    Action.MOVE_UP: partial(viewing.move_column, step=-1),
    Action.MOVE_DOWN: partial(viewing.move_column, step=1),
}
