# SPDX-License-Identifier: GPL-3.0-only
"""The keys of the fleet screens: dispatch, hints, help and documentation read this table."""

from __future__ import annotations

import enum
from typing import Mapping, NamedTuple, Sequence, Tuple


class FleetScreen(enum.Enum):
    """Fills the terminal. The value is the name shown to people."""

    HOSTS = 'hosts'
    GPUS = 'GPUs'
    USERS = 'users'
    PROBLEMS = 'problems'
    HELP = 'help'


class HostOrder(NamedTuple):
    """A way to sort hosts."""

    name: str
    letter: str
    #: Heading of the column.
    title: str
    #: Whether the highest values come first.
    is_descending: bool = True


ORDERS = (
    HostOrder('host', 'h', 'HOST', is_descending=False),
    HostOrder('utilization', 'u', 'UTIL'),
    HostOrder('memory', 'm', 'MEMORY'),
    HostOrder('power', 'p', 'POWER'),
    HostOrder('temperature', 't', 'TEMP'),
    HostOrder('age', 'a', 'AGE'),
    HostOrder('gpus', 'g', 'GPUS'),
    HostOrder('idle', 'i', 'idle GPUs'),
    HostOrder('findings', 'f', 'FINDINGS'),
)
ORDERS_BY_NAME = {order.name: order for order in ORDERS}


class FleetKey(NamedTuple):
    """Keys, the screens on which they work, and their action."""

    #: Names as in :class:`~nvitop.gui.state.events.KeyPressed`; two keys in a row: ``'o u'``.
    keys: tuple[str, ...]
    #: Name of the action.
    action: str
    #: One line for the help; ``''``: not listed.
    help: str
    screens: frozenset[FleetScreen]
    argument: str = ''
    #: One or two words for the last row; ``''``: not there.
    hint: str = ''

    @property
    def name(self) -> str:
        """Name of the action of the monitor, by which the configuration file gives it other keys."""
        return _NAMES.get((self.action, self.argument), self.action)


#: Action and argument → name of the action of the monitor that does the same, if it differs.
_NAMES = {
    ('show', 'users'): 'open-users',
    ('show', 'problems'): 'open-problems',
    ('show', 'help'): 'help',
    ('move', '-1'): 'select-previous',
    ('move', '1'): 'select-next',
    ('move', '-1000000'): 'select-first',
    ('move', '1000000'): 'select-last',
    ('page', '-1'): 'scroll-up',
    ('page', '1'): 'scroll-down',
    ('sort-step', '-1'): 'sort-previous',
    ('sort-step', '1'): 'sort-next',
}


_ALL = frozenset(FleetScreen)
_HOSTS = frozenset({FleetScreen.HOSTS})
_VALUES = frozenset({FleetScreen.HOSTS, FleetScreen.GPUS, FleetScreen.USERS})
_ROWS = frozenset({FleetScreen.HOSTS, FleetScreen.USERS})
_OTHERS = _ALL - _HOSTS

# fmt: off
FLEET_KEYS: tuple[FleetKey, ...] = (
    FleetKey(('Enter',), 'open', 'show the host on the ordinary screens; q comes back', _HOSTS, hint='host'),
    FleetKey(('Enter',), 'open-user', 'show the hosts of the user', frozenset({FleetScreen.USERS}), hint='hosts of the user'),
    FleetKey(('g',), 'show', 'all GPUs as a heat map', frozenset({FleetScreen.HOSTS, FleetScreen.USERS}), 'GPUs', 'GPUs'),
    FleetKey(('g', 'm'), 'next-metric', 'next metric of the heat map', frozenset({FleetScreen.GPUS}), hint='next metric'),
    FleetKey(('U',), 'show', 'users over all hosts', frozenset({FleetScreen.HOSTS, FleetScreen.GPUS}), 'users', 'users'),
    FleetKey(('o',), '', '', _HOSTS, hint='sort'),
    FleetKey(('\\', 'F4'), 'filter', 'filter: words of the name, host: gpu: user: model:', _VALUES, hint='filter'),
    FleetKey(('z',), 'freeze', 'pause or resume', _VALUES, hint='pause'),
    FleetKey(('!',), 'show', 'problems: server, exporters, findings, old data', _ALL - {FleetScreen.PROBLEMS}, 'problems', 'problems'),
    FleetKey(('h', '?', 'F1'), 'show', 'this help', _ALL - {FleetScreen.HELP}, 'help', 'help'),
    FleetKey(('Esc',), 'clear', 'clear the filter', _HOSTS),
    FleetKey(('Esc', 'q', 'Q', 'h', '!', 'U'), 'back', 'back to the hosts', _OTHERS, hint='back'),
    FleetKey(('q', 'Q'), 'quit', 'quit', _HOSTS, hint='quit'),
    FleetKey(('Ctrl-C',), 'quit', '', _ALL),
    FleetKey(('r', 'R', 'Ctrl-R', 'F5'), 'refresh', 'refresh', _ALL),
    FleetKey(('L',), 'next-theme', 'next theme', _ALL),
    FleetKey(('Ctrl-Z',), 'suspend', 'suspend (resume with fg)', _ALL),
    FleetKey(('Up', 'Shift-Tab', 'Alt-k', 'k'), 'move', 'previous line', _ALL, '-1'),
    FleetKey(('Down', 'Tab', 'Alt-j', 'j'), 'move', 'next line', _ALL, '1'),
    FleetKey(('PageUp', '['), 'page', 'previous page', _ALL, '-1'),
    FleetKey(('PageDown', ']'), 'page', 'next page', _ALL, '1'),
    FleetKey(('Home',), 'move', 'first line', _ALL, '-1000000'),
    FleetKey(('End',), 'move', 'last line', _ALL, '1000000'),
    FleetKey((',', '<'), 'sort-step', 'sort by the previous column', _HOSTS, '-1'),
    FleetKey(('.', '>'), 'sort-step', 'sort by the next column', _HOSTS, '1'),
    FleetKey(('/',), 'sort-reverse', 'reverse the order', _HOSTS),
    *(FleetKey((f'o {order.letter}',), 'sort', f'sort by {order.title}', _HOSTS, order.name) for order in ORDERS),
)
# fmt: on


FleetKeys = Tuple[FleetKey, ...]


def rebind(keys: Mapping[str, Sequence[str]]) -> FleetKeys:
    """Return the table with keys of the configuration file; other rows lose these keys.

    If no key would leave a screen, this is the default table.
    """
    names = {row.name for row in FLEET_KEYS}
    taken = frozenset(key for name in names for key in keys.get(name, ()))
    rows = tuple(
        row._replace(
            keys=tuple(keys[row.name])
            if row.name in keys
            else tuple(key for key in row.keys if key.split(' ')[0] not in taken)
        )
        for row in FLEET_KEYS
    )
    ways = {'quit', 'back'}
    can_leave = {
        screen for row in rows if row.action in ways and row.keys for screen in row.screens
    }
    return rows if can_leave == _ALL else FLEET_KEYS


def key_for(rows: FleetKeys, screen: FleetScreen, keys: str) -> FleetKey | None:
    """Return the row of a key on a screen."""
    for row in rows:
        if keys in row.keys and screen in row.screens and row.action:
            return row
    return None


def is_prefix(rows: FleetKeys, screen: FleetScreen, key: str) -> bool:
    """Whether another key must follow."""
    start = f'{key} '
    return any(
        screen in row.screens and any(each.startswith(start) for each in row.keys) for row in rows
    )


def hints_of(rows: FleetKeys, screen: FleetScreen) -> list[tuple[str, str]]:
    """Return keys and words for the last row of a screen."""
    shown = [row for row in rows if screen in row.screens and row.hint and row.keys]
    return [(row.keys[0], row.hint[0].upper() + row.hint[1:]) for row in shown]
