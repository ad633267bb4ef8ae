# SPDX-License-Identifier: Apache-2.0
"""Asking NVML: one call, its answer or ``NA``, and the reason why it is ``NA``."""

from __future__ import annotations

import ctypes
import itertools
import re
from typing import Any, Callable

from nvitop.api.libnvml._binding import BINDING, LibraryMismatchError, NVMLError
from nvitop.api.libnvml._errors import FUNCTION_NOT_FOUND, UNINITIALIZED, UNKNOWN
from nvitop.api.libnvml._log import LOGGER, MISSING_FUNCTION
from nvitop.api.libnvml._session import SESSION
from nvitop.api.utils import NA

#: Functions that were asked for and do not exist here: name → the error.
UNKNOWN_FUNCTIONS: dict[str, NVMLError] = {}
#: No more names than these are remembered.
UNKNOWN_FUNCTIONS_CACHE_SIZE = 1024
#: Names of functions and structures that exist in several versions.
VERSIONED_PATTERN = re.compile(r'^(?P<name>\w+?)(?P<suffix>_v(?P<version>\d+))$')

#: Reasons are kept for so many (device, arguments) of one function.
_MAX_ERRORS_PER_FUNCTION = 1024

#: Functions that are told since when, last → how many arguments after the handle tell calls apart.
_TOLD_SINCE_WHEN = {'nvmlDeviceGetProcessUtilization': 0, 'nvmlDeviceGetSamples': 1}

#: Function → (address behind the handle or 0, the other arguments) → return code.
_errors: dict[str, dict[tuple[int, tuple[Any, ...]], int]] = {}
_functions: dict[str, Callable[..., Any]] = {}
#: What a call of the binding raises where there is no answer.
_FAILURES = (NVMLError, LibraryMismatchError, UnicodeDecodeError)

# `next` on a count is atomic, so the calls of all threads are counted without a lock.
_calls = itertools.count()
#: Counts one call of the driver.
count_call = _calls.__next__


def call_count() -> int:
    """How many calls of the driver this process has made through nvitop so far.

    Functions of the binding that are called without :func:`nvmlQuery` are not counted.
    """
    # The only way to look at a count that does not advance it.
    return int(repr(_calls)[len('count(') : -1])


def nvmlQuery(
    func: Callable[..., Any] | str,
    /,
    *args: Any,
    default: Any = NA,
    ignore_errors: bool = True,
    ignore_function_not_found: bool = False,
    **kwargs: Any,
) -> Any:
    """Call a function of NVML and return its answer, or ``default`` where there is none.

    NVML is initialised if it is not. Bytes become text. A function that this driver or this binding
    does not have is remembered in :data:`UNKNOWN_FUNCTIONS`, with one warning for each function.
    Why an answer is missing can be asked of :func:`last_error`.

    >>> handle = nvmlQuery('nvmlDeviceGetHandleByIndex', 0)
    >>> nvmlQuery('nvmlDeviceGetFanSpeed', handle)
    'N/A'

    Args:
        func: The function, or its name.
        args: Its arguments.
        default: What is returned instead of an answer.
        ignore_errors: Return ``default`` after an error. Otherwise the error is raised.
        ignore_function_not_found: Return ``default``, without a warning, where there is no such
            function.
        kwargs: Keyword arguments of the function.

    Raises:
        NVMLError: NVML cannot be initialised, or the call failed and errors are not to be ignored.
            Text that is not UTF-8 where it had to be is an :class:`NVMLError_Unknown`.
    """
    if not SESSION.ready and not SESSION.ensure():
        refused = NVMLError(UNINITIALIZED)
        return _default_or_raise(refused, func, args, default, ignore_errors, False)
    try:
        call = (_functions.get(func) or _find(func)) if isinstance(func, str) else func
        count_call()
        result = call(*args, **kwargs)
    except _FAILURES as first:
        second_way = _second_way(first, func)
        try:
            if second_way is None:
                raise
            count_call()
            result = second_way(*args, **kwargs)
        except _FAILURES as failure:
            # No name for the error: with its traceback it would keep all callers' frames alive.
            return _default_or_raise(
                _error_of(failure), func, args, default, ignore_errors, ignore_function_not_found
            )
    if _errors and _name(func) in _errors:
        note_error(_name(func), args, 0)
    return result.decode('utf-8', 'replace') if isinstance(result, bytes) else result


def _second_way(
    failure: BaseException, func: Callable[..., Any] | str
) -> Callable[..., Any] | None:
    """What to call after a failure that is not the last word, ``None`` where it is."""
    if isinstance(failure, UnicodeDecodeError):
        call = _find(func) if isinstance(func, str) else func
        undecoded = getattr(call, '__wrapped__', None)
        if undecoded is not None and call.__module__ == BINDING.__name__:
            # The binding's own function below the one that decodes.
            return lambda *args, **kwargs: undecoded(*map(_encode, args), **kwargs)
    elif getattr(failure, 'value', None) == UNINITIALIZED and SESSION.recover():
        # Somebody else in this process had shut NVML down.
        return _find(func) if isinstance(func, str) else func
    return None


def _encode(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


def _error_of(failure: BaseException) -> NVMLError:
    """A failure of the binding as the error of NVML that it is."""
    if isinstance(failure, NVMLError):
        return failure
    is_text = isinstance(failure, UnicodeDecodeError)
    error = NVMLError(UNKNOWN if is_text else FUNCTION_NOT_FOUND)
    error.__cause__ = failure
    return error


def nvmlCheckReturn(retval: Any, types: type | tuple[type, ...] | None = None) -> bool:
    """Whether ``retval`` is an answer (not ``NA``) and, where types are given, of one of them."""
    if types is None:
        return bool(retval != NA)
    return bool(retval != NA) and isinstance(retval, types)


def last_error(func: Callable[..., Any] | str, handle: Any = None, *args: Any) -> NVMLError | None:
    """Why the last call of ``func`` for a device gave no answer; ``None`` if it gave one.

    Args:
        func: The function or its name, as it was given to :func:`nvmlQuery`.
        handle: The device's handle; for functions without a handle, their first argument if any.
        args: The other arguments, to tell calls apart (``NVML_CLOCK_SM``); without them, the most
            recent error of any arguments.
    """
    name = _name(func)
    errors = _errors.get(name)
    if not errors:
        return None
    address, rest = _key(name, (handle, *args) if handle is not None else args)
    value = errors.get((address, rest))
    if value is None and not args:
        # Most recent first: a repeated error is moved to the end when it is noted.
        matching = (code for key, code in reversed(list(errors.items())) if key[0] == address)
        value = next(matching, None)
    return None if value is None else NVMLError(value)


def _find(name: str) -> Callable[..., Any]:
    """The function of this name, nvitop's own before the binding's."""
    from nvitop.api import libnvml  # complete only after this module

    function: Callable[..., Any] | None = getattr(libnvml, name, None)
    if function is None:
        raise NVMLError(FUNCTION_NOT_FOUND)
    _functions[name] = function
    return function


def _name(func: Callable[..., Any] | str) -> str:
    return func if isinstance(func, str) else getattr(func, '__name__', repr(func))


def address_of(handle: Any) -> int:
    """Where a handle points to, 0 for what is no handle: equal for all handles of one device."""
    try:
        return ctypes.addressof(handle.contents)
    except (AttributeError, ValueError):
        return 0


def _key(name: str, args: tuple[Any, ...]) -> tuple[int, tuple[Any, ...]]:
    """What tells calls of one function apart."""
    address = address_of(args[0]) if args else 0
    rest = args[1:] if address else args
    rest = rest[: _TOLD_SINCE_WHEN.get(name)]
    if any(isinstance(each, ctypes.Structure) for each in rest):
        rest = ()  # what is filled in, not what is asked
    try:
        hash(rest)
    except TypeError:
        rest = ()
    return address, rest


def _default_or_raise(
    error: NVMLError,
    func: Callable[..., Any] | str,
    args: tuple[Any, ...],
    default: Any,
    ignore_errors: bool,
    ignore_function_not_found: bool,
) -> Any:
    name = _name(func)
    note_error(name, args, error.value)
    if error.value == FUNCTION_NOT_FOUND:
        if not ignore_function_not_found:
            _remember_unknown(name)
        ignore_errors = ignore_errors or ignore_function_not_found
    if not ignore_errors:
        raise error
    return default


def note_error(name: str, args: tuple[Any, ...], code: int) -> None:
    """Keep the return code of a call as the reason for a missing answer; 0 for an answer."""
    if not code and name not in _errors:
        return
    # Each step is atomic, and no lock is held that a forked child could find taken for ever.
    errors = _errors.setdefault(name, {})
    key = _key(name, args)
    errors.pop(key, None)
    if not code:
        return
    if len(errors) >= _MAX_ERRORS_PER_FUNCTION:
        errors.clear()
    errors[key] = code


def _remember_unknown(name: str) -> None:
    if len(UNKNOWN_FUNCTIONS) >= UNKNOWN_FUNCTIONS_CACHE_SIZE:
        return
    error = NVMLError(FUNCTION_NOT_FOUND)
    if UNKNOWN_FUNCTIONS.setdefault(name, error) is not error:
        return
    LOGGER.warning(
        'NVML has no function %s here: %s. What it would tell is shown as N/A.',
        name,
        'the driver lacks it' if hasattr(BINDING, name) else 'the installed binding lacks it',
        extra={'kind': MISSING_FUNCTION},
    )


def _forget_all() -> None:
    _errors.clear()
    UNKNOWN_FUNCTIONS.clear()


SESSION.on_new_library(_forget_all)
