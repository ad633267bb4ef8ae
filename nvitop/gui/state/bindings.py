# SPDX-License-Identifier: GPL-3.0-only
"""The table of keys: dispatch, help screen, hints, configuration and documentation read it."""

from __future__ import annotations

import enum
from typing import Iterable, Iterator, NamedTuple

from nvitop.gui.model.choices import Screen
from nvitop.gui.model.columns import COLUMNS
from nvitop.gui.state.process_rows import ORDERS


class Action(enum.Enum):
    """Action of a key. The names, in lower case, are those of the configuration file."""

    QUIT = enum.auto()
    BACK = enum.auto()
    HELP = enum.auto()
    OPEN = enum.auto()
    MODE_AUTO = enum.auto()
    MODE_FULL = enum.auto()
    MODE_COMPACT = enum.auto()
    REFRESH = enum.auto()
    FREEZE = enum.auto()
    SUSPEND = enum.auto()
    SELECT_PREVIOUS = enum.auto()
    SELECT_NEXT = enum.auto()
    SELECT_FIRST = enum.auto()
    SELECT_LAST = enum.auto()
    CLEAR = enum.auto()
    TAG = enum.auto()
    TAG_SUBTREE = enum.auto()
    SCROLL_UP = enum.auto()
    SCROLL_DOWN = enum.auto()
    LINE_UP = enum.auto()
    LINE_DOWN = enum.auto()
    SELECT_DEVICE = enum.auto()
    PREVIOUS_DEVICE = enum.auto()
    NEXT_DEVICE = enum.auto()
    SCROLL_LEFT = enum.auto()
    SCROLL_RIGHT = enum.auto()
    SCROLL_BEGIN = enum.auto()
    SCROLL_END = enum.auto()
    INTERRUPT = enum.auto()
    TERMINATE = enum.auto()
    KILL = enum.auto()
    TOGGLE_DETAILS = enum.auto()
    TOGGLE_HOST = enum.auto()
    NEXT_GRAPH = enum.auto()
    NEXT_UPPER_GRAPH = enum.auto()
    LONGER_TIME = enum.auto()
    SHORTER_TIME = enum.auto()
    FILTER = enum.auto()
    SEARCH = enum.auto()
    NEXT_THEME = enum.auto()
    TOGGLE_MOUSE = enum.auto()
    SORT_NEXT = enum.auto()
    SORT_PREVIOUS = enum.auto()
    SORT_REVERSE = enum.auto()
    SORT_BY = enum.auto()
    SORT_MENU = enum.auto()
    REVEAL = enum.auto()
    SUM_BY_OWNER = enum.auto()
    SHOW_PAGE = enum.auto()
    SHOW_USER = enum.auto()
    SHOW_DEVICE = enum.auto()
    PREVIOUS_FRAME = enum.auto()
    NEXT_FRAME = enum.auto()
    PREVIOUS_MINUTE = enum.auto()
    NEXT_MINUTE = enum.auto()
    PREVIOUS_HOUR = enum.auto()
    NEXT_HOUR = enum.auto()
    GO_TO_TIME = enum.auto()
    FIRST_FRAME = enum.auto()
    LAST_FRAME = enum.auto()
    PREVIOUS_EVENT = enum.auto()
    NEXT_EVENT = enum.auto()
    FASTER = enum.auto()
    SLOWER = enum.auto()
    CHOOSE = enum.auto()
    MOVE_UP = enum.auto()
    MOVE_DOWN = enum.auto()
    TOGGLE_HINTS = enum.auto()
    SAVE_SETTINGS = enum.auto()


class Need(enum.Enum):
    """Condition under which a key works. :mod:`nvitop.gui.state.actions` checks it."""

    #: A selected device.
    DEVICE = enum.auto()
    #: A selected process.
    PROCESS = enum.auto()
    #: No process that is selected but hidden by the filter.
    NOT_HIDDEN = enum.auto()
    #: A process that may be signaled; never met with ``--readonly``.
    TARGET = enum.auto()
    #: A summary by user.
    BY_USER = enum.auto()
    #: Samples of other times.
    PAST = enum.auto()
    #: A recording that is replayed.
    RECORDING = enum.auto()
    #: Processes of this machine that run now.
    HERE = enum.auto()


class Binding(NamedTuple):
    """Keys, the context in which they work, and what they do."""

    #: Names as in :class:`~nvitop.gui.state.events.KeyPressed`; two keys in a row: ``'o g'``.
    keys: tuple[str, ...]
    action: Action
    #: One line for the help screen and the documentation; ``''``: not listed.
    help: str
    screens: frozenset[Screen]
    #: Heading of the help screen.
    group: str
    #: Parameter of the action: the order to sort by, with a ``-`` before it if reversed.
    argument: str = ''
    #: One or two words for hints.
    hint: str = ''
    opens: Screen | None = None
    #: All of these must be met; otherwise a notice shows the reason.
    needs: tuple[Need, ...] = ()

    @property
    def name(self) -> str:
        """Name in the configuration file: ``quit``, ``open-tree``, ``sort-by-pid-reversed``."""
        words = [self.action.name]
        if self.action is Action.OPEN and self.opens is not None:
            words.append(self.opens.name)
        if self.argument:
            words.append(self.argument.lstrip('-'))
        if self.argument.startswith('-'):
            words.append('reversed')
        return '-'.join(words).lower().replace('_', '-')

    @property
    def is_signal(self) -> bool:
        """Whether it leads to a signal, so that ``--readonly`` disables it."""
        return Need.TARGET in self.needs


#: The screens of the monitor.
ALL_SCREENS = frozenset(Screen) - {Screen.HOSTS, Screen.HEAT_MAP}
_MAIN = frozenset({Screen.MAIN})
_TREE = frozenset({Screen.TREE})
_ENVIRON = frozenset({Screen.ENVIRON})
_COLUMNS = frozenset({Screen.COLUMNS})
_GRAPHS = frozenset({Screen.MAIN, Screen.METRICS})
_PROCESSES = _MAIN | _TREE
_LINES = ALL_SCREENS - {Screen.METRICS}
#: Keys of the help only scroll or leave it, because nothing else would be seen.
_NOT_HELP = ALL_SCREENS - {Screen.HELP}
_WIDE = _MAIN | _TREE | _ENVIRON

#: Headings of the help screen.
VIEW, MOVE, PROCESS, SCREEN, _TIME, SORT = (
    'View',
    'Moving and selecting',
    'Processes',
    'Screens',
    'Looking back',
    'Sorting',
)


def opening(
    keys: tuple[str, ...],
    screen: Screen,
    text: str,
    screens: frozenset[Screen],
    hint: str,
    needs: tuple[Need, ...] = (),
) -> Binding:
    """Return the binding of keys that open a screen."""
    return Binding(
        keys,
        Action.OPEN,
        text,
        screens,
        SCREEN,
        hint=hint,
        opens=screen,
        needs=needs,
    )


def _signal(keys: tuple[str, ...], action: Action, name: str, hint: str) -> Binding:
    text = f'{name} to tagged or selected'
    needs = (Need.TARGET,)
    return Binding(keys, action, text, _PROCESSES, PROCESS, hint=hint, needs=needs)


def _travel(
    keys: tuple[str, ...], action: Action, text: str, hint: str, need: Need = Need.PAST
) -> Binding:
    needs = (need,)
    return Binding(keys, action, text, _NOT_HELP, _TIME, hint=hint, needs=needs)


def _sort_bindings() -> tuple[Binding, ...]:
    """Return the bindings of ``o`` and a letter; the upper-case letter reverses the order."""
    titles = {column.order: column.title for column in COLUMNS}
    rows = []
    for order in ORDERS:
        letter = order.letter
        usual = 'highest first' if order.is_descending else 'lowest first'
        text = f'sort by {titles[order.name]}, {usual}'
        if order.name == 'natural':
            text = 'sort by GPU, user and PID (default)'
        rows.append(
            Binding(
                (f'o {letter}',),
                Action.SORT_BY,
                text,
                _MAIN,
                SORT,
                argument=order.name,
                hint=titles[order.name],
            )
        )
        rows.append(
            Binding((f'o {letter.upper()}',), Action.SORT_BY, '', _MAIN, SORT, f'-{order.name}')
        )
    return tuple(rows)


# fmt: off
_BINDINGS: tuple[Binding, ...] = (
    # leaving
    Binding(('q', 'Q', 'F10'), Action.QUIT, 'quit and print a report', _MAIN, VIEW, hint='quit'),
    Binding(('h', '?', 'F1'), Action.HELP, 'this help', ALL_SCREENS - {Screen.HELP}, VIEW, hint='help', opens=Screen.HELP),
    # view
    Binding(('a',), Action.MODE_AUTO, 'automatic layout', _MAIN, VIEW),
    Binding(('f',), Action.MODE_FULL, 'full panels', _MAIN, VIEW),
    Binding(('c',), Action.MODE_COMPACT, 'compact panels', _MAIN, VIEW),
    Binding(('H',), Action.TOGGLE_HOST, 'hide or show the host panel', _MAIN, VIEW),
    Binding(('d',), Action.TOGGLE_DETAILS, 'GPU details: links, throttling', _MAIN, VIEW, hint='details'),
    Binding(('g',), Action.NEXT_GRAPH, 'next metric in the lower GPU graph', _MAIN, VIEW),
    Binding(('G',), Action.NEXT_UPPER_GRAPH, 'next metric in the upper GPU graph', _MAIN, VIEW),
    Binding(('+', '='), Action.LONGER_TIME, 'zoom graphs out, up to 60 min', _GRAPHS, VIEW, hint='time'),
    Binding(('-', '_'), Action.SHORTER_TIME, 'zoom graphs in', _GRAPHS, VIEW, hint='time'),
    Binding(('z',), Action.FREEZE, 'pause or resume', _NOT_HELP, VIEW, hint='pause'),
    Binding(('r', 'R', 'Ctrl-R', 'F5'), Action.REFRESH, 'refresh, clear the selection', _NOT_HELP, VIEW),
    Binding(('L',), Action.NEXT_THEME, 'next theme', _NOT_HELP, VIEW),
    Binding(('m',), Action.TOGGLE_HINTS, 'hide or show the hint line', _NOT_HELP, VIEW),
    Binding(('W',), Action.SAVE_SETTINGS, 'save theme, layout, columns', _NOT_HELP, VIEW, hint='save'),
    Binding(('M',), Action.TOGGLE_MOUSE, 'mouse: nvitop or terminal', _NOT_HELP, VIEW),
    Binding(('Ctrl-Z',), Action.SUSPEND, 'suspend (resume with fg)', ALL_SCREENS, VIEW),
    # moving
    Binding(('Up', 'Alt-k'), Action.SELECT_PREVIOUS, 'previous process or line', _LINES, MOVE, hint='select'),
    Binding(('Down', 'Alt-j'), Action.SELECT_NEXT, 'next process or line', _LINES, MOVE),
    Binding(('Shift-Tab',), Action.SELECT_PREVIOUS, '', _LINES - _MAIN, MOVE),
    Binding(('Tab',), Action.SELECT_NEXT, '', _LINES - _MAIN, MOVE),
    Binding(('Tab',), Action.NEXT_DEVICE, 'next GPU: its graphs and processes', _MAIN, MOVE, hint='GPU'),
    Binding(('Shift-Tab',), Action.PREVIOUS_DEVICE, 'select the previous GPU', _MAIN, MOVE),
    Binding(('0',), Action.SELECT_DEVICE, 'select GPU 0 (1 to 9: others)', _MAIN, MOVE, '0'),
    *(Binding((digit,), Action.SELECT_DEVICE, '', _MAIN, MOVE, digit) for digit in '123456789'),
    Binding(('Home',), Action.SELECT_FIRST, 'first process or line', _LINES, MOVE),
    Binding(('End',), Action.SELECT_LAST, 'last process or line', _LINES, MOVE),
    Binding(('PageUp',), Action.SCROLL_UP, 'scroll up by a page', _LINES, MOVE, hint='scroll'),
    Binding(('PageDown',), Action.SCROLL_DOWN, 'scroll down by a page', _LINES, MOVE),
    Binding(('[', 'Alt-K'), Action.LINE_UP, 'scroll up by a line', _LINES, MOVE),
    Binding((']', 'Alt-J'), Action.LINE_DOWN, 'scroll down by a line', _LINES, MOVE),
    Binding(('Left', 'Alt-h'), Action.SCROLL_LEFT, 'scroll long lines to the left', _WIDE, MOVE),
    Binding(('Right', 'Alt-l'), Action.SCROLL_RIGHT, 'scroll long lines to the right', _WIDE, MOVE),
    Binding(('Ctrl-A', '^'), Action.SCROLL_BEGIN, 'beginning of long lines', _WIDE, MOVE),
    Binding(('Ctrl-E', '$'), Action.SCROLL_END, 'end of long lines', _WIDE, MOVE),
    Binding(('Esc',), Action.CLEAR, 'clear filter, selection, GPU', _PROCESSES, MOVE, hint='clear'),
    # processes
    Binding(('Space',), Action.TAG, 'tag the process, go to the next', _PROCESSES, PROCESS, hint='tag', needs=(Need.PROCESS,)),
    Binding(('Space',), Action.SELECT_FIRST, '', _PROCESSES, PROCESS),
    Binding(('x',), Action.TAG_SUBTREE, 'tag with all descendants', _TREE, PROCESS, hint='tag all below', needs=(Need.PROCESS,)),
    _signal(('Ctrl-C', 'I'), Action.INTERRUPT, 'SIGINT', 'interrupt'),
    _signal(('T',), Action.TERMINATE, 'SIGTERM', 'terminate'),
    _signal(('K', 'k', 'F9'), Action.KILL, 'SIGKILL', 'kill'),
    Binding(('\\', 'F4'), Action.FILTER, 'filter: text, user: gpu: pid: type: owner:', _PROCESSES, PROCESS, hint='filter'),
    Binding(('F3',), Action.SEARCH, 'search: select the next match', _PROCESSES, PROCESS, hint='search'),
    # screens
    opening(('t',), Screen.TREE, 'tree of processes', _MAIN, 'tree'),
    opening(('e',), Screen.ENVIRON, 'environment of the process', _PROCESSES | {Screen.METRICS}, 'env', (Need.HERE, Need.NOT_HIDDEN)),
    opening(('Enter',), Screen.METRICS, 'graphs of the selected process', _MAIN, 'graphs', (Need.PROCESS,)),
    opening(('U', 'u'), Screen.USERS, 'usage by user', _PROCESSES, 'users'),
    Binding(('U', 'u'), Action.SUM_BY_OWNER, 'by job, pod or container', frozenset({Screen.USERS}), SCREEN, hint='by owner', needs=(Need.BY_USER,)),
    opening(('!',), Screen.PROBLEMS, 'what is wrong, and why values are missing', _NOT_HELP - {Screen.PROBLEMS}, 'problems'),
    opening(('C', 'F2'), Screen.COLUMNS, 'choose the columns of processes', _MAIN, 'columns'),
    Binding(('v',), Action.REVEAL, 'show secrets', _ENVIRON, SCREEN, hint='secrets'),
    Binding(('Space', 'Enter'), Action.CHOOSE, 'show or hide the column', _COLUMNS, SCREEN, hint='show or hide'),
    Binding(('K', '<'), Action.MOVE_UP, 'move the column to the left', _COLUMNS, SCREEN, hint='move'),
    Binding(('J', '>'), Action.MOVE_DOWN, 'move the column to the right', _COLUMNS, SCREEN, hint='move'),
    Binding(('Enter',), Action.SHOW_PAGE, 'page of the selected GPU', _MAIN, SCREEN, hint='GPU page', needs=(Need.DEVICE,)),
    Binding(('Enter',), Action.SHOW_USER, 'show the processes', frozenset({Screen.USERS}), SCREEN, hint='processes'),
    Binding(('Enter',), Action.SHOW_DEVICE, 'go to the GPU', frozenset({Screen.PROBLEMS}), SCREEN, hint='GPU'),
    Binding(('Esc', 'q', 'Q', 'F10'), Action.BACK, 'back', ALL_SCREENS - _MAIN - _TREE, SCREEN, hint='back'),
    Binding(('t', 'q', 'Q', 'F10'), Action.BACK, 'back to the main screen', _TREE, SCREEN, hint='back'),
    # time
    _travel(('(',), Action.PREVIOUS_FRAME, 'previous sample, and pause', 'step'),
    _travel((')',), Action.NEXT_FRAME, 'next sample, and pause', 'step'),
    _travel(('{',), Action.PREVIOUS_MINUTE, 'a minute back', 'minute'),
    _travel(('}',), Action.NEXT_MINUTE, 'a minute ahead', 'minute'),
    _travel(('Alt-{',), Action.PREVIOUS_HOUR, 'an hour back', 'hour'),
    _travel(('Alt-}',), Action.NEXT_HOUR, 'an hour ahead', 'hour'),
    _travel(('b',), Action.GO_TO_TIME, 'go to a time: 14:05, -30m', 'go to'),
    _travel(('B',), Action.FIRST_FRAME, 'first sample', 'first'),
    _travel(('E',), Action.LAST_FRAME, 'last sample', 'last'),
    _travel(('N',), Action.PREVIOUS_EVENT, 'previous event of a recording', 'event', Need.RECORDING),
    _travel(('n',), Action.NEXT_EVENT, 'next event of a recording', 'event', Need.RECORDING),
    _travel(('S',), Action.FASTER, 'replay faster', 'speed', Need.RECORDING),
    _travel(('s',), Action.SLOWER, 'replay slower', 'speed', Need.RECORDING),
    # sorting
    Binding((',', '<'), Action.SORT_PREVIOUS, 'sort by the previous column', _MAIN, SORT),
    Binding(('.', '>'), Action.SORT_NEXT, 'sort by the next column', _MAIN, SORT),
    Binding(('/',), Action.SORT_REVERSE, 'reverse the order', _MAIN, SORT),
    Binding(('F6',), Action.SORT_MENU, 'menu of orders', _MAIN, SORT, hint='sort'),
    *_sort_bindings(),
)
# fmt: on


def leaving(bindings: Iterable[Binding]) -> Iterator[Binding]:
    """Yield bindings by which the keys that open a screen also leave it."""
    for binding in bindings:
        if binding.opens is not None:
            screens = frozenset({binding.opens})
            yield Binding(binding.keys, Action.BACK, '', screens, SCREEN, hint='back')


#: All keys. If several bindings have the same key on a screen, the first whose needs are met counts.
BINDINGS: tuple[Binding, ...] = (*_BINDINGS, *leaving(_BINDINGS))
