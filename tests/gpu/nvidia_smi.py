"""Compare the columns of ``nvidia-smi --query-…`` with those of ``nvitop query``."""

from __future__ import annotations

import csv
import functools
import re
import subprocess
import sys

from tests.programs import ROOT

NVITOP = (sys.executable, '-m', 'nvitop')
#: Maximum number of names in one command.
NAMES_AT_ONCE = 150
#: Columns that may differ: some drivers print no host name, and NVML does not report the maximum of
#: the host alone.
ACCEPTED = ('hostname', 'pcie.link.gen.hostmax')
#: What nvidia-smi prints for some values, which nvitop still has.
DEPRECATED = '[Requested functionality has been deprecated]'
#: Columns that move → how far outside nvitop's two readings a value of nvidia-smi may be.
NEAR = {
    r'clocks\.current\.\w+': 400,  # MHz
    r'(module\.)?power\.draw(\.\w+)?': 150,  # W
    r'temperature\..+': 5,
    r'(utilization|fan)\.\w+': 30,  # %
}
_NUMBER = re.compile(r'(-?[0-9.]+)( .+)?')


def run(*command: str) -> str:
    """Run a command from the root of the repository; return its output."""
    result = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=60)
    output, errors = (text.decode('utf-8', 'replace') for text in (result.stdout, result.stderr))
    assert result.returncode == 0, f'{" ".join(command)[:200]}: {output[-500:]}{errors[-500:]}'
    return output


def rows(*command: str) -> list[list[str]]:
    return list(csv.reader(run(*command).splitlines(), skipinitialspace=True))


def names_in_help(text: str) -> list[str]:
    """Return the names in ``nvidia-smi --help-query-gpu``: quoted, with "or" between aliases."""
    lines = re.findall(r'^("[\w.]+"(?: or "[\w.]+")*)', text, re.MULTILINE)
    return [name for line in lines for name in re.findall(r'"([^"]+)"', line)]


@functools.lru_cache(maxsize=None)
def names_of(kind: str) -> list[str]:
    """Return the names that ``nvidia-smi --query-KIND`` knows, except the time."""
    names = names_in_help(run('nvidia-smi', f'--help-query-{kind}'))
    return [name for name in names if name != 'timestamp']


def different_columns(kind: str) -> list[str]:
    """Return the differences between ``nvidia-smi --query-KIND`` and nvitop, for all names.

    Values that move can differ by chance, so only what differs three times is a difference.
    """
    found: dict[tuple[int, str], str] = {}
    names = names_of(kind)
    for start in range(0, len(names), NAMES_AT_ONCE):
        option = f'--query-{kind}={",".join(names[start : start + NAMES_AT_ONCE])}', '--format=csv'
        different = _differences_now(option)
        for _ in range(2):
            if different:
                again = _differences_now(option)
                different = {cell: again[cell] for cell in different if cell in again}
        found.update(different)
    return [f'--query-{kind}, row {row}, {text}' for (row, _), text in found.items()]


def _differences_now(option: tuple[str, ...]) -> dict[tuple[int, str], str]:
    commands = (*NVITOP, 'query'), ('nvidia-smi',), (*NVITOP, 'query')
    try:
        return different_cells(*(rows(*command, *option) for command in commands))
    except AssertionError as failure:
        return {(0, ''): str(failure)}


def different_cells(
    before: list[list[str]], theirs: list[list[str]], after: list[list[str]]
) -> dict[tuple[int, str], str]:
    """Return the cells of nvidia-smi that contradict nvitop's tables before and after it, and why."""
    shapes = [[len(row) for row in table] for table in (before, theirs, after)]
    if not shapes[0] == shapes[1] == shapes[2]:
        sizes = ' and '.join(f'{len(shape)} rows of {set(shape)} cells' for shape in shapes)
        return {(0, ''): f'nvitop, nvidia-smi and nvitop print {sizes}: {theirs[-1]} {after[-1]}'}
    found = {}
    for number, (our_row, their_row, later_row) in enumerate(zip(before, theirs, after)):
        for header, ours, text, later in zip(theirs[0], our_row, their_row, later_row):
            name = header.partition(' [')[0]
            if name not in ACCEPTED and not _agrees(name, ours, text, later):
                why = f'{name}: nvidia-smi has {text!r}, nvitop {ours!r} and then {later!r}'
                found[number, name] = why
    return found


def _agrees(name: str, before: str, text: str, after: str) -> bool:
    """Return whether a text is one of nvitop's, or a number between or near them."""
    if text in (before, after, DEPRECATED):
        return True
    numbers = [_NUMBER.fullmatch(each) for each in (before, text, after)]
    values = [float(number[1]) for number in numbers if number is not None]
    if len(values) < 3 or len({number[2] for number in numbers if number is not None}) > 1:
        return False
    near = next((near for pattern, near in NEAR.items() if re.fullmatch(pattern, name)), 0.0)
    return min(values[0], values[2]) - near <= values[1] <= max(values[0], values[2]) + near
