# SPDX-License-Identifier: Apache-2.0
"""Queries: one call, its result or ``NA``, and the reason for ``NA``."""

from __future__ import annotations

import ctypes
import re
from typing import Any, Callable, TypeVar

from nvitop.api.libnvml._binding import (
    BINDING,
    LibraryMismatchError,
    NVMLError,
    binding_version,
    encoded,
)
from nvitop.api.libnvml._errors import FUNCTION_NOT_FOUND, UNINITIALIZED, UNKNOWN
from nvitop.api.libnvml._session import SESSION
from nvitop.basics.log import MISSING_FUNCTION, warn
from nvitop.basics.units import NA

F = TypeVar('F', bound=Callable[..., Any])

#: Functions that were queried and do not exist here: name → error.
UNKNOWN_FUNCTIONS: dict[str, NVMLError] = {}
#: Maximum number of names in :data:`UNKNOWN_FUNCTIONS`.
UNKNOWN_FUNCTIONS_CACHE_SIZE = 1024

#: Functions of nvitop that are called instead of the binding's: name → function.
OVERRIDES: dict[str, Callable[..., Any]] = {}

#: Maximum number of reasons that are kept for one function.
_MAX_ERRORS_PER_FUNCTION = 1024

#: Functions whose last argument is a "since" timestamp → number of arguments after the handle that
#: identify the call.
_SINCE_FUNCTIONS = {
    'nvmlDeviceGetProcessUtilization': 0,
    'nvmlDeviceGetProcessesUtilizationInfo': 0,
    'nvmlDeviceGetSamples': 1,
}

#: First driver branch → bindings made for it, the same as in the extras of nvitop.
_BINDINGS = (
    (580, 'nvidia-ml-py>=13.580.65'),
    (525, 'nvidia-ml-py>=12.535.77,<13'),
    (450, 'nvidia-ml-py>=11.450.129,<12'),
    (0, 'nvidia-ml-py==11.450.51'),
)

#: Function → (address in the handle or 0, other arguments) → return code.
_errors: dict[str, dict[tuple[int, tuple[Any, ...]], int]] = {}
_functions: dict[str, Callable[..., Any]] = {}
#: Exceptions that the binding raises when a call fails.
_FAILURES = (NVMLError, LibraryMismatchError, UnicodeDecodeError)

_calls = 0


def count_call() -> None:
    """Count one call of the driver. Simultaneous calls of two threads may count as one."""
    global _calls
    _calls += 1


def call_count() -> int:
    """Return the number of driver calls that this process has made through nvitop.

    Calls of the binding's functions without :func:`nvmlQuery` are not counted.
    """
    return _calls


def override(function: F) -> F:
    """Decorate a function that :func:`nvmlQuery` calls instead of the binding's of the same name."""
    OVERRIDES[function.__name__] = function
    return function


def nvmlQuery(
    func: Callable[..., Any] | str,
    /,
    *args: Any,
    default: Any = NA,
    ignore_errors: bool = True,
    ignore_function_not_found: bool = False,
    **kwargs: Any,
) -> Any:
    """Call a function of NVML and return its result, or ``default`` if it fails.

    NVML is initialized if necessary. Bytes are decoded. A function that the driver or the binding
    does not have is remembered in :data:`UNKNOWN_FUNCTIONS` and logged once. :func:`last_error`
    returns the reason for a missing result.

    >>> handle = nvmlQuery('nvmlDeviceGetHandleByIndex', 0)
    >>> nvmlQuery('nvmlDeviceGetFanSpeed', handle)
    'N/A'

    Args:
        func: The function or its name.
        args: Positional arguments of the function.
        default: Returned if the call fails.
        ignore_errors: Return ``default`` if the call fails; otherwise raise the error.
        ignore_function_not_found: Return ``default`` without a warning if the function does not
            exist.
        kwargs: Keyword arguments of the function.

    Raises:
        NVMLError: NVML cannot be initialized, or the call failed and ``ignore_errors`` is false.
            Text that cannot be decoded counts as :class:`NVMLError_Unknown`.
    """
    if not SESSION.ready and not SESSION.ensure():
        refused = NVMLError(UNINITIALIZED)
        return _default_or_raise(refused, func, args, default, ignore_errors, False)
    epoch = SESSION.epoch
    try:
        call = (_functions.get(func) or _find(func)) if isinstance(func, str) else func
        count_call()
        result = call(*args, **kwargs)
    except _FAILURES as first:
        fallback = _fallback(first, func, epoch)
        try:
            if fallback is None:
                raise
            count_call()
            result = fallback(*args, **kwargs)
        except _FAILURES as failure:
            # The error gets no name: with its traceback it would keep all callers' frames alive.
            return _default_or_raise(
                _error_of(failure), func, args, default, ignore_errors, ignore_function_not_found
            )
    if _errors:
        name = func if isinstance(func, str) else _name(func)
        if name in _errors:
            note_error(name, args, 0)
    return result.decode('utf-8', 'replace') if isinstance(result, bytes) else result


def _fallback(
    failure: BaseException, func: Callable[..., Any] | str, epoch: int
) -> Callable[..., Any] | None:
    """Return what to call after a failure that may be overcome."""
    if isinstance(failure, UnicodeDecodeError):
        call = _find(func) if isinstance(func, str) else func
        undecoded = getattr(call, '__wrapped__', None)
        if undecoded is not None and call.__module__ == BINDING.__name__:
            # The binding's function without the wrapper that decodes.
            return lambda *args, **kwargs: undecoded(*map(encoded, args), **kwargs)
    elif getattr(failure, 'value', None) == UNINITIALIZED and SESSION.recover(epoch):
        # Other code in this process had shut NVML down.
        return _find(func) if isinstance(func, str) else func
    return None


def _error_of(failure: BaseException) -> NVMLError:
    if isinstance(failure, NVMLError):
        return failure
    is_text = isinstance(failure, UnicodeDecodeError)
    error = NVMLError(UNKNOWN if is_text else FUNCTION_NOT_FOUND)
    error.__cause__ = failure
    return error


def nvmlCheckReturn(retval: Any, types: type | tuple[type, ...] | None = None) -> bool:
    """Return whether ``retval`` is not ``NA`` and, if types are given, an instance of one of them."""
    if types is None:
        return bool(retval != NA)
    return bool(retval != NA) and isinstance(retval, types)


def last_error(func: Callable[..., Any] | str, handle: Any = None, *args: Any) -> NVMLError | None:
    """Return the error of the last call of ``func`` for a device, None if it succeeded.

    Args:
        func: The function or its name, as passed to :func:`nvmlQuery`.
        handle: The device's handle. For functions without one, their first argument if any.
        args: The other arguments, such as ``NVML_CLOCK_SM``. Without them, the most recent error
            with any arguments is returned.
    """
    name = _name(func)
    errors = _errors.get(name)
    if not errors:
        return None
    address, arguments = key_of(name, (handle, *args) if handle is not None else args)
    value = errors.get((address, arguments))
    if value is None and not args:
        # Most recent first: a repeated error moves to the end.
        matching = (code for key, code in reversed(list(errors.items())) if key[0] == address)
        value = next(matching, None)
    return None if value is None else NVMLError(value)


def missing_functions_report() -> str:
    """Return which queried functions do not exist here, and which binding to install.

    Returns:
        A few lines of text, ``''`` if nothing is missing. :data:`UNKNOWN_FUNCTIONS` has the names.
    """
    names = sorted(UNKNOWN_FUNCTIONS)
    if not names:
        return ''
    in_driver = [name for name in names if hasattr(BINDING, name)]
    in_binding = [name for name in names if name not in in_driver]
    lines = []
    if in_driver:
        driver = nvmlQuery('nvmlSystemGetDriverVersion', default='')
        subject = f'The NVIDIA driver {driver}'.rstrip()
        lines.append(f'{subject} lacks: {", ".join(in_driver)}.')
        lines.append(
            'Their values are shown as N/A. A newer driver may have them; a binding made for this '
            f"driver may use others: pip install '{_binding_for(driver)}'"
        )
    if in_binding:
        subject = f'The binding nvidia-ml-py {binding_version()}'.rstrip()
        lines.append(f'{subject} lacks: {", ".join(in_binding)}.')
        lines.append(
            'Their values are shown as N/A. A newer binding may have them: '
            'pip install --upgrade nvidia-ml-py'
        )
    return '\n'.join(lines)


def _binding_for(driver: str) -> str:
    match = re.match(r'(\d+)', driver)
    branch = int(match.group(1)) if match else _BINDINGS[0][0]
    return next(binding for first, binding in _BINDINGS if branch >= first)


def _find(name: str) -> Callable[..., Any]:
    function: Callable[..., Any] | None = OVERRIDES.get(name) or getattr(BINDING, name, None)
    if function is None:
        raise NVMLError(FUNCTION_NOT_FOUND)
    _functions[name] = function
    return function


def _name(func: Callable[..., Any] | str) -> str:
    return func if isinstance(func, str) else getattr(func, '__name__', repr(func))


def address_of(handle: Any) -> int:
    """Return the address in a handle, the same for all handles of a device; 0 for anything else."""
    try:
        return ctypes.addressof(handle.contents)
    except (AttributeError, ValueError):
        return 0


def key_of(name: str, args: tuple[Any, ...]) -> tuple[int, tuple[Any, ...]]:
    """Return what distinguishes the calls of one function: address in the handle, other arguments."""
    address = address_of(args[0]) if args else 0
    arguments = args[1:] if address else args
    arguments = arguments[: _SINCE_FUNCTIONS.get(name)]
    if any(isinstance(argument, ctypes.Structure) for argument in arguments):
        arguments = ()  # an output argument
    try:
        hash(arguments)
    except TypeError:
        arguments = ()
    return address, arguments


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
    """Keep the return code of a call as the reason for a missing value; 0 means success."""
    if code or _errors.get(name):
        note_error_of(name, key_of(name, args), code)


def note_error_of(name: str, key: tuple[int, tuple[Any, ...]], code: int) -> None:
    """Do the same for a call given by its :func:`key_of`."""
    # Each step is atomic. A lock could be held forever in a forked child.
    errors = _errors.setdefault(name, {})
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
    warn(
        'NVML function %s does not exist: %s. Its values are shown as N/A.',
        name,
        'the driver lacks it' if hasattr(BINDING, name) else 'the installed binding lacks it',
        kind=MISSING_FUNCTION,
    )


def _forget_all() -> None:
    _errors.clear()
    UNKNOWN_FUNCTIONS.clear()


SESSION.on_new_library(_forget_all)
