# SPDX-License-Identifier: GPL-3.0-only
"""Which processes are listed: the live filter, and the options of the command line."""

from __future__ import annotations

from typing import Callable, Iterable, Mapping, Sequence, Tuple

from nvitop.basics.text import contains, filter_words, is_named, name_in_quotes, split_word
from nvitop.gui.model.choices import ProcessFilter
from nvitop.gui.model.columns import owner_text
from nvitop.gui.model.format import special_command
from nvitop.sampling.types import DeviceKey, HostProcessSample, ProcessKey, ProcessSample

#: The device of processes on the host.
NO_DEVICE = DeviceKey(-1)
#: Processes on devices by PID and start time.
Uses = Mapping[Tuple[int, float], Sequence[ProcessSample]]
#: A parsed filter: a prefix (``''`` if there is none) and a word for each part.
Query = Sequence[Tuple[str, str]]


def parse_query(text: str) -> Query:
    """Parse the words of a filter, which may have a prefix: ``user: gpu: pid: type: job:``.

    ``owner:`` is the same as ``job:``, and ``=`` as ``:``. The case of prefixes does not matter. A prefix without a word, as
    while it is being typed, matches everything. ``user:"al"`` and ``job:"slurm 42"`` match whole names.
    """
    parts = []
    for word in filter_words(text):
        prefix, _, rest = split_word(word)
        if prefix in FIELDS:
            if rest not in ('', '"', '""'):
                parts.append((prefix, rest))
        else:
            parts.append(('', word))
    return tuple(parts)


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
    group = name_in_quotes(word)
    if group is not None:
        return owner.group == group
    texts = (
        owner_text(process),
        *(text for layer in owner.layers for text in (str(layer), layer.id)),
    )
    return any(contains(text, word) for text in texts)


#: Prefix of a word → whether a process matches the rest.
FIELDS: dict[str, Callable[[ProcessSample, str], bool]] = {
    'user': lambda process, word: is_named(process.username, word),
    'gpu': _has_device,
    'pid': lambda process, word: str(process.key.pid).startswith(word),
    'type': _has_type,
    'job': _has_owner,
    'owner': _has_owner,
}


def _has_word(process: ProcessSample, word: str) -> bool:
    special = special_command(process.status, process.name)
    texts = (process.command, process.name, process.username, special)
    return word == str(process.key.pid) or any(contains(text, word) for text in texts)


def matches(process: ProcessSample, query: Query) -> bool:
    return all(
        FIELDS[prefix](process, word) if prefix else _has_word(process, word)
        for prefix, word in query
    )


def matches_host_process(process: HostProcessSample, query: Query, uses: Uses) -> bool:
    """Whether a process of the tree matches, by itself or as a process on a device."""
    alone = ProcessSample(
        ProcessKey(process.pid, process.start_time, NO_DEVICE),
        status=process.status,
        username=process.username,
        name=process.name,
        command=process.command,
    )
    rows = uses.get(process.identity, ())
    return any(matches(row, query) for row in (*rows, alone))


def filter_processes(processes: Iterable[ProcessSample], query: Query) -> tuple[ProcessSample, ...]:
    if not query:
        return tuple(processes)
    return tuple(process for process in processes if matches(process, query))


def is_listed(process: ProcessSample, wanted: ProcessFilter) -> bool:
    return (
        (wanted.users is None or process.username in wanted.users)
        and (wanted.pids is None or process.key.pid in wanted.pids)
        and (wanted.types is None or process.type in wanted.types)
    )
