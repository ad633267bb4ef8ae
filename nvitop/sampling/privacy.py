# SPDX-License-Identifier: Apache-2.0
"""Shortening command lines, which may hold secrets, before they are recorded."""

from __future__ import annotations

import functools
import os
import re
from typing import NamedTuple

from nvitop.basics.masking import WORD, mask_command
from nvitop.owner.types import TOOLS, Owner
from nvitop.sampling.types import HostProcessSample, ProcessSample, Sample

#: Values of ``--commands``.
CHOICES = ('full', 'name', 'none')
#: Maximum length (characters) of a short command.
MAX_SHORT = 80

#: Programs that run a script, whose name is kept with theirs.
_INTERPRETER = re.compile(r'(python|pypy|perl|ruby|node|bash|sh|zsh|java|Rscript|julia)[\d.]*')


def short_command(command: str | None, name: str | None) -> str:
    """Return the name of a program, and of the script or module that it runs: ``python3 train.py``."""
    return _shortened((command or '')[:1000]) or (name or '')[:MAX_SHORT]


@functools.lru_cache(maxsize=4096)  # the same processes run at each sample
def _shortened(command: str) -> str:
    words = WORD.findall(mask_command(command))
    if not words:
        return ''
    program = _base(words[0])
    if not _INTERPRETER.fullmatch(program):
        return program[:MAX_SHORT]
    for at, word in enumerate(words[1:], 1):
        if word in ('-m', '-jar') and at + 1 < len(words):
            return f'{program} {word} {_base(words[at + 1])}'[:MAX_SHORT]
        if word in ('-c', '-e', '-'):
            break
        if not word.startswith('-'):
            return f'{program} {_base(word)}'[:MAX_SHORT]
    return program[:MAX_SHORT]


def _base(word: str) -> str:
    return os.path.basename(word.strip('\'"').rstrip('/')) or word


class CommandFilter(NamedTuple):
    """Reduces the command lines of samples to what may be kept."""

    #: One of :data:`CHOICES`.
    keep: str = 'name'

    def apply(self, sample: Sample) -> Sample:
        """Return the sample with commands masked, shortened, or removed."""
        return sample._replace(
            processes=tuple(map(self._reduce, sample.processes)),
            host_processes=tuple(map(self._reduce_host, sample.host_processes)),
            claims=tuple(
                claim._replace(command=self._command(claim.command)) for claim in sample.claims
            ),
        )

    def _reduce(self, process: ProcessSample) -> ProcessSample:
        if self.keep == 'none':
            parent = process.parent
            return process._replace(
                command=self._command(process.command),
                name=None,
                owner=_without_name(process.owner),
                parent=None if parent is None else parent._replace(name=None),
            )
        return process._replace(command=self._command(process.command, process.name))

    def _reduce_host(self, process: HostProcessSample) -> HostProcessSample:
        name = None if self.keep == 'none' else process.name
        return process._replace(command=self._command(process.command), name=name)

    def _command(self, command: str | None, name: str | None = None) -> str | None:
        if command is None:
            return None
        if self.keep == 'full':
            return mask_command(command)
        return short_command(command, name) if self.keep == 'name' else ''


def _without_name(owner: Owner | None) -> Owner | None:
    """Remove the names of notebooks and terminals, which their users chose."""
    if owner is None:
        return None
    layers = tuple(
        layer._replace(name=None) if layer.kind in TOOLS else layer for layer in owner.layers
    )
    return owner._replace(name=None if owner.kind in TOOLS else owner.name, layers=layers)
