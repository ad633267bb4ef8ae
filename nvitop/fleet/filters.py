# SPDX-License-Identifier: Apache-2.0
"""The words of a filter, and the hosts and GPUs that match them. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Iterable

from nvitop.basics.text import filter_words, name_in_quotes, split_word

if TYPE_CHECKING:
    from nvitop.fleet.types import Fleet, FleetGpu

#: Prefixes of the filter.
PREFIXES = ('host', 'gpu', 'user', 'job', 'model', 'free')


def parse_filter(text: str) -> tuple[tuple[str, str], ...]:
    """Parse the words of a filter: ``host: gpu: user: job: model: free:``, or the name of a host.

    ``user:"al"``, ``job:"slurm 42"`` and ``host:"n1"`` match whole names.
    """
    parts = []
    for word in filter_words(text):
        prefix, _, rest = split_word(word)
        is_number = rest.isdecimal() or not rest
        if prefix not in PREFIXES or (prefix == 'free' and not is_number):
            parts.append(('host', word))
        elif rest not in ('', '"', '""'):
            parts.append((prefix, rest))
    return tuple(parts)


def select(fleet: Fleet, filters: Iterable[tuple[str, str]]) -> Fleet:
    """Return the hosts that match all words, with only the GPUs that match them."""
    of_hosts = [part for part in filters if part[0] in ('host', 'free')]
    of_gpus = [part for part in filters if part[0] not in ('host', 'free')]
    hosts = []
    for host in fleet.hosts:
        if all(
            host.free >= int(word[:9]) if prefix == 'free' else _is_named(host.name, word)
            for prefix, word in of_hosts
        ):
            if of_gpus:
                gpus = [gpu for gpu in host.gpus if all(_gpu_matches(gpu, *p) for p in of_gpus)]
                host = host._replace(gpus=tuple(gpus))
            if host.gpus or not of_gpus:
                hosts.append(host)
    return fleet._replace(hosts=tuple(hosts))


def _gpu_matches(gpu: FleetGpu, prefix: str, word: str) -> bool:
    if prefix == 'gpu':
        return word in (gpu.label, gpu.label.partition(':')[0])
    if prefix == 'user':
        return any(_is_named(user, word) for user in gpu.users)
    if prefix == 'model':
        return _contains(gpu.model, word)
    layers = [owner.layer for owner in gpu.owners]
    name = name_in_quotes(word)
    if name is not None:
        return name in map(str, layers)
    return any(layer.id == word or _contains(layer.name or '', word) for layer in layers)


def _is_named(text: str, word: str) -> bool:
    name = name_in_quotes(word)
    return _contains(text, word) if name is None else text == name


def _contains(text: str, word: str) -> bool:
    """Return whether a text contains a word; case matters if it has an upper-case letter."""
    return word in (text if word != word.lower() else text.lower())
