# SPDX-License-Identifier: GPL-3.0-only
"""The live filter: words that must all match.

There are no regular expressions, because some of them take forever.
"""

from __future__ import annotations

from typing import Callable, Iterable, Mapping, Sequence, Tuple

from nvitop.gui.model.choices import SPECIAL_COMMANDS
from nvitop.gui.model.columns import owner_text
from nvitop.sampling.types import HostProcessSample, ProcessSample

#: Processes on devices by PID and start time.
Uses = Mapping[Tuple[int, float], Sequence[ProcessSample]]


#: A parsed filter: a prefix (``''`` if there is none) and a word for each part.
Query = Sequence[Tuple[str, str]]


def parse_query(text: str) -> Query:
    """Parse the words of a filter, which may have a prefix: ``user: gpu: pid: type: owner:``.

    The case of prefixes does not matter. A prefix without a word, as while it is being typed, matches
    everything.
    """
    parts = []
    for word in text.split():
        prefix, colon, rest = word.partition(':')
        if colon and prefix.lower() in _FIELDS:
            if rest:
                parts.append((prefix.lower(), rest))
        else:
            parts.append(('', word))
    return tuple(parts)


def contains(text: str | None, word: str) -> bool:
    """Whether the text contains a word. Case matters if the word has an upper-case letter."""
    if text is None:
        return False
    return word in text if word != word.lower() else word in text.lower()


def _has_device(process: ProcessSample, word: str) -> bool:
    device = process.key.device
    return word in (device.label, str(device.physical_index)) or (
        bool(device.uuid) and device.uuid.lower().startswith(word.lower())
    )


def _has_type(process: ProcessSample, word: str) -> bool:
    kinds = (process.type or '').split('+')
    return word.upper() in (*kinds, process.type) or (word.upper() == 'X' and len(kinds) == 2)


def _has_owner(process: ProcessSample, word: str) -> bool:
    """Whether the owner or one of its layers has a word: ``pod``, ``ml/train-0``, a whole ID."""
    owner = process.owner
    if owner is None:
        return False
    texts = (owner_text(process), *(text for each in owner.layers for text in (str(each), each.id)))
    return any(contains(text, word) for text in texts)


_FIELDS: dict[str, Callable[[ProcessSample, str], bool]] = {
    'user': lambda process, word: contains(process.username, word),
    'gpu': _has_device,
    'pid': lambda process, word: str(process.key.pid).startswith(word),
    'type': _has_type,
    'owner': _has_owner,
}


def _has_word(process: ProcessSample, word: str) -> bool:
    return (
        contains(process.command, word)
        or contains(process.name, word)
        or contains(process.username, word)
        or contains(SPECIAL_COMMANDS.get(process.status), word)
        or word == str(process.key.pid)
    )


def matches(process: ProcessSample, query: Query) -> bool:
    """Whether a process matches all words of the query."""
    return all(
        _FIELDS[prefix](process, word) if prefix else _has_word(process, word)
        for prefix, word in query
    )


def matches_host_process(process: HostProcessSample, query: Query, uses: Uses) -> bool:
    """Whether a process of the tree matches, by itself or as a process on a device."""
    rows = uses.get((process.pid, process.start_time), ())
    return any(matches(row, query) for row in rows) or all(
        _has_host_part(process, prefix, word) for prefix, word in query
    )


def _has_host_part(process: HostProcessSample, prefix: str, word: str) -> bool:
    if prefix == 'user':
        return contains(process.username, word)
    if prefix == 'pid':
        return str(process.pid).startswith(word)
    return not prefix and (
        contains(process.command, word)
        or contains(process.username, word)
        or contains(SPECIAL_COMMANDS.get(process.status), word)
        or word == str(process.pid)
    )


def filter_processes(processes: Iterable[ProcessSample], query: Query) -> tuple[ProcessSample, ...]:
    """Return the processes that match, in the same order."""
    if not query:
        return tuple(processes)
    return tuple(process for process in processes if matches(process, query))
