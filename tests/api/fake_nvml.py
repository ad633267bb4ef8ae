"""An NVML library of a few Python functions, for `libnvml.use_library`."""

from __future__ import annotations

import contextlib
import ctypes
from collections import Counter
from typing import Any, Callable, Iterator

from nvitop.api import libnvml

NOT_SUPPORTED = 3


class FakeLibrary:
    """Functions of NVML by name. The driver lacks all others."""

    def __init__(self, **functions: Callable[..., int]) -> None:
        self.calls: Counter[str] = Counter()
        self.add('nvmlInitWithFlags', lambda flags: 0)
        self.add('nvmlShutdown', lambda: 0)
        self.add('nvmlDeviceGetHandleByIndex_v2', self._handle)
        for name, function in functions.items():
            self.add(name, function)

    def add(self, name: str, function: Callable[..., int]) -> None:
        def symbol(*args: Any) -> int:
            self.calls[name] += 1
            return function(*args)

        setattr(self, name, symbol)

    def fail(self, name: str, code: int) -> None:
        self.add(name, lambda *args: code)

    @staticmethod
    def _handle(index: Any, pointer: Any) -> int:
        address = ctypes.cast(pointer, ctypes.POINTER(ctypes.c_void_p))
        address[0] = 0x1000 * (int(getattr(index, 'value', index)) + 1)
        return 0


def write_uint(value: int) -> Callable[..., int]:
    """Return a getter of one unsigned integer: ``function(handle, …, *value)``."""

    def function(*args: Any) -> int:
        args[-1]._obj.value = value
        return 0

    return function


def write_text(value: bytes) -> Callable[..., int]:
    """Return a getter of text: ``function([handle], buffer, size)``."""

    def function(*args: Any) -> int:
        args[-2].value = value
        return 0

    return function


@contextlib.contextmanager
def installed(library: FakeLibrary) -> Iterator[FakeLibrary]:
    libnvml.use_library(library)
    try:
        yield library
    finally:
        libnvml.use_library(None)


def handle(index: int = 0) -> Any:
    return libnvml.nvmlQuery('nvmlDeviceGetHandleByIndex', index, ignore_errors=False)
