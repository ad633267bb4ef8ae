"""JSON Schema of ``nvitop query --format=json``: ``python -m docs.query_schema`` prints it."""

from __future__ import annotations

import json
from typing import Any

from nvitop.query.fields import QueryField, QueryTable, device_table, list_tables, process_table
from nvitop.query.formats import SCHEMA

_KINDS: dict[str, dict[str, Any]] = {
    'int': {'type': ['integer', 'null']},
    'float': {'type': ['number', 'null']},
    'bool': {'type': ['boolean', 'null']},
    'str': {'type': ['string', 'null']},
    'list': {'type': ['array', 'null'], 'items': {'type': 'string'}},
    'time': {'type': ['string', 'null'], 'format': 'date-time'},
}


def make_schema() -> dict[str, Any]:
    """The schema as JSON data."""
    lists = list_tables().values()
    tables = (device_table(), process_table(), *(one.table for one in lists))
    fields = {name: field for table in tables for name, field in _by_name(table).items()}
    return {
        '$schema': 'https://json-schema.org/draft/2020-12/schema',
        'title': 'nvitop query',
        'description': 'Output of `nvitop query --format=json`, and each line of --format=jsonl. '
        'null means not available.',
        'type': 'object',
        'properties': {
            'schema': {'const': SCHEMA, 'description': 'version of this structure'},
            'timestamp': {
                'type': 'string',
                'format': 'date-time',
                'description': 'time of the measurement, in local time with zone',
            },
            'hostname': {'type': 'string'},
            'driver_version': {'type': ['string', 'null']},
            'simulated': {
                'type': 'string',
                'description': 'name of the scenario; only if the machine is simulated',
            },
            'units': {
                'type': 'object',
                'description': 'units of the values below',
                'properties': {n: {'const': c.unit} for n, c in fields.items() if c.unit},
                'additionalProperties': False,
            },
            'devices': _rows(device_table(), 'only if GPUs were queried'),
            'processes': _rows(process_table(), 'only if processes were queried'),
            **{one.name: _rows(one.table, f'only with --query-{one.option}') for one in lists},
        },
        'required': ['schema', 'timestamp', 'hostname', 'driver_version', 'units'],
        'additionalProperties': False,
    }


def _by_name(table: QueryTable) -> dict[str, QueryField]:
    return {field.name: field for field in table.fields}


def _rows(table: QueryTable, text: str) -> dict[str, Any]:
    return {
        'type': 'array',
        'description': text,
        'items': {
            'type': 'object',
            'properties': {field.name: _property(field) for field in table.fields},
            'additionalProperties': False,
        },
    }


def _property(field: QueryField) -> dict[str, Any]:
    unit = f', in {field.unit}' if field.unit not in ('', 'count') else ''
    return {**_KINDS[field.kind], 'description': field.help + unit}


if __name__ == '__main__':
    print(json.dumps(make_schema(), indent=2))
