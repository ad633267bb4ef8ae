"""Completions in real shells."""

from __future__ import annotations

import contextlib
import os
import pathlib
import re
import shutil
from typing import Iterator

import pytest

from tests.e2e.program import Program

SHARE = pathlib.Path(__file__).parent.parent.parent / 'share'
PROMPT = 'READY> '
SHELLS = {
    'bash': ('bash', '--norc', '--noprofile', '-i'),
    'zsh': ('zsh', '-f', '-i'),
    'fish': ('fish', '--private'),
}
#: Commands that make a shell find the files, as an installation below /usr does.
SETUP = {
    'bash': f'for f in {SHARE}/bash-completion/completions/*; do source $f; done; PS1="{PROMPT}"',
    'zsh': f'fpath=({SHARE}/zsh/site-functions $fpath); autoload -Uz compinit; compinit -u -D; '
    f'PROMPT="{PROMPT}"',
    'fish': f'function fish_prompt; echo -n "{PROMPT}"; end',
}


@contextlib.contextmanager
def running(shell: str, home: pathlib.Path) -> Iterator[Program]:
    if shutil.which(shell) is None:
        pytest.skip(f'NOT TESTED: {shell} is not installed')
    programs = home / 'programs'
    programs.mkdir()
    for name in ('nvitop', 'nvisel', 'nvitop-exporter'):  # fish completes only existing commands
        (programs / name).touch(mode=0o755)
    # Without this directory, fish starts a program that reads all man pages of the system.
    (home / 'fish' / 'generated_completions').mkdir(parents=True)
    variables = {
        'PATH': f'{programs}:{os.environ["PATH"]}',
        'HOME': str(home),
        'XDG_DATA_DIRS': str(SHARE),
        'XDG_CONFIG_HOME': str(home),
        'XDG_DATA_HOME': str(home),
        # List completions without a pager.
        'LISTMAX': '0',
        'HISTFILE': None,
    }
    with Program(SHELLS[shell], variables=variables, joins_errors=True, columns=160) as program:
        program.wait_for(r'[$#%>] *$')
        program.type(f'cd {home}; {SETUP[shell]}\r')
        program.wait_for('^READY>')
        yield program


@pytest.mark.parametrize('shell', SHELLS)
def test_tab_completes(shell: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / 'my-cluster.toml').write_text('')
    with running(shell, tmp_path) as program:
        for keys, pattern in (
            ('nvitop --them\t', rf'^{PROMPT}nvitop --theme\b'),
            (' colorb\t', r'--theme +colorblind\b'),
            ('\x15nvitop quer\t', r'nvitop query\b'),
            (' --proc\t', r'nvitop query +--processes\b'),
            ('\x15nvitop --demo works\t', r'--demo +workstation\b'),
            ('\x15nvitop --demo my-\t', r'--demo +my-cluster\.toml'),
            ('\x15nvitop --config my-\t', r'--config +my-cluster\.toml'),
            ('\x15nvitop query --gpu index,power.dr\t', r'--gpu +index,power\.draw'),
            ('\x15nvitop query --processes pid,use\t', r'--processes +pid,used?'),
            ('\x15nvitop query --gpu=index,power.dr\t', r'--gpu=index,power\.draw'),
            ('\x15nvitop exporter --names dc\t', r'--names +dcgm\b'),
            ('\x15nvitop-exporter --proc\t', r'nvitop-exporter +--processes\b'),
            ('\x15nvisel --min-fr\t', r'nvisel +--min-free-memory\b'),
            ('\x15nvisel --format uu\t', r'--format +uuid\b'),
        ):
            program.press(keys, pattern)
        assert not re.search('command not found|no matches|error', program.text, re.IGNORECASE)
        program.type('\x15nvitop --theme \t\t')
        for theme in ('dark', 'light', 'mono', 'colorblind'):
            program.wait_for(rf'\b{theme}\b')
