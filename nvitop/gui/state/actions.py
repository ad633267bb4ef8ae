# SPDX-License-Identifier: GPL-3.0-only
"""What each action of the key table does to the state."""

from __future__ import annotations

from typing import Callable

from nvitop.api.utils import NA
from nvitop.gui.layout.device import CLASSIC, ONE_BAR
from nvitop.gui.layout.list import longest_line
from nvitop.gui.model.choices import Sort
from nvitop.gui.model.effects import (
    CaptureMouse,
    Quit,
    ReadEnvironment,
    Redraw,
    Refresh,
    RingBell,
    Suspend,
)
from nvitop.gui.model.graphs import GRAPHS, GRAPHS_BY_METRIC
from nvitop.gui.state import choosing, typing_keys
from nvitop.gui.state.app_state import (
    AppState,
    EnvironState,
    ListState,
    Screen,
    SignalDialog,
    TreeState,
)
from nvitop.gui.state.demand import DETAILS, was_frozen_before
from nvitop.gui.state.dialog import Result, button_of
from nvitop.gui.state.environ import environ_lines, is_secret
from nvitop.gui.state.keymap import Action, Binding
from nvitop.gui.state.lines import SCROLLED, move_cursor
from nvitop.gui.state.listing import (
    clear_selection,
    main_layout,
    move_selection,
    relist,
    select_process,
    select_tree_row,
    tag_host_processes,
    toggle_tag,
    tree_index,
    tree_layout,
)
from nvitop.gui.state.notices import refuse, replace_notice
from nvitop.gui.state.ordering import next_order
from nvitop.gui.state.targets import (
    hidden_by_filter,
    selected_process,
    signal_targets,
    why_no_target,
)
from nvitop.gui.state.tree import subtree
from nvitop.sampling.types import HostProcessSample, ProcessSample

#: Cells that the left and right keys scroll by.
MAIN_STEP, WIDE_STEP = 2, 5
#: Minutes that the width of a graph stands for; 0: a second for each column of dots.
TIME_BASES = (0, 1, 2, 5, 10, 15, 30, 60)
#: No line is longer: scrolling further shows nothing.
MAX_SCROLL = 1 << 16

_SIGNALS = {Action.INTERRUPT: 'SIGINT', Action.TERMINATE: 'SIGTERM', Action.KILL: 'SIGKILL'}
_SCREENS = {
    Action.HELP: Screen.HELP,
    Action.OPEN_USERS: Screen.USERS,
    Action.OPEN_PROBLEMS: Screen.PROBLEMS,
    Action.OPEN_COLUMNS: Screen.COLUMNS,
}
#: Mode, and what is said where the panels have that size.
_MODES = {
    Action.MODE_AUTO: ('auto', 'as large as can be already'),
    Action.MODE_FULL: ('full', 'in full already'),
    Action.MODE_COMPACT: ('compact', 'compact already'),
}


def act(state: AppState, binding: Binding) -> Result:
    """Carry out the action of a binding."""
    action = binding.action
    if action in _SCREENS:
        return open_screen(state, _SCREENS[action]), ()
    if action in _MODES:
        return _change_mode(state, *_MODES[action])
    if action is Action.SORT_BY:
        reverse = binding.argument.startswith('-')
        return sort_by(state, Sort(binding.argument.lstrip('-'), reverse)), ()
    return _ACTIONS[action](state)


def _change_mode(state: AppState, mode: str, already: str) -> Result:
    if mode == 'full' and state.width < CLASSIC:
        return refuse(state, 'No panels in full', f'{CLASSIC} columns needed')
    changed = state._replace(view=state.view._replace(mode=mode))
    if main_layout(changed) == main_layout(state):
        return refuse(changed, 'Panels', already)
    return changed, ()


def open_screen(state: AppState, screen: Screen) -> AppState:
    """Go to a screen; leaving it leads back here."""
    return state._replace(
        screen=screen, behind=(*state.behind, state.screen), listing=ListState(), prefix=''
    )


def open_signal_dialog(state: AppState, action: Action, key: str) -> Result:
    """Ask which signal goes to the tagged or selected processes."""
    targets = signal_targets(state)
    if not targets:
        return refuse(state, 'No signal', why_no_target(state))
    button = button_of(_SIGNALS[action])
    return state._replace(dialog=SignalDialog(targets, button, opened_with=key)), ()


def sort_by(state: AppState, sort: Sort) -> AppState:
    """List in this order."""
    return relist(state._replace(main=state.main._replace(sort=sort)))


def _back(state: AppState) -> Result:
    behind = state.behind or (Screen.MAIN,)
    selected = state.tree.selected if state.screen is Screen.TREE else None
    state = relist(state._replace(screen=behind[-1], behind=behind[:-1], listing=ListState()))
    if selected is not None and selected != (state.main.selected or ())[:2]:
        rows = [i for i, row in enumerate(state.rows) if row.key[:2] == selected]
        return select_process(state, rows[0] if rows else None), ()
    return state, ()


def _quit(state: AppState) -> Result:
    return state, (Quit(),)


def _refresh(state: AppState) -> Result:
    effects = (Refresh(), Redraw())
    if state.frozen is not None:
        state = replace_notice(state, 'Not shown', f'the display is frozen{_way_to_run(state)}')
    if state.screen is Screen.ENVIRON:
        environ = state.environ
        return state, (*effects, ReadEnvironment(environ.pid, environ.start_time))
    state = clear_selection(state)
    main = state.main._replace(scroll_x=0, scroll_y=0)
    return state._replace(main=main, tree=TreeState(), listing=ListState()), effects


def _freeze(state: AppState) -> Result:
    if state.frozen is None:
        return state._replace(frozen=state.sample, frozen_tally=state.tally), ()
    return relist(state._replace(frozen=None)), ()


def _suspend(state: AppState) -> Result:
    return state, (Suspend(),)


def _clear(state: AppState) -> Result:
    if state.query:
        return relist(state._replace(query='')), ()
    return clear_selection(state), ()


def move_lines(state: AppState, step: int) -> Result:
    """To the line or process ``step`` further; the bell where there is none."""
    if state.screen in (Screen.MAIN, Screen.TREE):
        state, moved = move_selection(state, step)
        return state, () if moved else (RingBell(),)
    if state.screen not in SCROLLED:
        return state, ()
    at = state.environ if state.screen is Screen.ENVIRON else state.listing
    return move_cursor(state, at.cursor + step), ()


def _move(step: int) -> Callable[[AppState], Result]:
    return lambda state: move_lines(state, step)


def _page(step: int) -> Callable[[AppState], Result]:
    def scroll(state: AppState) -> Result:
        if state.screen is Screen.MAIN:
            layout = main_layout(state)
            limit = max(0, layout.page_height - state.height)
            wanted = layout.scroll_y + step * max(1, state.height // 2)
            wanted = max(0, min(wanted, limit))
            if wanted == layout.scroll_y:
                return state, (RingBell(),)
            return state._replace(main=state.main._replace(scroll_y=wanted)), ()
        return move_lines(state, step * max(1, state.height // 2))

    return scroll


def _end(*, last: bool) -> Callable[[AppState], Result]:
    def jump(state: AppState) -> Result:
        if state.screen is Screen.MAIN:
            # The first process may be seen where the first devices are not.
            main = state.main if last else state.main._replace(scroll_y=0)
            state = state._replace(main=main)
            return select_process(state, len(state.rows) - 1 if last else 0), ()
        if state.screen is Screen.TREE:
            return select_tree_row(state, len(state.forest) - 1 if last else 0), ()
        return move_lines(state, MAX_SCROLL if last else -MAX_SCROLL)

    return jump


def scroll_sideways(state: AppState, cells: int) -> Result:
    """Move long lines; the bell at their beginning."""
    if state.screen is Screen.MAIN:
        x = state.main.scroll_x
    elif state.screen is Screen.TREE:
        x = state.tree.scroll_x
    elif state.screen is Screen.ENVIRON:
        x = state.environ.scroll_x
    else:
        return state, ()
    wanted = max(0, min(x + cells, scroll_limit(state)))
    if wanted == x:
        return state, (RingBell(),)
    if state.screen is Screen.MAIN:
        return state._replace(main=state.main._replace(scroll_x=wanted)), ()
    if state.screen is Screen.TREE:
        return state._replace(tree=state.tree._replace(scroll_x=wanted)), ()
    return state._replace(environ=state.environ._replace(scroll_x=wanted)), ()


def scroll_limit(state: AppState) -> int:
    """How far the lines of the screen can be moved to the left with something still to be seen."""
    if state.screen is Screen.ENVIRON:
        lines = [f'{name}={value}' for name, value in environ_lines(state.environ)]
        room = state.width
    elif state.screen is Screen.TREE:
        lines = [row.prefix + (row.process.command or '') for row in state.forest]
        room = tree_layout(state).columns[-1].width
    else:
        lines = [row.command or '' for row in state.rows]
        moving = main_layout(state).processes.moving
        if not moving or moving[-1].column.width:
            return 0
        room = moving[-1].width
    return min(max(0, longest_line(lines, limit=MAX_SCROLL) - room), MAX_SCROLL)


def _sideways(direction: int) -> Callable[[AppState], Result]:
    def move(state: AppState) -> Result:
        step = MAIN_STEP if state.screen is Screen.MAIN else WIDE_STEP
        return scroll_sideways(state, direction * step)

    return move


def _to_side(cells: int) -> Callable[[AppState], Result]:
    def move(state: AppState) -> Result:
        moved, _ = scroll_sideways(state, cells)
        return moved, ()

    return move


def _tag(state: AppState) -> Result:
    tagged = toggle_tag(state)
    if tagged is state:
        return refuse(state, 'No tag', hidden_by_filter(state) or 'select a process first')
    return move_selection(tagged, 1)[0], ()


def _tag_subtree(state: AppState) -> Result:
    index = tree_index(state)
    if index is None:
        return refuse(state, 'No tag', hidden_by_filter(state) or 'select a process first')
    return tag_host_processes(state, {row.key for row in subtree(state.forest, index)}), ()


def _open_tree(state: AppState) -> Result:
    selected = state.main.selected
    state = open_screen(state, Screen.TREE)
    key = None if selected is None else (selected.pid, selected.start_time)
    state = state._replace(tree=state.tree._replace(selected=key, scroll_y=0))
    return relist(state), ()


def _open_environ(state: AppState) -> Result:
    """The environment of the selected process; pid 0 stands for nvitop itself."""
    hidden = hidden_by_filter(state)
    if hidden:
        return refuse(state, 'No environment', hidden)
    key = state.tree.selected if state.screen is Screen.TREE else state.main.selected
    pid, start_time = (0, -1.0) if key is None else key[:2]
    title = _owner(selected_process(state))
    state = open_screen(state, Screen.ENVIRON)
    environ = EnvironState(pid, start_time, title)
    return state._replace(environ=environ), (ReadEnvironment(pid, start_time),)


def _owner(process: ProcessSample | HostProcessSample | None) -> str:
    """Whose process it is, and for what it uses the GPU, as far as that is known."""
    if process is None:
        return ''
    user = process.username or str(NA)
    return f'{user}, {process.type or "?"}' if isinstance(process, ProcessSample) else user


def _open_metrics(state: AppState) -> Result:
    if state.main.selected is None or hidden_by_filter(state):
        return refuse(state, 'No graphs', hidden_by_filter(state) or 'select a process first')
    return open_screen(state, Screen.METRICS)._replace(metrics=state.main.selected), ()


def _toggle_details(state: AppState) -> Result:
    devices = state.shown.devices
    if devices and all(device.key.is_mig for device in devices) and not state.view.shows_details:
        return refuse(state, 'No details', 'MIG devices have none, and no GPU is shown')
    if not state.view.shows_details and was_frozen_before(state, DETAILS):
        why = f'the display was frozen before they were measured{_way_to_run(state)}'
        return refuse(state, 'No details', why)
    view = state.view._replace(shows_details=not state.view.shows_details)
    return state._replace(view=view), ()


def _toggle_host(state: AppState) -> Result:
    was_hidden = not state.view.show_host
    shown = state._replace(view=state.view._replace(show_host=True))
    if main_layout(shown).host.area.is_empty:
        key = state.keymap.instead_of(state.screen, 'c')
        return refuse(shown, 'No room for the host', f'{key}, then scroll')
    return state._replace(view=state.view._replace(show_host=was_hidden)), ()


def _way_to_run(state: AppState) -> str:
    key = state.keymap.instead_of(state.screen, 'z')
    return f' ({key}: let it run)' if key else ''


def _way_to_graphs(state: AppState, width: int) -> str:
    """What to do so that graphs are seen that need a screen of this width: what no key can do first,
    in words that the narrowest screen has room for."""
    if state.view.ascii:
        return 'not in ASCII'
    if state.width < width:
        return f'{width} columns needed'
    if not state.view.show_host:
        return f'press {state.keymap.instead_of(state.screen, "H")} to show the host panel'
    return f'press {state.keymap.instead_of(state.screen, "f")} for panels in full'


def _next_graph(*, is_upper: bool) -> Callable[[AppState], Result]:
    def change(state: AppState) -> Result:
        panel = main_layout(state).host.graphs
        if panel is None or panel.upper is None:
            return refuse(state, 'No graphs of GPUs', _way_to_graphs(state, ONE_BAR))
        graphs = state.main.graphs
        names = [graph.metric for graph in GRAPHS]
        shown = graphs.upper if is_upper else graphs.lower
        metric = names[((names.index(shown) if shown in names else -1) + 1) % len(names)]
        graphs = graphs._replace(upper=metric) if is_upper else graphs._replace(lower=metric)
        state = state._replace(main=state.main._replace(graphs=graphs))
        if was_frozen_before(state, (metric,)):
            title = GRAPHS_BY_METRIC[metric].title
            why = f'the display was frozen before {title} was measured{_way_to_run(state)}'
            state = replace_notice(state, 'No graph', why)
        return state, ()

    return change


def _time_bases(state: AppState) -> list[int]:
    """The time bases, shortest first. What a second for each column of dots comes to depends on
    the width: on the screen of metrics each graph has half of it."""
    natural = state.width
    if state.screen is Screen.MAIN:
        panel = main_layout(state).host.graphs
        widest = (panel.upper or panel.cpu) if panel is not None else None
        natural = 2 * widest.width if widest is not None else 0
    return sorted(TIME_BASES, key=lambda minutes: 60 * minutes or natural)


def _change_time(step: int) -> Callable[[AppState], Result]:
    def change(state: AppState) -> Result:
        if state.screen is Screen.MAIN and main_layout(state).host.graphs is None:
            return refuse(state, 'No graphs', _way_to_graphs(state, CLASSIC))
        graphs = state.main.graphs
        bases = _time_bases(state)
        at = bases.index(graphs.minutes) + step
        if not 0 <= at < len(bases):
            return refuse(state, 'Graphs', f'no {"longer" if step > 0 else "shorter"} time')
        graphs = graphs._replace(minutes=bases[at])
        return state._replace(main=state.main._replace(graphs=graphs)), ()

    return change


def _field(purpose: str) -> Callable[[AppState], Result]:
    return lambda state: (typing_keys.open_field(state, purpose), ())


def _next_theme(state: AppState) -> Result:
    themes = state.themes
    at = themes.index(state.theme) if state.theme in themes else -1
    state = state._replace(theme=themes[(at + 1) % len(themes)])
    return replace_notice(state, 'Theme', state.theme), (Redraw(),)


def _toggle_mouse(state: AppState) -> Result:
    captured = not state.captures_mouse
    return state._replace(captures_mouse=captured), (CaptureMouse(captured),)


def _sort_step(step: int) -> Callable[[AppState], Result]:
    def sort(state: AppState) -> Result:
        return sort_by(state, Sort(next_order(state.main.sort.order, step))), ()

    return sort


def _sort_reverse(state: AppState) -> Result:
    sort = state.main.sort
    return sort_by(state, sort._replace(reverse=not sort.reverse)), ()


def _reveal(state: AppState) -> Result:
    environ = state.environ
    if not environ.variables:
        return refuse(state, 'No secrets', 'there are no variables to look at')
    if not any(is_secret(name) for name, _ in environ.variables):
        return refuse(state, 'No secrets', 'no name here looks like one')
    environ = environ._replace(reveals_secrets=not environ.reveals_secrets)
    return state._replace(environ=environ), ()


_ACTIONS: dict[Action, Callable[[AppState], Result]] = {
    Action.QUIT: _quit,
    Action.BACK: _back,
    Action.REFRESH: _refresh,
    Action.FREEZE: _freeze,
    Action.SUSPEND: _suspend,
    Action.SELECT_PREVIOUS: _move(-1),
    Action.SELECT_NEXT: _move(1),
    Action.SELECT_FIRST: _end(last=False),
    Action.SELECT_LAST: _end(last=True),
    Action.CLEAR: _clear,
    Action.TAG: _tag,
    Action.TAG_SUBTREE: _tag_subtree,
    Action.SCROLL_UP: _page(-1),
    Action.SCROLL_DOWN: _page(1),
    Action.SCROLL_LEFT: _sideways(-1),
    Action.SCROLL_RIGHT: _sideways(1),
    Action.SCROLL_BEGIN: _to_side(-MAX_SCROLL),
    Action.SCROLL_END: _to_side(MAX_SCROLL),
    Action.OPEN_TREE: _open_tree,
    Action.OPEN_ENVIRON: _open_environ,
    Action.OPEN_METRICS: _open_metrics,
    Action.TOGGLE_DETAILS: _toggle_details,
    Action.TOGGLE_HOST: _toggle_host,
    Action.NEXT_GRAPH: _next_graph(is_upper=False),
    Action.NEXT_UPPER_GRAPH: _next_graph(is_upper=True),
    Action.LONGER_TIME: _change_time(1),
    Action.SHORTER_TIME: _change_time(-1),
    Action.FILTER: _field('filter'),
    Action.SEARCH: _field('search'),
    Action.NEXT_THEME: _next_theme,
    Action.TOGGLE_MOUSE: _toggle_mouse,
    Action.SORT_NEXT: _sort_step(1),
    Action.SORT_PREVIOUS: _sort_step(-1),
    Action.SORT_REVERSE: _sort_reverse,
    Action.REVEAL: _reveal,
    Action.CHOOSE: choosing.choose_column,
    Action.MOVE_UP: choosing.move_column(-1),
    Action.MOVE_DOWN: choosing.move_column(1),
}
