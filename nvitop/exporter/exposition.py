# SPDX-License-Identifier: Apache-2.0
"""Families in the text format of Prometheus. Pure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Iterable, Mapping

if TYPE_CHECKING:
    from nvitop.exporter.dialects import Family

#: Type → type in the text format, if that differs.
_TEXT_TYPES = {'info': 'gauge'}
_ESCAPED = str.maketrans({'\\': r'\\', '\n': r'\n', '"': r'\"'})
_ESCAPED_HELP = str.maketrans({'\\': r'\\', '\n': r'\n'})


def render(families: Iterable[Family]) -> str:
    """Return families as text that ends with a newline."""
    lines: list[str] = []
    for family in families:
        name, kind = family.name, _TEXT_TYPES.get(family.type, family.type)
        lines.append(f'# HELP {name} {family.help.translate(_ESCAPED_HELP)}')
        lines.append(f'# TYPE {name} {kind}')
        lines += [f'{name}{_labels(labels)} {_number(value)}' for labels, value in family.points]
    lines.append('')
    return '\n'.join(lines)


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ''
    text = '",'.join([f'{name}="{value}' for name, value in labels.items()])
    if '\\' in text or '\n' in text or text.count('"') != 2 * len(labels) - 1:
        text = '",'.join([f'{name}="{v.translate(_ESCAPED)}' for name, v in labels.items()])
    return f'{{{text}"}}'


def _number(value: float) -> str:
    if value == (whole := int(value) if math.isfinite(value) else 0) and abs(whole) < 1 << 53:
        return str(whole)
    if math.isinf(value):
        return '+Inf' if value > 0 else '-Inf'
    return 'NaN' if math.isnan(value) else repr(value)
