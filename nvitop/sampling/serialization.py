# SPDX-License-Identifier: Apache-2.0
"""Samples as JSON, to record them, send them, and draw them again, with command lines as may be kept.

Fields with their default value are left out, so a serialized sample is short. A reader ignores fields
it does not know and uses the default of missing ones, so versions of nvitop can read each other's
samples. How a field is read follows from its annotation in :mod:`nvitop.sampling.types`.

The input may come from another machine. Anything but a sample of bounded size and depth is refused.
"""

from __future__ import annotations

import functools
import json
import math
from typing import Any, Callable, Dict, List, NamedTuple, Union, get_args

from nvitop.basics.masking import mask_command, short_command
from nvitop.basics.units import LATEST_TIME
from nvitop.owner import types as owner_types
from nvitop.owner.types import TOOLS, Owner
from nvitop.sampling import types
from nvitop.sampling.types import DeviceKey, HostProcessSample, ProcessSample, Sample

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
_SUBJECTS = {'driver': 'driver', 'host': 'host'}
#: Values of ``--commands``.
CHOICES = ('full', 'name', 'none')


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
    return json.dumps(serialize(sample), separators=(',', ':'), allow_nan=False)


def loads(text: str | bytes) -> Sample:
    """Return the sample in a JSON text; SerializationError if it is not one, or too large."""
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
    return json.dumps({'nvitop_demand': VERSION, **_plain(demand)}, separators=(',', ':'))


def loads_demand(text: str | bytes) -> types.Demand:
    """Return the demand in a JSON text; SerializationError if it is not one, or too large."""
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


def _kind(expected: str, is_valid: Callable[[Any], bool]) -> Decoder:
    def decode(stored: Any) -> Any:
        if not is_valid(stored):
            raise _refuse(expected, stored)
        return stored

    return decode


def _is_int(stored: object) -> bool:
    return type(stored) is int and -(1 << 64) < stored < 1 << 64


_bool = _kind('a boolean', lambda stored: isinstance(stored, bool))
_int = _kind('an integer', _is_int)
_float = _kind(
    'a number',
    lambda stored: math.isfinite(stored) if isinstance(stored, float) else _is_int(stored),
)
_str = _kind('a text', lambda stored: isinstance(stored, str) and len(stored) <= MAX_TEXT)
_list = _kind('a list', lambda stored: isinstance(stored, list) and len(stored) <= MAX_ITEMS)


def _scalar(stored: Any) -> Any:
    if stored is None or isinstance(stored, bool):
        return stored
    return _str(stored) if isinstance(stored, str) else _float(stored)


def _value(stored: Any) -> Any:
    """Decode a value of an extended metric."""
    if not isinstance(stored, list):
        return _scalar(stored)
    items = _list(stored)
    if items and isinstance(items[0], list):
        return tuple(tuple(map(_scalar, _list(row))) for row in items)
    return tuple(map(_str, items))


def _subject(stored: Any) -> Any:
    if isinstance(stored, dict):
        return _decoder_of_class(DeviceKey)(stored)
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
    (option,) = (part for part in _split(annotation, '|') if part != 'None')
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
        decoders = [_decoder_of(element) for element in (*items, last)]
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


class CommandFilter(NamedTuple):
    """Reduces the command lines of samples to what may be kept."""

    #: One of :data:`CHOICES`.
    keep: str = 'name'

    def apply(self, sample: Sample) -> Sample:
        """Return the sample with commands masked, shortened, or removed."""
        return sample._replace(
            processes=tuple(map(self._reduce, sample.processes)),
            host_processes=tuple(map(self._reduce_host, sample.host_processes)),
            claims=tuple(
                claim._replace(command=self._command(claim.command)) for claim in sample.claims
            ),
        )

    def _reduce(self, process: ProcessSample) -> ProcessSample:
        if self.keep == 'none':
            parent = process.parent
            return process._replace(
                command=self._command(process.command),
                name=None,
                owner=_without_name(process.owner),
                parent=None if parent is None else parent._replace(name=None),
            )
        return process._replace(command=self._command(process.command, process.name))

    def _reduce_host(self, process: HostProcessSample) -> HostProcessSample:
        name = None if self.keep == 'none' else process.name
        return process._replace(command=self._command(process.command), name=name)

    def _command(self, command: str | None, name: str | None = None) -> str | None:
        if command is None:
            return None
        if self.keep == 'full':
            return mask_command(command)
        return short_command(command, name) if self.keep == 'name' else ''


def _without_name(owner: Owner | None) -> Owner | None:
    """Remove the names of notebooks and terminals, which their users chose."""
    if owner is None:
        return None
    layers = tuple(
        layer._replace(name=None) if layer.kind in TOOLS else layer for layer in owner.layers
    )
    return owner._replace(name=None if owner.kind in TOOLS else owner.name, layers=layers)
