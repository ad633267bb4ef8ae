# SPDX-License-Identifier: GPL-3.0-only
"""``nvitop``: arguments → Options → monitor, report, or another command."""

from __future__ import annotations

import functools
import os
import sys
from typing import TYPE_CHECKING, Sequence

from nvitop.api import libnvml
from nvitop.api.system import system
from nvitop.console import outcome
from nvitop.console.commands import find_command
from nvitop.console.driver import driver_errors, simulate, start_driver
from nvitop.console.messages import Message, exit_status, print_messages
from nvitop.console.options import Invocation, Options
from nvitop.console.outcome import CommandFailure, writing
from nvitop.console.startup import collect_garbage_rarely
from nvitop.console.terminal import stdout_width
from nvitop.log import IMPOSSIBLE_PROCESSES, MISSING_FUNCTION
from nvitop.sampling import watchdog

if TYPE_CHECKING:
    from nvitop.sampling.plan import DeviceSelector
    from nvitop.sampling.source import LiveSource
    from nvitop.sampling.types import MonitoredSource, Sample

#: Maximum time (seconds) to count the GPUs before the monitor starts without the number.
DEVICE_COUNT_SECONDS = 2.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``nvitop`` and return its exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if any(word.startswith('--ssh') for word in given[:1]):
        from nvitop.console.remote import remote_query, run_remotely

        query = remote_query(given)
        if query is not None:
            return outcome.run('nvitop', functools.partial(run_remotely, *query))
    selected = find_command(given)
    if selected is not None:
        command, rest = selected
        status: int = command.load().main(rest)
        return status
    invocation = _parse(given)
    messages: list[Message] = []
    return outcome.run(
        'nvitop',
        functools.partial(_run, invocation, messages),
        on_library_warning=functools.partial(_keep_warning, messages),
    )


def _parse(arguments: list[str]) -> Invocation:
    """Parse the arguments; exit with status 2 if they are invalid."""
    if arguments in ([], ['-1']):  # the usual ones: a parser takes 5 % of the time of a report
        return Invocation({'once': True} if arguments else {})
    from nvitop.console.command_line import parse_arguments

    return parse_arguments(arguments)


def _run(invocation: Invocation, messages: list[Message]) -> int:
    """Run the monitor or print the report, then print all messages."""
    try:
        status = _show(invocation, messages)
    except CommandFailure as failure:
        messages.append(Message('error', str(failure)))
        status = failure.status
    print_messages('nvitop', messages)
    return status


def _show(invocation: Invocation, messages: list[Message]) -> int:
    from nvitop.gui.settings import print_config, read_options

    options = read_options(invocation, messages)
    if invocation.prints_config:
        print_config(options)
        return exit_status(messages)
    if options.users == ():
        options = options._replace(users=(system().username(),))
    if not _is_utf8(sys.stdout.encoding):
        options = options._replace(ascii=True)
    if options.ssh is not None:
        return show_remote(options, messages)
    if options.demo is not None:
        simulate(options.demo, announce=False)
    start_driver('nvitop', libnvml.nvmlInit)
    return show(options, messages)


def _keep_warning(messages: list[Message], text: str, kind: str) -> None:
    """Keep a warning of the library to print it last, unless the report shows it anyway."""
    message = Message('warning', text)
    if kind not in (MISSING_FUNCTION, IMPOSSIBLE_PROCESSES) and message not in messages:
        messages.append(message)


def _is_utf8(encoding: str | None) -> bool:
    return (encoding or '').lower().replace('-', '').replace('_', '') == 'utf8'


# Monitor and report


def show(options: Options, messages: list[Message]) -> int:
    """Run the monitor or print the report; return the exit status."""
    from nvitop.sampling.plan import intervals
    from nvitop.sampling.source import LiveSource

    devices = find_devices(options, messages)
    source = LiveSource(
        intervals(options.interval),
        only=devices,
        owner_names=options.owner_names,
        on_the_second=True,
    )
    if _shows_monitor(options, messages) and _has_devices(devices):
        status = _try_monitor(source, options, messages)
        if status is not None:
            return status
    return _report(source, options, messages)


def show_remote(options: Options, messages: list[Message]) -> int:
    """Do the same for the machine of ``--ssh``."""
    from nvitop.console.remote import connected

    shows_monitor = _shows_monitor(options, messages)
    with connected(options, once=not shows_monitor) as (source, sample):
        status = _try_monitor(source, options, messages) if shows_monitor else None
        return _finish_report(sample, options, messages) if status is None else status


def _shows_monitor(options: Options, messages: list[Message]) -> bool:
    has_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    if options.monitor and not has_terminal:
        messages.append(Message('error', 'the monitor needs a terminal for input and output'))
    return has_terminal and not options.once


def _try_monitor(source: MonitoredSource, options: Options, messages: list[Message]) -> int | None:
    """Run the monitor and return the exit status; ``None`` if it cannot run here."""
    from nvitop.gui.app import NoThreadError
    from nvitop.gui.term.curses_terminal import TerminalError

    try:
        return show_monitor(source, options, messages)
    except TerminalError as error:
        messages.append(Message('error', f'{error}\nTry: TERM=xterm-256color nvitop'))
    except NoThreadError as error:
        text = f'the monitor cannot run: {error}\nShow the limit of threads: ulimit -u'
        messages.append(Message('error', text))
    return None


def find_devices(options: Options, messages: list[Message]) -> Sequence[DeviceSelector] | None:
    """The devices of ``--only`` or ``--only-visible``; ``None``: all.

    Raises:
        CommandFailure: No name of ``--only`` matches a device, or the driver does not respond.
    """
    if options.only is None:
        if not options.only_visible:
            return None
        from nvitop.api.device import Device

        parse = Device.parse_cuda_visible_devices
        with driver_errors():
            return tuple(watchdog.call_with_limit(parse, watchdog.VISIBLE_SECONDS))
    from nvitop.sampling.device_names import match_devices

    with driver_errors():
        matches = match_devices(options.only)
    if not matches.found:  # an empty report would claim that there is no GPU
        raise CommandFailure('\n'.join(matches.problems))
    messages += [Message('error', text) for text in matches.problems]
    return matches.found


def _has_devices(devices: Sequence[DeviceSelector] | None) -> bool:
    if devices is not None:
        return bool(devices)
    try:
        return watchdog.call_with_limit(_device_count, DEVICE_COUNT_SECONDS) > 0
    except TimeoutError:  # the monitor shows it, and recovers
        return True


def _device_count() -> int:
    count = libnvml.nvmlQuery('nvmlDeviceGetCount', default=0)
    return count if isinstance(count, int) else 0


def show_monitor(source: MonitoredSource, options: Options, messages: list[Message]) -> int:
    """Run the monitor, then print the report of its last sample."""
    from nvitop.gui.monitor import run_monitor
    from nvitop.gui.report import warnings_about

    collect_garbage_rarely()
    ended = run_monitor(source, options, notices=[message.text for message in messages])
    if ended.sample is not None:
        print_report(ended.sample, ended.options)
        messages += warnings_about(ended.sample, driver_responds=ended.has_stopped)
    if ended.crash:
        messages.append(Message('error', ended.crash))
    return ended.status or exit_status(messages)


def _report(source: LiveSource, options: Options, messages: list[Message]) -> int:
    from nvitop.gui.report import shows_owner, view_of
    from nvitop.health import RULE_METRICS
    from nvitop.sampling.plan import REPORT_METRICS
    from nvitop.sampling.types import Demand

    demand = Demand(owners=shows_owner(view_of(options)))
    sample = source.complete_sample(demand, metrics=(*REPORT_METRICS, *RULE_METRICS))
    return _finish_report(sample, options, messages, driver_responds=not source.threads_inside)


def _finish_report(
    sample: Sample, options: Options, messages: list[Message], *, driver_responds: bool = True
) -> int:
    """Print the report of a sample, and return the exit status."""
    from nvitop.gui.report import explain_no_device, warnings_about

    try:
        print_report(sample, options)
    except CommandFailure as failure:
        messages.append(Message('error', str(failure)))
    messages += warnings_about(sample, driver_responds=driver_responds)
    if not sample.devices and not exit_status(messages):
        messages.append(Message('error', explain_no_device(sample, options)))
    has_working_gpu = any(device.status == 'ok' for device in sample.devices)
    return exit_status(messages) or int(not has_working_gpu)


def print_report(sample: Sample, options: Options) -> None:
    """Print the report of a sample."""
    from nvitop.gui.render.ansi import color_depth, lacks_fine_blocks
    from nvitop.gui.render.theme import resolve_theme
    from nvitop.gui.report import report_text

    options = options._replace(theme=resolve_theme(options.theme, os.environ))
    colors = color_depth(os.environ, is_terminal=sys.stdout.isatty(), force=options.force_color)
    halves = sys.stdout.isatty() and lacks_fine_blocks(os.environ)
    text = report_text(sample, options, width=stdout_width(), colors=colors, halves=halves)
    with writing():
        sys.stdout.write(text)
        sys.stdout.flush()


if __name__ == '__main__':
    from nvitop.console.startup import run_process

    run_process('nvitop', lambda: main)
