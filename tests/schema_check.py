"""A minimal JSON Schema validator for the keywords of nvitop's schemas."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any, Iterator

_TYPES: dict[str, Any] = {
    'object': dict,
    'array': list,
    'string': str,
    'boolean': bool,
    'null': type(None),
}
_KNOWN = {
    '$schema', 'title', 'description', 'type', 'properties', 'required', 'dependentRequired',
    'additionalProperties', 'items', 'const', 'enum', 'minimum', 'pattern', 'format',
}  # fmt: skip


def violations(schema: dict[str, Any], value: Any, path: str = '$') -> Iterator[str]:
    """Yield a message for each violation."""
    assert set(schema) <= _KNOWN, f'{path}: this checker does not know {set(schema) - _KNOWN}'
    kinds = schema.get('type', [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(_is(kind, value) for kind in kinds):
        yield f'{path}: {value!r} is not {" or ".join(kinds)}'
        return
    if 'const' in schema and (value, type(value)) != (schema['const'], type(schema['const'])):
        yield f'{path}: {value!r} is not {schema["const"]!r}'
    if 'enum' in schema and value not in schema['enum']:
        yield f'{path}: {value!r} is not one of {schema["enum"]}'
    if isinstance(value, int) and value < schema.get('minimum', value):
        yield f'{path}: {value!r} is less than {schema["minimum"]}'
    if isinstance(value, str) and not re.search(schema.get('pattern', ''), value):
        yield f'{path}: {value!r} does not match {schema["pattern"]}'
    if schema.get('format') == 'date-time' and value is not None and not _has_zone(value):
        yield f'{path}: {value!r} has no zone'
    if isinstance(value, dict):
        yield from _of_object(schema, value, path)
    if isinstance(value, list):
        for position, item in enumerate(value):
            yield from violations(schema.get('items', {}), item, f'{path}[{position}]')


def _of_object(schema: dict[str, Any], value: dict[str, Any], path: str) -> Iterator[str]:
    needed = list(schema.get('required', ()))
    for name, others in schema.get('dependentRequired', {}).items():
        needed += others if name in value else ()
    yield from (f'{path}: {name} is missing' for name in needed if name not in value)
    known = schema.get('properties', {})
    for name, item in value.items():
        if name in known:
            yield from violations(known[name], item, f'{path}.{name}')
        elif schema.get('additionalProperties') is False:
            yield f'{path}: {name} is not known'


def _has_zone(text: str) -> bool:
    return datetime.fromisoformat(text).tzinfo is not None


def _is(kind: str, value: Any) -> bool:
    if kind in ('integer', 'number'):
        wanted = (int,) if kind == 'integer' else (int, float)
        return isinstance(value, wanted) and not isinstance(value, bool)
    return isinstance(value, _TYPES[kind])
