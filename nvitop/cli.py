# SPDX-License-Identifier: GPL-3.0-only
"""``nvitop``: arguments → Options → monitor, report, or another job. Thin."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from typing import TYPE_CHECKING, Dict, Iterator, NoReturn, Sequence, Tuple

from nvitop.api import host, libnvml
from nvitop.api.libnvml._log import IMPOSSIBLE_PROCESSES, MISSING_FUNCTION
from nvitop.console.arguments import discard_stdout
from nvitop.console.library_log import library_warnings
from nvitop.console.options import (
    THEME_NAMES,
    Invocation,
    Options,
    merge,
    parse_arguments,
    parse_environment,
)
from nvitop.namedtuple import NamedTuple
from nvitop.printable import printable_lines
from nvitop.sampling import watchdog

if TYPE_CHECKING:
    from nvitop.console.config import Config
    from nvitop.sampling.selection import DeviceSelector
    from nvitop.sampling.source import LiveSource
    from nvitop.sampling.types import Sample

#: How long it may take to say how many GPUs there are before the monitor starts without knowing.
DEVICE_COUNT_SECONDS = 2.0
#: So many more objects than before have been made when the monitor looks for garbage.
COLLECTED_AFTER = 20_000
#: How long a GPU may take to tell its names before it has none but its index.
NAMES_SECONDS = 2.0


class Message(NamedTuple):
    """Something to say on standard error after the report."""

    #: ``'ERROR'``, ``'WARNING'`` or ``'HINT'``. An error makes the exit status 1.
    kind: str
    text: str


_COLORS = {'ERROR': 'red', 'WARNING': 'yellow', 'HINT': 'green'}


def main(arguments: Sequence[str] | None = None) -> int:
    """The command ``nvitop``; the exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if is_query(given):
            return _query(given)
        return _run(parse_arguments(given))
    except BrokenPipeError:
        # Whoever read the report has seen enough.
        discard_stdout()
        return 0
    except KeyboardInterrupt:
        return 130


def is_query(arguments: Sequence[str]) -> bool:
    """Whether they ask for rows that programs read, in the words of nvitop or of nvidia-smi."""
    return arguments[:1] == ['query'] or any(
        argument.startswith(('--query-', '--help-query-')) for argument in arguments
    )


def _query(arguments: list[str]) -> int:
    from nvitop.query.command import main as query  # it needs nothing of the rest, nor the rest it

    return query(arguments[1:] if arguments[0] == 'query' else arguments)


@contextlib.contextmanager
def _writing(what: str, messages: list[Message]) -> Iterator[None]:
    """For the block, a standard output that takes no more is a message, not an exception."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        messages.append(Message('ERROR', f'The {what} cannot be written: {error.strerror}.'))
        discard_stdout()


def _run(invocation: Invocation) -> int:
    config = _read_config(invocation)
    options = merge(config.layer, parse_environment(os.environ), invocation.layer)
    messages = [Message('WARNING', str(problem)) for problem in config.problems]
    with library_warnings(functools.partial(_keep_warning, messages)):
        return _run_with(invocation, options, messages)


def _run_with(invocation: Invocation, options: Options, messages: list[Message]) -> int:
    if invocation.prints_config:
        from nvitop.console.config import format_config
        from nvitop.gui.state.rebinding import USUAL_KEYS

        with _writing('configuration', messages):
            sys.stdout.write(format_config(options, _choices(), USUAL_KEYS))
            sys.stdout.flush()
        _say(messages)
        return _status(messages)
    if options.demo is not None:
        error = _simulate(options.demo)
        if error:
            print(f'nvitop: {printable_lines(error)}', file=sys.stderr)
            return 2
    error = start_driver()
    if error:
        _say([*messages, Message('ERROR', error)])
        return 1
    if options.users == ():
        options = options._replace(users=(host.getuser(),))
    if not _is_utf8(sys.stdout.encoding):
        options = options._replace(ascii=True)
    return _show(options, messages)


def _keep_warning(messages: list[Message], text: str, kind: str) -> None:
    """Keep a warning of the library, to be printed at the end.

    The report lists missing functions together, and impossible processes with their GPU.
    """
    message = Message('WARNING', text)
    if kind not in (MISSING_FUNCTION, IMPOSSIBLE_PROCESSES) and message not in messages:
        messages.append(message)


def _read_config(invocation: Invocation) -> Config:
    from nvitop.console.config import Config, read_config

    if not invocation.reads_config:
        return Config({})
    return read_config(invocation.config, _choices())


class _Choices(Dict[str, Tuple[str, ...]]):
    """The words that a setting can have; the table of keys is loaded only where it is needed."""

    def __missing__(self, name: str) -> tuple[str, ...]:
        if name != 'keys':
            raise KeyError(name)
        from nvitop.gui.state.rebinding import USUAL_KEYS

        return tuple(USUAL_KEYS)


def _choices() -> dict[str, tuple[str, ...]]:
    from nvitop.gui.model.columns import COLUMNS

    return _Choices(theme=THEME_NAMES, columns=tuple(column.name for column in COLUMNS))


def _simulate(scenario: str) -> str:
    """Put a simulated machine in the place of this one; what is wrong with the scenario."""
    from nvitop import simulation

    try:
        simulation.install(scenario or simulation.DEFAULT_SCENARIO, announce=False)
    except simulation.ScenarioError as error:
        return str(error)
    return ''


def _is_utf8(encoding: str | None) -> bool:
    return (encoding or '').lower().replace('-', '').replace('_', '') == 'utf8'


def start_driver(limit: float | None = None) -> str:
    """Start NVML; why it cannot be, ``''``: it is."""
    unsaid = ['nvitop: the NVIDIA driver has not answered yet; Ctrl-C leaves']

    def say_that_it_waits() -> None:
        if unsaid and sys.stderr.isatty():
            print(unsaid.pop(), file=sys.stderr, flush=True)

    try:
        watchdog.ask_at_start(libnvml.nvmlInit, limit, while_waiting=say_that_it_waits)
    except Exception as error:
        return libnvml.explain_init_error(error)
    return ''


def _show(options: Options, messages: list[Message]) -> int:
    """Run the monitor or print the report."""
    from nvitop.sampling.plan import intervals
    from nvitop.sampling.source import LiveSource

    try:
        wishes, unknown = find_devices(options)
    except TimeoutError as error:
        _say([*messages, Message('ERROR', str(error))])
        return 1
    messages += [Message('ERROR', text) for text in unknown]
    if unknown and not wishes:  # a report would say that there is no GPU
        _say(messages)
        return 1
    source = LiveSource(intervals(options.interval), only=wishes, on_the_second=True)
    has_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    if options.monitor and not has_terminal:
        messages.append(Message('ERROR', 'The monitor needs a terminal for input and output.'))
    elif not options.once and has_terminal and _has_devices(wishes):
        from nvitop.gui.app import NoThreadError
        from nvitop.gui.term.curses import TerminalError

        try:
            return _monitor(source, options, messages)
        except TerminalError as error:
            messages.append(Message('ERROR', f'{error}\nTry: TERM=xterm-256color nvitop'))
        except NoThreadError as error:
            text = f'The monitor cannot run: {error}.\nSee how many there may be: ulimit -u'
            messages.append(Message('ERROR', text))
    return _report(source, options, messages)


def _has_devices(wishes: Sequence[DeviceSelector] | None) -> bool:
    if wishes is not None:
        return bool(wishes)
    try:
        return watchdog.ask_at_start(_device_count, DEVICE_COUNT_SECONDS) > 0
    except TimeoutError:  # the monitor says so, and what becomes of it
        return True


def _device_count() -> int:
    count = libnvml.nvmlQuery('nvmlDeviceGetCount', default=0)
    return count if isinstance(count, int) else 0


def find_devices(options: Options) -> tuple[tuple[DeviceSelector, ...] | None, list[str]]:
    """The devices that ``--only`` or ``--only-visible`` name (``None``: all), and what is wrong."""
    from nvitop.api.device import Device

    if options.only is None:
        if not options.only_visible:
            return None, []
        parse = Device.parse_cuda_visible_devices
        return tuple(watchdog.ask_at_start(parse, watchdog.VISIBLE_SECONDS)), []
    wishes: list[DeviceSelector] = []
    unknown = []
    known, silent = _known_devices(options.only)
    for name in options.only:
        found = known[name] if name in known else _abbreviated(name, known)
        if found is None:
            unknown.append(name)
        elif found not in wishes:
            wishes.append(found)
    if not unknown:
        return tuple(wishes), []
    labels = [name for name in known if not name.startswith(('GPU-', 'MIG-'))]
    here = ', '.join(labels) or 'none'
    here += ''.join(f'; GPU {index} does not answer' for index in silent)
    return tuple(wishes), [f'No such device: {", ".join(unknown)}. Devices here: {here}.']


def _known_devices(names: Sequence[str]) -> tuple[dict[str, DeviceSelector], list[int]]:
    """Devices by all names: ``'0'``, ``'0:1'`` and UUIDs; by index alone where that will do.

    And the GPUs that do not tell theirs.
    """
    indices = range(watchdog.ask_at_start(_device_count))
    known: dict[str, DeviceSelector] = {str(index): index for index in indices}
    if known.keys() >= set(names):
        return known, []  # no GPU is asked anything: another than those that are meant may hang
    steps = {index: functools.partial(_names_of, index) for index in indices}
    outcomes = watchdog.Watchdog('nvitop-start').run(steps, limit=NAMES_SECONDS)
    for outcome in outcomes.values():
        if outcome.error is not None:
            raise outcome.error
        known.update(outcome.value or {})
    return known, [index for index, outcome in outcomes.items() if outcome.timed_out]


def _names_of(index: int) -> dict[str, DeviceSelector]:
    """A GPU and its MIG devices by all their names."""
    from nvitop.api.device import Device

    device = Device(index)
    names: dict[str, DeviceSelector] = {str(device.uuid()): index}
    for mig in device.mig_devices():
        names[f'{index}:{mig.mig_index}'] = names[str(mig.uuid())] = (index, mig.mig_index)
    return names


def _abbreviated(name: str, known: dict[str, DeviceSelector]) -> DeviceSelector | None:
    """The device whose UUID begins like this, where there is exactly one."""
    if not name.upper().startswith(('GPU-', 'MIG-')):
        return None
    found = [wish for uuid, wish in known.items() if uuid.lower().startswith(name.lower())]
    return found[0] if len(found) == 1 else None


def _monitor(source: LiveSource, options: Options, messages: list[Message]) -> int:
    import gc

    from nvitop.gui.monitor import run_monitor

    # Looking through all there is takes longer than a key may wait. What is made from now on hangs
    # together in circles only where something failed, so it is looked through seldom.
    gc.freeze()
    gc.set_threshold(COLLECTED_AFTER)
    gc.enable()
    outcome = run_monitor(source, options, notices=[message.text for message in messages])
    if outcome.sample is not None:
        _print_report(outcome.sample, outcome.options)
        messages += _remarks(outcome.sample, driver_answers=outcome.has_stopped)
    if outcome.crash:
        messages.append(Message('ERROR', outcome.crash))
    _say(messages)
    if not outcome.has_stopped:
        _leave_at_once(outcome.status or _status(messages))
    return outcome.status or _status(messages)


def _leave_at_once(status: int) -> NoReturn:
    """Leave a call behind inside the driver: ordinary exit would wait for it, perhaps for ever."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            stream.flush()
    os._exit(status)


def _report(source: LiveSource, options: Options, messages: list[Message]) -> int:
    from nvitop.sampling.plan import REPORT_METRICS

    sample = source.complete_sample(metrics=REPORT_METRICS)
    with _writing('report', messages):
        _print_report(sample, options)
    messages += _remarks(sample, driver_answers=not source.threads_inside)
    if not sample.devices and not _status(messages):
        messages.append(Message('ERROR', _explain_no_device(sample, options)))
    _say(messages)
    answers = any(device.status == 'ok' for device in sample.devices)
    if source.threads_inside:
        _leave_at_once(_status(messages) or int(not answers))
    return _status(messages) or int(not answers)


def _explain_no_device(sample: Sample, options: Options) -> str:
    reasons = [
        problem.reason
        for problem in sample.problems
        if problem.subject == 'driver' and problem.is_failure
    ]
    if reasons:
        return f'No GPU can be read: {reasons[0]}.\n{libnvml.advise_on_failure()}'
    if options.only_visible and options.only is None:
        value = os.environ.get('CUDA_VISIBLE_DEVICES', '')
        return (
            f'CUDA_VISIBLE_DEVICES is {value!r}, which names no GPU of this machine.\n'
            'Without --only-visible all GPUs are shown.'
        )
    return (
        'No GPU is visible: the driver answers and has none.\n'
        'See whether the card is found (lspci -d 10de:); in a container, whether it\n'
        'was started with --gpus all.'
    )


def _print_report(sample: Sample, options: Options) -> None:
    from nvitop.gui.render.ansi import color_depth
    from nvitop.gui.render.ascii import lacks_fine_blocks
    from nvitop.gui.report import report_text

    colors = color_depth(os.environ, is_terminal=sys.stdout.isatty(), force=options.force_color)
    width = _terminal_width()
    halves = sys.stdout.isatty() and lacks_fine_blocks(os.environ)
    sys.stdout.write(report_text(sample, options, width=width, colors=colors, halves=halves))
    sys.stdout.flush()


def _terminal_width(fallback: int = 79) -> int:
    """Columns, as ``COLUMNS`` or the terminal says."""
    with contextlib.suppress(ValueError):
        columns = int(os.environ.get('COLUMNS', ''))
        if columns > 0:
            return columns
    with contextlib.suppress(OSError, ValueError, AttributeError):
        return os.get_terminal_size(sys.stdout.fileno()).columns or fallback
    return fallback


def _remarks(sample: Sample, *, driver_answers: bool = True) -> list[Message]:
    """What a user should know after this report. A driver that does not answer is asked nothing."""
    messages = []
    silent = [device for device in sample.devices if device.status != 'ok']
    gpus = {device.key.physical_index for device in silent if not device.key.is_mig}
    for device in silent:
        if not device.key.is_mig or device.key.physical_index not in gpus:
            text = f'GPU {device.key.label}: {device.reason or device.status}.'
            messages.append(Message('WARNING', text))
    messages += [Message('WARNING', text) for text in _failures(sample)]
    if any(process.status == 'foreign' for process in sample.processes):
        messages.append(
            Message(
                'HINT',
                'Some processes have PIDs of another PID namespace, so nothing else is known of '
                'them.\nIn a container: start it with --pid=host.',
            )
        )
    lacks = libnvml.missing_functions_report() if driver_answers else ''
    reports = (lacks, libnvml.explain_binding())
    messages += [Message('WARNING', text) for text in reports if text]
    if _is_watched():
        messages.append(
            Message('ERROR', 'To watch GPUs, run nvitop itself without watch: it refreshes.')
        )
    return messages


def _failures(sample: Sample) -> list[str]:
    """What could not be measured though it can be, by reason; what a device lacks is no failure."""
    from nvitop.gui.state.summary import count_problems, problem_lines

    failed = [p for p in sample.problems if p.kind in ('error', 'impossible') and p.device]
    # A GPU that does not answer is told of by others.
    failed = [p for p in failed if p.what != 'status']
    names: dict[tuple[str, str], list[str]] = {}
    for line in problem_lines(count_problems((), failed, 0.0)):
        names.setdefault((line.subject, line.reason), []).append(line.what)
    return [f'{subject}: {", ".join(n)}: {reason}.' for (subject, reason), n in names.items()]


def _is_watched() -> bool:
    """Whether ``watch`` runs this: it does so through a shell, or with -x itself."""
    if sys.stdout.isatty():
        return False
    from nvitop.api.process.observed import names_above

    parent, above = (*names_above(2), '', '')[:2]
    return 'watch' in (parent, above if parent in ('sh', 'bash', 'dash', 'zsh') else '')


def _say(messages: Sequence[Message]) -> None:
    """Print messages on standard error, each with its kind, broken between words in a terminal."""
    for kind, text in messages:
        message = f'nvitop: {kind}: {printable_lines(text)}'
        if sys.stderr.isatty():
            from nvitop.api.termcolor import colored

            label = colored(f'{kind}:', _COLORS[kind], attrs=('bold',))
            message = _wrapped(message).replace(f'{kind}:', label, 1)
        with contextlib.suppress(OSError):
            print(message, file=sys.stderr)


def _wrapped(text: str) -> str:
    """The text in lines that fit the terminal of standard error, words whole."""
    import textwrap

    width = 0
    with contextlib.suppress(OSError, ValueError, AttributeError):
        width = os.get_terminal_size(sys.stderr.fileno()).columns
    fit = textwrap.TextWrapper(width, break_long_words=False, break_on_hyphens=False)
    return '\n'.join('\n'.join(fit.wrap(line)) for line in text.split('\n')) if width else text


def _status(messages: Sequence[Message]) -> int:
    return int(any(message.kind == 'ERROR' for message in messages))
