# SPDX-License-Identifier: GPL-3.0-only
"""The whole state of the monitor, as one immutable value. Only ``update`` makes a new one."""

from __future__ import annotations

from typing import Mapping

from nvitop.gui.layout.main import RowCounts
from nvitop.gui.model.choices import MainState, ViewState
from nvitop.gui.model.screens import Screen as Screen
from nvitop.gui.state.keymap import USUAL, Keymap
from nvitop.gui.state.summary import Tally
from nvitop.gui.state.tree import TreeRow
from nvitop.namedtuple import NamedTuple
from nvitop.sampling.types import EMPTY_SAMPLE, ProcessKey, ProcessSample, Sample
from nvitop.version import __version__


class TreeState(NamedTuple):
    """The tree screen. Its tags are the main screen's."""

    #: PID and start time of the selected process.
    selected: tuple[int, float] | None = None
    #: Tagged processes that are on no device, and so in no list but this.
    tagged: frozenset[tuple[int, float]] = frozenset()
    scroll_y: int = 0
    scroll_x: int = 0


class EnvironState(NamedTuple):
    """The environment screen."""

    pid: int = 0
    start_time: float = -1.0
    title: str = ''
    #: ``None``: still being read.
    variables: tuple[tuple[str, str], ...] | None = None
    error: str = ''
    cursor: int = 0
    scroll_y: int = 0
    scroll_x: int = 0
    #: Whether values of names that look secret are shown.
    reveals_secrets: bool = False


class ListState(NamedTuple):
    """A screen that is a list with a cursor: help, problems, users, columns."""

    cursor: int = 0
    scroll_y: int = 0


class SignalTarget(NamedTuple):
    """A process as a dialog shows it: what is sent goes to this key and no other."""

    key: ProcessKey
    username: str
    command: str


class SignalDialog(NamedTuple):
    """Asks which signal is sent to whom."""

    targets: tuple[SignalTarget, ...]
    #: Index in :data:`BUTTONS`.
    button: int
    scroll_y: int = 0
    #: The key that opened it: held down, it comes again and again.
    opened_with: str = ''
    #: Since when it has been on the screen as it is without being answered, on the monotonic
    #: clock; ``None``: it has still to be drawn.
    quiet_since: float | None = None
    #: Whether it was there long enough to be read, so that a key can be an answer to it.
    is_ready: bool = False


#: The buttons of the signal dialog: signal (``''``: cancel), label, hot keys.
BUTTONS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ('SIGTERM', 'SIGTERM', ('t', '1')),
    ('SIGKILL', 'SIGKILL', ('k', '2')),
    ('SIGINT', 'SIGINT', ('i', '3')),
    ('', 'Cancel', ('c', '4')),
)


class TextField(NamedTuple):
    """A line being typed: ``'filter'`` or ``'search'``."""

    purpose: str
    text: str = ''
    #: What was in force before, for Esc.
    before: str = ''


class Notice(NamedTuple):
    """A line that is shown for a while and needs no answer."""

    text: str
    #: When it disappears, on the monotonic clock.
    until: float
    is_error: bool = False
    #: What became of a signal, and of which processes this is told: ``SIGTERM``, ``sent``.
    outcome: tuple[str, str] = ('', '')
    pids: tuple[int, ...] = ()
    #: Whether it is the answer to a key or click, which the next one makes out of date.
    is_answer: bool = False


class AppState(NamedTuple):
    """Everything that is drawn, but history and theme."""

    width: int = 80
    height: int = 24
    screen: Screen = Screen.MAIN
    #: Where leaving the screen leads, nearest last.
    behind: tuple[Screen, ...] = ()
    view: ViewState = ViewState()
    main: MainState = MainState()
    tree: TreeState = TreeState()
    environ: EnvironState = EnvironState()
    #: The process of the metrics screen.
    metrics: ProcessKey | None = None
    listing: ListState = ListState()
    dialog: SignalDialog | None = None
    field: TextField | None = None
    keymap: Keymap = USUAL
    #: Keys of a binding of several that have been pressed: ``'o'``.
    prefix: str = ''
    #: The latest sample, and the one that is shown while the display is frozen.
    sample: Sample = EMPTY_SAMPLE
    frozen: Sample | None = None
    #: The counts as of the same samples.
    tally: Tally = Tally()
    frozen_tally: Tally = Tally()
    #: Processes of :attr:`shown` that pass the filters, in the order in which they are listed.
    rows: tuple[ProcessSample, ...] = ()
    row_counts: RowCounts = RowCounts()
    #: Lines of the tree screen that pass the filter, with their ancestors.
    forest: tuple[TreeRow, ...] = ()
    #: Widths of its columns whose values are wider than usual.
    forest_widths: Mapping[str, int] = {}
    #: Words of the live filter, as typed.
    query: str = ''
    theme: str = 'dark'
    themes: tuple[str, ...] = ('dark',)
    captures_mouse: bool = True
    notices: tuple[Notice, ...] = ()
    #: The clocks as of the last event.
    monotonic: float = 0.0
    timestamp: float = 0.0
    #: Of nvitop, without its local part.
    version: str = __version__.partition('+')[0]

    @property
    def shown(self) -> Sample:
        """The sample on the screen."""
        return self.frozen if self.frozen is not None else self.sample

    @property
    def shown_tally(self) -> Tally:
        """The counts on the screen."""
        return self.frozen_tally if self.frozen is not None else self.tally
