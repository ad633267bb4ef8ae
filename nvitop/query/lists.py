# SPDX-License-Identifier: Apache-2.0
"""What nvidia-smi tells of a GPU in several rows: pages, clocks, accounts."""

from __future__ import annotations

import functools
from typing import Any

from nvitop.namedtuple import NamedTuple
from nvitop.query.columns import QueryColumn, QueryTable, Value, fact_columns, make_table
from nvitop.sampling.types import DeviceSample, Sample


class ItemRow(NamedTuple):
    """What one row of a list of a GPU is made from."""

    sample: Sample
    gpu: DeviceSample
    item: tuple[Any, ...]


class ListTable(NamedTuple):
    """A list of which a GPU has several rows."""

    #: The metric that holds its rows; its key in JSON.
    name: str
    #: ``--query-…`` of nvidia-smi.
    option: str
    table: QueryTable


def _item_value(position: int, row: ItemRow) -> Value:
    value: Value = row.item[position]
    return value


def _list(
    name: str,
    option: str,
    columns: tuple[tuple[str, str | None, str, str, str], ...],
    **aliases: str,
) -> ListTable:
    """A list whose rows have these columns: name, name in nvidia-smi, unit, kind, help."""
    own = tuple(
        QueryColumn(
            *column,
            functools.partial(_item_value, position),
            (name,),
            '0x{:016x}'.format if column[0] == 'address' else None,
        )
        for position, column in enumerate(columns)
    )
    return ListTable(name, option, make_table((*fact_columns(), *own), aliases))


@functools.lru_cache(maxsize=None)
def list_tables() -> dict[str, ListTable]:
    """The lists that can be asked for, by the option of nvidia-smi."""
    clocks = (
        ('memory_clock', 'memory', 'MHz', 'int', 'memory clock that can be set'),
        ('graphics_clock', 'graphics', 'MHz', 'int', 'graphics clock that can be set with it'),
    )
    pages = (
        ('address', 'retired_pages.address', '', 'int', 'where the page is'),
        ('cause', 'retired_pages.cause', '', 'str', 'Single Bit ECC or Double Bit ECC'),
    )
    accounts = (
        ('pid', 'pid', '', 'int', 'PID, as the driver tells it'),
        ('gpu_utilization', 'gpu_utilization', '%', 'int', 'mean load in its life'),
        ('memory_utilization', 'mem_utilization', '%', 'int', 'mean load on the memory bandwidth'),
        ('max_memory', 'max_memory_usage', 'B', 'int', 'the most device memory it used'),
        ('time', 'time', 'ms', 'int', 'for how long it used the GPU; 0 while it runs'),
        ('is_running', None, '', 'bool', 'whether it runs'),
    )
    lists = (
        _list('supported_clocks', 'supported-clocks', clocks, mem='memory', gr='graphics'),
        _list('retired_pages', 'retired-pages', pages),
        _list(
            'accounted_processes',
            'accounted-apps',
            accounts,
            gpu_util='gpu_utilization',
            mem_util='mem_utilization',
            max_mem_usage='max_memory_usage',
        ),
    )
    return {one.option: one for one in lists}
