# SPDX-License-Identifier: Apache-2.0
"""Names of machines: ``gpu01 lab-[01-12]``."""

from __future__ import annotations

import re
from typing import Iterable

from nvitop.basics.text import printable

#: Maximum number of machines that one pattern, and all of them together, may name.
MAX_HOSTS = 1000
#: A range, as in pdsh, Slurm (``[01-12,15]``) and Ansible (``[01:12]``).
_RANGE = re.compile(r'\[([\w:,-]+)\]')
_SPAN = re.compile(r'(\d+)[-:](\d+)')


class HostsError(ValueError):
    """A name of machines is invalid. The text is shown to the user."""


def expand(pattern: str) -> list[str]:
    """Return the names that a pattern stands for.

    Raises:
        HostsError: It is not a name of machines.

    >>> expand('lab-[01-03,7]')
    ['lab-01', 'lab-02', 'lab-03', 'lab-7']
    """
    match = _RANGE.search(pattern)
    if match is None:
        if not re.fullmatch(r'[\w.@:/%-]+', pattern) or pattern.startswith('-'):
            raise HostsError(f'not the name of a machine: {printable(pattern)!r}')
        return [pattern]
    names = []
    for part in match[1].split(','):
        span = _SPAN.fullmatch(part)
        if span is None and not part.isalnum():
            raise HostsError(f'not a range such as [01-12]: {printable(pattern)!r}')
        numbers: Iterable[str] = [part]
        if span is not None:
            first, last = int(span[1]), int(span[2])
            if not 0 <= last - first < MAX_HOSTS:
                raise HostsError(f'{printable(pattern)!r} must name 1 to {MAX_HOSTS} machines')
            numbers = (f'{number:0{len(span[1])}}' for number in range(first, last + 1))
        for number in numbers:
            names += expand(pattern[: match.start()] + number + pattern[match.end() :])
            if len(names) > MAX_HOSTS:
                raise HostsError(f'{printable(pattern)!r} names more than {MAX_HOSTS} machines')
    return names


def targets(names: Iterable[str]) -> list[str]:
    """Return the machines of names, patterns and lists, each once; HostsError if one is invalid."""
    # Commas within brackets belong to ranges.
    patterns = (part for name in names for part in re.split(r',(?![^\[]*\])', name) if part)
    machines = list(dict.fromkeys(name for pattern in patterns for name in expand(pattern)))
    if len(machines) > MAX_HOSTS:
        raise HostsError(f'more than {MAX_HOSTS} machines; use Prometheus for more')
    return machines
