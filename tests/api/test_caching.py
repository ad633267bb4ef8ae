from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

from nvitop.api.caching import ttl_cache
from tests.clock import Clock
from tests.waiting import in_threads


@pytest.mark.parametrize('maxsize', [128, 1, None])
def test_results_are_kept_until_they_expire(clock: Clock, maxsize: int | None) -> None:
    calls = []

    @ttl_cache(maxsize, ttl=5.0, timer=clock)
    def square(x: int, offset: int = 0) -> int:
        """Square of x."""
        calls.append(x)
        return x * x + offset

    assert square(3) == square(3) == 9
    clock.now += 4.9
    assert square(3) == 9
    assert calls == [3]
    assert square.cache_info() == (2, 1, maxsize, 1)
    clock.now += 0.2
    assert square.cache_info().currsize == 0
    assert square(3) == 9
    assert calls == [3, 3]
    assert square(x=3, offset=1) == 10
    square.cache_clear()
    assert square.cache_info() == (0, 0, maxsize, 0)
    assert square.cache_parameters() == {'maxsize': maxsize, 'ttl': 5.0, 'typed': False}
    assert square.__name__ == 'square'
    assert square.__doc__ == 'Square of x.'
    assert square.__wrapped__(2) == 4


def test_decorator_without_parentheses() -> None:
    @ttl_cache
    def double(x: int) -> int:
        return 2 * x

    assert double(2) == double(2) == 4
    assert double.cache_info() == (1, 1, 128, 1)
    assert double.cache_parameters() == {'maxsize': 128, 'ttl': 600.0, 'typed': False}


def test_least_recently_used_result_is_dropped_first(clock: Clock) -> None:
    calls = []

    @ttl_cache(2, timer=clock)
    def remember(x: int) -> int:
        calls.append(x)
        return x

    for x in (1, 2, 1, 3, 1, 2):
        assert remember(x) == x
    assert calls == [1, 2, 3, 2]


@pytest.mark.parametrize('options', [{'maxsize': 0}, {'maxsize': -1}, {'ttl': 0.0}])
def test_maxsize_or_ttl_zero_keeps_nothing(clock: Clock, options: dict[str, Any]) -> None:
    calls = []

    @ttl_cache(timer=clock, **options)
    def compute(x: int) -> int:
        calls.append(x)
        return x

    assert compute(1) == compute(1) == 1
    assert calls == [1, 1]
    assert compute.cache_info()[:2] == (0, 2)
    assert compute.cache_info().currsize == 0


def test_negative_ttl_is_an_error() -> None:
    with pytest.raises(ValueError, match='negative'):
        ttl_cache(ttl=-1.0)


@pytest.mark.parametrize(('typed', 'kinds'), [(True, ('int', 'float')), (False, ('int', 'int'))])
def test_typed_distinguishes_int_from_float(typed: bool, kinds: tuple[str, str]) -> None:
    @ttl_cache(typed=typed)
    def kind(x: float) -> str:
        return type(x).__name__

    assert (kind(1), kind(1.0)) == kinds


def test_exceptions_are_not_kept() -> None:
    results: list[Any] = [OSError('first'), 'second']

    @ttl_cache
    def compute() -> str:
        value = results.pop(0)
        if isinstance(value, Exception):
            raise value
        return str(value)

    with pytest.raises(OSError, match='first'):
        compute()
    assert compute() == compute() == 'second'


def test_recursive_function_does_not_deadlock() -> None:
    depth = []

    @ttl_cache
    def again() -> int:
        depth.append(1)
        return again() if len(depth) < 3 else len(depth)

    assert again() == 3


def test_unhashable_arguments_raise_type_error() -> None:
    @ttl_cache
    def length(x: list[int]) -> int:
        return len(x)

    with pytest.raises(TypeError):
        length([1])


def test_threads_compute_the_same_result_once() -> None:
    calls = []
    results = []

    @ttl_cache
    def slow(x: int) -> int:
        calls.append(x)
        return x

    in_threads(8, lambda: results.append(slow(1)))
    assert results == [1] * 8
    assert calls == [1]
    assert slow.cache_info()[:2] == (7, 1)


def test_slow_result_does_not_block_another_one() -> None:
    results = []

    @ttl_cache
    def wait(slow: bool) -> bool:
        if slow:
            in_threads(1, lambda: results.append(wait(False)))
        return slow

    assert wait(True) is True
    assert results == [False]


class Counter:
    def __init__(self) -> None:
        self.calls = 0

    @ttl_cache(ttl=1000.0)
    def add(self, x: int) -> int:
        """Count up."""
        self.calls += x
        return self.calls

    @classmethod
    @ttl_cache
    def name(cls) -> str:
        return cls.__name__

    @staticmethod
    @ttl_cache
    def triple(x: int) -> int:
        return 3 * x


class SlottedCounter:
    __slots__ = ()

    @ttl_cache
    def one(self) -> int:
        return 1


def test_methods_keep_results_by_object() -> None:
    first, second = Counter(), Counter()
    assert [first.add(1), first.add(1), first.add(2), second.add(1)] == [1, 1, 3, 1]
    assert first.add.__self__ is first
    assert first.add.__func__ is Counter.add
    assert first.add.__name__ == 'add'
    assert first.add.cache_info()[:2] == (1, 3)
    assert Counter.name() == Counter.name() == first.name() == 'Counter'
    assert Counter.triple(2) == first.triple(2) == 6
    assert Counter.add(first, 5) == 8
    assert SlottedCounter().one() == 1
    first.add.cache_clear()
    assert Counter.add.cache_info()[:2] == (0, 0)


def test_method_does_not_keep_its_object_alive() -> None:
    counter = Counter()
    assert counter.add(1) == 1
    reference = weakref.ref(counter)
    del counter
    gc.collect()
    assert reference() is None
    # A new object never gets the result of the dead one.
    for _ in range(300):
        assert Counter().add(1) == 1
