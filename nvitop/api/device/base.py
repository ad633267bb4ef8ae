# SPDX-License-Identifier: Apache-2.0
"""What every subject of a device stands on: its handle, asking the driver, remembering answers."""

from __future__ import annotations

import contextlib
import functools
import threading
from threading import get_ident
from typing import TYPE_CHECKING, Any

from nvitop.api import libnvml
from nvitop.api.device.board import Board, board_of
from nvitop.api.libnvml import nvmlQuery
from nvitop.api.libnvml._errors import is_unsupported
from nvitop.api.reading import ImpossibleAnswer, Reading, check_range
from nvitop.api.utils import NA, UINT_MAX, ULONGLONG_MAX, NaType

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping
    from typing import Concatenate, ParamSpec, TypeVar, Union

    from nvitop.api.device.board import Answer
    from nvitop.api.device.window import Window
    from nvitop.api.reading import Reason

    P = ParamSpec('P')
    R = TypeVar('R')
    T = TypeVar('T')
    V = TypeVar('V')

    #: A question: the name of a function of NVML, or a function that asks it.
    Function = Union[str, Callable[[Any], Any]]


#: Functions that came late or are gone: a driver without them is old or new, not incomplete, so
#: nobody is warned. Subjects that are loaded late add theirs.
OPTIONAL_FUNCTIONS: set[object] = {
    'nvmlDeviceGetArchitecture',
    'nvmlDeviceGetCurrentClocksEventReasons',
    'nvmlDeviceGetCurrentClocksThrottleReasons',
    'nvmlDeviceGetJpgUtilization',
    'nvmlDeviceGetMPSComputeRunningProcesses',
    'nvmlDeviceGetMaxMigDeviceCount',
    'nvmlDeviceGetMigMode',
    'nvmlDeviceGetNumFans',
    'nvmlDeviceGetNumaNodeId',
    'nvmlDeviceGetOfaUtilization',
    'nvmlDeviceGetRemappedRows',
    'nvmlGpmQueryDeviceSupport',
}

#: What drivers answer where they do not know: the greatest number of the type.
_UNKNOWN = (UINT_MAX, ULONGLONG_MAX)

_AS_USUAL: dict[str, Any] = {}
_QUIETLY = {'ignore_function_not_found': True}

#: The words for a switch.
ENABLED = {0: 'Disabled', 1: 'Enabled'}


def derived(
    name: str,
    getter: Callable[Concatenate[Any, P], Any],
    convert: Callable[[Any], V],
    doc: str,
) -> Callable[Concatenate[Any, P], V]:
    """Make the method ``name``: what ``getter`` gives, converted. It takes the same arguments."""
    source = getter.__name__

    # Written out for both kinds of getters: a signature of another would take ``inspect``, which is
    # slow to import.
    def simple(self: Any) -> Any:
        return convert(getattr(self, source)())

    def over_interval(self: Any, interval: float | None = None) -> Any:
        return convert(getattr(self, source)(interval))

    takes_interval = 'interval' in getter.__annotations__
    method: Any = over_interval if takes_interval else simple
    annotations = {**method.__annotations__, 'return': convert.__annotations__['return']}
    del annotations['self']
    # Assigned: Python 3.14 shows in help() what was written, not what the dictionary was changed to.
    method.__annotations__ = annotations
    method.__name__ = name
    method.__qualname__ = f'{getter.__qualname__.rpartition(".")[0]}.{name}'
    method.__module__ = getter.__module__
    method.__doc__ = doc
    derived_method: Callable[Concatenate[Any, P], V] = method
    return derived_method


def human(
    getter: Callable[Concatenate[Any, P], Any], text: Callable[[Any], V]
) -> Callable[Concatenate[Any, P], V]:
    """Make the ``…_human`` variant of a getter: the same value as text, with its unit."""
    doc = f'Text of :meth:`{getter.__name__}`, with its unit; ``NA`` where that is ``NA``.'
    return derived(f'{getter.__name__}_human', getter, text, doc)


def once_in_oneshot(
    getter: Callable[Concatenate[Any, P], V],
) -> Callable[Concatenate[Any, P], V]:
    """Let a getter do its work once in a :meth:`DeviceBase.oneshot` block, for each arguments.

    What it asks of the driver is remembered anyway: this is for what is measured over a while, and
    for what many others are made from.
    """

    @functools.wraps(getter)
    def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> V:
        answers = self._answers
        if answers is None or self._owner != get_ident():
            return getter(self, *args, **kwargs)
        key = (getter, args, *sorted(kwargs.items())) if kwargs else (getter, args)
        found = answers.get(key)
        if found is None:
            self._failure.error = None
            value = getter(self, *args, **kwargs)
            answers[key] = value, self._failure.error
            return value
        if found[1] is not None:
            self._failure.error = found[1]
        known: V = found[0]
        return known

    return method


class _Failure(threading.local):
    """The last failure of one device in one thread."""

    error: Reason | None = None


class DeviceBase:
    """A handle of the driver and the ways to ask it; the subjects are mixins over this class."""

    def __init__(
        self,
        index: int | tuple[int, int] | NaType,
        handle: Any,
        loss: libnvml.NVMLError | None = None,
    ) -> None:
        self._index: Any = index
        self._handle = handle
        #: Why there is no handle.
        self._loss = loss
        self._failure = _Failure()
        #: Found when it is needed.
        self._board: Board | None = None
        self._lock = threading.RLock()
        #: Answers of the current oneshot block, and the thread that is in it.
        self._answers: dict[Hashable, Answer] | None = None
        self._owner = 0

    def _ask(self, function: Function, args: tuple[Any, ...], options: dict[str, Any]) -> Answer:
        """The driver's answer now, or ``NA`` and the error."""
        handle = self._handle
        if handle is None:
            self._failure.error = self._loss
            return NA, self._loss
        try:
            answer = nvmlQuery(function, handle, *args, **options)
            if answer is not NA:
                return answer, None
            error = libnvml.last_error(function, handle, *args)
        except libnvml.NVMLError as failure:  # NVML cannot be initialised any more
            error = failure.with_traceback(None)
        self._failure.error = error
        return NA, error

    def _ask_once(self, function: Function, *args: Any) -> Answer:
        """The same, asked once in a oneshot block."""
        options = _QUIETLY if function in OPTIONAL_FUNCTIONS else _AS_USUAL
        answers = self._answers
        if answers is None or self._owner != get_ident():
            return self._ask(function, args, options)
        key = (function, args)
        found = answers.get(key)
        if found is None:
            found = answers[key] = self._ask(function, args, options)
        elif found[1] is not None:
            self._failure.error = found[1]
        return found

    def _query(self, function: Function, *args: Any) -> Any:
        """The driver's answer or ``NA``; in a oneshot block each question is asked once."""
        return self._ask_once(function, *args)[0]

    def _find_board(self) -> Board:
        """What the process knows of the GPU; a MIG device, which comes and goes, has its own."""
        if self._handle is None or self.is_mig_device():
            board = self._board = Board()
            return board
        uuid, error = self._ask_once('nvmlDeviceGetUUID')
        if error is not None:
            # It may be told later: until then nothing is kept.
            return Board()
        board = self._board = board_of(str(uuid))
        board.facts['nvmlDeviceGetUUID', ()] = uuid, None
        return board

    def _fact(self, function: Function, *args: Any) -> Any:
        """The driver's answer to a question whose answer never changes: asked once for ever."""
        facts = (self._board or self._find_board()).facts
        found = facts.get((function, args))
        if found is None:
            found = self._ask_once(function, *args)
            if found[1] is None or is_unsupported(found[1], or_invalid=self.is_mig_device()):
                facts[function, args] = found
        if found[1] is not None:
            self._failure.error = found[1]
        return found[0]

    def _known(self, key: str, find: Callable[[], T]) -> T:
        """What ``find`` gives, found once for ever; ``NA`` is not kept."""
        facts = (self._board or self._find_board()).facts
        found = facts.get(key)
        if found is None:
            found = find(), None
            if found[0] is not NA:
                facts[key] = found
        value: T = found[0]
        return value

    def _window(self, key: str, new: Callable[[], Window[R, T]]) -> Window[R, T]:
        """The measurement of this name, begun by the first device object that asks for it."""
        windows = (self._board or self._find_board()).windows
        return windows.get(key) or windows.setdefault(key, new())

    def _first(self, *functions: str) -> Any:
        """The answer to the first of the functions that driver and binding have."""
        answer: Any = NA
        for function in functions:
            answer, error = self._ask_once(function)
            if not isinstance(error, libnvml.NVMLError_FunctionNotFound):
                break
        return answer

    def _read_fields(self, fields: list[tuple[int, int]]) -> list[tuple[Any, int]]:
        """Values and times (in µs) of pairs (field id, scope), read now, in one call."""
        handle, error = self._handle, self._loss
        if handle is not None:
            try:
                answer = libnvml.nvmlQueryFieldValues(handle, fields)
            except libnvml.NVMLError as failure:  # NVML cannot be initialised any more
                error = failure.with_traceback(None)
            else:
                for field, (value, _) in zip(fields, answer):
                    if value is NA:
                        self._failure.error = _field_error(handle, field)
                return answer
        self._failure.error = error
        return [(NA, 0)] * len(fields)

    def _int(self, function: str, *args: Any, most: int = UINT_MAX - 1) -> int | NaType:
        """The answer where it is a number that can be true (0 to ``most``), else ``NA``."""
        answer = self._ask_once(function, *args)[0]
        if isinstance(answer, int) and 0 <= answer <= most:
            return answer
        return self._in_range(answer, most)

    def _int_fact(self, function: str, *args: Any) -> int | NaType:
        """The same for an answer that never changes."""
        return self._in_range(self._fact(function, *args))

    def _in_range(self, value: object, most: int = UINT_MAX - 1) -> int | NaType:
        """``value`` where it is a number from 0 to ``most``, else ``NA``."""
        if not isinstance(value, int) or (value > most and value in _UNKNOWN):
            return NA
        try:
            return check_range(value, most)
        except ImpossibleAnswer as error:
            self._failure.error = error.with_traceback(None)
            return NA

    def _note_unsupported(self) -> None:
        """Give the reason where the driver, asked whether it can, just said no."""
        if self._failure.error is None:
            self._failure.error = libnvml.NVMLError(libnvml.NVML_ERROR_NOT_SUPPORTED)

    def _text_fact(self, function: str) -> str:
        """The answer, which never changes, where it is a text that is not empty, else ``NA``."""
        answer = self._fact(function)
        return answer if isinstance(answer, str) and answer else NA

    def _word(self, function: str, words: Mapping[int, str] = ENABLED) -> str:
        """The word for the number that the driver answers, ``NA`` for one that has none."""
        answer = self._ask_once(function)[0]
        return words.get(answer, NA) if isinstance(answer, int) else NA

    def _word_of(self, function: Function, place: int, words: Mapping[int, str] = ENABLED) -> str:
        """The word for the number at one place of the answer, ``NA`` for one that has none."""
        answer = self._ask_once(function)[0]
        return words.get(answer[place], NA) if answer is not NA else NA

    @contextlib.contextmanager
    def oneshot(self) -> Iterator[None]:
        """Ask the driver each question at most once in the block, in this thread.

        Getters that need the same facts share them: ``memory_used()``, ``memory_percent()`` and
        ``memory_usage()`` make one call of the driver. Blocks may be nested; the outermost counts.
        A block holds the lock of the device, so blocks of several threads wait for one another;
        getters outside of blocks do not wait and always ask anew.

        >>> with device.oneshot():
        ...     device.memory_used(), device.memory_percent()  # one and the same moment
        """
        with self._lock:
            if self._answers is not None:
                yield
                return
            self._owner, self._answers = get_ident(), {}
            try:
                yield
            finally:
                self._answers = None

    def is_mig_device(self) -> bool:
        """Whether this is a MIG device: a slice of a GPU."""
        return False

    def reading(self, method: str, *args: Any) -> Reading:
        """Return what the getter ``method`` returns for ``args``, and the reason if that is ``NA``.

        >>> value, reason = device.reading('fan_speed')

        The reason is the driver's error or an :class:`ImpossibleAnswer`; ``str()`` of it is text for
        people. It is ``None`` if there is a value, and if the driver gives no reason.
        """
        self._failure.error = None
        value = getattr(self, method)
        if callable(value):
            value = value(*args)
        is_missing = value is NA or (isinstance(value, tuple) and NA in value)
        return Reading(value, self._failure.error if is_missing else None)

    def unavailable_reason(self, method: str) -> Reason | None:
        """Return the reason why the getter ``method`` returns ``NA``, see :meth:`reading`.

        This calls the getter. In a :meth:`oneshot` block in which the getter was called before, it
        does not call the driver again.
        """
        return self.reading(method).reason


def _field_error(handle: Any, field: tuple[int, int]) -> libnvml.NVMLError | None:
    name = 'nvmlDeviceGetFieldValues'
    error = libnvml.last_error(name, handle, field)
    if isinstance(error, libnvml.NVMLError_InvalidArgument):
        # What an older driver says of a field that came after it, while the call itself succeeds.
        return libnvml.NVMLError(libnvml.NVML_ERROR_NOT_SUPPORTED)
    return error or libnvml.last_error(name, handle)
