"""Makes nvitop/query/schema.json from the columns: ``python -m tests.query.make_schema``."""

from __future__ import annotations

import json
import pathlib
from typing import Any

from nvitop.query.columns import QueryColumn, QueryTable, device_table, process_table
from nvitop.query.format import SCHEMA
from nvitop.query.lists import list_tables

PATH = pathlib.Path(__file__).parent.parent.parent / 'nvitop' / 'query' / 'schema.json'

_KINDS: dict[str, dict[str, Any]] = {
    'int': {'type': ['integer', 'null']},
    'float': {'type': ['number', 'null']},
    'bool': {'type': ['boolean', 'null']},
    'str': {'type': ['string', 'null']},
    'list': {'type': ['array', 'null'], 'items': {'type': 'string'}},
    'time': {'type': ['string', 'null'], 'format': 'date-time'},
}


def make_schema() -> dict[str, Any]:
    """The schema, as JSON has it."""
    lists = list_tables().values()
    tables = (device_table(), process_table(), *(one.table for one in lists))
    columns = {name: column for table in tables for name, column in _by_name(table).items()}
    return {
        '$schema': 'https://json-schema.org/draft/2020-12/schema',
        'title': 'nvitop query',
        'description': 'What `nvitop query --format=json` prints, and each line of --format=jsonl: '
        'schema, hostname, driver_version, simulated and units are in the first line, and in '
        'another one only if one of them has changed. null is not available.',
        'type': 'object',
        'properties': {
            'schema': {'const': SCHEMA, 'description': 'version of this structure'},
            'timestamp': {
                'type': 'string',
                'format': 'date-time',
                'description': 'when it was measured, in local time with its zone',
            },
            'hostname': {'type': 'string'},
            'driver_version': {'type': ['string', 'null']},
            'simulated': {
                'type': 'string',
                'description': 'name of the scenario; only where the machine is simulated',
            },
            'units': {
                'type': 'object',
                'description': 'the units of what was asked for',
                'properties': {n: {'const': c.unit} for n, c in columns.items() if c.unit},
                'additionalProperties': False,
            },
            'devices': _rows(device_table(), 'only where GPUs were asked for'),
            'processes': _rows(process_table(), 'only where processes were asked for'),
            **{
                one.name: _rows(one.table, f'only with --query-{one.option}, which this answers')
                for one in lists
            },
        },
        'required': ['timestamp'],
        'dependentRequired': {'schema': ['hostname', 'driver_version', 'units']},
        'additionalProperties': False,
    }


def _by_name(table: QueryTable) -> dict[str, QueryColumn]:
    return {column.name: column for column in table.columns}


def _rows(table: QueryTable, text: str) -> dict[str, Any]:
    return {
        'type': 'array',
        'description': text,
        'items': {
            'type': 'object',
            'properties': {column.name: _property(column) for column in table.columns},
            'additionalProperties': False,
        },
    }


def _property(column: QueryColumn) -> dict[str, Any]:
    unit = f', in {column.unit}' if column.unit not in ('', 'count') else ''
    return {**_KINDS[column.kind], 'description': column.help + unit}


if __name__ == '__main__':
    PATH.write_text(
        json.dumps(make_schema(), indent=2, ensure_ascii=False) + '\n', encoding='utf-8'
    )
