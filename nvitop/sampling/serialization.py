# SPDX-License-Identifier: Apache-2.0
"""Samples as JSON, to record them, send them, and draw them again.

Fields with their default value are left out, so a serialized sample is short. A reader ignores fields
it does not know and uses the default of missing ones, so versions of nvitop can read each other's
samples. How a field is read follows from its annotation in :mod:`nvitop.sampling.types`.

The input may come from another machine. Anything but a sample of bounded size and depth is refused.
"""

from __future__ import annotations

import functools
import json
import math
from typing import Any, Callable, Dict, List, Union, get_args

from nvitop.basics.units import LATEST_TIME
from nvitop.owner import types as owner_types
from nvitop.sampling import types
from nvitop.sampling.types import DeviceKey, Sample

#: Version of the format. It changes when a reader of the old format would misread the new one.
VERSION = 2
#: Maximum size of the JSON text (bytes), of a text in it (characters), and of a list.
MAX_BYTES = 4 << 20
MAX_TEXT = 4 << 20
MAX_ITEMS = 100_000

#: A value that JSON can hold.
Plain = Union[None, bool, int, float, str, List[Any], Dict[str, Any]]
Decoder = Callable[[Any], Any]

#: Used for words of a newer version that this one does not know.
_UNKNOWN_WORDS = {'DeviceStatus': 'error', 'ProcessStatus': 'running', 'ProblemKind': 'error'}
_SUBJECTS: dict[str, types.Subject] = {'driver': 'driver', 'host': 'host'}


class SerializationError(ValueError):
    """The input is not a sample, or is in a format that this version cannot read."""


def serialize(sample: Sample) -> dict[str, Plain]:
    """Return a sample as dictionaries, lists, texts and numbers."""
    return {'nvitop_sample': VERSION, **_plain(sample)}


def parse(stored: object) -> Sample:
    """Return the sample that :func:`serialize` was given.

    Raises:
        SerializationError: It is not a sample, or has another version.
    """
    if not isinstance(stored, dict) or 'nvitop_sample' not in stored:
        raise SerializationError('not a sample')
    version = stored['nvitop_sample']
    if version != VERSION or isinstance(version, bool):
        is_newer = isinstance(version, int) and version > VERSION
        raise SerializationError(
            'the sample was written by a newer version of nvitop'
            if is_newer
            else f'the sample is not in format {VERSION}, which is the one this nvitop reads'
        )
    sample: Sample = _decoder_of_class(Sample)(stored)
    return sample


def dumps(sample: Sample) -> str:
    """Return a sample as one line of JSON."""
    return json.dumps(serialize(sample), separators=(',', ':'), allow_nan=False)


def loads(text: str | bytes) -> Sample:
    """Return the sample in a JSON text.

    Raises:
        SerializationError: The text is not JSON, not a sample, or too large.
    """
    sample = parse(_loads(text))
    if not 0 <= sample.timestamp < LATEST_TIME:
        raise SerializationError('a sample of an impossible time')
    return sample


def _loads(text: str | bytes) -> object:
    if len(text) > MAX_BYTES:
        raise SerializationError(f'more than {MAX_BYTES >> 20} MiB')
    try:
        stored: object = json.loads(text)
    except (ValueError, RecursionError):
        raise SerializationError('not JSON') from None
    return stored


def dumps_demand(demand: types.Demand) -> str:
    """Return a demand as one line of JSON."""
    return json.dumps({'nvitop_demand': VERSION, **_plain(demand)}, separators=(',', ':'))


def loads_demand(text: str | bytes) -> types.Demand:
    """Return the demand in a JSON text.

    Raises:
        SerializationError: The text is not a demand, or too large.
    """
    stored = _loads(text)
    if not isinstance(stored, dict) or 'nvitop_demand' not in stored:
        raise SerializationError('not a demand')
    demand: types.Demand = _decoder_of_class(types.Demand)(stored)
    return demand


def _plain(value: Any) -> Any:
    if hasattr(value, '_fields'):
        defaults = value._field_defaults
        return {
            name: _plain(field)
            for name, field in zip(value._fields, value)
            if name not in defaults or field != defaults[name]
        }
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


# Decoders: one for each annotation


def _refuse(expected: str, stored: object) -> SerializationError:
    return SerializationError(f'expected {expected}, not {type(stored).__name__}')


def _bool(stored: object) -> bool:
    if not isinstance(stored, bool):
        raise _refuse('a boolean', stored)
    return stored


def _int(stored: object) -> int:
    if not isinstance(stored, int) or isinstance(stored, bool) or not -(1 << 64) < stored < 1 << 64:
        raise _refuse('an integer', stored)
    return stored


def _float(stored: object) -> float:
    if isinstance(stored, float) and math.isfinite(stored):
        return stored
    try:
        return _int(stored)
    except SerializationError:
        raise _refuse('a number', stored) from None


def _str(stored: object) -> str:
    if not isinstance(stored, str) or len(stored) > MAX_TEXT:
        raise _refuse('a text', stored)
    return stored


def _list(stored: object) -> list[Any]:
    if not isinstance(stored, list) or len(stored) > MAX_ITEMS:
        raise _refuse('a list', stored)
    return stored


def _scalar(stored: object) -> types.Scalar:
    if stored is None or isinstance(stored, bool):
        return stored
    return _str(stored) if isinstance(stored, str) else _float(stored)


def _value(stored: object) -> types.Value:
    """Decode a value of an extended metric."""
    if not isinstance(stored, list):
        return _scalar(stored)
    items = _list(stored)
    if items and isinstance(items[0], list):
        return tuple(tuple(map(_scalar, _list(row))) for row in items)
    return tuple(map(_str, items))


def _subject(stored: object) -> types.Subject:
    if isinstance(stored, dict):
        key: DeviceKey = _decoder_of_class(DeviceKey)(stored)
        return key
    if isinstance(stored, str):
        return _SUBJECTS.get(stored, 'monitor')
    return _int(stored)


_DECODERS: dict[str, Decoder] = {
    'bool': _bool,
    'int': _int,
    'float': _float,
    'str': _str,
    'Value': _value,
    'Subject': _subject,
}


@functools.lru_cache(maxsize=None)
def _decoder_of_class(cls: Any) -> Decoder:
    # As text: Python 3.8 and 3.9 cannot evaluate `int | None`.
    fields = {name: _decoder_of(hint.__forward_arg__) for name, hint in cls.__annotations__.items()}
    required = [name for name in cls._fields if name not in cls._field_defaults]

    def decode(stored: object) -> Any:
        if not isinstance(stored, dict):
            raise _refuse('an object', stored)
        values = {}
        for name, decode_field in fields.items():
            if name not in stored:
                continue
            try:
                values[name] = decode_field(stored[name])
            except SerializationError as error:
                raise SerializationError(f'{name}: {error}') from None
        missing = [name for name in required if name not in values]
        if missing:
            raise SerializationError(f'{", ".join(missing)} missing')
        return cls(**values)

    return decode


def _decoder_of(annotation: str) -> Decoder:
    """Return the decoder of an annotation: ``int``, ``str | None``, ``tuple[DeviceKey, ...]``."""
    (option,) = (each for each in _split(annotation, '|') if each != 'None')
    decode = _DECODERS.get(option) or _decoder_of_type(option)
    if option == annotation:
        return decode
    return lambda stored: None if stored is None else decode(stored)


def _decoder_of_type(name: str) -> Decoder:
    if name.startswith('tuple['):
        *items, last = _split(name[len('tuple[') : -1], ',')
        if last == '...':
            item = _decoder_of(items[0])
            return lambda stored: tuple(map(item, _list(stored)))
        decoders = [_decoder_of(each) for each in (*items, last)]
        return lambda stored: _fixed(decoders, _list(stored))
    named = _class_named(name)
    if hasattr(named, '_fields'):
        return _decoder_of_class(named)
    known, unknown = frozenset(get_args(named)), _UNKNOWN_WORDS[name]
    return lambda stored: stored if _str(stored) in known else unknown


def _class_named(name: str) -> Any:
    if name in ('Layer', 'Owner'):
        return getattr(owner_types, name)
    return getattr(types, name)


def _fixed(decoders: list[Decoder], stored: list[Any]) -> tuple[Any, ...]:
    if len(stored) != len(decoders):
        raise SerializationError(f'expected {len(decoders)} items, not {len(stored)}')
    return tuple(decode(item) for decode, item in zip(decoders, stored))


def _split(text: str, separator: str) -> list[str]:
    """Split an annotation at separators outside of brackets."""
    parts, depth = [''], 0
    for character in text:
        depth += (character == '[') - (character == ']')
        if character == separator and not depth:
            parts.append('')
        else:
            parts[-1] += character
    return [part.strip() for part in parts]
