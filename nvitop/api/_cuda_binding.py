# SPDX-License-Identifier: Apache-2.0
"""Shared parts of libcuda and libcudart: errors by return code, and a library loaded on use."""

from __future__ import annotations

import contextlib
import ctypes
import re
import sys
import threading
from typing import Any, Callable, ClassVar, Iterable, Mapping, TypeVar, cast

from nvitop.platforms.kernel import renew_in_child

#: ``CUDA_ERROR_NOT_INITIALIZED``, ``cudaErrorInitializationError``: the library was not found.
NOT_INITIALIZED = 3
#: ``CUDA_ERROR_NOT_FOUND``, ``cudaErrorSymbolNotFound``: the library lacks a function.
SYMBOL_NOT_FOUND = 500

#: Size in bytes of a buffer for ``domain:bus:device.function``.
BUS_ID_SIZE = 64

ErrorT = TypeVar('ErrorT', bound='CodedError')


class CodedError(Exception):
    """An error with the return code of its library.

    Calling the base class of a library with a code creates an instance of the subclass for that code,
    as ``NVMLError`` does. Unknown codes stay with the base class.
    """

    #: Return code of this class, None for the base class of a library.
    code: ClassVar[int | None] = None
    #: Return code → name of the constant, for all codes of the library.
    names: ClassVar[Mapping[int, str]] = {}
    #: Return code → subclass.
    subclasses: ClassVar[dict[int, type[CodedError]]] = {}
    #: The return code.
    value: int
    #: What happened, if it says more than the description of the return code.
    reason = ''

    def __new__(cls: type[ErrorT], value: int | None = None) -> ErrorT:
        """Create an instance of the subclass for ``value``."""
        kind: type[CodedError] = cls
        if cls.code is None:
            if value is None:
                raise TypeError(f'{cls.__name__}() needs a return code')
            kind = cls.subclasses.get(value, cls)
        error = cast('ErrorT', super().__new__(kind))
        error.value = cast(int, value if kind.code is None else kind.code)
        return error

    def __init__(self, value: int | None = None) -> None:
        super().__init__(self.value)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.args == other.args

    def __hash__(self) -> int:
        return hash((type(self), self.args))

    def __str__(self) -> str:
        """Return the library's description if it is loaded, otherwise words from the name."""
        name = self.names.get(self.value)
        if name is None:
            return f'unknown error {self.value}'
        return f'{self.reason or self.describe(self.value) or spoken(name)} ({name})'

    @classmethod
    def describe(cls, value: int) -> str:
        """Return the library's description of a return code, ``''`` if it is not loaded."""
        module = sys.modules[cls.__module__]
        try:
            return str(module.cuGetErrorString(value)) if module.used_library() else ''
        except CodedError:
            return ''


def parse_codes(prefix: str, table: str) -> dict[int, str]:
    """Parse pairs of a return code and the name of a constant without its prefix."""
    words = table.split()
    return {int(code): prefix + name for code, name in zip(words[::2], words[1::2])}


def make_subclasses(base: type[ErrorT]) -> dict[str, type[ErrorT]]:
    """Create the subclasses of the base class of a library, by name."""
    base.subclasses = {}
    created: dict[str, type[ErrorT]] = {}
    for code, constant in base.names.items():
        name = f'{base.__name__}_{pascal(constant)}'
        doc = f'Return code ``{constant}`` ({code}): {spoken(constant)}.'
        body = {'__doc__': doc, '__module__': base.__module__, 'code': code}
        created[name] = cast('type[ErrorT]', type(name, (base,), body))
        base.subclasses[code] = created[name]
    return created


def pascal(constant: str) -> str:
    """Return ``InvalidDevice`` for ``CUDA_ERROR_INVALID_DEVICE`` or ``cudaErrorInvalidDevice``."""
    if constant.startswith('CUDA_ERROR_'):
        return ''.join(word.capitalize() for word in constant.split('_')[2:])
    return constant[len('cudaError') :]


def spoken(constant: str) -> str:
    """Return ``invalid device`` for ``CUDA_ERROR_INVALID_DEVICE`` or ``cudaErrorInvalidDevice``."""
    return ' '.join(re.findall('[A-Z]+(?![a-z])|[A-Z][a-z0-9]+', pascal(constant))).lower()


class LazyLibrary:
    """A shared library that is loaded when one of its functions is first called.

    If it is not found, the next call searches again, so that a driver installed later is found.
    """

    def __init__(self, candidates: Callable[[], Iterable[str]], error: type[CodedError]) -> None:
        self._candidates = candidates
        self._error = error
        self._lock = threading.Lock()
        renew_in_child(self, _lock=threading.Lock)
        self._loaded: object | None = None

    @property
    def loaded(self) -> object | None:
        """The library in use, None if it has not been loaded."""
        return self._loaded

    def use(self, library: object | None) -> None:
        """Replace the library by an object with Python functions; None searches for a real one."""
        with self._lock:
            self._loaded = library

    def call(self, name: str, *args: object) -> None:
        """Call a function and raise the error for its return code."""
        code = self.function(name)(*args)
        if code != 0:
            raise self._error(code)

    def number(self, name: str, *args: object) -> int:
        """Call a function whose first argument receives a number; return that number."""
        number = ctypes.c_int()
        self.call(name, ctypes.byref(number), *args)
        return number.value

    def text(self, name: str, size: int, *args: object) -> str:
        """Call a function that writes text into a buffer of this size; return that text."""
        buffer = ctypes.create_string_buffer(size)
        self.call(name, buffer, ctypes.c_int(size), *args)
        return decoded(buffer.value)

    def function(self, name: str) -> Any:
        """Return a function of the library, or raise the library's error if it does not exist."""
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
        paths = [*self._candidates()]
        for path in paths:
            with contextlib.suppress(OSError):
                return cast(object, loader(path))
        cause = OSError(f'none of these libraries can be loaded: {", ".join(paths)}')
        error = self._error(NOT_INITIALIZED)
        if paths:
            error.reason = f'{paths[0]} not found'
        raise error from cause


def version_text(version: int) -> str:
    """Format a version number of CUDA: ``'12.4'`` for 12040."""
    return f'{version // 1000}.{version % 1000 // 10}'


def decoded(raw: bytes | None) -> str:
    """Decode text of the driver, replacing invalid UTF-8."""
    return (raw or b'').decode('utf-8', errors='replace')
