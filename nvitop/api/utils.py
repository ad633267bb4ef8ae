# SPDX-License-Identifier: Apache-2.0
"""Snapshots and colors, and the names of ``nvitop.basics.units``."""

from __future__ import annotations

import math
import os
import re
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Iterable, Iterator, KeysView

from nvitop.basics.units import (
    NA,
    SIZE_UNITS,
    UINT_MAX,
    ULONGLONG_MAX,
    GiB,
    KiB,
    MiB,
    NaType,
    NotApplicable,
    NotApplicableType,
    PiB,
    TiB,
    boolify,
    bytes2human,
    human2bytes,
    timedelta2human,
    utilization2string,
)

__all__ = [
    'NA',
    'SIZE_UNITS',
    'UINT_MAX',
    'ULONGLONG_MAX',
    'GiB',
    'KiB',
    'MiB',
    'NaType',
    'NotApplicable',
    'NotApplicableType',
    'PiB',
    'Snapshot',
    'TiB',
    'boolify',
    'bytes2human',
    'colored',
    'human2bytes',
    'set_color',
    'timedelta2human',
    'utilization2string',
]


_color: bool | None = None


def set_color(value: bool) -> None:
    """Turn the colors of :func:`colored` on or off, regardless of the terminal.

    This sets ``FORCE_COLOR`` or ``NO_COLOR`` in the environment and removes the other one, which
    affects other libraries and child processes too.
    """
    global _color
    _color = bool(value)
    name, other = ('FORCE_COLOR', 'NO_COLOR') if value else ('NO_COLOR', 'FORCE_COLOR')
    os.environ[name] = '1'
    os.environ.pop(other, None)


def colored(
    text: str,
    color: str | None = None,
    on_color: str | None = None,
    attrs: Iterable[str] | None = None,
) -> str:
    """Add ANSI colors to text if standard output supports them.

    See :func:`nvitop.termcolor.colored` for the names, and :func:`nvitop.termcolor.can_colorize` for
    the conditions. :func:`set_color` overrides them.
    """
    from nvitop.api import termcolor  # most programs need no colors

    return termcolor.colored(
        text,
        color,
        on_color,
        attrs,
        no_color=None if _color is None else not _color,
        force_color=_color,
    )


#: Methods that a snapshot never calls by itself.
_ACTION = r'_|(set|update|begin|release)_|(kill|terminate|suspend|resume|send_signal|wait)\Z'


class Snapshot:
    """Values of a live object (a device or a process) at one moment.

    Values are attributes and items; ``dict(snapshot)`` returns all of them. Both can be assigned,
    except :attr:`real` and :attr:`timestamp`, which every snapshot has. The class of a snapshot is a
    subclass with the name of the live object's class, such as ``DeviceSnapshot``.

    A name that the snapshot does not have is read from the live object at that time, and kept.
    Methods that need arguments or change something (``kill``, ``set_…``) are not called this way;
    they raise ``AttributeError``.

    >>> from datetime import date
    >>> snapshot = Snapshot(date(2024, 2, 29), year=2024)
    >>> snapshot.year, snapshot['month'], snapshot.isoformat, list(snapshot)
    (2024, 2, '2024-02-29', ['year', 'month', 'isoformat'])
    """

    if TYPE_CHECKING:
        #: The live object.
        real: Any
        #: Time of the snapshot in seconds since the epoch.
        timestamp: float

    def __init__(self, real: Any, **items: Any) -> None:
        """Hold ``items`` as the values of ``real``. The default ``timestamp`` is the current time."""
        object.__setattr__(self, '__class__', _snapshot_class(type(self), type(real)))
        values = self.__dict__
        values['real'] = real
        values['timestamp'] = items.pop('timestamp', None) or time.time()
        values.update(items)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore_snapshot, (type(self).__base__, dict(self.__dict__))

    def __getattr__(self, name: str) -> Any:
        if re.match(_ACTION, name):
            raise AttributeError(f'{type(self).__name__!r} has no attribute {name!r}')
        value = getattr(self.real, name)
        if callable(value):
            try:
                value = value()
            except TypeError as error:
                message = f'{type(self).__name__!r} has no attribute {name!r}: {error}'
                raise AttributeError(message) from error
        self.__dict__[name] = value
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ('real', 'timestamp'):
            raise AttributeError(f'{name!r} of {type(self).__name__!r} is read-only')
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        if name in ('real', 'timestamp'):
            raise AttributeError(f'{name!r} of {type(self).__name__!r} is read-only')
        super().__delattr__(name)

    def __getitem__(self, name: str) -> Any:
        try:
            return getattr(self, name)
        except AttributeError as ex:
            raise KeyError(name) from ex

    def __setitem__(self, name: str, value: Any) -> None:
        setattr(self, name, value)

    def __iter__(self) -> Iterator[str]:
        return (name for name in list(self.__dict__) if name not in ('real', 'timestamp'))

    def keys(self) -> KeysView[str]:
        """Return the names of the values, without ``real`` and ``timestamp``."""
        return dict.fromkeys(self).keys()

    def __len__(self) -> int:
        """Return the number of values, without ``real`` and ``timestamp``."""
        return len(self.keys())

    def get(self, name: str, default: Any = None) -> Any:
        """Return a value as ``snapshot[name]`` does, or ``default`` if there is no such name."""
        try:
            return self[name]
        except KeyError:
            return default

    def to_dict(self) -> dict[str, Any]:
        """Return the values as a dictionary that JSON can hold.

        ``NA`` becomes ``None``, a device its index, a time span its seconds, and a snapshot or named
        tuple in it a dictionary.

        >>> from datetime import date, timedelta
        >>> Snapshot(date.today(), name=NA, age=timedelta(hours=1), sizes=(1, 2)).to_dict()
        {'name': None, 'age': 3600.0, 'sizes': [1, 2]}
        """
        return {name: _plain(self.__dict__[name]) for name in self}

    def __repr__(self) -> str:
        lines = [f'real={self.real!r},', *(f'{name}={self.__dict__[name]!r},' for name in self)]
        text = '\n'.join(lines).replace('\n', '\n    ')
        return f'{type(self).__name__}(\n    {text}\n)'


def _plain(value: Any) -> Any:
    if value is NA or (isinstance(value, float) and not math.isfinite(value)):
        return None
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Snapshot):
        return value.to_dict()
    if hasattr(value, '_asdict'):
        value = value._asdict()
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item) for item in value]
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(getattr(value, 'index', None), (int, tuple)):  # a device
        return _plain(value.index)
    return str(value)


_snapshot_classes: dict[tuple[type[Snapshot], type], type[Snapshot]] = {}


def _snapshot_class(base: type[Snapshot], real_class: type) -> type[Snapshot]:
    try:
        return _snapshot_classes[base, real_class]
    except KeyError:
        if base in _snapshot_classes.values():  # created here for another object
            base = base.__mro__[1]
        name = f'{real_class.__name__}{base.__name__}'
        new = type(name, (base,), {'__module__': base.__module__, '__doc__': base.__doc__})
        return _snapshot_classes.setdefault((base, real_class), new)


def snapshot_of(real: Any, values: dict[str, Any]) -> Snapshot:
    """Return ``Snapshot(real, **values)``, which owns the dictionary instead of copying it."""
    values['real'] = real
    if 'timestamp' not in values:
        values['timestamp'] = time.time()
    snapshot = object.__new__(_snapshot_class(Snapshot, type(real)))
    object.__setattr__(snapshot, '__dict__', values)
    return snapshot


def _restore_snapshot(base: type[Snapshot], values: dict[str, Any]) -> Snapshot:
    return base(values.pop('real'), **values)
