"""Find the code blocks of the documentation, and run their commands."""

from __future__ import annotations

import os
import pathlib
import re
import signal
import subprocess
import sys
from typing import Iterator, NamedTuple

from tests.waiting import PATIENCE, wait_until

ROOT = pathlib.Path(__file__).parent.parent
#: Machine on which all pages run, and what each command prints about it.
SCENARIO = 'half-busy'
ANNOUNCED = 'these are not your GPUs'

_FENCE = re.compile(r'^( *)(`{3,})([^\n`]*)\n(.*?)^\1\2$', re.MULTILINE | re.DOTALL)
_GENERATED = re.compile(r'<!-- \[\[\[cog .*?\[\[\[end\]\]\] -->', re.DOTALL)


class Block(NamedTuple):
    page: str
    line: int
    language: str
    text: str
    #: Whether the previous block is Python and directly above.
    follows_python: bool
    #: Whether the paragraph above says that numbers vary.
    varies: bool

    @property
    def where(self) -> str:
        return f'{self.page}:{self.line}'


def blocks_of(page: str) -> list[Block]:
    """Return the blocks of a page, except in generated sections."""
    text = (ROOT / page).read_text(encoding='utf-8')
    text = _GENERATED.sub(lambda match: '\n' * match.group().count('\n'), text)
    found: list[Block] = []
    end, language = -1, ''
    for match in _FENCE.finditer(text):
        above = text[max(end, 0) : match.start()].strip()
        follows = language == 'python' and not above
        varies = re.search(r'\bnumbers vary\b', above.rpartition('\n\n')[2]) is not None
        end, language = match.end(), match.group(3).strip()
        code = re.sub(f'^{match.group(1)}', '', match.group(4), flags=re.MULTILINE)
        line = text.count('\n', 0, match.start()) + 1
        found.append(Block(page, line, language, code, follows, varies))
    return found


def commands_of(text: str) -> list[str]:
    lines = re.sub(r'\\\n\s*', '', text).splitlines()
    return [line for line in lines if line.strip() and not line.startswith('#')]


def session_of(text: str) -> Iterator[tuple[str, str]]:
    """Yield each command of a ``console`` block (after ``$``) with its output."""
    for part in re.split(r'^\$ ', text, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition('\n')
        while command.endswith('\\'):
            more, _, output = output.partition('\n')
            command = command[:-1] + more.strip()
        yield command, output


def matches(expected: str, printed: str, *, varies: bool = False) -> bool:
    if varies:
        expected, printed = (re.sub(r'\d+([.,:]\d+)*', '0', text) for text in (expected, printed))
    pattern = ''.join(
        r'(?:.*\n)*' if line.strip() == '...' else re.escape(line.rstrip()) + r'\n'
        for line in expected.rstrip('\n').splitlines()
    )
    lines = ''.join(f'{line.rstrip()}\n' for line in printed.rstrip('\n').splitlines())
    return re.fullmatch(pattern, lines) is not None


class Shell:
    """Home folder with the programs of nvitop on the PATH; exported variables persist."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder / 'home'
        self.folder.mkdir()
        programs = folder / 'bin'
        programs.mkdir()
        for name, words in _PROGRAMS.items():
            path = programs / name
            path.write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
            path.chmod(0o755)
        (folder / 'share').symlink_to(ROOT / 'share')  # as in an installation
        self.environment = {
            'PATH': f'{programs}{os.pathsep}{os.environ["PATH"]}',
            'HOME': str(self.folder),
            'LC_ALL': 'C.UTF-8',
            'TERM': 'xterm-256color',
            'PYTHONPATH': str(ROOT),
            'NVITOP_DEMO': SCENARIO,
            # Not the directory that all users of this machine share.
            'NVITOP_CLAIMS': str(folder / 'claims'),
        }

    def run(self, script: str) -> None:
        done = self._run(script)
        message = f'{script}\n-> {done.returncode}\n{done.stdout}\n{done.stderr}'
        assert done.returncode == 0, message

    def show(self, command: str, *, errors: bool = False) -> str:
        """Return the output of a command, or of one that fails its messages; ``errors``: both."""
        done = self._run(command)
        if errors:
            return done.stderr + done.stdout
        if not done.returncode:
            return done.stdout
        return ''.join(line for line in done.stderr.splitlines(True) if ANNOUNCED not in line)

    def errors(self, command: str) -> str:
        done = self._run(command)
        assert done.returncode == 0, done.stderr
        return done.stderr

    def _run(self, script: str) -> subprocess.CompletedProcess[str]:
        variables = self.folder.parent / 'variables'
        trap = f"trap 'env -0 >{variables}' EXIT"
        done = subprocess.run(
            ['bash', '-euo', 'pipefail', '-c', f'{trap}\n{script}'],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding='utf-8',
            timeout=PATIENCE,
        )
        exported = dict(pair.partition('=')[::2] for pair in variables.read_text().split('\0'))
        self.environment.pop('NVITOP_DEMO', None)
        if 'NVITOP_DEMO' in exported:
            self.environment['NVITOP_DEMO'] = exported['NVITOP_DEMO']
        return done

    def run_for_a_while(self, command: str) -> None:
        """Run an endless command until it prints or writes something, then interrupt it."""
        out = self.folder / '.printed'
        out.write_bytes(b'')
        before = self._written()
        with out.open('wb') as file:
            child = subprocess.Popen(
                ['bash', '-c', f'exec {command}'],
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.PIPE,
            )
        try:
            wait_until(
                lambda: self._written() != before or child.poll() is not None, f'{command} prints'
            )
        finally:
            child.send_signal(signal.SIGINT)
            try:
                _, errors = child.communicate(timeout=PATIENCE)
            finally:
                child.kill()
        assert child.returncode in (0, 130), f'{command}\n-> {child.returncode}\n{errors!r}'
        assert self._written() != before, f'{command} printed nothing\n{errors!r}'

    def _written(self) -> int:
        return sum(path.stat().st_size for path in self.folder.iterdir() if path.is_file())


#: Program → Python arguments that run it.
_PROGRAMS = {'nvitop': '-m nvitop', 'nvisel': '-m nvitop.select', 'python': '', 'python3': ''}
