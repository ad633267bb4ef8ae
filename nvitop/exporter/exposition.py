# SPDX-License-Identifier: Apache-2.0
"""Families as text, in the formats that Prometheus reads. Pure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Iterable, Mapping, NamedTuple

if TYPE_CHECKING:
    from nvitop.exporter.dialects import Family

#: Endings of names that are units in OpenMetrics.
UNITS = ('bytes', 'bytes_per_second', 'celsius', 'hertz', 'joules', 'ratio', 'seconds', 'watts')
#: Type → suffix that its series have and its family name does not.
_SUFFIXES = {'counter': '_total', 'info': '_info'}
#: OpenMetrics type → type in the text format, if that differs.
_TEXT_TYPES = {'info': 'gauge', 'unknown': 'untyped'}
_ESCAPED = str.maketrans({'\\': r'\\', '\n': r'\n', '"': r'\"'})
_ESCAPED_HELP = str.maketrans({'\\': r'\\', '\n': r'\n'})


class MediaType(NamedTuple):
    """A text format."""

    #: Value of the header ``Content-Type``.
    name: str
    is_openmetrics: bool


TEXT = MediaType('text/plain; version=0.0.4; charset=utf-8', False)
OPENMETRICS = MediaType('application/openmetrics-text; version=1.0.0; charset=utf-8', True)


def negotiate(accept: str) -> MediaType:
    """Return the format for the header ``Accept`` of a request; the text format if in doubt."""
    best, best_quality = TEXT, 0.0
    for part in accept.split(','):
        kind, *parameters = (word.strip().lower() for word in part.split(';'))
        values = dict(word.partition('=')[::2] for word in parameters)
        quality = _quality(values.get('q', '1'))
        if kind == 'application/openmetrics-text':
            is_known = values.get('version', '1.0.0').strip('"') in ('0.0.1', '1.0.0')
            candidate = OPENMETRICS if is_known else None
        else:
            candidate = TEXT if kind in ('text/plain', 'text/*', '*/*') else None
        if candidate is not None and quality > best_quality:
            best, best_quality = candidate, quality
    return best


def accepts_gzip(accept_encoding: str) -> bool:
    """Return whether the header ``Accept-Encoding`` of a request allows gzip."""
    for part in accept_encoding.split(','):
        name, *parameters = (word.strip().lower() for word in part.split(';'))
        if name in ('gzip', '*'):
            values = dict(word.partition('=')[::2] for word in parameters)
            return _quality(values.get('q', '1')) > 0
    return False


def _quality(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return 0.0
    return value if 0.0 <= value <= 1.0 else 0.0


def render(families: Iterable[Family], media: MediaType = TEXT) -> str:
    """Return families as text that ends with a newline."""
    head = _openmetrics_head if media.is_openmetrics else _text_head
    #: Text of labels by identity: most points share theirs with others.
    labels_of: dict[int, str] = {}
    lines: list[str] = []
    kept = []
    for family in families:
        kept.append(family)  # so that no identity of labels is used again
        lines += head(family)
        name = family.name
        for labels, value in family.points:
            text = labels_of.get(id(labels))
            if text is None:
                text = labels_of[id(labels)] = _labels(labels)
            lines.append(f'{name}{text} {_number(value)}')
    if media.is_openmetrics:
        lines.append('# EOF')
    lines.append('')
    return '\n'.join(lines)


def _text_head(family: Family) -> list[str]:
    text = family.help.translate(_ESCAPED_HELP)
    kind = _TEXT_TYPES.get(family.type, family.type)
    return [f'# HELP {family.name} {text}', f'# TYPE {family.name} {kind}']


def _openmetrics_head(family: Family) -> list[str]:
    suffix = _SUFFIXES.get(family.type, '')
    assert family.name.endswith(suffix), family.name
    name = family.name[: len(family.name) - len(suffix)]
    unit = next((unit for unit in UNITS if name.endswith(f'_{unit}')), '')
    return [
        f'# HELP {name} {family.help.translate(_ESCAPED)}',
        f'# TYPE {name} {family.type}',
        *([f'# UNIT {name} {unit}'] if unit else []),
    ]


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
