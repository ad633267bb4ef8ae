# SPDX-License-Identifier: Apache-2.0
"""What the two CUDA doors share: a library loaded at its first call, errors known by their number."""

from __future__ import annotations

import contextlib
import ctypes
import re
import sys
import threading
from typing import Any, Callable, ClassVar, Iterable, Mapping, TypeVar, cast

#: ``CUDA_ERROR_FILE_NOT_FOUND``, ``cudaErrorFileNotFound``: the library itself is not there.
FILE_NOT_FOUND = 301
#: ``CUDA_ERROR_NOT_FOUND``, ``cudaErrorSymbolNotFound``: it lacks a function.
SYMBOL_NOT_FOUND = 500

#: Bytes for ``domain:bus:device.function`` and its terminator, with room to spare.
BUS_ID_SIZE = 64

ErrorT = TypeVar('ErrorT', bound='CodedError')


class CodedError(Exception):
    """An error known by the number its library returned.

    Calling the base class of a library with a number makes an instance of the subclass of that
    number, as ``NVMLError`` does; a number without a name stays with the base class.
    """

    #: Return code of this class, :data:`None` for the base class of a library.
    code: ClassVar[int | None] = None
    #: Return code → name of the constant, for every code of the library.
    names: ClassVar[Mapping[int, str]] = {}
    #: The number that was returned.
    value: int

    def __new__(cls: type[ErrorT], value: int | None = None) -> ErrorT:
        """Make an instance of the subclass that belongs to ``value``."""
        kind = cls
        if cls.code is None:
            if value is None:
                raise TypeError(f'{cls.__name__}() needs a return code')
            if value in cls.names:
                kind = cls.subclass(value)
        error = super().__new__(kind)
        error.value = cast(int, value if kind.code is None else kind.code)
        return error

    def __init__(self, value: int | None = None) -> None:
        super().__init__(self.value)

    def __str__(self) -> str:
        """The library's own words where it is loaded, else those of the constant's name."""
        name = self.names.get(self.value)
        if name is None:
            return f'unknown error {self.value}'
        return f'{self.describe(self.value) or spoken(name)} ({name})'

    @classmethod
    def subclass(cls: type[ErrorT], value: int) -> type[ErrorT]:
        """The exception class of a return code that has a name."""
        module = sys.modules[cls.__module__]
        return cast('type[ErrorT]', getattr(module, cls.class_name(cls.names[value])))

    @classmethod
    def class_name(cls, constant: str) -> str:
        """``CUDAError_InvalidDevice`` for ``CUDA_ERROR_INVALID_DEVICE``."""
        return f'{cls.__name__}_{pascal(constant)}'

    @classmethod
    def describe(cls, value: int) -> str:
        """The library's text for a return code, ``''`` where there is none."""
        return ''


def make_subclass(base: type[ErrorT], name: str) -> type[ErrorT]:
    """Make the exception class called ``name``; AttributeError where no constant has that name."""
    for code, constant in base.names.items():
        if base.class_name(constant) == name:
            doc = f'Return code ``{constant}`` ({code}): {spoken(constant)}.'
            body = {'__doc__': doc, '__module__': base.__module__, 'code': code}
            return cast('type[ErrorT]', type(name, (base,), body))
    raise AttributeError(f'module {base.__module__!r} has no attribute {name!r}')


def pascal(constant: str) -> str:
    """``InvalidDevice`` for ``CUDA_ERROR_INVALID_DEVICE`` and for ``cudaErrorInvalidDevice``."""
    if constant.startswith('CUDA_ERROR_'):
        return ''.join(word.capitalize() for word in constant.split('_')[2:])
    return constant[len('cudaError') :]


def spoken(constant: str) -> str:
    """``invalid device`` for ``CUDA_ERROR_INVALID_DEVICE`` and for ``cudaErrorInvalidDevice``."""
    return ' '.join(re.findall('[A-Z]+(?![a-z])|[A-Z][a-z0-9]+', pascal(constant))).lower()


class LazyLibrary:
    """A shared library that is looked for and loaded when one of its functions is first called.

    One that was not found is looked for again by the next call, so a driver that is installed
    later is noticed.
    """

    def __init__(self, candidates: Callable[[], Iterable[str]], error: type[CodedError]) -> None:
        self._candidates = candidates
        self._error = error
        self._lock = threading.Lock()
        self._loaded: object | None = None

    @property
    def loaded(self) -> object | None:
        """The library in use, :data:`None` where nothing has loaded one yet."""
        return self._loaded

    def use(self, library: object | None) -> None:
        """Use an object of plain Python functions from now on; :data:`None`: look for a real one."""
        with self._lock:
            self._loaded = library

    def call(self, name: str, *args: object) -> None:
        """Call a function that returns a return code; raise the error of that code."""
        code = self.function(name)(*args)
        if code != 0:
            raise self._error(code)

    def function(self, name: str) -> Any:
        """The function called ``name``; the library's own errors say what is missing."""
        library = self._loaded
        if library is None:
            with self._lock:
                library = self._loaded
                if library is None:
                    library = self._loaded = self._load()
        try:
            return getattr(library, name)
        except AttributeError:
            raise self._error(SYMBOL_NOT_FOUND) from None

    def _load(self) -> object:
        loader = getattr(ctypes, 'WinDLL', ctypes.CDLL)  # the calling convention of 32-bit Windows
        for path in self._candidates():
            with contextlib.suppress(OSError):
                return cast(object, loader(path))
        raise self._error(FILE_NOT_FOUND)


def version_text(version: int) -> str:
    """``'12.4'`` for 12040: thousands are the major version, tens the minor one."""
    return f'{version // 1000}.{version % 1000 // 10}'


def decoded(raw: bytes | None) -> str:
    """Text that came out of the driver, with what is not UTF-8 replaced."""
    return (raw or b'').decode('utf-8', errors='replace')
