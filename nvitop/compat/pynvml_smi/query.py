# SPDX-License-Identifier: Apache-2.0
"""One query: what its filter asks for, and the tree of answers."""

from __future__ import annotations

import difflib
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from nvitop.compat.pynvml_smi.answers import Answers, ask
from nvitop.compat.pynvml_smi.fields import FIELDS, OWN_UNITS, UNITS, SmiField
from nvitop.compat.pynvml_smi.names import (
    NUMBERS,
    NVSMI_ALL,
    NVSMI_COUNT,
    NVSMI_DRIVER_VERSION,
    NVSMI_QUERY_GPU,
    NVSMI_TIMESTAMP,
)

if TYPE_CHECKING:
    from typing import Union

    Tree = dict[str, Any]
    #: What a query asks for: names joined with commas, a number, several of either, or everything.
    Filter = Union[str, int, Iterable[Union[str, int]], None]


def parse_filter(filter: Filter, *, strict: bool = False) -> frozenset[int]:
    """The numbers that a filter asks for.

    Args:
        filter: ``'memory.free, uuid'``, ``NVSMI_UUID``, a list of numbers and names; ``None`` is
            everything.
        strict: Whether names and numbers that do not exist are an error. Otherwise they ask for
            nothing.

    Raises:
        TypeError: The filter is, or holds, something else.
        ValueError: A name or a number does not exist.
    """
    if filter is None:
        return frozenset((NVSMI_ALL,))
    parts = [filter] if isinstance(filter, (str, int)) else filter
    if not isinstance(parts, Iterable):
        raise TypeError(f'a filter is text, a number or several of them, not {filter!r}')
    numbers = set()
    for part in parts:
        if isinstance(part, str):
            numbers |= _parse_names(part, strict=strict)
        elif not isinstance(part, int):
            raise TypeError(f'a filter holds names and numbers, not {part!r}')
        elif part in NUMBERS:
            numbers.add(part)
        elif strict:
            raise ValueError(f'there is no number {part} to ask for')
    return frozenset(numbers)


def _parse_names(text: str, *, strict: bool) -> set[int]:
    names = [name for name in (part.strip() for part in text.split(',')) if name]
    unknown = [name for name in names if name not in NVSMI_QUERY_GPU]
    if unknown and strict:
        near = difflib.get_close_matches(unknown[0], NVSMI_QUERY_GPU, n=3, cutoff=0.5)
        advice = f': did you mean {", ".join(near)}?' if near else ''
        raise ValueError(f'there is no {unknown[0]!r} to ask for{advice}')
    return {NVSMI_QUERY_GPU[name] for name in names if name in NVSMI_QUERY_GPU}


def read_tree(numbers: frozenset[int], *, raises: bool = False) -> Tree:
    """The answers to a query: what is asked of the machine, and ``gpu``, a list of one tree a GPU.

    Args:
        numbers: What is asked for.
        raises: Whether errors other than *not supported* are raised. Otherwise the words of the
            error are the value.

    Raises:
        NVMLError: NVML cannot be used, or does not tell the number of GPUs; or see ``raises``.
    """
    everything = NVSMI_ALL in numbers
    tree: Tree = {}
    if everything or NVSMI_TIMESTAMP in numbers:
        tree['timestamp'] = time.strftime('%Y-%m-%d %H:%M:%S')
    if everything or NVSMI_DRIVER_VERSION in numbers:
        tree['driver_version'] = ask('nvmlSystemGetDriverVersion')
    if everything or NVSMI_COUNT in numbers:
        tree['count'] = ask('nvmlDeviceGetCount')
    fields = [field for field in FIELDS if everything or not numbers.isdisjoint(field.asked_by)]
    if fields:
        gpus = range(ask('nvmlDeviceGetCount'))
        tree['gpu'] = [_read_gpu(Answers(index, raises=raises), fields) for index in gpus]
    return tree


def _read_gpu(answers: Answers, fields: list[SmiField]) -> Tree:
    tree: Tree = {}
    for field in fields:
        node = tree
        *groups, key = field.path.split('.')
        for group in groups:
            node = node.setdefault(group, {})
        node[key] = answers.value(field.read)
        if field.path in OWN_UNITS:
            node[f'{key}_unit'] = OWN_UNITS[field.path]
    for group, unit in UNITS.items():
        if group in tree:
            tree[group]['unit'] = unit
    return tree


def read_bus_ids(tree: Tree, *, raises: bool = False) -> list[str]:
    """The PCI bus ids of the GPUs of a tree."""
    (field,) = (field for field in FIELDS if field.path == 'id')
    gpus = range(len(tree.get('gpu', ())))
    return [str(Answers(index, raises=raises).value(field.read)) for index in gpus]
