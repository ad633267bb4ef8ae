# SPDX-License-Identifier: Apache-2.0
"""Lists with several rows per GPU: retired pages, supported clocks, accounted processes."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from nvitop.query.columns import CellValue, QueryColumn, QueryTable, gpu_columns, make_table
from nvitop.sampling.types import DeviceSample, Sample


class ItemRow(NamedTuple):
    """Source of one row of a list."""

    sample: Sample
    gpu: DeviceSample
    item: tuple[Any, ...]


class ListTable(NamedTuple):
    """A list with several rows per GPU."""

    #: Metric that holds the rows; key in JSON.
    name: str
    #: ``--query-OPTION`` of nvidia-smi.
    option: str
    table: QueryTable


def _item_value(position: int, row: ItemRow) -> CellValue:
    value: CellValue = row.item[position]
    return value


def _without_source(name: str, text: str) -> QueryColumn:
    """A column of nvidia-smi for which NVML has no source."""
    return QueryColumn(name.replace('.', '_'), name, '', 'str', text, lambda row: None)


def _list(
    name: str,
    option: str,
    columns: tuple[tuple[str, str | None, str, str, str], ...],
    *further: QueryColumn,
    **aliases: str,
) -> ListTable:
    """Make a list from its columns: name, name in nvidia-smi, unit, kind, help."""
    own = tuple(
        QueryColumn(
            *column,
            functools.partial(_item_value, position),
            (name,),
            '0x{:016x}'.format if column[0] == 'address' else None,
        )
        for position, column in enumerate(columns)
    )
    return ListTable(name, option, make_table((*gpu_columns(), *own, *further), aliases))


@functools.lru_cache(maxsize=None)
def list_tables() -> dict[str, ListTable]:
    """All lists, by the option of nvidia-smi."""
    clocks = (
        ('memory_clock', 'memory', 'MHz', 'int', 'supported memory clock'),
        ('graphics_clock', 'graphics', 'MHz', 'int', 'graphics clock supported with it'),
    )
    pages = (
        ('address', 'retired_pages.address', '', 'int', 'address of the page'),
        ('cause', 'retired_pages.cause', '', 'str', 'Single Bit ECC or Double Bit ECC'),
    )
    accounts = (
        ('pid', 'pid', '', 'int', 'PID as reported by the driver'),
        (
            'gpu_utilization',
            'gpu_utilization',
            '%',
            'int',
            'mean GPU utilization over its lifetime',
        ),
        ('memory_utilization', 'mem_utilization', '%', 'int', 'mean memory bandwidth utilization'),
        ('max_memory', 'max_memory_usage', 'B', 'int', 'maximum device memory in use'),
        ('time', 'time', 'ms', 'int', 'time it used the GPU; 0 while it is running'),
        ('is_running', None, '', 'bool', 'whether it is running'),
    )
    lists = (
        _list('supported_clocks', 'supported-clocks', clocks, mem='memory', gr='graphics'),
        _list(
            'retired_pages',
            'retired-pages',
            pages,
            _without_source('retired_pages.timestamp', 'time at which the page was retired'),
        ),
        _list(
            'accounted_processes',
            'accounted-apps',
            accounts,
            _without_source('vgpu_instance', 'vGPU instance that the process belongs to'),
            gpu_util='gpu_utilization',
            mem_util='mem_utilization',
            max_mem_usage='max_memory_usage',
        ),
    )
    return {one.option: one for one in lists}
