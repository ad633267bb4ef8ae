# SPDX-License-Identifier: GPL-3.0-only
"""The monitor and the report of ``nvitop``, from Options."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Sequence

from nvitop import api, sampling
from nvitop.api import libnvml
from nvitop.api.system import system
from nvitop.console.driver import driver_errors
from nvitop.console.lifecycle import CommandFailure, collect_garbage_rarely, write_output
from nvitop.console.messages import Message, exit_status, stdout_height, stdout_width
from nvitop.gui.render.ansi import color_depth, needs_ascii
from nvitop.gui.report import explain_no_device, report_text, shows_owner, view_of, warnings_about
from nvitop.health import RULE_METRICS
from nvitop.sampling import threads
from nvitop.sampling.plan import REPORT_METRICS, intervals
from nvitop.sampling.types import Demand

if TYPE_CHECKING:
    from collections.abc import Callable

    from nvitop.console.options import Options
    from nvitop.recording.replay import ReplaySource
    from nvitop.sampling.plan import DeviceSelector
    from nvitop.sampling.types import MonitoredSource, Sample

#: Maximum time (seconds) to count the GPUs before the monitor starts without the number.
DEVICE_COUNT_SECONDS = 2.0


def show(options: Options, messages: list[Message]) -> int:
    """Run the monitor or print the report; return the exit status."""
    devices = find_devices(options, messages)
    shows_monitor = _shows_monitor(options, messages)
    source = sampling.LiveSource(
        intervals(options.interval),
        only=devices,
        owner_names=options.owner_names,
        on_the_second=True,
        # A report asks nothing.
        wake=options.wake if shows_monitor or options.wake != 'ask' else 'never',
    )
    if shows_monitor and _has_devices(devices):
        status = show_monitor(source, options, messages)
        if status is not None:
            return status
    return _report(source, options, messages)


def show_remote(options: Options, messages: list[Message]) -> int:
    """Do the same for the machine of ``--ssh``."""
    from nvitop.remote.command import connected

    shows_monitor = _shows_monitor(options, messages)
    with connected(options, once=not shows_monitor) as (source, sample):
        status = show_monitor(source, options, messages) if shows_monitor else None
        return _finish_report(sample, options, messages) if status is None else status


def _shows_monitor(options: Options, messages: list[Message]) -> bool:
    has_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    if options.monitor and not options.once and not has_terminal:
        messages.append(Message('error', 'the monitor needs a terminal for input and output'))
    return has_terminal and not options.once


def find_devices(options: Options, messages: list[Message]) -> Sequence[DeviceSelector] | None:
    """The devices of ``--only`` or ``--only-visible``; ``None``: all.

    Raises:
        CommandFailure: No name of ``--only`` matches a device, or the driver does not respond.
    """
    if options.only is None:
        is_limited = 'CUDA_VISIBLE_DEVICES' in os.environ or not system().gpu_powers()
        if not options.only_visible or not is_limited:  # CUDA would wake all GPUs
            return None
        parse = api.Device.parse_cuda_visible_devices
        with driver_errors('nvitop'):
            return tuple(threads.call_with_limit(parse, threads.VISIBLE_SECONDS))
    from nvitop.console.device_names import match_devices  # it needs the NVML binding

    with driver_errors('nvitop'):
        selectors, problems = match_devices(options.only)
    if not selectors:  # an empty report would claim that there is no GPU
        raise CommandFailure('\n'.join(problems), 2)
    messages += [Message('error', text, 2) for text in problems]
    return selectors


def _has_devices(devices: Sequence[DeviceSelector] | None) -> bool:
    if devices is not None:
        return bool(devices)
    from nvitop.api.device.handles import sleeping_gpus  # it needs the NVML binding

    if sleeping_gpus():
        return True
    try:
        return threads.call_with_limit(
            lambda: bool(libnvml.nvmlQuery('nvmlDeviceGetCount', default=0)), DEVICE_COUNT_SECONDS
        )
    except TimeoutError:  # the monitor shows it, and recovers
        return True


def show_monitor(
    source: MonitoredSource,
    options: Options,
    messages: list[Message],
    *,
    replay: ReplaySource | None = None,
    shows_events: bool = False,
    notes: Callable[[Sample], Message] | None = None,
) -> int | None:
    """Run the monitor, then print the report of its last sample.

    Returns the exit status, ``None`` if the monitor cannot run here. For ``replay`` and
    ``shows_events`` see :func:`~nvitop.gui.monitor.run_monitor`.

    Args:
        notes: Makes the message after the report; ``None``: the warnings about the sample.
    """
    from nvitop.gui import app, monitor  # reports need none of these
    from nvitop.gui.term.curses_terminal import TerminalError

    collect_garbage_rarely()
    notices = [message.text for message in messages]
    try:
        ended = monitor.run_monitor(
            source, options, notices=notices, replay=replay, shows_events=shows_events
        )
    except TerminalError as error:
        messages.append(Message('error', f'{error}\nTry: TERM=xterm-256color nvitop'))
        return None
    except app.NoThreadError as error:
        text = f'the monitor cannot run: {error}\nShow the limit of threads: ulimit -u'
        messages.append(Message('error', text))
        return None
    if ended.sample is not None:
        print_report(ended.sample, ended.options)
        messages += (
            warnings_about(ended.sample, driver_responds=ended.has_stopped)
            if notes is None
            else [notes(ended.sample)]
        )
    if ended.crash:
        messages.append(Message('error', ended.crash))
    return ended.status or exit_status(messages)


def _report(source: sampling.LiveSource, options: Options, messages: list[Message]) -> int:
    demand = Demand(owners=shows_owner(view_of(options)), owner_details=False)
    sample = source.complete_sample(demand, metrics=(*REPORT_METRICS, *RULE_METRICS))
    return _finish_report(sample, options, messages, driver_responds=not source.threads_inside)


def _finish_report(
    sample: Sample, options: Options, messages: list[Message], *, driver_responds: bool = True
) -> int:
    try:
        print_report(sample, options)
    except CommandFailure as failure:
        messages.append(Message('error', str(failure)))
    messages += warnings_about(sample, driver_responds=driver_responds)
    if not sample.devices and not exit_status(messages):
        messages.append(Message('error', explain_no_device(sample, options)))
    has_working_gpu = any(not device.is_silent for device in sample.devices)
    return exit_status(messages) or int(not has_working_gpu)


def print_report(sample: Sample, options: Options) -> None:
    colors = color_depth(os.environ, is_terminal=sys.stdout.isatty(), force=options.force_color)
    if sys.stdout.isatty() and needs_ascii(os.environ):
        options = options._replace(ascii=True)
    write_output(
        report_text(sample, options, width=stdout_width(), colors=colors, height=stdout_height())
    )
