"""Write the files in share/ that are made of others: man pages, completions, dashboard, rules.

``make share`` writes the files; with ``--check`` it lists those that are out of date. They are
committed, so that building nvitop needs neither its dependencies nor those of this program.
"""

from __future__ import annotations

import argparse
import pathlib
import re
import sys
from typing import Iterator, Mapping

import shtab
from make_dashboard import dashboard

from nvitop.console.arguments import ArgumentParser
from nvitop.console.commands import COMMANDS, EXPORTER, NVISEL
from nvitop.console.option_table import make_parser
from nvitop.exporter.dialects import DIALECT_NAMES
from nvitop.query.fields import device_table, process_table
from nvitop.simulation import scenario_names
from nvitop.version import __version__

ROOT = pathlib.Path(__file__).parent.parent
SHARE = ROOT / 'share'
#: Shell → path below the prefix of an installation where it looks for completions.
COMPLETIONS = {
    'bash': 'bash-completion/completions/{}',
    'zsh': 'zsh/site-functions/_{}',
    'fish': 'fish/vendor_completions.d/{}.fish',
}

#: Metavar → completion of its values.
_COMPLETE = {
    'FILE': shtab.FILE,
    'USERNAME': {
        'bash': '_nvitop_users',
        'zsh': '_users',
        'fish': '(__fish_complete_users)',
    },
    'SCENARIO': {
        'bash': '_nvitop_scenarios',
        'zsh': '_nvitop_scenarios',
        'fish': '(_nvitop_scenarios)',
    },
    'PID': {'bash': '_nvitop_pids', 'zsh': '_pids', 'fish': '(__fish_complete_pids)'},
}
#: Options of ``nvitop query`` with fields of processes; the others have fields of GPUs.
_OF_PROCESSES = ('--processes', '--query-compute-apps', '--query-accounted-apps')
#: Common values of ``nvitop query --format``.
_FORMATS = ('csv', 'csv,noheader', 'csv,noheader,nounits', 'json', 'jsonl', 'table')
_PREAMBLE = {
    'bash': """\
_nvitop_users() {{ compgen -u -- "$1"; }}
_nvitop_pids() {{ compgen -W "$(ps -e -o pid= 2>/dev/null)" -- "$1"; }}
_nvitop_scenarios() {{ compgen -W '{0}' -- "$1"; compgen -f -X '!*.toml' -- "$1"; }}
""",
    'zsh': """\
_nvitop_scenarios() {{
  _alternative 'scenarios:scenario:({0})' 'files:file:_files -g "*.toml"'
}}
""",
    'fish': """\
function _nvitop_scenarios
  printf '%s\\n' {0}
  __fish_complete_suffix .toml
end
""",
}

_PROMETHEUS_RULE = """\
# yamllint disable rule:line-length
# share/prometheus/nvitop-alerts.yml and nvitop-usage.yml for the Prometheus Operator, made by `make share`.
# Add the labels that your Prometheus selects (ruleSelector), such as release: kube-prometheus-stack.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: nvitop
  namespace: nvitop
  labels:
    app.kubernetes.io/name: nvitop-exporter
spec:
  groups:
"""

#: Functions that complete comma-separated fields. ``{0}``: of GPUs or processes; ``{1}``: fields.
_FIELDS = {
    'bash': """\
_nvitop_{0}() {{
  local before=
  [[ $1 == *,* ]] && before="${{1%,*}},"
  compgen -P "$before" -W '{1}' -- "${{1##*,}}"
}}
""",
    'zsh': '_nvitop_{0}() {{ _values -s , field {1} }}\n',
    'fish': """\
function _nvitop_{0}
  set -l before (commandline -ct | string replace -r '^--[^=]*=' '' | string replace -r '[^,]*$' '')
  printf "$before%s\\n" {1}
end
""",
}

_SIMULATION = {'NVITOP_DEMO': 'Name or file of a scenario to simulate, like --demo.'}
_LIBRARY = {
    'NVITOP_NVML_PROCESS_API': 'v1, v2 or v3: layout of the process lists of the driver, if it is '
    'detected incorrectly.',
    'LOGLEVEL': 'DEBUG, INFO, WARNING or ERROR: log messages of the library at this level.',
}
#: Command → environment variables for its man page.
ENVIRONMENT: Mapping[str, Mapping[str, str]] = {
    'nvitop': {
        'CUDA_VISIBLE_DEVICES': 'Devices of --only-visible.',
        'NVITOP_MONITOR_MODE': 'Comma-separated words: one of auto, full, compact; colorful or '
        'plain; light or dark; readonly.',
        'NO_COLOR, ANSI_COLORS_DISABLED': 'If set: never use colors.',
        'FORCE_COLOR': 'If set: color the report even if the output is not a terminal.',
        **_SIMULATION,
        **_LIBRARY,
    },
    'nvisel': {
        'CUDA_VISIBLE_DEVICES': 'Devices of --inherit without a value.',
        'CUDA_DEVICE_ORDER': 'FASTEST_FIRST or PCI_BUS_ID: order of the indices in '
        'CUDA_VISIBLE_DEVICES.',
        **_SIMULATION,
        **_LIBRARY,
    },
}
_OTHER_ENVIRONMENT = {**_SIMULATION, **_LIBRARY}
FILES = {
    '~/.config/nvitop/config.toml': 'Configuration file on Linux; nvitop --print-config prints one '
    'with comments. Other systems have their own directory for settings.',
}


# Completions


def completion_parser(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """A copy of a parser with completions, and for ``nvitop`` with its commands below it."""
    made = argparse.ArgumentParser(prog=parser.prog, parents=[parser], add_help=False)
    if parser.prog == 'nvitop':
        commands = made.add_subparsers(title='commands', metavar='COMMAND')
        for command in COMMANDS:
            parents = [command.load().make_parser()]
            commands.add_parser(command.name, help=command.help, parents=parents, add_help=False)
        of_help = commands.add_parser('help', help='show the help of a command', add_help=False)
        of_help.add_argument('command', choices=[*(each.name for each in COMMANDS), NVISEL.name])
    for subparser in _with_subparsers(made):
        for action in subparser._actions:
            if action.metavar == 'FORMAT':
                action.choices = _FORMATS
            if '--names' in action.option_strings:
                action.choices, action.type = DIALECT_NAMES, None
            if action.metavar == 'FIELDS':
                of_processes = action.option_strings[0] in _OF_PROCESSES
                function = '_nvitop_' + ('process_fields' if of_processes else 'gpu_fields')
                by_shell = {'bash': function, 'zsh': function, 'fish': f'({function})'}
                vars(action)['complete'] = by_shell
            completer = _COMPLETE.get(str(action.metavar))
            if completer is not None:
                vars(action)['complete'] = completer  # an attribute that shtab reads
    return made


def _with_subparsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices.values()


def completion(parser: argparse.ArgumentParser, shell: str) -> str:
    """The completion script of a command for a shell."""
    functions = _PREAMBLE[shell].format(' '.join(scenario_names()))
    if parser.prog == 'nvitop':
        for of, table in (('gpu', device_table()), ('process', process_table())):
            fields = ' '.join(sorted(table.by_name))
            functions += _FIELDS[shell].format(f'{of}_fields', fields)
    preamble = {shell: functions}
    text = shtab.complete(completion_parser(parser), shell, preamble=preamble)
    if shell == 'fish':
        # Options with one dash and several letters are "old-style" options in fish.
        text = re.sub(r' -s (\w{2,}) ', r' -o \1 ', text)
    if shell == 'zsh':
        # A value may also follow "=".
        text = re.sub(r'^(  "[*]?--[\w.-]+)(\[.*\]:)', r'\1=\2', text, flags=re.MULTILINE)
    return '\n'.join(line.rstrip() for line in text.splitlines()).rstrip('\n') + '\n'


# Man pages


def man_page(parser: ArgumentParser, summary: str, date: str) -> str:
    """The man page of a command, in section 1."""
    name = parser.prog.replace(' ', '-')
    lines = [
        f'.TH {name.upper()} "1" "{date}" "nvitop {__version__}" "User Commands"',
        '.SH NAME',
        f'{_roff(name)} \\- {_roff(summary)}',
        '.SH SYNOPSIS',
        *'\n.br\n'.join(_call(line.strip()) for line in str(parser.usage).split('\n')).split('\n'),
        '.SH DESCRIPTION',
        _roff(' '.join(str(parser.description).split())),
    ]
    if parser.prog == 'nvitop':
        commands = {f'nvitop-{command.name}(1)': command.help for command in COMMANDS}
        lines += ['.SH COMMANDS', *_definitions(commands)]
    lines += ['.SH OPTIONS', *_options(parser)]
    lines += ['.SH EXIT STATUS', *_definitions(parser.exit_status)]
    environment = ENVIRONMENT.get(parser.prog, _OTHER_ENVIRONMENT)
    lines += ['.SH ENVIRONMENT', *_definitions(environment)]
    if parser.prog == 'nvitop':
        lines += ['.SH FILES', *_definitions(FILES)]
    lines += ['.SH EXAMPLES', '.nf', *map(_roff, parser.examples.splitlines()), '.fi']
    others = ['nvitop', *(f'nvitop-{command.name}' for command in COMMANDS), NVISEL.name]
    pages = [*(other for other in others if other != name), 'nvidia-smi']
    return '\n'.join([*lines, '.SH SEE ALSO', ', '.join(map(_bold_page, pages))]) + '\n'


def _roff(text: str) -> str:
    escaped = text.replace('\\', '\\e').replace('-', '\\-')
    return f'\\&{escaped}' if escaped.startswith(('.', "'")) else escaped


def _call(usage: str) -> str:
    command, _, arguments = usage.partition(' [')
    return f'.B {_roff(command)}\n[{_roff(arguments)}'


def _bold_page(name: str) -> str:
    return f'\\fB{_roff(name)}\\fR(1)'


def _definitions(rows: Mapping[str, str]) -> Iterator[str]:
    for name, text in rows.items():
        yield from ('.TP', f'\\fB{_roff(name)}\\fR', _roff(text))


def _options(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Each group of options as a subsection."""
    formatter = parser._get_formatter()
    for group in parser._action_groups:
        actions = [option for option in group._group_actions if option.help != argparse.SUPPRESS]
        if not actions:
            continue
        yield f'.SS {_roff(str(group.title).capitalize())}'
        for action in actions:
            names = ', '.join(f'\\fB{_roff(option)}\\fR' for option in action.option_strings)
            values = '' if action.nargs == 0 else formatter._format_args(action, action.dest)
            yield from ('.TP', f'{names} \\fI{_roff(values)}\\fR'.lstrip() if values else names)
            yield _roff(action.help or '')


def release_date() -> str:
    """The day of the newest release in CHANGELOG.md, ``''`` before the first one."""
    text = (ROOT / 'CHANGELOG.md').read_text(encoding='utf-8')
    found = re.search(r'^## \[?\d[^]\n]*\]? - (\d{4}-\d\d-\d\d)$', text, re.MULTILINE)
    return found.group(1) if found else ''


# Files


def contents() -> dict[str, str]:
    """Path below share/ → text of the file."""
    nvitop, nvisel = make_parser(), NVISEL.load().make_parser()
    exporter = EXPORTER.load().make_parser('nvitop-exporter')
    made = {
        f'man/man1/{name}.1': man_page(parser, summary, release_date())
        for name, parser, summary in (
            ('nvitop', nvitop, 'show NVIDIA GPUs and their processes'),
            (NVISEL.name, nvisel, NVISEL.help),
            *((f'nvitop-{each.name}', each.load().make_parser(), each.help) for each in COMMANDS),
        )
    }
    for parser in (nvitop, nvisel, exporter):
        for shell, path in COMPLETIONS.items():
            made[path.format(parser.prog)] = completion(parser, shell)
    made['grafana/nvitop.json'] = dashboard()
    made['kubernetes/nvitop-rules.yaml'] = prometheus_rule()
    return made


def prometheus_rule() -> str:
    """Return the rules of share/prometheus/ as a PrometheusRule of the Prometheus Operator."""
    texts = [
        (SHARE / 'prometheus' / f'nvitop-{name}.yml').read_text(encoding='utf-8')
        for name in ('alerts', 'usage')
    ]
    groups = ''.join(text.partition('groups:\n')[2] for text in texts)
    return _PROMETHEUS_RULE + re.sub(r'^(?=.)', '  ', groups, flags=re.MULTILINE)


def stale(made: Mapping[str, str]) -> list[str]:
    """Files in share/ that are out of date, missing or superfluous."""
    paths = [path.relative_to(SHARE) for path in SHARE.rglob('*') if path.is_file()]
    generated = {path.partition('/')[0] for path in made} - {'kubernetes'}
    existing = {path.as_posix() for path in paths if path.parts[0] in generated}
    wrong = existing - made.keys()
    for path, text in made.items():
        if not (SHARE / path).is_file() or (SHARE / path).read_text(encoding='utf-8') != text:
            wrong.add(path)
    return sorted(wrong)


def main() -> int:
    """Write the files, or with ``--check`` only list those that are out of date."""
    made = contents()
    if '--check' in sys.argv[1:]:
        for path in stale(made):
            print(f'share/{path} is out of date: run make share')
        return 1 if stale(made) else 0
    for path, text in made.items():
        (SHARE / path).parent.mkdir(parents=True, exist_ok=True)
        (SHARE / path).write_text(text, encoding='utf-8')
    return 0


if __name__ == '__main__':
    sys.exit(main())
