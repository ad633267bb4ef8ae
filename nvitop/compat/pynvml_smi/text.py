# SPDX-License-Identifier: Apache-2.0
"""The result of a query as plain text and as XML."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from nvitop.basics.text import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Characters that are not allowed in XML, not even escaped.
_NOT_XML = re.compile('[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]')
_NUMBERED = re.compile(r'_\d+\Z')
#: Key → name of its element, if they differ.
_ELEMENTS = {'clocks_throttle': 'clocks_throttle_reasons', 'current': 'value'}
#: List → name of the elements of its items.
_ITEMS = {
    'processes': 'process_info',
    'accounted_processes': 'accounted_process_info',
    'supported_clocks': 'supported_mem_clock',
}
#: Numbers without the unit of their group.
_UNITLESS = {'pid'}


def format_tree(tree: object) -> str:
    """Return the result of a query as text: one line for each value, indented by group."""
    if not isinstance(tree, Mapping):
        return str(tree)
    return ''.join(f'{line}\n' for line in _format_mapping(tree, '  '))


def _format_mapping(tree: Mapping[str, Any], indent: str) -> Iterator[str]:
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield f'{indent}{key}:'
            yield from _format_mapping(value, indent + '  ')
        elif isinstance(value, (list, tuple)) and value and isinstance(value[0], Mapping):
            for number, item in enumerate(value, 1):
                yield f'{indent}{key}: [{number} of {len(value)}]'
                yield from _format_mapping(item, indent + '  ')
        elif isinstance(value, (list, tuple)):
            yield f'{indent}{key}: {", ".join(map(str, value))}'
        else:
            yield f'{indent}{key}: {printable(str(value))}'


def tree_to_xml(tree: Mapping[str, Any], bus_ids: Sequence[str]) -> str:
    """Return the result of a query as XML, with the bus ID of each GPU as its ``id``."""
    lines = [
        '<?xml version="1.0" ?>',
        '<!DOCTYPE nvidia_smi SYSTEM "nvsmi_device_v4.dtd">',
        '<nvidia_smi>',
    ]
    for key, value in tree.items():
        if key != 'gpu':
            lines.extend(_elements(key, value, '', '  '))
            continue
        for gpu, bus_id in zip(value, bus_ids):
            lines.append(f'  <gpu id="{_escape(bus_id)}">')
            lines.extend(_children(gpu, '    '))
            lines.append('  </gpu>')
    return '\n'.join([*lines, '</nvidia_smi>', ''])


def _children(tree: Mapping[str, Any], indent: str) -> Iterator[str]:
    unit = tree.get('unit', '')
    for key, value in tree.items():
        if key != 'unit' and not key.endswith('_unit'):
            own = '' if key in _UNITLESS else tree.get(f'{key}_unit', unit)
            yield from _elements(key, value, own, indent)


def _elements(key: str, value: Any, unit: str, indent: str) -> Iterator[str]:
    name = _ELEMENTS.get(key) or _NUMBERED.sub('', key)
    if isinstance(value, Mapping) and set(value) == {'Error'}:
        value = value['Error']
    if isinstance(value, Mapping):
        yield f'{indent}<{name}>'
        yield from _children(value, indent + '  ')
        yield f'{indent}</{name}>'
    elif isinstance(value, list) and key in _ITEMS:
        yield f'{indent}<{name}>'
        for item in value:
            yield from _elements(_ITEMS[key], item, '', indent + '  ')
        yield f'{indent}</{name}>'
    elif isinstance(value, list):
        for item in value:
            yield from _elements(key, item, unit, indent)
    else:
        yield f'{indent}<{name}>{_escape(_text(value, unit))}</{name}>'


def _text(value: object, unit: str) -> str:
    if value is None:
        return ''
    if isinstance(value, (int, float)) and unit:
        return f'{value:.2f} {unit}' if unit == 'W' else f'{value} {unit}'
    return str(value)


def _escape(text: str) -> str:
    return html.escape(_NOT_XML.sub('�', text))
