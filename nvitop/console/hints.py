# SPDX-License-Identifier: Apache-2.0
"""Advice in messages about wrong command lines: what people type who know other programs."""

from __future__ import annotations

import re
from typing import Sequence

from nvitop.toml import suggestion

_MONITOR = 'nvitop (without a command)'
_REPORT = 'nvitop -1'
_SIGNAL = 'nvitop, select a process, and press T or K'
#: Word that is no command of nvitop → what to run instead.
COMMAND_HINTS = {
    **dict.fromkeys(('top', 'watch', 'monitor', 'gui', 'tui', 'start'), _MONITOR),
    **dict.fromkeys(('status', 'show', 'list', 'ls', 'report', 'info', 'print', 'once'), _REPORT),
    **dict.fromkeys(('kill', 'stop', 'signal', 'term'), _SIGNAL),
    **dict.fromkeys(('ps', 'pmon', 'processes', 'procs'), 'nvitop query --processes'),
    **dict.fromkeys(('stats', 'dmon', 'csv', 'get'), 'nvitop query --gpu'),
    **dict.fromkeys(('json', 'export', 'dump'), 'nvitop query --all --format=json'),
    **dict.fromkeys(('select', 'pick', 'free', 'choose'), 'nvisel'),
    **dict.fromkeys(('serve', 'metrics', 'prometheus'), 'nvitop exporter'),
    **dict.fromkeys(('cluster', 'hosts', 'nodes'), 'nvitop fleet'),
    **dict.fromkeys(('log', 'capture'), 'nvitop record'),
    **dict.fromkeys(('play', 'history'), 'nvitop replay'),
    'ssh': 'nvitop --ssh HOST',
    'version': 'nvitop --version',
    'demo': 'nvitop --demo',
    'config': 'nvitop --print-config',
    'check': 'nvitop health',
    **dict.fromkeys(('user', 'users'), 'nvitop usage'),
    **dict.fromkeys(('wait', 'lock', 'queue', 'reserve'), 'nvitop run COMMAND'),
    **dict.fromkeys(('python', 'python3', 'torchrun', 'bash', 'sh'), 'nvitop run COMMAND'),
}
_JSON = '--format=json'
_SORT = 'the keys o and O of the monitor, or pipe the output to sort'
#: Command → option of another program → the options of this one instead.
OPTION_HINTS: dict[str, dict[str, str]] = {
    'nvitop query': {
        **dict.fromkeys(('-w', '--watch', '--interval', '--delay', '-d', '-n'), '-l TIME'),
        **dict.fromkeys(('--sort', '--order'), _SORT),
        **dict.fromkeys(('--filter', '--user', '-u'), 'the field user, and grep'),
        **dict.fromkeys(('--json', '--xml', '-x'), _JSON),
        **dict.fromkeys(('-q', '--query'), '--all --format=json'),
        '--csv': '--format=csv',
        '--fields': '--gpu=FIELDS',
        '--output': '-f FILE',
    },
    'nvitop record': {'-l': '--interval TIME', '--time': '--duration TIME'},
    'nvitop run': {
        **dict.fromkeys(('--gpus', '--num-gpus', '-g', '--gpu'), '-n N'),
        **dict.fromkeys(('--timeout', '--time'), '--wait TIME'),
    },
    'nvitop claims': {'--json': _JSON, '--release': 'kill PID: a claim ends with its command'},
    'nvitop health': {
        '--json': _JSON,
        '--nagios': '--format=nagios',
        '--watch': 'watch nvitop health',
    },
    'nvitop usage': {
        '--json': _JSON,
        '--csv': '--format=csv',
        **dict.fromkeys(('--from', '--last', '--days'), '--since TIME'),
        '--to': '--until TIME',
    },
    'nvitop fleet': {'--host': '--filter host:NAME'},
    'nvitop exporter': {'--listen': '--web.listen-address', '--config': '--web.config.file'},
    'nvisel': {
        '--timeout': '--wait TIME',
        **dict.fromkeys(('--gpus', '--num', '--num-gpus'), '-n N'),
        **dict.fromkeys(('--free', '--memory', '-m'), '-f SIZE'),
        '--': 'nvitop run to start a command',
    },
}
OPTION_HINTS['nvitop'] = {
    **dict.fromkeys(('-x', '--xml'), 'nvitop query --all --format=json'),
    **dict.fromkeys(('-q', '--query', '--json'), 'nvitop query --all --format=json'),
    **dict.fromkeys(('-a', '--all'), 'nvitop query --all'),
    '--csv': 'nvitop query --gpu',
    **dict.fromkeys(('-w', '--watch', '--refresh', '--delay', '-d', '-n'), '--interval TIME'),
    **dict.fromkeys(('--no-color', '--no-colour'), '--theme mono'),
    **dict.fromkeys(('--color', '--colour'), '--force-color'),
    '--dark': '--theme dark',
    **dict.fromkeys(('--monochrome', '--mono', '--plain'), '--theme mono'),
    **dict.fromkeys(('--sort', '-s', '--filter'), 'the keys o (sort) and \\ (filter)'),
    **dict.fromkeys(('-v', '-Version'), '--version'),
    '-?': '--help',
    **dict.fromkeys(('--gpus', '--device', '--devices', '--gpu-id'), '-o DEVICE ...'),
}
#: Options of ``nvitop query`` whose value is a comma-separated list.
_FIELD_OPTIONS = ('--gpu', '--processes', '--query-', '--format')

#: Message of argparse → what to print. ``{0}`` is the name of the option.
_MESSAGES = (
    (r"ignored explicit argument '(.*)'", "{0} takes no value, not '{1}'"),
    (r'expected one argument', '{0} needs a value'),
    (r'expected at least one argument', '{0} needs at least one value'),
    (r'expected (\d+) arguments', '{0} needs {1} values'),
    (r'not allowed with argument (\S+)', '{0} and {1} cannot be combined'),
    (r"invalid choice: '(.*)' \(choose from (.*)\)", "{0} must be one of {2}, not '{1}'"),
    (r'(.*)', '{0}: {1}'),
)


def plain_message(message: str, given: Sequence[str]) -> str:
    """Return a message of argparse as a sentence for users.

    Args:
        message: The message.
        given: The arguments; an option is named as there.
    """
    match = re.fullmatch(r'argument (\S+): (.*)', message, re.DOTALL)
    if match is None:
        return message
    for pattern, text in _MESSAGES:
        found = re.fullmatch(pattern, match.group(2), re.DOTALL)
        if found is not None:
            words = [_name_in(given, word) for word in (match.group(1), *found.groups())]
            if len(words) > 2:
                choices = words[2].replace("'", '')
                hint = suggestion(words[1], choices.split(', '))
                return text.format(words[0], words[1], choices) + hint
            return text.format(*words)
    return message


def _name_in(given: Sequence[str], names: str) -> str:
    """Return the name of an option that is given, or its last one: ``--once`` for ``-1/--once``."""
    if not re.fullmatch(r'-[\w./-]+', names):
        return names
    options = names.split('/')
    typed = (word.partition('=')[0] for word in given)
    return next((word for word in typed if word in options), options[-1])


def advise_on_argument(prog: str, word: str, given: Sequence[str]) -> str:
    """Return what to do about a word that is no option, ``''`` if nothing is known.

    Args:
        prog: Name of the command.
        word: The word.
        given: All arguments of the command.
    """
    fields = _split_fields(word, given) if prog == 'nvitop query' else ''
    if fields:
        return f'; separate names with commas: {fields}'
    if prog == 'nvitop query' and not word.isdigit():
        if word in ('csv', 'json', 'jsonl', 'table'):
            return f'; did you mean {"--format=" + word!r}?'
        if word in ('gpu', 'processes', 'all', 'list'):
            return f'; did you mean {"--" + word!r}?'
        return f'; name fields with an option: nvitop query --gpu={word}'
    if prog == 'nvisel':
        count = f'for {word} GPUs: nvisel -n {word}'
        return f'; {count if word.isdigit() else "to start a command: nvitop run"}'
    if word.isdigit() and prog in ('nvitop', 'nvitop query'):
        return f'; for GPU {word} only: {prog} -i {word}'
    return ''


def _split_fields(word: str, given: Sequence[str]) -> str:
    """Return ``--gpu=index,name`` for a word of ``--gpu index name``, else ``''``."""
    place = list(given).index(word)
    start = place
    while start > 0 and not given[start].startswith('-'):
        start -= 1
    option, _, first = given[start].partition('=')
    if not option.startswith(_FIELD_OPTIONS):
        return ''
    end = place
    while end < len(given) and not given[end].startswith('-'):
        end += 1
    words = [first, *given[start + 1 : end]]
    return f'{option}={",".join(each.strip(",") for each in words if each.strip(","))}'
