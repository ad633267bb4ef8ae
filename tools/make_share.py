"""Write what is installed below share/: man pages and completions of shells, from the parsers.

``make share`` writes the files; with ``--check`` it says which of them are not current. They are
committed, so that building nvitop needs neither its dependencies nor those of this program.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import sys
from typing import Callable, Iterator

import shtab
from argparse_manpage.manpage import Manpage

from nvitop.console import options
from nvitop.query import command as query
from nvitop.select import command as select
from nvitop.simulation import scenario_names
from nvitop.version import __version__

ROOT = pathlib.Path(__file__).parent.parent
SHARE = ROOT / 'share'
#: Where each shell looks below the prefix of an installation.
BASH, ZSH, FISH = (
    'bash-completion/completions/{}',
    'zsh/site-functions/_{}',
    'fish/vendor_completions.d/{}.fish',
)

#: What completes an option's values, by the name of what they are.
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
#: What nvitop query writes; words can be put together.
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

_NAMES = {
    'nvitop': 'NVIDIA GPUs and their processes: monitor, report and query',
    'nvisel': 'choose free NVIDIA GPUs',
}
_ENVIRONMENT = {
    'CUDA_VISIBLE_DEVICES': 'The devices of --only-visible (nvitop) and --inherit (nvisel).',
    'NVITOP_DEMO': 'Name or file of a scenario: a simulated machine stands in for this one.',
    'NVITOP_MONITOR_MODE': 'Words for the monitor, separated by commas: one of auto, full, '
    'compact; colorful or plain; light or dark; readonly.',
    'NVITOP_GPU_UTILIZATION_THRESHOLDS': 'The same as --gpu-util-thresh: two percentages, '
    'separated by a comma.',
    'NVITOP_MEMORY_UTILIZATION_THRESHOLDS': 'The same as --mem-util-thresh.',
    'NVITOP_NVML_PROCESS_API': 'v1, v2 or v3: the layout in which the driver writes lists of '
    'processes, where it is not recognised.',
    'NO_COLOR, FORCE_COLOR, ANSI_COLORS_DISABLED': 'Set to anything: never, always, never color.',
    'LOGLEVEL': 'DEBUG, INFO, WARNING or ERROR: warnings of the library are written as they come.',
}
_FILES = {
    '~/.config/nvitop/config.toml': 'Options as a TOML file; nvitop --print-config writes one with '
    'comments. On other systems than Linux it lies in the folder for settings of that system.',
}


def nvitop_parser() -> argparse.ArgumentParser:
    """The parser of ``nvitop`` with that of ``nvitop query`` below it, as users see them."""
    parser = options.make_parser()
    below = query.make_parser()
    jobs = parser.add_subparsers(title='other jobs', metavar='query')
    jobs.add_parser(
        'query',
        usage='nvitop query [option ...]',
        parents=[below],
        add_help=False,
        help='print what is measured as CSV, JSON or a table; see nvitop query --help',
        description=below.description,
        epilog=below.epilog,
        formatter_class=below.formatter_class,
    )
    return parser


def _parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices.values()


def add_completers(parser: argparse.ArgumentParser) -> None:
    """Tell each action that takes files, users, PIDs or scenarios how they are completed."""
    for each in _parsers(parser):
        for action in each._actions:
            if isinstance(action.metavar, tuple):
                action.metavar = ' '.join(action.metavar)
            if action.metavar == 'FORMAT':
                action.choices = _FORMATS
            completer = _COMPLETE.get(action.metavar or '')
            if completer is not None:
                vars(action)['complete'] = completer  # what shtab reads


def completion(make: Callable[[], argparse.ArgumentParser], shell: str) -> str:
    """The completion of a command for a shell."""
    parser = make()
    add_completers(parser)
    preamble = {shell: _PREAMBLE[shell].format(' '.join(scenario_names()))}
    text = shtab.complete(parser, shell, preamble=preamble)
    if shell == 'fish':
        # What fish calls an old-style option: one dash, several letters.
        text = re.sub(r' -s (\w{2,}) ', r' -o \1 ', text)
    return '\n'.join(line.rstrip() for line in text.splitlines()).rstrip('\n') + '\n'


def _definitions(rows: dict[str, str]) -> str:
    pairs = (f'.TP\n\\fB{name}\\fR\n{text}'.replace('-', '\\-') for name, text in rows.items())
    return '\n\n'.join(pairs) + '\n'


def man_page(make: Callable[[], argparse.ArgumentParser], date: str) -> str:
    """The man page of a command, in section 1."""
    parser = make()
    other = 'nvisel' if parser.prog == 'nvitop' else 'nvitop'
    data = {
        'project_name': 'nvitop',
        'version': __version__,
        'date': date,
        'manual_title': 'User Commands',
        'description': _NAMES[parser.prog],
    }
    page = Manpage(parser, _data=data)
    page.date = date  # the library takes none for today
    page.add_section('synopsis', '=', _synopsis(parser))
    page.add_section('environment', '>', _definitions(_ENVIRONMENT))
    if parser.prog == 'nvitop':
        page.add_section('files', '>', _definitions(_FILES))
        page.add_section('examples', '>', _examples(query.make_parser()))
    page.add_section('see also', '>', f'\\fB{other}\\fR(1), \\fBnvidia\\-smi\\fR(1)\n')
    text = str(page).replace('.SH COMMENTS', '.SH NOTES')
    # A day is no text in which a hyphen may become a dash.
    return text.replace(date.replace('-', '\\-'), date, 1) if date else text


def _synopsis(parser: argparse.ArgumentParser) -> str:
    """Each way to call a command, on a line of its own."""
    usage = ' '.join(parser.format_usage().split()[2:])
    if parser.prog == 'nvitop':
        usage = usage.replace(' query ...', '') + '\n.br\n.B nvitop query\n[option ...]'
    return f'.B {parser.prog}\n{usage}'.replace('-', '\\-')


def _examples(parser: argparse.ArgumentParser) -> str:
    """The examples at the end of a help text."""
    text = (parser.epilog or '').split('examples:\n', 1)[1].split('\n\n', 1)[0]
    return f'.nf\n{text}\n.fi\n'.replace('-', '\\-')


def release_date() -> str:
    """The day of the newest release in CHANGELOG.md, ``''`` before the first one."""
    text = (ROOT / 'CHANGELOG.md').read_text(encoding='utf-8')
    found = re.search(r'^## \[?\d[^]\n]*\]? - (\d{4}-\d\d-\d\d)$', text, re.MULTILINE)
    return found.group(1) if found else ''


def contents() -> dict[str, str]:
    """Path below share/ → what the file says."""
    # So wide that no line of a help text is broken.
    os.environ['COLUMNS'] = '10000'
    made = {}
    for name, make in (('nvitop', nvitop_parser), ('nvisel', select.make_parser)):
        made[f'man/man1/{name}.1'] = man_page(make, release_date())
        for shell, path in (('bash', BASH), ('zsh', ZSH), ('fish', FISH)):
            made[path.format(name)] = completion(make, shell)
    return made


def stale(made: dict[str, str]) -> list[str]:
    """The files that do not say what they should, or should not be there."""
    there = {path.relative_to(SHARE).as_posix() for path in SHARE.rglob('*') if path.is_file()}
    wrong = there - made.keys()
    for path, text in made.items():
        if path not in there or (SHARE / path).read_text(encoding='utf-8') != text:
            wrong.add(path)
    return sorted(wrong)


def main() -> int:
    """Write the files, or with ``--check`` only say which are not current."""
    made = contents()
    if '--check' in sys.argv[1:]:
        for path in stale(made):
            print(f'share/{path} is not current: run make share')
        return 1 if stale(made) else 0
    for path, text in made.items():
        (SHARE / path).parent.mkdir(parents=True, exist_ok=True)
        (SHARE / path).write_text(text, encoding='utf-8')
    return 0


if __name__ == '__main__':
    sys.exit(main())
