# SPDX-License-Identifier: Apache-2.0
"""One query: the values that its filter selects, and the tree of results."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from nvitop.api import libnvml
from nvitop.compat.pynvml_smi.fields import FIELDS, OWN_UNITS, UNITS, SmiField
from nvitop.compat.pynvml_smi.gpu import SmiGpu
from nvitop.compat.pynvml_smi.names import (
    NUMBERS,
    NVSMI_ALL,
    NVSMI_COUNT,
    NVSMI_DRIVER_VERSION,
    NVSMI_QUERY_GPU,
    NVSMI_TIMESTAMP,
)
from nvitop.toml import suggestion

if TYPE_CHECKING:
    from typing import Union

    Tree = dict[str, Any]
    #: The values of a query: comma-separated names, a number, several of either, or everything.
    Filter = Union[str, int, Iterable[Union[str, int]], None]


def parse_filter(filter: Filter, *, strict: bool = False) -> frozenset[int]:
    """Return the numbers that a filter selects.

    Args:
        filter: ``'memory.free, uuid'``, ``NVSMI_UUID``, a list of numbers and names; ``None`` is
            everything.
        strict: Whether unknown names and numbers are an error. Otherwise they are ignored.

    Raises:
        TypeError: The filter is, or contains, another type.
        ValueError: A name or a number is unknown, and ``strict`` is true.
    """
    if filter is None:
        return frozenset((NVSMI_ALL,))
    parts = [filter] if isinstance(filter, (str, int)) else filter
    if not isinstance(parts, Iterable):
        raise TypeError(f'expected a filter of names and numbers, got {filter!r}')
    numbers = set()
    for part in parts:
        if isinstance(part, str):
            numbers |= _parse_names(part, strict=strict)
        elif not isinstance(part, int):
            raise TypeError(f'expected a filter of names and numbers, got {part!r} in it')
        elif part in NUMBERS:
            numbers.add(part)
        elif strict:
            raise ValueError(f'unknown query number: {part}')
    return frozenset(numbers)


def _parse_names(text: str, *, strict: bool) -> set[int]:
    names = [name for name in (part.strip() for part in text.split(',')) if name]
    unknown = [name for name in names if name not in NVSMI_QUERY_GPU]
    if unknown and strict:
        hint = suggestion(unknown[0], NVSMI_QUERY_GPU)
        raise ValueError(f'unknown query name {unknown[0]!r}{hint}')
    return {NVSMI_QUERY_GPU[name] for name in names if name in NVSMI_QUERY_GPU}


def read_tree(numbers: frozenset[int], *, raises: bool = False) -> Tree:
    """Return the results of a query: values of the machine, and ``gpu``, a list with one tree per GPU.

    Args:
        numbers: The selected numbers.
        raises: Whether errors other than *not supported* are raised. Otherwise the text of the error
            is the value.

    Raises:
        NVMLError: NVML cannot be used, or the number of GPUs is not available; or see ``raises``.
    """
    everything = NVSMI_ALL in numbers
    tree: Tree = {}
    if everything or NVSMI_TIMESTAMP in numbers:
        tree['timestamp'] = time.strftime('%Y-%m-%d %H:%M:%S')
    if everything or NVSMI_DRIVER_VERSION in numbers:
        tree['driver_version'] = _query('nvmlSystemGetDriverVersion')
    if everything or NVSMI_COUNT in numbers:
        tree['count'] = _count()
    fields = [field for field in FIELDS if everything or not numbers.isdisjoint(field.numbers)]
    if fields:
        gpus = [SmiGpu(index, raises=raises) for index in range(_count())]
        tree['gpu'] = [_read_gpu(gpu, fields) for gpu in gpus]
    return tree


def _query(function: str) -> Any:
    return libnvml.nvmlQuery(function, ignore_errors=False)


def _count() -> int:
    return int(_query('nvmlDeviceGetCount'))


def _read_gpu(gpu: SmiGpu, fields: list[SmiField]) -> Tree:
    tree: Tree = {}
    with gpu.device.oneshot():
        for field in fields:
            node = tree
            *groups, key = field.path.split('.')
            for group in groups:
                node = node.setdefault(group, {})
            node[key] = gpu.value(field.read)
            if field.path in OWN_UNITS:
                node[f'{key}_unit'] = OWN_UNITS[field.path]
    for group, unit in UNITS.items():
        if group in tree:
            tree[group]['unit'] = unit
    return tree


def read_bus_ids(tree: Tree, *, raises: bool = False) -> list[str]:
    """Return the PCI bus IDs of the GPUs of a tree."""
    (field,) = (field for field in FIELDS if field.path == 'id')
    gpus = range(len(tree.get('gpu', ())))
    return [str(SmiGpu(index, raises=raises).value(field.read)) for index in gpus]
