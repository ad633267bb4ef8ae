# SPDX-License-Identifier: Apache-2.0
"""The argument parser of all commands, the options that several have, and advice about wrong ones."""

from __future__ import annotations

import argparse
import itertools
import re
import sys
from typing import TYPE_CHECKING, Any, Callable, Collection, Mapping, NoReturn, Sequence, TypeVar

from nvitop.basics.text import printable
from nvitop.basics.toml import suggestion, unknown
from nvitop.basics.units import MiB, human2bytes, read_duration
from nvitop.console.lifecycle import write_output
from nvitop.console.messages import print_message
from nvitop.version import __version__

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

    from nvitop.console.commands import Command

    T = TypeVar('T')


#: Command or option of nvidia-smi, gpustat, htop, watch or nvitop 1 → what to run or use instead.
ADVICE = {
    'nvitop pmon': 'nvitop query --processes',
    'nvitop dmon': 'nvitop query --gpu',
    'nvitop -q': 'nvitop query --all --format=json',
    'nvitop -x': 'nvitop query --all --format=json',
    'nvitop --json': 'nvitop query --all --format=json',
    'nvitop --watch': '--interval TIME',
    'nvitop -d': '--interval TIME',
    'nvitop -n': '--interval TIME',
    'nvitop --no-color': '--theme mono',
    'nvitop --color': '--force-color',
    'nvitop --sort': 'the keys o (sort) and \\ (filter)',
    'nvitop -v': '--version',
    'nvitop query -q': '--all --format=json',
    'nvitop query --watch': '-l TIME',
    'nvitop exporter --port': '--listen [ADDRESS]:PORT',
    'nvitop exporter --bind-address': '--listen [ADDRESS]:PORT',
    'nvitop usage --demo': 'nvitop record --demo -o FILE, then nvitop usage FILE',
}


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Shows the arguments of an option once: ``-o, --only DEVICE ...``."""

    def _format_action_invocation(self, action: argparse.Action) -> str:
        names = ', '.join(action.option_strings)
        if action.nargs == 0:
            return names
        return f'{names} {self._format_args(action, (action.dest or "").upper())}'.lstrip()

    def _format_args(self, action: argparse.Action, default_metavar: str) -> str:
        (name,) = self._metavar_formatter(action, default_metavar)(1)
        if action.nargs == argparse.ONE_OR_MORE:
            return f'{name} ...'
        if action.nargs == argparse.ZERO_OR_MORE:
            return f'[{name} ...]'
        return super()._format_args(action, default_metavar)


class ArgumentParser(argparse.ArgumentParser):
    """A parser without abbreviations, whose errors are one line and suggest similar options."""

    def __init__(
        self,
        *,
        prog: str,
        usage: Sequence[str],
        description: str,
        examples: str,
        exit_status: Mapping[str, str],
        commands: Sequence[Command] = (),
        argument_default: Any = None,
        error_status: int = 2,
    ) -> None:
        lines = ''.join(f'  {line}\n' for line in examples.splitlines())
        width = max(map(len, exit_status))
        statuses = ''.join(f'  {code:{width}}  {text}\n' for code, text in exit_status.items())
        super().__init__(
            prog=prog,
            usage='\n       '.join(usage),
            description=description,
            epilog=f'examples:\n{lines}\nexit status:\n{statuses}',
            formatter_class=_HelpFormatter,
            argument_default=argument_default,
            add_help=False,
            allow_abbrev=False,
        )
        self._negative_number_matcher = re.compile(r'-\d')  # values such as -7d, too
        self.examples = examples
        self.exit_status = exit_status
        self._commands = commands
        self._error_status = error_status

    def parse(self, arguments: Sequence[str] | None = None) -> argparse.Namespace:
        """Parse all arguments; exit with an error and a suggestion if one is unknown."""
        words = list(sys.argv[1:] if arguments is None else arguments)
        parsed, unknown = self.parse_known_args(words)
        if unknown:
            self.error(self._explain(unknown[0], words))
        return parsed

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        """Convert an argument; the text of a ValueError is shown to the user."""
        try:
            return action.type(arg_string) if callable(action.type) else arg_string
        except ValueError as error:
            raise argparse.ArgumentError(action, str(error)) from None

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Check a value against the choices of an option."""
        if action.choices is not None and value not in action.choices:
            raise argparse.ArgumentError(action, unknown('value', value, [*action.choices]))

    def _explain(self, word: str, words: Sequence[str]) -> str:
        names = [command.name for command in self._commands]
        if word == '--':  # of a command that is not the first argument
            word = next((name for name in words if name in names), word)
        if word.startswith('-') and word != '-':
            return self._explain_option(word.partition('=')[0])
        if word in names:
            return f'{word!r} must be the first argument: nvitop {word} ...'
        if word == words[0] and names and not word.isdigit():
            advice = ADVICE.get(f'{self.prog} {word}')
            hint = f'; run {advice}' if advice else suggestion(word, names)
            return f'unknown command {word!r}{hint or "; run nvitop --help for a list"}'
        if '--ssh' in words:
            return f'--ssh takes one machine, not also {word!r}; for several: nvitop fleet HOST ...'
        return f'unexpected argument {word!r}'

    def _explain_option(self, option: str) -> str:
        name = self.prog.partition(' ')[2]
        if option == '--ssh' and name:
            return f'{name!r} does not take {option}; run it there: ssh HOST nvitop {name} ...'
        message = f'unknown option {option!r}'
        advice = ADVICE.get(f'{self.prog} {option}')
        if advice:
            return f'{message}; use {advice}'
        for command in self._commands:
            if option in command.load().make_parser().option_names():
                return f"{message}; did you mean 'nvitop {command.name} {option}'?"
        return f'{message}{suggestion(option, self.option_names())}'

    def option_names(self) -> list[str]:
        """All options that the help shows."""
        return [
            name
            for action in self._actions
            if action.help != argparse.SUPPRESS
            for name in action.option_strings
        ]

    def error(self, message: str) -> NoReturn:
        """Print an error and exit."""
        print_message(self.prog, 'error', printable(re.sub('^argument ', '', message)))
        self.exit(self._error_status)

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        """Write the help or the version. Failures to write are not ignored, as argparse does."""
        write_output(message)


def add_general(parser: argparse.ArgumentParser, *, demo: bool = True) -> argparse._ArgumentGroup:
    """Add the group of the options that every command has; return it."""
    group = parser.add_argument_group('general')
    group.add_argument('-h', '--help', action='help', help='show this help and exit')
    version = f'%(prog)s {__version__}'
    group.add_argument(
        '-V', '--version', action='version', version=version, help='show the version and exit'
    )
    if demo:  # see nvitop.console.driver.simulate
        group.add_argument(
            '--demo',
            nargs='?',
            const='',
            metavar='SCENARIO',
            help='simulate a machine; SCENARIO is a name, a TOML file, or an XML file of nvidia-smi '
            '(default: dgx-h100)',
        )
    return group


def size(least: str = '0') -> Callable[[str], int]:
    """Return a type of arguments: a size such as ``'4GiB'`` or ``'500M'``, in bytes."""

    def convert(text: str) -> int:
        try:
            size_bytes = human2bytes(text)
        except ValueError:
            raise ValueError(f'not a size such as 4GiB or 500M: {text!r}') from None
        if text.strip().isdigit() and 0 < size_bytes < MiB:
            raise ValueError(f'{text!r} is {size_bytes} bytes; did you mean {size_bytes}GiB?')
        if size_bytes < human2bytes(least):
            raise ValueError(f'must be at least {least}, not {text!r}')
        return size_bytes

    return convert


def duration(least: float, most: float, *, unit: str = 's') -> Callable[[str], float]:
    """Return a type of arguments: a duration such as ``'500ms'`` or ``'1h30m'``, in seconds."""
    return lambda text: read_duration(text, least, most, unit)


def whole_number(least: int, most: int | None = None) -> Callable[[str], int]:
    """Return a type of arguments: a number without a fraction, from ``least`` to ``most``."""
    limits = f'of {least} or more' if most is None else f'from {least} to {most}'

    def convert(text: str) -> int:
        number = int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else -1
        if number < least or (most is not None and number > most):
            raise ValueError(f'must be a whole number {limits}, not {text!r}')
        return number

    return convert


def one_of(noun: str, names: Collection[str]) -> Callable[[str], str]:
    """Return a type of arguments: one of some names."""

    def convert(text: str) -> str:
        if text not in names:
            raise ValueError(unknown(noun, text, names))
        return text

    return convert


def separated(convert: Callable[[str], T]) -> Callable[[str], tuple[T, ...]]:
    """Return a type of arguments: one value, or several that are separated by commas."""

    def convert_all(text: str) -> tuple[T, ...]:
        return tuple(map(convert, text.split(',')))

    return convert_all


class Extend(argparse.Action):
    """Adds the values of an option whose type is :func:`separated` to one tuple."""

    def __call__(self, _: object, namespace: argparse.Namespace, values: Any, *__: object) -> None:
        before = getattr(namespace, self.dest, None) or ()
        setattr(namespace, self.dest, (*before, *itertools.chain.from_iterable(values)))


def _parse_devices(text: str) -> tuple[str, ...]:
    """Names of devices, separated by commas."""
    from nvitop.console.device_names import EXPECTED, is_device_name, split_names

    names = split_names(text)
    if not names:
        raise ValueError('no device given')
    for name in names:
        if not is_device_name(name):
            raise ValueError(f'expected {EXPECTED}, not {name!r}')
    return tuple(names)


#: The option that selects devices; its value is a tuple of names.
DEVICES: Mapping[str, Any] = {
    'nargs': '+',
    'action': Extend,
    'type': _parse_devices,
    'metavar': 'DEVICE',
}
DEVICES_HELP = (
    'include only these devices: indices, GPU:MIG indices, UUIDs, PCI bus IDs or serial numbers'
)


def add_devices(group: argparse._ActionsContainer, *names: str, more: str = '') -> None:
    group.add_argument(*names, dest='only', help=f'{DEVICES_HELP}{more}', **DEVICES)
