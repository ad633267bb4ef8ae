# SPDX-License-Identifier: Apache-2.0
"""Samples as plain structures that JSON can hold, to be stored, sent and drawn again.

Fields with their default value are left out, so a stored sample is short and reads well. What a
newer version added is ignored, what an older one lacked gets its default.
"""

from __future__ import annotations

from typing import Any, Dict, List, Union

from nvitop.sampling.types import (
    Cost,
    DeviceInfo,
    DeviceKey,
    DeviceSample,
    HostProcessSample,
    HostSample,
    Problem,
    ProcessKey,
    ProcessSample,
    Sample,
)

#: Version of the structure; it changes when a reader of the last one would misread the new one.
VERSION = 1

#: What JSON can hold.
Plain = Union[None, bool, int, float, str, List[Any], Dict[str, Any]]

#: (class, field) → class of the value, or of the items of a tuple.
_NESTED: dict[tuple[type, str], type] = {
    (ProcessKey, 'device'): DeviceKey,
    (DeviceInfo, 'key'): DeviceKey,
    (DeviceSample, 'key'): DeviceKey,
    (DeviceSample, 'info'): DeviceInfo,
    (ProcessSample, 'key'): ProcessKey,
    (Problem, 'device'): DeviceKey,
    (Sample, 'host'): HostSample,
    (Sample, 'cost'): Cost,
}
_NESTED_TUPLES: dict[tuple[type, str], type] = {
    (HostProcessSample, 'devices'): DeviceKey,
    (Sample, 'devices'): DeviceSample,
    (Sample, 'processes'): ProcessSample,
    (Sample, 'host_processes'): HostProcessSample,
    (Sample, 'problems'): Problem,
}
_TUPLES: frozenset[tuple[type, str]] = frozenset(
    {
        (DeviceSample, 'clock_event_reasons'),
        (HostSample, 'load_average'),
    }
)
#: Pairs of a name and a value.
_PAIRS: frozenset[tuple[type, str]] = frozenset({(DeviceSample, 'extended')})
#: What is never a scalar.
_LISTS = {*_NESTED_TUPLES, *_PAIRS}


class SerializationError(ValueError):
    """What was read is no stored sample, or one of a version that cannot be read."""


def serialise(sample: Sample) -> dict[str, Plain]:
    """A sample as a structure of dictionaries, lists, texts and numbers."""
    return {'nvitop_sample': VERSION, **_plain(sample)}


def parse(stored: object) -> Sample:
    """The sample that :func:`serialise` was given.

    Raises:
        SerializationError: If it is none, or of an unknown version.
    """
    if not isinstance(stored, dict) or 'nvitop_sample' not in stored:
        raise SerializationError('this is not a stored sample')
    if stored['nvitop_sample'] != VERSION:
        raise SerializationError(
            f'this sample was stored in version {stored["nvitop_sample"]!r} of the format, '
            f'which this nvitop cannot read (it reads version {VERSION})'
        )
    sample: Sample = _value(Sample, stored)
    return sample


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


def _value(cls: Any, stored: object) -> Any:
    """An instance of a class of samples from its structure."""
    if not isinstance(stored, dict):
        raise SerializationError(f'{cls.__name__}: an object was expected, not {stored!r}')
    missing = [n for n in cls._fields if n not in stored and n not in cls._field_defaults]
    if missing:
        raise SerializationError(f'{cls.__name__}: {", ".join(missing)} missing')
    return cls(**{name: _field(cls, name, stored[name]) for name in cls._fields if name in stored})


def _field(cls: type, name: str, stored: object) -> object:
    place = cls, name
    if place in _NESTED:
        return None if stored is None else _value(_NESTED[place], stored)
    if isinstance(stored, list):
        if place in _NESTED_TUPLES:
            return tuple(_value(_NESTED_TUPLES[place], item) for item in stored)
        if place in _TUPLES:
            return tuple(stored)
        if place in _PAIRS:
            return tuple(map(_pair, stored))
    elif place not in _LISTS and isinstance(stored, (bool, int, float, str, type(None))):
        return stored
    raise SerializationError(f'{cls.__name__}.{name}: {stored!r} was not expected')


def _pair(stored: object) -> tuple[str, object]:
    """Name and value of a extended metric; lists are tuples."""
    if not isinstance(stored, list) or len(stored) != 2 or not isinstance(stored[0], str):
        raise SerializationError(f'DeviceSample.extended: {stored!r} was not expected')
    return stored[0], _frozen(stored[1])


def _frozen(stored: object) -> object:
    return tuple(map(_frozen, stored)) if isinstance(stored, list) else stored
