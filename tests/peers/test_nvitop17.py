"""Names, exit statuses and exported series of nvitop 1.7 and of this nvitop, run side by side."""

from __future__ import annotations

import functools
import json
import os
import pathlib
import subprocess
import sys
from typing import Any, List, Tuple

import pytest

if 'NVITOP_PEER' not in os.environ:
    pytest.skip(
        'NOTHING WAS COMPARED with nvitop 1.7: not installed here (make test-peers)',
        allow_module_level=True,
    )

PROGRAM = pathlib.Path(__file__).with_name('program.py')
ROOT = PROGRAM.parents[2]
OURS = sys.executable
#: Interpreter with nvitop and nvitop-exporter 1.7.2.
PEER = os.environ.get('NVITOP_PEER', '')

FORMS = ('-m full', '-m compact', '-m auto', '--monitor')

Parameters = List[Tuple[str, str, bool]]  # name, kind and whether it is optional


@functools.lru_cache(maxsize=None)
def described(python: str, *arguments: str) -> Any:
    """Return what the nvitop of an interpreter prints about itself."""
    command = [python, str(PROGRAM), str(ROOT), *arguments]
    done = subprocess.run(command, cwd='/', stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def accepts(ours: Parameters | None, theirs: Parameters | None) -> bool:
    """Return whether each call that fits the parameters of nvitop 1.7 fits ours."""
    if ours is None or theirs is None:
        return ours is theirs
    takes_any_name = any(kind == 'VAR_KEYWORD' for _, kind, _ in ours)
    optional = {name: is_optional for name, _, is_optional in ours}
    ordered = [name for name, kind, _ in ours if kind.startswith('POSITIONAL')]
    for position, (name, kind, is_optional) in enumerate(theirs):
        if kind.startswith('POSITIONAL') and position >= len(ordered):
            return False
        if kind == 'POSITIONAL_OR_KEYWORD' and ordered[position] != name:
            return False
        our_name = ordered[position] if kind.startswith('POSITIONAL') else name
        if our_name not in optional and not takes_any_name and kind != 'VAR_POSITIONAL':
            return False
        if is_optional and not optional.get(our_name, True):
            return False
    known = {name for name, _, _ in theirs} | set(ordered[: len(theirs)])
    return all(
        is_optional or kind.startswith('VAR') or name in known for name, kind, is_optional in ours
    )


def test_no_public_name_is_missing_and_none_takes_fewer_arguments() -> None:
    theirs, ours = described(PEER, 'names'), described(OURS, 'names')
    assert len(theirs) > 4000
    assert [name for name in theirs if name not in ours] == []
    narrower = [name for name in theirs if not accepts(ours[name], theirs[name])]
    assert narrower == []


@pytest.mark.parametrize('machine', ['half-busy', 'old-driver'])
def test_command_lines_end_with_the_same_status(machine: str) -> None:
    theirs, ours = (described(python, 'statuses', machine) for python in (PEER, OURS))
    # An unknown device has the same status in all commands. The form of the monitor is that of the
    # report, too, which nvitop 1.7 refuses.
    forms = dict.fromkeys([f'nvitop -1 {form}' for form in FORMS], 0)
    assert {line: ours[line] for line in theirs} == {**theirs, 'nvitop -1 -o 99': 2, **forms}


@pytest.mark.parametrize('machine', ['dgx-h100', 'mig', 'old-driver'])
def test_released_exporter_exports_the_same_series(machine: str) -> None:
    theirs, ours = (described(python, 'series', machine) for python in (PEER, OURS))
    assert theirs
    # nvitop 1.7 has no command of a zombie.
    theirs = [each for each in theirs if 'No Such Process' not in each]
    assert [each for each in theirs if each not in ours] == []
    if machine == 'old-driver':  # nvitop 1.7 stops at the first gap in the numbers of MIG devices
        assert ours == theirs
