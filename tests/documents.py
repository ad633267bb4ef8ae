"""Blocks of code in the documentation: found, and run where they say what to type."""

from __future__ import annotations

import os
import pathlib
import re
import signal
import subprocess
import sys
import time
from typing import Iterator, NamedTuple

from tests.patience import PATIENCE

ROOT = pathlib.Path(__file__).parent.parent

_FENCE = re.compile(r'^( *)(`{3,})([^\n`]*)\n(.*?)^\1\2$', re.MULTILINE | re.DOTALL)
_MADE = re.compile(r'<!-- begin [\w ]+ -->.*?<!-- end [\w ]+ -->', re.DOTALL)


class Block(NamedTuple):
    """A block of code between fences."""

    page: str
    line: int
    language: str
    text: str
    #: Whether the block before it is Python, with nothing but an empty line between.
    follows_python: bool

    @property
    def where(self) -> str:
        """Where it is, as editors take it."""
        return f'{self.page}:{self.line}'


def blocks_of(page: str) -> list[Block]:
    """The blocks of a page, without those made from tables, which another test compares."""
    text = (ROOT / page).read_text(encoding='utf-8')
    text = _MADE.sub(lambda match: '\n' * match.group().count('\n'), text)
    found: list[Block] = []
    end, language = -1, ''
    for match in _FENCE.finditer(text):
        follows = language == 'python' and not text[end : match.start()].strip()
        end, language = match.end(), match.group(3).strip()
        code = re.sub(f'^{match.group(1)}', '', match.group(4), flags=re.MULTILINE)
        line = text.count('\n', 0, match.start()) + 1
        found.append(Block(page, line, language, code, follows))
    return found


def indented_code(page: str) -> Iterator[int]:
    """Lines at which code begins that is only indented, which no test can tell the language of."""
    text = (ROOT / page).read_text(encoding='utf-8')
    text = _FENCE.sub(lambda match: 'x\n' * match.group().count('\n'), text)
    for match in re.finditer(r'(?:^|\n)(?! |[-*\d]).*\n\n(?=    \S)', text):
        yield text.count('\n', 0, match.end()) + 1


def commands_of(text: str) -> list[str]:
    """The commands of a block, with the lines that continue them; comments are left out."""
    lines = re.sub(r'\\\n\s*', '', text).splitlines()
    return [line for line in lines if line.strip() and not line.startswith('#')]


def session_of(text: str) -> Iterator[tuple[str, str]]:
    """Each command of a ``console`` block, after ``$``, with what it prints."""
    for part in re.split(r'^\$ ', text, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition('\n')
        while command.endswith('\\'):
            more, _, output = output.partition('\n')
            command = command[:-1] + more.strip()
        yield command, output


def is_alike(expected: str, printed: str) -> bool:
    """Whether one looks like the other: numbers, bars and widths may differ; ``...``: any lines."""
    pattern = ''.join(
        r'(?:.*\n)*' if line.strip() == '...' else re.escape(_shape(line)) + r'\n'
        for line in expected.rstrip('\n').splitlines()
    )
    lines = ''.join(f'{_shape(line)}\n' for line in printed.rstrip('\n').splitlines())
    return re.fullmatch(pattern, lines) is not None


def _shape(line: str) -> str:
    line = re.sub(r'[▏▎▍▌▋▊▉█│─═ ]+', ' ', line)
    return re.sub(r'\d+([.,:]\d+)*', '0', line).strip()


class Shell:
    """Runs commands in a folder, with our programs on the PATH and a simulated machine."""

    def __init__(self, folder: pathlib.Path, scenario: str) -> None:
        self.folder = folder / 'home'
        self.folder.mkdir()
        programs = folder / 'bin'
        programs.mkdir()
        for name, words in _PROGRAMS.items():
            path = programs / name
            path.write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
            path.chmod(0o755)
        (folder / 'share').symlink_to(ROOT / 'share')  # where an installation has it
        self.environment = {
            'PATH': f'{programs}{os.pathsep}{os.environ["PATH"]}',
            'HOME': str(self.folder),
            'LC_ALL': 'C.UTF-8',
            'TERM': 'xterm-256color',
            'PYTHONPATH': str(ROOT),
            'NVITOP_DEMO': str(folder / 'machine.toml'),
        }
        (folder / 'machine.toml').write_text(scenario)

    def run(self, script: str) -> None:
        """Run a script to its end. Fails unless every command succeeds."""
        done = self._run(script)
        message = f'{script}\n-> {done.returncode}\n{done.stdout}\n{done.stderr}'
        assert done.returncode == 0, message

    def show(self, command: str) -> str:
        """What a command prints; where it fails, the error."""
        done = self._run(command)
        return done.stderr if done.returncode else done.stdout

    def errors(self, command: str) -> str:
        """What a command that succeeds says beside what it prints."""
        done = self._run(command)
        assert done.returncode == 0, done.stderr
        return done.stderr

    def _run(self, script: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ['bash', '-euo', 'pipefail', '-c', script],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding='utf-8',
            timeout=PATIENCE,
        )

    def run_for_a_while(self, command: str) -> None:
        """Run a command that never ends until it prints or writes something, then interrupt it."""
        before = self._written()
        out = self.folder / '.printed'
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
            end = time.monotonic() + PATIENCE
            while self._written() == before and child.poll() is None and time.monotonic() < end:
                time.sleep(0.02)
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


#: Programs that blocks call → the arguments with which Python is one of them.
_PROGRAMS = {
    'nvitop': '-m nvitop',
    'nvisel': '-m nvitop.select',
    'python': '',
    'python3': '',
}
