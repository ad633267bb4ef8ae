# SPDX-License-Identifier: GPL-3.0-only
"""The state of the monitor as one immutable value, which only ``update`` replaces; notices in it."""

from __future__ import annotations

import itertools
from typing import (
    TYPE_CHECKING,
    AbstractSet,
    Any,
    Callable,
    Hashable,
    Mapping,
    NamedTuple,
    Sequence,
    Tuple,
    cast,
)

from nvitop.gui.model.choices import MainState, ProcessFilter, Screen, Sort, ViewState
from nvitop.gui.model.columns import shown_columns
from nvitop.gui.model.device_rows import GpuRow, devices_without_list, first_line_items, is_on
from nvitop.gui.model.main_layout import LOWEST
from nvitop.gui.model.table import CLASSIC, NARROWEST
from nvitop.gui.render.buffer import Buffer, Item, Rect
from nvitop.gui.state.events import Effect, EnvironmentRead, Event, RingBell, SignalSent
from nvitop.gui.state.keymap import HelpGroup, Keymap
from nvitop.gui.state.orders import Order
from nvitop.gui.state.problems import Tally
from nvitop.gui.state.process_rows import JobKey, Line, TreeRow
from nvitop.health import Finding
from nvitop.sampling.types import (
    EMPTY_SAMPLE,
    LIVE,
    Demand,
    DeviceKey,
    HostProcessSample,
    Origin,
    ParentProcess,
    ProcessKey,
    ProcessSample,
    Sample,
)
from nvitop.version import __version__

if TYPE_CHECKING:
    from nvitop.gui.fleet.data import FleetState
    from nvitop.recording.events import RecordedEvent
    from nvitop.sampling.history import History


#: Minimum height of a screen with a row of hints.
LOWEST_WITH_HINTS = 10
#: Minimum height of a screen with hints below its border.
_LOWEST_WITH_BOTH = 15


class EnvironState(NamedTuple):
    """State of the environment screen."""

    #: The process; PID 0 if none was opened yet.
    pid: int = 0
    start_time: float = -1.0
    user: str = ''
    #: What was read; ``None`` while it is being read.
    reading: EnvironmentRead | None = None
    #: Whether values are shown whose names look secret.
    reveals_secrets: bool = False

    @property
    def variables(self) -> tuple[tuple[str, str], ...]:
        return () if self.reading is None else self.reading.variables


class ListPosition(NamedTuple):
    """Which line of a list is selected, and how far the list is scrolled."""

    #: Key of the selected line, which stays selected when lines move; see ``ScreenSpec.key_of``.
    key: Hashable = None
    #: Index of the selected line when it was selected.
    cursor: int = 0
    scroll_y: int = 0
    scroll_x: int = 0


#: Time (seconds) the signal screen must be visible before it can be confirmed. Keys that were typed
#: ahead or pasted never confirm it.
PAUSE_SECONDS = 0.2


class SignalTarget(NamedTuple):
    """A process that a signal would be sent to. It is sent to this key and no other."""

    key: ProcessKey
    username: str
    command: str
    #: Only of a zombie: signals have no effect on it, but may have on its parent.
    parent: ParentProcess | None = None
    #: The devices that it runs on.
    devices: tuple[DeviceKey, ...] = ()


class SignalDialog(NamedTuple):
    """The question on the signal screen: whether to send a signal, and which."""

    targets: tuple[SignalTarget, ...]
    signal: str
    #: Time on the monotonic clock since which it has been on the screen unchanged; ``None`` if it
    #: has not been drawn yet.
    drawn_at: float | None = None
    #: Whether it was on the screen long enough to be read, so that a key can answer it.
    is_ready: bool = False

    @property
    def ready_at(self) -> float | None:
        """When an answer will be accepted; ``None`` if one is already, or before it is drawn."""
        return None if self.drawn_at is None or self.is_ready else self.drawn_at + PAUSE_SECONDS


class Purpose(NamedTuple):
    """What a line is typed for."""

    #: The word before it.
    name: str
    #: Keys and what they do, for the hints.
    keys: tuple[tuple[str, str], ...]
    #: What can be typed.
    example: Callable[[AppState], str]
    #: Returns the state after a change of the text, and after Enter.
    change: Callable[[AppState, str], AppState]
    enter: Callable[[AppState, str], Result]
    #: Returns how many lines match, or which of those that do is the current one.
    found: Callable[[AppState, str], str] = lambda *_: ''
    is_filter: bool = False
    is_search: bool = False


class TextField(NamedTuple):
    """A line being typed."""

    purpose: Purpose
    text: str = ''
    #: The filter and the positions in the lists to which Esc returns.
    before: str = ''
    start: Mapping[Screen, ListPosition] = {}


#: Subject of notices about a text that is typed.
TYPED = 'typed'


class Notice(NamedTuple):
    """A message at the bottom of the screen that disappears by itself."""

    text: str
    #: Time on the monotonic clock when it disappears.
    until: float = 0.0
    is_error: bool = False
    #: A later notice on the same subject replaces it.
    subject: str = ''
    #: The signals with the same outcome that it is about.
    signals: tuple[SignalSent, ...] = ()
    #: Whether the next key or click removes it.
    until_key: bool = False


class Frozen(NamedTuple):
    """What is shown while time stands still: when the display was frozen, or a kept sample."""

    sample: Sample
    #: Counts up to the sample.
    tally: Tally
    #: Monotonic time at which the display was frozen: the end of its histories.
    until: float = 0.0


class Selected(NamedTuple):
    """What keys act on: a process, or the processes of a job."""

    #: PID and start time of the process, listed or not; ``None`` if none or a job is selected.
    identity: tuple[int, float] | None = None
    #: The process, or those of the job, if they are listed.
    processes: tuple[ProcessSample | HostProcessSample, ...] = ()
    #: Whether the list has been measured.
    is_measured: bool = True
    #: Whether the screen is the page of this process, so that keys act on no other.
    is_page: bool = False


class Filter(NamedTuple):
    """What can be typed to filter the lines of a screen."""

    #: What it selects; ``''`` if the screen has no filter. Screens with the same word share a filter.
    noun: str = ''
    example: str = 'words of a line'
    #: Prefixes of words: ``user`` in ``user:ann``.
    fields: Sequence[str] = ()
    #: Whether a word with another prefix is text that something has.
    is_text: Callable[[AppState, str], bool] = lambda *_: True


#: Whether a search finds a line.
IsHit = Callable[[Any], bool]


class ListLayout(NamedTuple):
    """Places of the lines of a list."""

    #: The rows available for lines.
    area: Rect
    lines: Sequence[Any]
    #: Index of the selected line, and those of the lines that are whole on the screen.
    line: int | None
    shown: range
    #: Rows of a line.
    height_of: Callable[[Any], int]

    @property
    def length(self) -> int:
        return len(self.lines)

    @property
    def visible(self) -> int:
        return len(self.shown)

    @property
    def scroll_y(self) -> int:
        return self.shown.start

    @property
    def with_headings(self) -> Rect:
        """The area with the row above it."""
        return self.area.inset(0, -1, 0, 0)

    @property
    def shown_lines(self) -> Sequence[Any]:
        return self.lines[self.shown.start : self.shown.stop]

    @property
    def cursor(self) -> int | None:
        """The number of the selected line among those on the screen."""
        return None if self.line is None else self.line - self.scroll_y

    def row_of(self, line: int) -> int:
        return self.area.y + sum(map(self.height_of, self.lines[self.scroll_y : line]))

    def at(self, y: int) -> int | None:
        if not self.area.y <= y < self.area.bottom:
            return None
        bottoms = itertools.accumulate(map(self.height_of, self.lines[self.scroll_y :]))
        lines = enumerate(bottoms, self.scroll_y)
        return next((line for line, bottom in lines if y < self.area.y + bottom), None)


class ScreenSpec(NamedTuple):
    """Everything about one screen but the keys that open it, which are in ``gui.state.bindings``."""

    #: Draws it, with the places of its lines.
    draw: Callable[[Buffer, AppState, ListLayout, History], None]
    #: Keys whose hints are in the last row, by their usual names, if they work; ``'K J'`` share one
    #: hint. All but the last may be left out.
    menu: tuple[str, ...]
    #: The lines among which the cursor moves or that are scrolled.
    lines: Callable[[AppState], Sequence[Any]]
    #: What is measured while the screen is shown.
    demand: Callable[[AppState], Demand]
    #: Rows above and below the lines.
    margins: Callable[[AppState, Sequence[Any]], tuple[int, int]] = lambda *_: (0, 0)
    #: Whether one of its lines is selected. A list without a cursor is only scrolled.
    has_cursor: bool = True
    #: Whether no line may be selected, as at first on lists of processes.
    can_deselect: bool = False
    #: Makes from a text a function that finds it in lines; ``None`` if the text has no words yet.
    search: Callable[[AppState, str], IsHit | None] = lambda *_: None
    search_example: str = 'words of a line'
    filter: Filter = Filter()
    selection: Callable[[AppState], Selected] = lambda _: Selected()
    #: Lines that are scrolled sideways, and the number of cells in which they are shown; by how many
    #: cells Left and Right scroll.
    long_lines: Callable[[AppState], tuple[list[str], int]] | None = None
    sideways_step: int = 5
    #: What identifies a line, which stays selected when lines move.
    key_of: Callable[[Any], Hashable] = lambda line: line
    #: Makes from the state and the lines a function that returns the rows of a line.
    heights: Callable[[AppState, Sequence[Any]], Callable[[Any], int]] = lambda *_: lambda _: 1
    #: The ways to sort its lines, the default one first.
    orders: tuple[Order, ...] = ()
    #: Whether it is drawn inside the frame that all lists share; see :attr:`AppState.inside`.
    is_framed: bool = False
    #: Called with the states before and after the screen is opened, and when it is left.
    prepare: Callable[[AppState, AppState], Result] = lambda _, state: (state, ())
    leave: Callable[[AppState, AppState], Result] = lambda _, state: (state, ())
    #: Its name in the way to it.
    name: Callable[[AppState], str] = lambda state: state.screen.value


class Program(NamedTuple):
    """What runs in the loop: the monitor, or the fleet."""

    #: The first screen is never left by going back.
    screens: Mapping[Screen, ScreenSpec]
    #: The default keys.
    keys: Keymap
    #: Returns the state after an event, and effects.
    update: Callable[[AppState, Event], Result]
    #: What the help has before and after the keys.
    other_help: Callable[[AppState], tuple[tuple[HelpGroup, ...], tuple[HelpGroup, ...]]] = (
        lambda _: ((), ())
    )
    #: The parts of the first line.
    first_line: Callable[[AppState], tuple[Item, ...]] = lambda state: first_line_items(
        state.lists.devices
    )

    @property
    def home(self) -> Screen:
        return next(iter(self.screens))


class ListInputs(NamedTuple):
    """Everything that :class:`Lists` are made from."""

    sample: Sample
    findings: tuple[Finding, ...]
    wanted: ProcessFilter
    query: str
    #: The device that the user chose, and whether its page is shown.
    device: DeviceKey | None
    shows_page: bool
    sort: Sort
    #: Whether processes are listed one by one.
    flat: bool
    #: Whether columns without values are left out.
    lacks_host: bool


class Lists(NamedTuple):
    """Devices and processes of the shown sample, as screens list them."""

    #: ``None``: nothing was listed yet.
    inputs: ListInputs | None = None
    #: The rows of all devices.
    devices: tuple[GpuRow, ...] = ()
    #: Processes that match the filters, in the order of the list.
    rows: tuple[ProcessSample, ...] = ()
    #: The same processes by job, in the order of the list.
    blocks: tuple[tuple[Line, ...], ...] = ()
    #: Lines of the tree screen that match the filter, with their ancestors.
    tree_rows: tuple[TreeRow, ...] = ()
    #: Widths of the widest values of processes and devices, and of columns of the tree whose values
    #: are wider than usual.
    widths: Mapping[str, int] = {}
    #: Columns of processes without values.
    empty_columns: AbstractSet[str] = frozenset()
    device_widths: Mapping[str, int] = {}
    tree_widths: Mapping[str, int] = {}


class AppState(NamedTuple):
    """Everything that is drawn except history and theme."""

    program: Program
    width: int = 80
    height: int = 24
    screen: Screen = Screen.MAIN
    #: Screens to return to; the last one is next.
    behind: tuple[Screen, ...] = ()
    view: ViewState = ViewState()
    main: MainState = MainState()
    #: PIDs and start times of tagged processes that are on no device.
    tagged_hosts: frozenset[tuple[int, float]] = frozenset()
    environ: EnvironState = EnvironState()
    #: The process on its page.
    shown_process: ProcessKey | None = None
    positions: Mapping[Screen, ListPosition] = {}
    #: Orders chosen on screens.
    list_sorts: Mapping[Screen, Sort] = {}
    #: What is filtered → the filter as typed.
    queries: Mapping[str, str] = {}
    #: Whether the users screen sums up by owner instead.
    sums_by_owner: bool = False
    #: Set as long as the signal screen is open.
    dialog: SignalDialog | None = None
    field: TextField | None = None
    #: The keys of the user; ``None``: the default ones.
    keys: Keymap | None = None
    #: Keys pressed so far of a sequence of keys: ``'o'``.
    prefix: str = ''
    #: Keys pressed before the first sample that need its devices and processes.
    early: tuple[str, ...] = ()
    #: The latest sample.
    sample: Sample = EMPTY_SAMPLE
    #: Counts up to it.
    tally: Tally = Tally()
    #: What is shown instead; ``None``: the latest sample.
    frozen: Frozen | None = None
    #: Where samples come from.
    origin: Origin = LIVE
    #: User → seconds × GPUs used and held idle: in the scroll-back, or today in a recording.
    gpu_times: Mapping[str, tuple[float, float]] = {}
    #: Since when, in seconds since the epoch; 0: unknown.
    gpu_times_since: float = 0.0
    #: Events of the recording, oldest first.
    events: tuple[RecordedEvent, ...] = ()
    lists: Lists = Lists()
    #: Widths of the widest values of processes, and of devices, so far.
    widths: Mapping[str, int] = {}
    #: Default columns of processes that have no values, and are left out.
    empty_columns: AbstractSet[str] = frozenset()
    #: The filter and the page that these are for.
    widths_of: tuple[str, DeviceKey | None] = ('', None)
    device_widths: Mapping[str, int] = {}
    #: Hosts and their values in ``nvitop fleet``.
    fleet: FleetState | None = None
    #: The text that was searched for; ``''`` after Esc.
    searched: str = ''
    theme: str = 'dark'
    #: Whether the background of the terminal chooses between dark and light.
    theme_is_auto: bool = False
    #: Number of colors of the terminal.
    colors: int = 256
    captures_mouse: bool = True
    #: The last click: its row, and its time on the monotonic clock.
    clicked: tuple[int, float] = (-1, 0.0)
    notices: tuple[Notice, ...] = ()
    #: Monotonic clock at the last event.
    monotonic: float = 0.0
    #: Wall clock at the last event; in a recording, the time of the sample.
    timestamp: float = 0.0
    #: Version of nvitop without its local part.
    version: str = __version__.partition('+')[0]

    @property
    def searched_words(self) -> list[str]:
        """The words of the search, also while it is typed."""
        if self.field is not None and self.field.purpose.is_search:
            return self.field.text.split()
        return self.searched.split()

    @property
    def spec(self) -> ScreenSpec:
        return self.program.screens[self.screen]

    def query_on(self, screen: Screen) -> str:
        return self.queries.get(self.program.screens[screen].filter.noun, '')

    @property
    def query(self) -> str:
        """The filter of processes, or of hosts in ``nvitop fleet``."""
        return self.query_on(self.program.home)

    def filtered(self, query: str) -> AppState:
        """Return the state with another filter on the screen."""
        return self._replace(queries={**self.queries, self.spec.filter.noun: query})

    @property
    def selection(self) -> Selected:
        return self.spec.selection(self)

    @property
    def listing(self) -> Screen:
        """The screen, or the one below the signal screen."""
        return self.behind[-1] if self.screen is Screen.SIGNAL else self.screen

    @property
    def position(self) -> ListPosition:
        return self.position_on(self.screen)

    def position_on(self, screen: Screen) -> ListPosition:
        return self.positions.get(screen, ListPosition())

    def at(self, position: ListPosition, screen: Screen | None = None) -> AppState:
        """Return the state with another position in the list of the screen, or of another one."""
        return self._replace(positions={**self.positions, screen or self.screen: position})

    @property
    def selected(self) -> ProcessKey | None:
        """The process selected on the main screen."""
        key = self.position_on(Screen.MAIN).key
        return key if isinstance(key, ProcessKey) else None

    @property
    def job(self) -> JobKey | None:
        """The job selected there instead: user and job."""
        key = self.position_on(Screen.MAIN).key
        return None if key is None or isinstance(key, ProcessKey) else cast(JobKey, key)

    @property
    def sort(self) -> Sort:
        """The order of processes."""
        return self.list_sorts.get(Screen.MAIN, Sort())

    @property
    def keymap(self) -> Keymap:
        return self.keys or self.program.keys

    def with_key(self, usual: str, words: str) -> str:
        """Return words with the key for the action of a default key in ``{}``; ``''`` if it has none."""
        key = self.keymap.instead_of(self.screen, usual)
        return words.format(key) if key else ''

    @property
    def inside(self) -> Rect:
        """The part that the screen draws: inside the frame of a list, whose border is its first row."""
        if not self.spec.is_framed:
            return Rect(0, 0, self.width, self.body_height)
        margin = 2 if self.width >= CLASSIC else 1
        return Rect(margin, 1, self.width - 2 * margin, self.body_height - 2)

    @property
    def is_too_small(self) -> bool:
        """Whether the screen has room for a message only."""
        return self.width < NARROWEST or self.body_height < LOWEST

    @property
    def has_hints(self) -> bool:
        """Whether the last row has hints."""
        return (self.view.hints or self.dialog is not None) and self.height >= LOWEST_WITH_HINTS

    @property
    def body_height(self) -> int:
        """Number of rows without the one of the hints, which are in the border of a low screen."""
        return self.height - (self.has_hints and self.height >= _LOWEST_WITH_BOTH)

    @property
    def shown_sample(self) -> Sample:
        return self.sample if self.frozen is None else self.frozen.sample

    @property
    def is_paused(self) -> bool:
        return self.frozen is not None or (not self.origin.is_live and self.origin.is_paused)

    @property
    def page_devices(self) -> tuple[GpuRow, ...]:
        """The rows of the main screen: those of one device while its page is shown."""
        key = self.main.selected_device
        if key is None or not self.main.shows_page:
            return self.lists.devices
        return tuple(row for row in self.lists.devices if is_on(row.device.key, key))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of processes that are shown if there is room."""
        return shown_columns(self.view.columns, self.empty_columns)

    @property
    def shown_tally(self) -> Tally:
        return self.tally if self.frozen is None else self.frozen.tally

    @property
    def findings(self) -> tuple[Finding, ...]:
        return self.shown_tally.findings


#: A new state and the effects to carry out.
Result = Tuple[AppState, Tuple[Effect, ...]]


#: Time (seconds) a notice is shown.
NOTICE_SECONDS = 5.0
MAX_NOTICES = 8


def note_outcome(state: AppState, sent: SignalSent, name: str = '') -> AppState:
    """Show the outcome of a signal, in one line for all processes with the same outcome.

    The name of the process is shown if it is the only one.
    """
    subject = f'{sent.signal} {sent.outcome} {sent.failure}'
    before = next((n.signals for n in state.notices if n.subject == subject), ())
    signals = (*(earlier for earlier in before if earlier.key.pid != sent.key.pid), sent)
    pids = ', '.join(str(signal.key.pid) for signal in signals)
    text = _outcome_text(sent, f'{name} ({pids})' if name and len(signals) == 1 else pids)
    if len(signals) > 1 and len(text) > state.width - 2:
        text = _outcome_text(sent, f'{len(signals)} processes')
    notice = Notice(text, is_error=bool(sent.failure), subject=subject, signals=signals)
    return _show_notice(state, notice)


def _show_notice(state: AppState, notice: Notice) -> AppState:
    """Show a notice for a while, instead of an earlier one on the same subject."""
    notice = notice._replace(until=state.monotonic + NOTICE_SECONDS)
    others = withdraw_notice(state, notice.subject).notices
    return state._replace(notices=(*others, notice)[-MAX_NOTICES:])


def _outcome_text(sent: SignalSent, targets: str) -> str:
    if sent.outcome == 'exited':
        return f'{targets} exited or left the GPU after {sent.signal}'
    if sent.failure:
        return f'{sent.signal} to {targets}: {sent.failure}'
    return f'Sent {sent.signal} to {targets}'


def note_exits(before: Sample, state: AppState) -> AppState:
    """Show which processes disappeared after a signal whose notice is still shown."""
    if devices_without_list(state.sample):
        return state
    left = {process.key.pid for process in state.sample.processes}
    names = {process.key.pid: process.name or '' for process in before.processes}
    for notice in state.notices:
        for sent in notice.signals:
            pid = sent.key.pid
            if sent.outcome == 'sent' and pid in names and pid not in left:
                state = note_outcome(state, sent._replace(outcome='exited'), names[pid])
    return state


def notify(state: AppState, subject: str, text: str) -> AppState:
    """Show a text until the next key or click, instead of an earlier one on the subject."""
    return _show_notice(state, Notice(text, subject=subject, until_key=True))


def withdraw_notice(state: AppState, subject: str) -> AppState:
    others = tuple(notice for notice in state.notices if notice.subject != subject)
    return state._replace(notices=others)


def drop_notices(before: AppState, after: AppState) -> AppState:
    """Drop notices about earlier keys.

    While a line is typed, its keys belong to the key that opened it.
    """
    if before.field is not None:
        return after
    earlier = {id(notice) for notice in before.notices if notice.until_key}
    return after._replace(notices=tuple(n for n in after.notices if id(n) not in earlier))


def refuse(state: AppState, why: str, *, subject: str = 'key') -> Result:
    """Ring the bell and show why nothing is done. Many terminals do not ring."""
    return notify(state, subject, why), (RingBell(),)
