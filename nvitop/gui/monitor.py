# SPDX-License-Identifier: GPL-3.0-only
"""One run of the monitor on this terminal, from the first frame to the last."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from typing import TYPE_CHECKING, Iterable, Iterator, NamedTuple, Sequence

from nvitop.console.messages import names_ascii
from nvitop.console.options import PRESET, Options
from nvitop.gui.app import App, NoThreadError
from nvitop.gui.model.choices import MainState, Screen
from nvitop.gui.monitor_screens import MONITOR
from nvitop.gui.render.ansi import needs_ascii
from nvitop.gui.render.theme import resolve_theme
from nvitop.gui.report import filter_of, view_of
from nvitop.gui.state.app_state import NOTICE_SECONDS, AppState, Notice, Program
from nvitop.gui.state.bindings import PRESETS
from nvitop.gui.state.events import HUNG_UP, SampleArrived
from nvitop.gui.state.keymap import rebind
from nvitop.gui.state.lists import layout_of
from nvitop.gui.term import has_utf8_locale, holds_escape_back, terminal_here
from nvitop.platforms.kernel import open_nameless_file
from nvitop.recording.recent import RecentSamples
from nvitop.sampling.history import History, past_samples
from nvitop.sampling.plan import intervals
from nvitop.sampling.threads import STOP_SECONDS, Sampler
from nvitop.sampling.types import LIVE
from nvitop.version import __version__

if TYPE_CHECKING:
    from nvitop.gui.term.curses_terminal import CursesTerminal
    from nvitop.recording.replay import ReplaySource
    from nvitop.sampling.types import MonitoredSource, Origin, Sample


#: Maximum time (seconds) to wait for a sample at exit while a driver call hangs.
_HANGING_SECONDS = 0.1


#: Maximum size (bytes) of captured standard error that is replayed on exit.
MAX_ERROR_BYTES = 1 << 16


class MonitorExit(NamedTuple):
    """How a run of the monitor ended."""

    status: int
    #: The last sample; ``None`` if there is none, no terminal to show it on, or after a crash.
    sample: Sample | None
    #: Whether all calls of the driver have returned.
    has_stopped: bool
    #: The options with the changes by the user that apply to a report; the mode is that of the screen.
    options: Options
    #: A message about a crash; ``''`` if there was none.
    crash: str = ''


def first_state(
    options: Options,
    notices: Sequence[str] = (),
    origin: Origin = LIVE,
    *,
    program: Program = MONITOR,
    shows_events: bool = False,
) -> AppState:
    """Return the state set by the options, with notices that are shown for a while."""
    options = options._replace(readonly=options.readonly or not origin.can_signal)
    until = time.monotonic() + 2 * NOTICE_SECONDS
    chosen = dict(options.keys)
    (preset,) = chosen.pop(PRESET, ('',))
    chosen = {**PRESETS.get(preset, {}), **chosen}
    keys, problems = rebind(chosen, program.keys) if chosen else (None, ())
    notices = (*notices, *problems)
    return AppState(
        program,
        screen=Screen.EVENTS if shows_events else program.home,
        behind=(program.home,) if shows_events else (),
        keys=keys,
        captures_mouse=not holds_escape_back(os.environ),
        view=view_of(options),
        main=MainState(filter=filter_of(options)),
        theme=resolve_theme(options.theme, os.environ),
        theme_is_auto=options.theme == 'auto',
        notices=tuple(Notice(text, until, is_error=True) for text in notices),
        origin=origin,
    )


def prepare_terminal(options: Options) -> tuple[Options, CursesTerminal]:
    """Return the terminal of this process, and the options with ASCII if its locale needs that."""
    if names_ascii(os.environ) or not has_utf8_locale() or needs_ascii(os.environ):
        options = options._replace(ascii=True)
    terminal = terminal_here(
        # With NO_COLOR, roles are shown by attributes.
        0 if os.environ.get('NO_COLOR') else 256,
        asks_background=options.theme == 'auto',
    )
    return options, terminal


def run_monitor(
    source: MonitoredSource,
    options: Options,
    *,
    notices: Sequence[str] = (),
    replay: ReplaySource | None = None,
    shows_events: bool = False,
) -> MonitorExit:
    """Run the monitor; ``replay`` is the source if it can show other times.

    ``shows_events``: begin with the list of events.

    Raises TerminalError if the terminal cannot be used, NoThreadError if no thread can measure.
    """
    options, terminal = prepare_terminal(options)
    seconds = options.scroll_back
    every = intervals(options.interval if replay is None else replay.interval())
    app = App(
        terminal,
        first_state(options, notices, source.origin, shows_events=shows_events),
        history=History(every.devices, every.processes),
        options=options,
        travel=None if replay is None else replay.travel,
        recent=None
        if replay is not None or not seconds
        else RecentSamples(seconds, interval=every.devices),
    )
    sampler = Sampler(source, lambda sample: deliver(sample, source, app, replay))
    status, crash = 1, ''
    try:
        with errors_held_back():
            status = app.run(sampler)
    except NoThreadError:
        raise
    except Exception as error:
        if app.state.sample.sequence == 0 and not app.events:
            raise
        crash = explain_crash(error, write_crash(error, app.state, app.events))
    finally:
        # A sample that waits for a call that hangs does not end soon.
        seconds = _HANGING_SECONDS if source.threads_inside else STOP_SECONDS
        has_stopped = sampler.stop(seconds) and not source.threads_inside
    sample = app.state.sample
    is_wanted = sample.sequence > 0 and status != HUNG_UP and not crash and options.report_on_exit
    state = app.state
    mode = 'full' if layout_of(state).form == 'full' else 'compact'
    options = options._replace(
        columns=state.view.columns, theme=state.theme, mode=mode, flat=state.view.flat
    )
    return MonitorExit(status, sample if is_wanted else None, has_stopped, options, crash)


def deliver(
    sample: Sample, source: MonitoredSource, app: App, replay: ReplaySource | None = None
) -> None:
    """Post a sample to the application, the first one with those of a simulated hour before it."""
    if replay is not None:
        app.post(SampleArrived(sample, **replay.take_delivery()._asdict()))
        return
    is_first = sample.sequence == 1 and source.origin.is_live
    origin = source.origin._replace(can_travel=app.recent is not None)
    app.post(SampleArrived(sample, origin, tuple(past_samples(sample)) if is_first else ()))


@contextlib.contextmanager
def errors_held_back() -> Iterator[None]:
    """Capture standard error during the block, and replay it afterwards.

    Drivers, libraries and failing threads must not write over the screen.
    """
    with contextlib.ExitStack() as stack:
        held = None
        with contextlib.suppress(AttributeError, OSError, ValueError):  # it is closed
            descriptor = sys.stderr.fileno()
            if os.isatty(descriptor):
                held = stack.enter_context(open_nameless_file())
        if held is None:
            yield
            return
        sys.stderr.flush()
        previous = os.dup(descriptor)
        os.dup2(held.fileno(), descriptor)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(previous, descriptor)
            os.close(previous)
            held.seek(0)
            with contextlib.suppress(OSError):  # the terminal may be gone
                os.write(descriptor, held.read(MAX_ERROR_BYTES))


def format_crash(error: BaseException, state: AppState, events: Iterable[str]) -> str:
    import platform
    import traceback
    from importlib import metadata

    # Without the message of the error, which may name a process.
    frames = traceback.extract_tb(error.__traceback__)
    versions = []
    for name in ('nvidia-ml-py', 'psutil', 'wcwidth', 'cachetools', 'windows-curses'):
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions.append(f'{name} {metadata.version(name)}')
    sample = state.shown_sample
    lines = [
        f'nvitop {__version__}, Python {platform.python_version()}, {platform.platform()}',
        ', '.join(versions),
        f'driver {sample.driver_version}, CUDA {sample.cuda_driver_version}',
        f'terminal {os.environ.get("TERM")}, {state.width} x {state.height}',
        f'{len(sample.devices)} devices, {len(sample.processes)} processes',
        f'screen {state.screen.value}, view {state.view}, sort {state.sort}',
        '',
        type(error).__name__,
        *(f'  {frame.filename}:{frame.lineno} in {frame.name}: {frame.line}' for frame in frames),
        '',
        'Last events, oldest first:',
        *(f'  {event}' for event in events),
    ]
    return '\n'.join(lines) + '\n'


def write_crash(error: BaseException, state: AppState, events: Iterable[str]) -> str | None:
    """Write the report to a file for this user only; return its path, or ``None`` if that fails."""
    import tempfile

    try:
        text = format_crash(error, state, events)
        descriptor, path = tempfile.mkstemp(prefix='nvitop-crash-', suffix='.txt', text=True)
        with os.fdopen(descriptor, 'w', encoding='utf-8', errors='backslashreplace') as file:
            file.write(text)
    except Exception:  # no error in here may hide the crash
        return None
    return path


def explain_crash(error: BaseException, path: str | None) -> str:
    """Return one line about the crash for the user, with its place if there is no report."""
    what = f'the monitor crashed with {type(error).__name__}'
    if isinstance(error, OSError) and error.strerror:
        what += f' ({error.strerror})'  # without the name of a file
    if path:
        return f'{what}; see {path}'
    import traceback

    for frame in traceback.extract_tb(error.__traceback__)[-1:]:
        what += f' in {frame.name} ({frame.filename}:{frame.lineno})'
    return f'{what}; no report could be written'
