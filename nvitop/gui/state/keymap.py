# SPDX-License-Identifier: GPL-3.0-only
"""THE table of keys: dispatch, the help screen, hints and the documentation are made from it."""

from __future__ import annotations

import enum
import itertools
from typing import Iterable

from nvitop.gui.model.columns import COLUMNS
from nvitop.gui.model.screens import Screen
from nvitop.gui.state.ordering import ORDERS
from nvitop.namedtuple import NamedTuple


class Action(enum.Enum):
    """What a key can ask for."""

    QUIT = enum.auto()
    BACK = enum.auto()
    HELP = enum.auto()
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
    SCROLL_LEFT = enum.auto()
    SCROLL_RIGHT = enum.auto()
    SCROLL_BEGIN = enum.auto()
    SCROLL_END = enum.auto()
    INTERRUPT = enum.auto()
    TERMINATE = enum.auto()
    KILL = enum.auto()
    OPEN_TREE = enum.auto()
    OPEN_ENVIRON = enum.auto()
    OPEN_METRICS = enum.auto()
    OPEN_USERS = enum.auto()
    OPEN_PROBLEMS = enum.auto()
    OPEN_COLUMNS = enum.auto()
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
    REVEAL = enum.auto()
    CHOOSE = enum.auto()
    MOVE_UP = enum.auto()
    MOVE_DOWN = enum.auto()


class Binding(NamedTuple):
    """Keys, what they ask for, and where."""

    #: Names as in :class:`~nvitop.gui.state.events.KeyPressed`; two keys in a row: ``'o g'``.
    keys: tuple[str, ...]
    action: Action
    #: One line for the help screen and the documentation.
    help: str
    screens: frozenset[Screen]
    #: Heading of the help screen it stands under.
    group: str
    #: Which one, where an action has several: the order to sort by.
    argument: str = ''
    #: Whether it can end in a signal, so that ``--readonly`` takes it away.
    is_mutating: bool = False

    @property
    def name(self) -> str:
        """What the configuration file calls it: ``quit``, ``sort-by-pid``."""
        words = f'{self.action.name.lower()}_{self.argument}'.rstrip('_')
        if self.argument.startswith('-'):
            words = f'{self.action.name.lower()}_{self.argument[1:]}_reversed'
        return words.replace('_', '-')


_MAIN = frozenset({Screen.MAIN})
_TREE = frozenset({Screen.TREE})
_GRAPHS = frozenset({Screen.MAIN, Screen.METRICS})
_LISTS = frozenset({Screen.MAIN, Screen.TREE})
_ENVIRON = frozenset({Screen.ENVIRON})
_COLUMNS = frozenset({Screen.COLUMNS})
_ALL = frozenset(Screen)
_SCROLLABLE = _ALL - {Screen.METRICS}
_BESIDE_MAIN = _ALL - _MAIN
_WIDE = frozenset({Screen.MAIN, Screen.TREE, Screen.ENVIRON})

_VIEW, _MOVE, _PROCESS, _SCREEN, _SORT = (
    'View',
    'Moving and selecting',
    'Processes',
    'Screens',
    'Sorting',
)


def _sort_bindings() -> tuple[Binding, ...]:
    """``o`` and a letter for each order; the upper-case letter sorts the other way."""
    titles = {column.order: column.title for column in COLUMNS}
    rows = []
    for order in ORDERS:
        letter = order.letter
        usual = 'highest first' if order.is_descending else 'lowest first'
        text = f'sort by {titles[order.name]}, {usual}'
        if order.name == 'natural':
            text = 'sort by GPU, user and PID: the usual order'
        rows.append(
            Binding((f'o {letter}',), Action.SORT_BY, text, _MAIN, _SORT, argument=order.name)
        )
        rows.append(
            Binding((f'o {letter.upper()}',), Action.SORT_BY, '', _MAIN, _SORT, f'-{order.name}')
        )
    return tuple(rows)


# fmt: off
#: The first binding whose keys and screen match counts. An empty help is not listed.
BINDINGS: tuple[Binding, ...] = (
    # leaving
    Binding(('q', 'Q'), Action.QUIT, 'quit, leaving a report on the screen', _MAIN, _VIEW),
    Binding(('h', '?', 'F1'), Action.HELP, 'this help', _ALL - {Screen.HELP}, _VIEW),
    # view
    Binding(('a',), Action.MODE_AUTO, 'panels as large as there is room for', _MAIN, _VIEW),
    Binding(('f',), Action.MODE_FULL, 'panels in full', _MAIN, _VIEW),
    Binding(('c',), Action.MODE_COMPACT, 'compact panels', _MAIN, _VIEW),
    Binding(('H',), Action.TOGGLE_HOST, 'hide or show the host panel', _MAIN, _VIEW),
    Binding(('d',), Action.TOGGLE_DETAILS, 'details of devices: links, throttling, codecs, energy', _MAIN, _VIEW),
    Binding(('g',), Action.NEXT_GRAPH, 'what the lower graph of the devices plots', _MAIN, _VIEW),
    Binding(('G',), Action.NEXT_UPPER_GRAPH, 'what the upper graph of the devices plots', _MAIN, _VIEW),
    Binding(('+', '='), Action.LONGER_TIME, 'graphs over a longer time, up to 60 minutes', _GRAPHS, _VIEW),
    Binding(('-', '_'), Action.SHORTER_TIME, 'graphs over a shorter time', _GRAPHS, _VIEW),
    Binding(('z',), Action.FREEZE, 'freeze the display, or let it run', _ALL, _VIEW),
    Binding(('r', 'R', 'Ctrl-R', 'F5'), Action.REFRESH, 'measure now, clear selection and tags, draw anew', _ALL, _VIEW),
    Binding(('L',), Action.NEXT_THEME, 'next theme', _ALL, _VIEW),
    Binding(('M',), Action.TOGGLE_MOUSE, 'give the mouse to the terminal to select text, or take it', _ALL, _VIEW),
    Binding(('Ctrl-Z',), Action.SUSPEND, 'suspend; fg in the shell continues', _ALL, _VIEW),
    # moving
    Binding(('Up', 'Shift-Tab', 'Alt-k'), Action.SELECT_PREVIOUS, 'previous process or line', _SCROLLABLE, _MOVE),
    Binding(('Down', 'Tab', 'Alt-j'), Action.SELECT_NEXT, 'next process or line', _SCROLLABLE, _MOVE),
    Binding(('Home',), Action.SELECT_FIRST, 'first process or line', _SCROLLABLE, _MOVE),
    Binding(('End',), Action.SELECT_LAST, 'last process or line', _SCROLLABLE, _MOVE),
    Binding(('PageUp', '[', 'Alt-K'), Action.SCROLL_UP, 'scroll up', _SCROLLABLE, _MOVE),
    Binding(('PageDown', ']', 'Alt-J'), Action.SCROLL_DOWN, 'scroll down', _SCROLLABLE, _MOVE),
    Binding(('Left', 'Alt-h'), Action.SCROLL_LEFT, 'scroll long lines to their beginning', _WIDE, _MOVE),
    Binding(('Right', 'Alt-l'), Action.SCROLL_RIGHT, 'scroll long lines to their end', _WIDE, _MOVE),
    Binding(('Ctrl-A', '^'), Action.SCROLL_BEGIN, 'beginning of long lines', _WIDE, _MOVE),
    Binding(('Ctrl-E', '$'), Action.SCROLL_END, 'end of long lines', _WIDE, _MOVE),
    Binding(('Esc',), Action.CLEAR, 'clear the filter, then selection and tags', _LISTS, _MOVE),
    # processes
    Binding(('Space',), Action.TAG, 'tag the process and go to the next', _LISTS, _PROCESS),
    Binding(('x',), Action.TAG_SUBTREE, 'tag the process and all below it, or untag them', _TREE, _PROCESS),
    Binding(('Ctrl-C', 'I'), Action.INTERRUPT, 'send SIGINT to the tagged or selected', _LISTS, _PROCESS, is_mutating=True),
    Binding(('T',), Action.TERMINATE, 'send SIGTERM to the tagged or selected', _LISTS, _PROCESS, is_mutating=True),
    Binding(('K', 'k'), Action.KILL, 'send SIGKILL to the tagged or selected', _LISTS, _PROCESS, is_mutating=True),
    Binding(('\\', 'F4'), Action.FILTER, 'filter as you type: words, user: gpu: pid: type:', _LISTS, _PROCESS),
    Binding(('F3',), Action.SEARCH, 'search: select the next process with these words', _LISTS, _PROCESS),
    # screens
    Binding(('t',), Action.OPEN_TREE, 'tree of processes', _MAIN, _SCREEN),
    Binding(('e',), Action.OPEN_ENVIRON, 'environment of the selected process', _LISTS, _SCREEN),
    Binding(('Enter',), Action.OPEN_METRICS, 'graphs of the selected process', _MAIN, _SCREEN),
    Binding(('U',), Action.OPEN_USERS, 'summary by user', _LISTS, _SCREEN),
    Binding(('!',), Action.OPEN_PROBLEMS, 'problems: why values are missing, and own cost', _ALL - {Screen.PROBLEMS}, _SCREEN),
    Binding(('C',), Action.OPEN_COLUMNS, 'choose the columns of processes', _MAIN, _SCREEN),
    Binding(('v',), Action.REVEAL, 'show or hide values that look secret', _ENVIRON, _SCREEN),
    Binding(('Space', 'Enter'), Action.CHOOSE, 'show or hide the column', _COLUMNS, _SCREEN),
    Binding(('K', '<'), Action.MOVE_UP, 'move the column to the left', _COLUMNS, _SCREEN),
    Binding(('J', '>'), Action.MOVE_DOWN, 'move the column to the right', _COLUMNS, _SCREEN),
    Binding(('Esc', 'q', 'Q'), Action.BACK, 'back; so does the key that led there', _BESIDE_MAIN - _TREE, _SCREEN),
    Binding(('t', 'q', 'Q'), Action.BACK, 'back to the main screen', _TREE, _SCREEN),
    # The key that opens a screen leaves it too.
    Binding(('h', '?', 'F1'), Action.BACK, '', frozenset({Screen.HELP}), _SCREEN),
    Binding(('e',), Action.BACK, '', _ENVIRON, _SCREEN),
    Binding(('U',), Action.BACK, '', frozenset({Screen.USERS}), _SCREEN),
    Binding(('!',), Action.BACK, '', frozenset({Screen.PROBLEMS}), _SCREEN),
    Binding(('C',), Action.BACK, '', _COLUMNS, _SCREEN),
    Binding(('Enter',), Action.BACK, '', frozenset({Screen.METRICS, Screen.HELP, Screen.PROBLEMS, Screen.USERS}), _SCREEN),
    # sorting
    Binding((',', '<'), Action.SORT_PREVIOUS, 'sort by the column before', _MAIN, _SORT),
    Binding(('.', '>'), Action.SORT_NEXT, 'sort by the next column', _MAIN, _SORT),
    Binding(('/',), Action.SORT_REVERSE, 'sort the other way', _MAIN, _SORT),
    *_sort_bindings(),
)
# fmt: on


class Keymap:
    """The bindings that are in force. A value: it never changes."""

    def __init__(self, bindings: Iterable[Binding]) -> None:
        self.bindings = tuple(bindings)
        self._table: dict[tuple[Screen, str], Binding] = {}
        for binding in self.bindings:
            for screen in binding.screens:
                for keys in binding.keys:
                    self._table.setdefault((screen, keys), binding)
        self._prefixes = frozenset(
            (screen, keys.rsplit(' ', 1)[0]) for screen, keys in self._table if ' ' in keys
        )

    def find(self, screen: Screen, keys: str) -> Binding | None:
        """The binding of a key, or of keys with spaces between them, on a screen."""
        return self._table.get((screen, keys))

    def is_prefix(self, screen: Screen, keys: str) -> bool:
        """Whether bindings of more keys begin with these."""
        return (screen, keys) in self._prefixes

    def elsewhere(self, screen: Screen, key: str) -> tuple[Binding, ...]:
        """What the help tells of a key that means nothing on a screen: bindings of other screens,
        or of several keys that begin with it."""
        return tuple(
            binding
            for binding in self.bindings
            if binding.help
            and screen not in binding.screens
            and any(keys.split(' ')[0] == key for keys in binding.keys)
        )

    def reaches(self, screen: Screen, keys: str) -> bool:
        """Whether keys can be pressed to an end: of two the first must mean nothing alone."""
        first, _, second = keys.partition(' ')
        return (screen, keys) in self._table and not (second and (screen, first) in self._table)

    def keys_after(self, screen: Screen, prefix: str) -> tuple[str, ...]:
        """The keys that can follow keys that have been pressed, in the order of the table."""
        return tuple(
            keys[len(prefix) + 1 :]
            for binding in self.bindings
            if screen in binding.screens and binding.help
            for keys in binding.keys
            if keys.startswith(f'{prefix} ')
        )

    def instead_of(self, screen: Screen, usual: str) -> str:
        """The key that does what a key usually does on a screen: that key itself, if it still
        does; ``''``: none."""
        meant = USUAL.find(screen, usual)
        if meant is None:
            return ''
        keys = itertools.chain([usual], (key for found in self.bindings for key in found.keys))
        what = (meant.action, meant.argument)
        found = ((key, self.find(screen, key)) for key in keys if self.reaches(screen, key))
        return next((key for key, it in found if it and (it.action, it.argument) == what), '')


#: The keys as they are unless the configuration file says otherwise.
USUAL = Keymap(BINDINGS)
find_binding = USUAL.find
