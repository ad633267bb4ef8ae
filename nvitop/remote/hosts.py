# SPDX-License-Identifier: Apache-2.0
"""Names of machines: ``gpu01 lab-[01-12]``, and files with one machine a line."""

from __future__ import annotations

import re
from typing import Iterable, Iterator, NamedTuple

from nvitop.basics.text import printable

#: Maximum number of machines that one pattern, and all of them together, may name.
MAX_HOSTS = 1000
#: A range, as pdsh and Slurm (``[01-12,15]``) and Ansible (``[01:12]``) write it.
_RANGE = re.compile(r'\[([\w:,-]+)\]')
_SPAN = re.compile(r'(\d+)[-:](\d+)')
#: Variables of Ansible that ssh needs.
_VARIABLE = re.compile(r'ansible_(host|user|port)=(\S+)')


class HostsError(ValueError):
    """A name or a file of machines is invalid. The text is shown to the user."""


class RemoteHost(NamedTuple):
    #: What the screens call it.
    name: str
    #: What ssh connects to: ``name``, ``user@name`` or ``ssh://user@name:port``.
    destination: str


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


def targets(names: Iterable[str]) -> list[RemoteHost]:
    """Return the machines of names, patterns and lists, each once; HostsError if one is invalid."""
    # Commas within brackets belong to ranges.
    patterns = (part for name in names for part in re.split(r',(?![^\[]*\])', name) if part)
    return _unique([RemoteHost(name, name) for pattern in patterns for name in expand(pattern)])


def parse_hosts(text: str, file: str) -> list[RemoteHost]:
    """Return the machines of a file: one a line, as in Ansible's INI files.

    Lines of ``[group:vars]`` and ``[group:children]`` are skipped; of variables only
    ``ansible_host``, ``ansible_user`` and ``ansible_port`` count.

    Raises:
        HostsError: A line is invalid, or there are none; the message names the file and the line.
    """
    machines: list[RemoteHost] = []
    is_list = True
    for number, line in enumerate(text.splitlines(), 1):
        line = re.split(r'(?:^|\s)[#;]', line, maxsplit=1)[0].strip()
        heading = re.fullmatch(r'\[([^\[\]:]+)(:\w+)?\]', line)
        if heading is not None and not re.fullmatch(r'[\d,-]+', heading[1]):
            is_list = heading[2] is None
        elif line and is_list:
            try:
                machines += _parse_line(line)
            except HostsError as error:
                raise HostsError(f'{file}:{number}: {error}') from None
    if not machines:
        raise HostsError(f'{file}: no machine; write one name a line')
    return _unique(machines)


def _parse_line(line: str) -> Iterator[RemoteHost]:
    pattern, _, rest = line.partition(' ')
    variables = dict(_VARIABLE.findall(rest))
    for name in (name for part in re.split(r',(?![^\[]*\])', pattern) for name in expand(part)):
        host = variables.get('host', name)
        destination = f'{variables["user"]}@{host}' if 'user' in variables else host
        if 'port' in variables:
            destination = f'ssh://{destination}:{variables["port"]}'
        yield RemoteHost(name, expand(destination)[0])


def _unique(machines: list[RemoteHost]) -> list[RemoteHost]:
    by_name = {target.name: target for target in reversed(machines)}
    if len(by_name) > MAX_HOSTS:
        raise HostsError(f'more than {MAX_HOSTS} machines; use Prometheus for more')
    return list(dict.fromkeys(by_name[target.name] for target in machines))
