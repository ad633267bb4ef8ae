# SPDX-License-Identifier: GPL-3.0-only
"""``nvitop``: arguments → Options → monitor, report, or another command."""

from __future__ import annotations

import functools
import os
import sys
from typing import Sequence

from nvitop.basics.log import IMPOSSIBLE_PROCESSES, MISSING_FUNCTION
from nvitop.console import lifecycle
from nvitop.console.commands import find_command, without_help_word
from nvitop.console.lifecycle import CommandFailure
from nvitop.console.messages import Message, exit_status, print_messages, stdout_has_utf8
from nvitop.console.options import Invocation


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``nvitop`` and return its exit status."""
    words = without_help_word(sys.argv[1:] if arguments is None else arguments)
    if any(word.startswith('--ssh') for word in words[:1]):
        from nvitop.remote.command import remote_query, run_remotely

        query = remote_query(words)
        if query is not None:
            return lifecycle.run('nvitop', functools.partial(run_remotely, *query))
    selected = find_command(words)
    if selected is not None:
        command, rest = selected
        status: int = command.load().main(rest)
        return status
    invocation = _parse(words)
    messages: list[Message] = []
    return lifecycle.run(
        'nvitop',
        functools.partial(_run, invocation, messages),
        on_library_warning=functools.partial(_keep_warning, messages),
    )


def _parse(arguments: list[str]) -> Invocation:
    """Parse the arguments; exit with status 2 if they are invalid."""
    if arguments in ([], ['-1']):  # the usual ones: a parser takes 5 % of the time of a report
        return Invocation({'once': True} if arguments else {})
    from nvitop.console.option_table import parse_arguments

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
    # Other commands need no driver, and a broken binding must not break them.
    from nvitop.api.device.handles import sleeping_gpus, start_nvml
    from nvitop.api.system import system
    from nvitop.console.driver import simulate, start_driver
    from nvitop.gui.settings import print_config, read_options

    options = read_options(invocation, messages)
    if invocation.prints_config:
        print_config(invocation, options)
        return exit_status(messages)
    if options.users == ():
        options = options._replace(users=(system().username(),))
    if not stdout_has_utf8():
        options = options._replace(ascii=True)
    from nvitop.gui.show import show, show_remote  # not for --help and --print-config

    if options.ssh is not None:
        return show_remote(options, messages)
    if options.demo is not None:
        simulate(options.demo, announce=False)
    is_limited = options.only_visible and 'CUDA_VISIBLE_DEVICES' in os.environ
    selects_gpus = options.only is not None or is_limited
    if selects_gpus or not sleeping_gpus(options.wake):
        start_driver('nvitop', functools.partial(start_nvml, options.wake))
    return show(options, messages)


def _keep_warning(messages: list[Message], text: str, kind: str) -> None:
    """Keep a warning of the library to print it last, unless the report shows it anyway."""
    message = Message('warning', text)
    if kind not in (MISSING_FUNCTION, IMPOSSIBLE_PROCESSES) and message not in messages:
        messages.append(message)


if __name__ == '__main__':
    from nvitop.console.lifecycle import run_process

    run_process('nvitop', lambda: main)
