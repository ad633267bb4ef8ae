# SPDX-License-Identifier: Apache-2.0
"""``ttl_cache``: a :func:`functools.lru_cache` with expiring results, on top of cachetools."""

from __future__ import annotations

import functools
import math
import threading
import time
import weakref
from typing import Any, Callable, Generic, Hashable, MutableMapping, NamedTuple, TypeVar, overload

import cachetools
import cachetools.keys

__all__ = ['ttl_cache']

_T = TypeVar('_T')
_MISSING: Any = object()


class CacheInfo(NamedTuple):
    """Statistics of a cache, as in :func:`functools.lru_cache`."""

    hits: int
    misses: int
    maxsize: int | None
    currsize: int


@overload
def ttl_cache(maxsize: Callable[..., _T]) -> TTLCachedFunction[_T]: ...


@overload
def ttl_cache(
    maxsize: int | None = 128,
    *,
    ttl: float = 600.0,
    timer: Callable[[], float] = time.monotonic,
    typed: bool = False,
) -> Callable[[Callable[..., _T]], TTLCachedFunction[_T]]: ...


def ttl_cache(
    maxsize: int | Callable[..., Any] | None = 128,
    *,
    ttl: float = 600.0,
    timer: Callable[[], float] = time.monotonic,
    typed: bool = False,
) -> Any:
    """Decorate a function to keep its results for ``ttl`` seconds.

    If several threads need the same result, one computes it and the others wait. Exceptions are not
    kept. A decorated method does not keep its object alive, unless the object cannot be referenced
    weakly. ``cache_info()``, ``cache_clear()`` and ``cache_parameters()`` work as in
    :func:`functools.lru_cache`.

    Args:
        maxsize: Maximum number of results; the least recently used one is dropped first. None means
            no limit.
        ttl: Time in seconds after which a result expires.
        timer: Returns the current time in seconds.
        typed: Distinguish ``f(1)`` and ``f(1.0)``.

    Raises:
        ValueError: ``ttl`` is negative.

    >>> @ttl_cache(ttl=5.0)
    ... def slow_square(x):
    ...     return x * x
    >>> slow_square(4), slow_square(4), slow_square.cache_info().hits
    (16, 16, 1)
    """
    if ttl < 0:
        raise ValueError(f'ttl must not be negative: {ttl!r}')
    if callable(maxsize):
        return TTLCachedFunction(maxsize, 128, ttl, timer, typed)
    return functools.partial(
        TTLCachedFunction,
        maxsize=None if maxsize is None else max(0, maxsize),
        ttl=ttl,
        timer=timer,
        typed=typed,
    )


class TTLCachedFunction(Generic[_T]):
    """A function that :func:`ttl_cache` has decorated."""

    __name__: str
    __wrapped__: Callable[..., _T]

    def __init__(
        self,
        function: Callable[..., _T],
        maxsize: int | None,
        ttl: float,
        timer: Callable[[], float],
        typed: bool,
    ) -> None:
        """Wrap ``function``; see :func:`ttl_cache` for the other arguments."""
        functools.update_wrapper(self, function)
        self._key: Callable[..., Hashable] = (
            cachetools.keys.typedkey if typed else cachetools.keys.hashkey
        )
        self._parameters: dict[str, Any] = {'maxsize': maxsize, 'ttl': ttl, 'typed': typed}
        self._results: MutableMapping[Hashable, _T] = cachetools.TTLCache(
            math.inf if maxsize is None else maxsize, ttl, timer
        )
        self._hits = self._misses = 0
        self._lock = threading.Lock()
        # One lock for each result that is being computed, dropped with the last thread that has it.
        self._computing: weakref.WeakValueDictionary[Hashable, Any] = weakref.WeakValueDictionary()

    def __call__(self, *args: Any, **kwargs: Any) -> _T:
        """Return the kept result, or compute it."""
        return self._result(self._key(*args, **kwargs), args, kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else _BoundMethod(self, instance)

    def call_method(self, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _T:
        """Call the function as a method, holding ``instance`` weakly."""
        try:
            reference: Any = weakref.ref(instance)
        except TypeError:  # an object with slots, a number
            reference = instance
        key = self._key(reference, *args, **kwargs)
        return self._result(key, (instance, *args), kwargs)

    def _result(self, key: Hashable, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _T:
        with self._lock:
            result: _T = self._results.get(key, _MISSING)
            if result is not _MISSING:
                self._hits += 1
                return result
            computing = self._computing.setdefault(key, threading.RLock())
        with computing:
            with self._lock:
                result = self._results.get(key, _MISSING)
                if result is not _MISSING:  # another thread has computed it meanwhile
                    self._hits += 1
                    return result
                self._misses += 1
            result = self.__wrapped__(*args, **kwargs)
            if self._parameters['maxsize'] != 0 and self._parameters['ttl'] > 0:
                with self._lock:
                    self._results[key] = result
            return result

    def cache_info(self) -> CacheInfo:
        """Return the hits, misses, maximum and current number of results."""
        with self._lock:
            return CacheInfo(
                self._hits, self._misses, self._parameters['maxsize'], len(self._results)
            )

    def cache_clear(self) -> None:
        """Drop all results and reset the statistics."""
        with self._lock:
            self._results.clear()
            self._hits = self._misses = 0

    def cache_parameters(self) -> dict[str, Any]:
        """Return ``maxsize``, ``ttl`` and ``typed``."""
        return dict(self._parameters)


class _BoundMethod:
    """A cached method of one object. Other attributes are those of the function."""

    __slots__ = ('__func__', '__self__')

    def __init__(self, function: TTLCachedFunction[Any], instance: Any) -> None:
        self.__func__ = function
        self.__self__ = instance

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__func__.call_method(self.__self__, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__func__, name)
