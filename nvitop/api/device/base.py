# SPDX-License-Identifier: Apache-2.0
"""DeviceBase: the handle of a device, the ways to query the driver for it, and what is remembered."""

from __future__ import annotations

import contextlib
import functools
import re
import threading
from contextvars import ContextVar
from types import FunctionType, MappingProxyType
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Hashable,
    Iterator,
    Mapping,
    NamedTuple,
    TypeVar,
    Union,
)

from nvitop.api import libnvml
from nvitop.api.libnvml import nvmlQuery
from nvitop.api.libnvml._errors import is_unsupported
from nvitop.basics.metrics import METRICS_BY_METHOD, UNITS, Metric, scaled
from nvitop.basics.units import NA, UINT_MAX, ULONGLONG_MAX, NaType

if TYPE_CHECKING:
    from typing import Concatenate, ParamSpec  # not in Python 3.8

    from nvitop.api.timing import Window

    #: A value and, if it is ``NA``, why. A plain tuple: a snapshot makes 30 of them per device.
    Answer = tuple[Any, 'Reason | None']

    P = ParamSpec('P')
    R = TypeVar('R')
    T = TypeVar('T')
    V = TypeVar('V')

    #: The name of an NVML function, or a function that takes a handle.
    Function = Union[str, Callable[[Any], Any]]


#: Functions without a warning if the driver or the binding lacks them: they came late or were
#: removed, so only the driver's age shows; and those of metrics with ``since``. Functions that are
#: not names never warn.
_OPTIONAL_GETTERS = """
    AccountingBufferSize AccountingMode ApplicationsClock Architecture C2cModeInfoV
    ConfComputeProtectedMemoryUsage CurrentClocksEventReasons CurrentClocksThrottleReasons
    DefaultApplicationsClock DramEncryptionMode GpuOperationMode JpgUtilization
    MPSComputeRunningProcesses MarginTemperature MaxMigDeviceCount MigMode NumFans NumaNodeId
    OfaUtilization ProcessesUtilizationInfo RemappedRows RetiredPagesPendingStatus RowRemapperHistogram
    SupportedClocksEventReasons SupportedClocksThrottleReasons VgpuCapabilities
"""
_OPTIONAL_FUNCTIONS = {
    'nvmlGpmQueryDeviceSupport',
    *(f'nvmlDeviceGet{name}' for name in _OPTIONAL_GETTERS.split()),
    *(metric.source for metric in METRICS_BY_METHOD.values() if metric.since),
}

#: Values that the driver returns for "unknown": the maximum of the type.
_UNKNOWN = (UINT_MAX, ULONGLONG_MAX)
#: Maximum of numbers of 32 and 64 bits, without the value that means "unknown".
MAX_UINT = UINT_MAX - 1
MAX_ULONGLONG = ULONGLONG_MAX - 1


#: Unit of a metric → unit of the values of its method, as text.
_RAW_UNITS = {'count': '', 'B': 'bytes', '%': 'percent', 'W': 'mW'}
#: NVML's number of a feature state → its name.
ENABLED = {0: 'Disabled', 1: 'Enabled'}


class ImpossibleAnswer(Exception):
    """The driver returned an implausible value; the getter returned ``NA`` instead."""


class NotReported(Exception):
    """The driver answered without a value, or with its number for "unknown"."""


#: Why a value is missing.
Reason = Union[libnvml.NVMLError, ImpossibleAnswer, NotReported]


class Reading(NamedTuple):
    """The result of a getter of :class:`nvitop.Device`."""

    #: The value, or ``NA``.
    value: Any
    #: Why the value, or a part of it, is ``NA``; ``None`` if it is not.
    reason: Reason | None = None


def implausible(value: object) -> ImpossibleAnswer:
    """Return the reason for refusing a number that is out of range; it may be text with a unit."""
    return ImpossibleAnswer(f'{value} is implausible')


class GpuCache:
    """Static values of a GPU and the state of its running measurements.

    All device objects of a GPU share it: programs create new ones for each snapshot, which must
    neither query static values again nor restart measurements.
    """

    def __init__(self) -> None:
        #: Static values by function and arguments, or by name.
        self.static_values: dict[Hashable, Answer] = {}
        #: Running measurements by name.
        self.windows: dict[str, Window[Any, Any]] = {}
        #: Driver's time (µs) of the newest utilization sample of a process.
        self.last_sample: int | None = None
        #: PIDs of the processes that the driver listed last.
        self.listed_pids: set[int] = set()
        #: Functions for samples of processes that this driver lacks.
        self.missing_functions: set[str] = set()


_gpu_caches: dict[str, GpuCache] = {}
# Another driver library may report other values for the same UUID.
libnvml.on_new_library(_gpu_caches.clear)


def once_in_oneshot(getter: Callable[Concatenate[Any, P], V]) -> Callable[Concatenate[Any, P], V]:
    """Run a getter once per :meth:`DeviceBase.oneshot` block and arguments.

    Driver calls are remembered without this. It is for getters that measure over a time span, and
    for those that many other getters call.
    """

    @functools.wraps(getter)
    def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> V:
        results = self._oneshot_results()
        if results is None:
            return getter(self, *args, **kwargs)
        key = (getter, args, *sorted(kwargs.items())) if kwargs else (getter, args)
        answer = results.get(key)
        if answer is None:
            self._missing.reason = None
            value = getter(self, *args, **kwargs)
            answer = results[key] = value, self._missing.reason
        elif answer[1] is not None:
            self._missing.reason = answer[1]
        result: V = answer[0]
        return result

    return method


if TYPE_CHECKING:
    # Getters that only call a helper, such as ``fan = an_int('_number', 'nvmlDeviceGetFan')``.
    def an_int(helper: str, *args: Any, **options: Any) -> Callable[[Any], int | NaType]: ...

    def a_float(helper: str, *args: Any, **options: Any) -> Callable[[Any], float | NaType]: ...

    def a_flag(helper: str, *args: Any, **options: Any) -> Callable[[Any], bool | NaType]: ...

    def a_text(helper: str, *args: Any, **options: Any) -> Callable[[Any], str]: ...
else:

    def _declaring(result: str) -> Callable[..., Callable[[Any], Any]]:
        def declare(helper: str, *args: Any, **options: Any) -> Callable[[Any], Any]:
            def method(self):
                return getattr(self, helper)(*args, **options)

            method.__annotations__ = {'return': result}
            names = [*args[1:2], ENABLED][0] if helper == '_named' else {}
            method.values = ', '.join(f'``{name!r}``' for name in names.values())
            method.is_static = 'static' in options
            return method

        return declare

    an_int, a_float = _declaring('int | NaType'), _declaring('float | NaType')
    a_flag, a_text = _declaring('bool | NaType'), _declaring('str')


def documented(cls: type[T]) -> type[T]:
    """Describe the getters of a class as the table of metrics does: the source, and all if declared."""
    for name, method in vars(cls).items():
        is_text = name.endswith('_human') and not method.__doc__
        metric = METRICS_BY_METHOD.get(name[: -len('_human')] if is_text else name)
        if metric is None or not isinstance(method, FunctionType):
            continue
        if not method.__doc__:
            method.__name__, method.__qualname__ = name, f'{cls.__name__}.{name}'
            method.__module__ = cls.__module__
            method.__doc__ = _described(metric, method, is_text=is_text)
        nvml = re.sub(r'\w*(nvml|NVML_)\w+', r'``\g<0>``', metric.source)
        smi = f' · nvidia-smi: ``{metric.query}``' if metric.query else ''
        if nvml:
            method.__doc__ += f'\n\n        NVML: {nvml}{smi}\n        '
    return cls


def _described(metric: Metric, method: Any, *, is_text: bool) -> str:
    text = metric.help[0].upper() + metric.help[1:]
    unit = _RAW_UNITS.get(metric.unit, metric.unit)
    unit = ' as text, such as ``1.50MiB``' if is_text else f', in {unit}' if unit else ''
    values = f': {method.values}' if method.values else ''
    since = f'; ``NA`` before {metric.since}' if metric.since else ''
    return f'{text}{unit}{values}{since}.{" Queried once." * method.is_static}'


class _Missing(threading.local):
    """Why the last missing value of a device is missing, in this thread."""

    reason: Reason | None = None


class _Block:
    """A oneshot block: the results in it, ``None`` after its end.

    A task that is created in the block inherits the block and may outlive it.
    """

    __slots__ = ('results',)

    def __init__(self) -> None:
        self.results: dict[Hashable, Answer] | None = {}


#: The oneshot blocks of this thread and asyncio task, by the ``id()`` of the device object.
_blocks: ContextVar[Mapping[int, _Block]] = ContextVar(
    'oneshot blocks of nvitop', default=MappingProxyType({})
)


class DeviceBase:
    """A device handle and the ways to query it. The mixins of each subject derive from this class."""

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
        self._missing = _Missing()
        #: Set on use.
        self._gpu_cache: GpuCache | None = None

    # Queries. All return NA for a missing value and set the reason.

    def _call(
        self, function: Function, args: tuple[Any, ...], options: dict[str, Any] | None = None
    ) -> Answer:
        handle = self._handle
        if handle is None:
            self._missing.reason = self._loss
            return NA, self._loss
        try:
            if options is None:
                is_optional = function in _OPTIONAL_FUNCTIONS or not isinstance(function, str)
                value = nvmlQuery(function, handle, *args, ignore_function_not_found=is_optional)
            else:
                value = nvmlQuery(function, handle, *args, **options)
            if value is not NA:
                return value, None
            error = libnvml.last_error(function, handle, *args)
        except libnvml.NVMLError as failure:  # NVML can no longer be initialized
            error = failure.with_traceback(None)
        self._missing.reason = error
        return NA, error

    def _answer(self, function: Function, *args: Any) -> Answer:
        """Query the driver, once per oneshot block."""
        results = self._oneshot_results()
        if results is None:
            return self._call(function, args)
        key = (function, args)
        answer = results.get(key)
        if answer is None:
            answer = results[key] = self._call(function, args)
        elif answer[1] is not None:
            self._missing.reason = answer[1]
        return answer

    def _query(self, function: Function, *args: Any, static: bool = False) -> Any:
        """Query the driver, once per oneshot block.

        A ``static`` value never changes: it is queried once per GPU and process.
        """
        if not static:
            return self._answer(function, *args)[0]
        static_values = (self._gpu_cache or self._find_gpu_cache()).static_values
        answer = static_values.get((function, args))
        if answer is None:
            answer = self._answer(function, *args)
            reason = answer[1]
            if reason is None or is_unsupported(reason, or_invalid=self.is_mig_device()):
                static_values[function, args] = answer
        if answer[1] is not None:
            self._missing.reason = answer[1]
        return answer[0]

    def _number(
        self,
        function: Function,
        *args: Any,
        static: bool = False,
        maximum: int = MAX_UINT,
        unit: str = '',
    ) -> int | NaType:
        """Query a number from 0 to ``maximum``, or to the highest plausible one of a unit."""
        if static:
            return self._in_range(self._query(function, *args, static=True), maximum, unit)
        return self._in_range(self._answer(function, *args)[0], maximum, unit)

    def _in_range(self, value: object, maximum: int = MAX_UINT, unit: str = '') -> int | NaType:
        """Return ``value`` if it is a number from 0 to the maximum, see :meth:`_number`."""
        if isinstance(value, int):
            if 0 <= value <= (UNITS[unit].highest if unit else maximum):
                return value
            if value not in _UNKNOWN:
                self._missing.reason = implausible(scaled(value, unit))
        return NA

    def _named(
        self,
        function: Function,
        names: Mapping[int, str] = ENABLED,
        *,
        item: int | None = None,
        static: bool = False,
    ) -> str:
        """Query a number, or one ``item`` of a tuple, and return its name."""
        answer = self._query(function, static=static)
        if item is not None and answer is not NA:
            answer = answer[item]
        return names.get(answer, NA) if isinstance(answer, int) else NA

    def _text(self, function: str, *args: Any) -> str:
        """Query a text that never changes; an empty one is missing."""
        answer = self._query(function, *args, static=True)
        return answer if isinstance(answer, str) and answer else NA

    def _fields(self, fields: list[tuple[int, int]]) -> list[tuple[Any, int]]:
        """Query field values (``NVML_FI_DEV_…``) in one call, from pairs (field id, scope).

        Return pairs (value, driver's time in µs).
        """
        handle, error = self._handle, self._loss
        if handle is not None:
            try:
                answer = libnvml.nvmlQueryFieldValues(handle, fields)
            except libnvml.NVMLError as failure:  # NVML can no longer be initialized
                error = failure.with_traceback(None)
            else:
                for field, (value, _) in zip(fields, answer):
                    if value is NA:
                        self._missing.reason = _field_error(handle, field)
                return answer
        self._missing.reason = error
        return [(NA, 0)] * len(fields)

    @once_in_oneshot
    def _field_group(self, *fields: tuple[int, int]) -> dict[tuple[int, int], Reading]:
        """Query field values in one call, also if their getters are called one by one in a block."""
        values = self._fields(list(fields))
        return {
            field: Reading(value)
            if value is not NA
            else Reading(NA, _field_error(self._handle, field) or self._missing.reason)
            for field, (value, _) in zip(fields, values)
        }

    def _grouped_field(
        self, fields: tuple[tuple[int, int], ...], field: tuple[int, int], maximum: int = MAX_UINT
    ) -> int | NaType:
        """Query one field value together with the others of its group."""
        value, self._missing.reason = self._field_group(*fields)[field]
        return self._in_range(value, maximum)

    def _human(self, getter: str, shown: Callable[[Any], str]) -> str:
        return shown(getattr(self, getter)())

    def _field_of(self, getter: str, name: str) -> Any:
        return getattr(getattr(self, getter)(), name)

    def _field(
        self, field: int, scope: int = 0, *, maximum: int = MAX_UINT, unit: str = ''
    ) -> int | NaType:
        """Query one field value, a number in the range of :meth:`_number`."""
        return self._in_range(self._fields([(field, scope)])[0][0], maximum, unit)

    # Values shared by the device objects of a GPU

    def _find_gpu_cache(self) -> GpuCache:
        """Return the cache of the GPU. A MIG device object has its own: the device may be destroyed."""
        if self._handle is None or self.is_mig_device():
            cache = self._gpu_cache = GpuCache()
            return cache
        uuid, error = self._answer('nvmlDeviceGetUUID')
        if error is not None:
            # Without a UUID nothing is kept.
            return GpuCache()
        cache = self._gpu_cache = _gpu_caches.setdefault(str(uuid), GpuCache())
        cache.static_values['nvmlDeviceGetUUID', ()] = uuid, None
        return cache

    def _remembered(self, key: str, find: Callable[[], T]) -> T:
        """Return what ``find`` returns, calling it once per GPU; ``NA`` is not remembered."""
        static_values = (self._gpu_cache or self._find_gpu_cache()).static_values
        answer = static_values.get(key)
        if answer is None:
            answer = find(), None
            if answer[0] is not NA:
                static_values[key] = answer
        value: T = answer[0]
        return value

    def _window(self, key: str, new: Callable[[], Window[R, T]]) -> Window[R, T]:
        windows = (self._gpu_cache or self._find_gpu_cache()).windows
        return windows.get(key) or windows.setdefault(key, new())

    # Public

    @contextlib.contextmanager
    def oneshot(self) -> Iterator[None]:
        """Make each driver call at most once within the block.

        Getters share results: ``memory_used()``, ``memory_percent()`` and ``memory_usage()`` make
        one driver call. Blocks can be nested; the outermost counts. Blocks of other threads and of
        other asyncio tasks have results of their own.

        >>> with device.oneshot():
        ...     device.memory_used(), device.memory_percent()  # of the same moment
        """
        if self._oneshot_results() is not None:
            yield
            return
        outer, block = _blocks.get(), _Block()
        _blocks.set({**outer, id(self): block})
        try:
            yield
        finally:
            block.results = None
            _blocks.set(outer)

    def _oneshot_results(self) -> dict[Hashable, Answer] | None:
        block = _blocks.get().get(id(self))
        return None if block is None else block.results

    def is_mig_device(self) -> bool:
        """Whether this is a MIG device, a slice of a GPU."""
        return False

    def reading(self, method: str, *args: Any) -> Reading:
        """Return what the getter ``method`` returns for ``args``, and the reason if that is ``NA``.

        >>> value, reason = device.reading('fan_speed')

        The reason is the driver's error, an :class:`ImpossibleAnswer`, or :class:`NotReported` if the
        driver gives none; ``str()`` of it is text for people. It is ``None`` if there is a value.
        """
        self._missing.reason = None
        value = getattr(self, method)
        if callable(value):
            value = value(*args)
        is_missing = value is NA or (isinstance(value, tuple) and NA in value)
        if not is_missing:
            return Reading(value)
        return Reading(value, self._missing.reason or NotReported('not reported by the driver'))

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
        # Older drivers return this for newer fields, while the call itself succeeds.
        return libnvml.NVMLError(libnvml.NVML_ERROR_NOT_SUPPORTED)
    return error or libnvml.last_error(name, handle)
