# SPDX-License-Identifier: Apache-2.0
"""The class ``nvidia_smi`` of pynvml.smi, and results as plain text and as XML."""

from __future__ import annotations

import html
import math
import re
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from nvitop.api import libnvml
from nvitop.api.libnvml import NVMLError
from nvitop.basics.text import printable
from nvitop.basics.toml import unknown
from nvitop.compat.pynvml_smi.fields import (
    FIELDS,
    HELP,
    NUMBERS,
    NVSMI_ALL,
    NVSMI_COUNT,
    NVSMI_DRIVER_VERSION,
    NVSMI_QUERY_GPU,
    NVSMI_TIMESTAMP,
    OWN_UNITS,
    UNITS,
    SmiField,
    SmiGpu,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


#: Characters that are not allowed in XML, not even escaped.
_NOT_XML = re.compile('[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]')
_NUMBERED = re.compile(r'_\d+\Z')
#: Key → name of its element, if they differ.
_ELEMENTS = {'clocks_throttle': 'clocks_throttle_reasons', 'current': 'value'}
#: List → name of the elements of its items.
_ITEMS = {
    'processes': 'process_info',
    'accounted_processes': 'accounted_process_info',
    'supported_clocks': 'supported_mem_clock',
}
#: Numbers without the unit of their group.
_UNITLESS = {'pid'}


def format_tree(tree: object) -> str:
    """Return the result of a query as text: one line for each value, indented by group."""
    if not isinstance(tree, Mapping):
        return str(tree)
    return ''.join(f'{line}\n' for line in _format_mapping(tree, '  '))


def _format_mapping(tree: Mapping[str, Any], indent: str) -> Iterator[str]:
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield f'{indent}{key}:'
            yield from _format_mapping(value, indent + '  ')
        elif isinstance(value, (list, tuple)) and value and isinstance(value[0], Mapping):
            for number, item in enumerate(value, 1):
                yield f'{indent}{key}: [{number} of {len(value)}]'
                yield from _format_mapping(item, indent + '  ')
        elif isinstance(value, (list, tuple)):
            yield f'{indent}{key}: {", ".join(map(str, value))}'
        else:
            yield f'{indent}{key}: {printable(str(value))}'


def tree_to_xml(tree: Mapping[str, Any], bus_ids: Sequence[str]) -> str:
    """Return the result of a query as XML, with the bus ID of each GPU as its ``id``."""
    lines = [
        '<?xml version="1.0" ?>',
        '<!DOCTYPE nvidia_smi SYSTEM "nvsmi_device_v4.dtd">',
        '<nvidia_smi>',
    ]
    for key, value in tree.items():
        if key != 'gpu':
            lines.extend(_elements(key, value, '', '  '))
            continue
        for gpu, bus_id in zip(value, bus_ids):
            lines.append(f'  <gpu id="{_escape(bus_id)}">')
            lines.extend(_children(gpu, '    '))
            lines.append('  </gpu>')
    return '\n'.join([*lines, '</nvidia_smi>', ''])


def _children(tree: Mapping[str, Any], indent: str) -> Iterator[str]:
    unit = tree.get('unit', '')
    for key, value in tree.items():
        if key != 'unit' and not key.endswith('_unit'):
            own = '' if key in _UNITLESS else tree.get(f'{key}_unit', unit)
            yield from _elements(key, value, own, indent)


def _elements(key: str, value: Any, unit: str, indent: str) -> Iterator[str]:
    name = _ELEMENTS.get(key) or _NUMBERED.sub('', key)
    if isinstance(value, Mapping) and set(value) == {'Error'}:
        value = value['Error']
    if isinstance(value, Mapping):
        yield f'{indent}<{name}>'
        yield from _children(value, indent + '  ')
        yield f'{indent}</{name}>'
    elif isinstance(value, list) and key in _ITEMS:
        yield f'{indent}<{name}>'
        for item in value:
            yield from _elements(_ITEMS[key], item, '', indent + '  ')
        yield f'{indent}</{name}>'
    elif isinstance(value, list):
        for item in value:
            yield from _elements(key, item, unit, indent)
    else:
        yield f'{indent}<{name}>{_escape(_text(value, unit))}</{name}>'


def _text(value: object, unit: str) -> str:
    if value is None:
        return ''
    if isinstance(value, (int, float)) and unit:
        return f'{value:.2f} {unit}' if unit == 'W' else f'{value} {unit}'
    return str(value)


def _escape(text: str) -> str:
    return html.escape(_NOT_XML.sub('�', text))


if TYPE_CHECKING:
    from typing import Union

    Tree = dict[str, Any]
    #: The values of a query: comma-separated names, a number, several of either, or everything.
    Filter = Union[str, int, Iterable[Union[str, int]], None]
    from collections.abc import Callable
    from typing import TypeVar

    T = TypeVar('T')


def parse_filter(filter: Filter, *, strict: bool = False) -> frozenset[int]:
    """Return the numbers of a filter: ``'memory.free, uuid'``, ``NVSMI_UUID``, a list of either.

    ``None`` is everything. Other types raise TypeError, and if ``strict``, unknown names and numbers
    raise ValueError; otherwise they are ignored.
    """
    if filter is None:
        return frozenset((NVSMI_ALL,))
    parts = [filter] if isinstance(filter, (str, int)) else filter
    if not isinstance(parts, Iterable):
        raise TypeError(f'expected a filter of names and numbers, got {filter!r}')
    numbers = set()
    for part in parts:
        if isinstance(part, str):
            numbers |= _parse_names(part, strict=strict)
        elif not isinstance(part, int):
            raise TypeError(f'expected a filter of names and numbers, got {part!r} in it')
        elif part in NUMBERS:
            numbers.add(part)
        elif strict:
            raise ValueError(f'unknown query number: {part}')
    return frozenset(numbers)


def _parse_names(text: str, *, strict: bool) -> set[int]:
    names = [name for name in (part.strip() for part in text.split(',')) if name]
    found = [name for name in names if name in NVSMI_QUERY_GPU]
    if strict and len(found) < len(names):
        name = next(name for name in names if name not in found)
        raise ValueError(unknown('query name', name, NVSMI_QUERY_GPU))
    return {NVSMI_QUERY_GPU[name] for name in found}


def read_tree(numbers: frozenset[int], *, raises: bool = False) -> Tree:
    """Return the results of a query: values of the machine, and ``gpu``, a list with one tree per GPU.

    Raises NVMLError if NVML cannot be used, and with ``raises`` if a value has another error than
    *not supported*, whose text is the value otherwise.
    """
    everything = NVSMI_ALL in numbers
    tree: Tree = {}
    if everything or NVSMI_TIMESTAMP in numbers:
        tree['timestamp'] = time.strftime('%Y-%m-%d %H:%M:%S')
    if everything or NVSMI_DRIVER_VERSION in numbers:
        tree['driver_version'] = _query('nvmlSystemGetDriverVersion')
    if everything or NVSMI_COUNT in numbers:
        tree['count'] = _count()
    fields = [field for field in FIELDS if everything or not numbers.isdisjoint(field.numbers)]
    if fields:
        gpus = [SmiGpu(index, raises=raises) for index in range(_count())]
        tree['gpu'] = [_read_gpu(gpu, fields) for gpu in gpus]
    return tree


def _query(function: str) -> Any:
    return libnvml.nvmlQuery(function, ignore_errors=False)


def _count() -> int:
    return int(_query('nvmlDeviceGetCount'))


def _read_gpu(gpu: SmiGpu, fields: list[SmiField]) -> Tree:
    tree: Tree = {}
    with gpu.device.oneshot():
        for field in fields:
            node = tree
            *groups, key = field.path.split('.')
            for group in groups:
                node = node.setdefault(group, {})
            node[key] = gpu.value(field.read)
            if field.path in OWN_UNITS:
                node[f'{key}_unit'] = OWN_UNITS[field.path]
    for group, unit in UNITS.items():
        if group in tree:
            tree[group]['unit'] = unit
    return tree


def read_bus_ids(tree: Tree, *, raises: bool = False) -> list[str]:
    """Return the PCI bus IDs of the GPUs of a tree."""
    (field,) = (field for field in FIELDS if field.path == 'id')
    gpus = range(len(tree.get('gpu', ())))
    return [str(SmiGpu(index, raises=raises).value(field.read)) for index in gpus]


class LoopAsync:
    """Repeats a query with a fixed period, in a daemon thread.

    The thread ends after :meth:`cancel`. An exception of the query or of the callback does not end
    it; :meth:`exception` returns the last one.
    """

    def __init__(
        self,
        period: float,
        query: Callable[[], Any],
        callback: Callable[[LoopAsync, Any], object] | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[float], bool] | None = None,
    ) -> None:
        """Start the thread.

        Args:
            period: Seconds from the start of one query to the start of the next.
            query: The query.
            callback: Called in the thread with this object and each result.
            clock: Returns the time in seconds.
            wait: Waits for a number of seconds and returns whether to end.
        """
        self._period = period
        self._query = query
        self._callback = callback
        self._clock = clock
        self._canceled = threading.Event()
        self._first = threading.Event()
        self._wait = wait or self._canceled.wait
        self._result: Any = None
        self._exception: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name='nvidia_smi.loop', daemon=True)
        self._thread.start()

    def cancel(self) -> None:
        """Stop the loop: no query and no callback starts after this."""
        self._canceled.set()
        self._first.set()

    def is_aborted(self) -> bool:
        """Whether the loop was canceled."""
        return self._canceled.is_set()

    def result(self, timeout: float | None = None) -> Any:
        """The last result; ``None`` if there is none. Waits for the first one.

        Args:
            timeout: Maximum time to wait in seconds.
        """
        self._first.wait(timeout)
        return self._result

    def exception(self) -> BaseException | None:
        """The last exception of the query or the callback; ``None`` if there was none."""
        return self._exception

    def _run(self) -> None:
        due = self._clock()
        while not self._canceled.is_set():
            self._query_once()
            due = next_due(due, self._period, self._clock())
            if self._wait(max(0.0, due - self._clock())):
                break

    def _query_once(self) -> None:
        try:
            self._result = self._query()
            self._first.set()
            if self._callback is not None and not self._canceled.is_set():
                self._callback(self, self._result)
        except Exception as error:
            self._exception = error
        finally:
            self._first.set()


def next_due(due: float, period: float, now: float) -> float:
    """Return the time of the next query: the first whole number of periods after ``due``.

    The period does not drift, and missed queries are skipped.
    """
    if period <= 0.0:
        return now
    return due + period * max(1, math.ceil((now - due) / period))


_USAGE = """\
DeviceQuery(filter) returns a dict, XmlDeviceQuery(filter) XML.

  DeviceQuery()                             everything
  DeviceQuery('memory.free, memory.total')  values by name
  DeviceQuery([NVSMI_UUID, NVSMI_PSTATE])   values by number
  DeviceQuery('--help-query-gpu')           list of names
"""
_HELP = {'-h': _USAGE, '--help': _USAGE}
_HELP_QUERY_GPU = ('--help-query-gpu', '--help_query_gpu')

_ERRORS = ('value', 'raise')


def help_query_gpu() -> str:
    """List all names with their meanings."""
    width = max(map(len, HELP))
    return ''.join(f'{name:<{width}}  {text}\n' for name, text in HELP.items())


class nvidia_smi:
    """Queries all GPUs, with the filters and the results of pynvml.smi.

    >>> smi = nvidia_smi.getInstance()
    >>> smi.DeviceQuery('memory.free, memory.total')
    {'gpu': [{'fb_memory_usage': {'total': 81559.0, 'free': 81007.0, 'unit': 'MiB'}}]}

    Unsupported values are ``'N/A'``; for other errors, the value is the text of the error. With
    ``errors='raise'``, queries raise these errors. With ``strict=True``, they raise an error for
    unknown names. NVML is shut down at exit.
    """

    #: Class of the result of :meth:`loop`.
    loop_async: ClassVar[type[LoopAsync]] = LoopAsync

    _instance: ClassVar[nvidia_smi | None] = None

    def __init__(self) -> None:
        """Initialize NVML. All objects are equivalent.

        Raises:
            NVMLError: NVML cannot be initialized.
        """
        libnvml.nvmlInit()

    @staticmethod
    def getInstance() -> nvidia_smi:
        """Return the shared object of this process.

        Raises:
            NVMLError: NVML cannot be initialized.
        """
        if nvidia_smi._instance is None:
            nvidia_smi._instance = nvidia_smi()
        return nvidia_smi._instance

    @classmethod
    def DeviceQuery(
        cls, filter: Filter = None, *, errors: str = 'value', strict: bool = False
    ) -> Any:
        """Return the selected values of all GPUs.

        Values are in groups with a unit: the result of ``'memory.free'`` is
        ``{'fb_memory_usage': {'free': 81007.0, 'unit': 'MiB'}}``. Reserved memory is part of ``used``.

        Args:
            filter: Comma-separated names, a number (``NVSMI_UUID``), several of either, or ``None``
                for everything. ``'--help-query-gpu'`` and ``'--help'`` return a help text.
            errors: With ``'value'``, the text of an error replaces the value; an error of the whole
                query is printed to stderr, and the result is empty. With ``'raise'``, errors other
                than *not supported* are raised.
            strict: Whether an unknown name or number is an error.

        Returns:
            A dict with the selected ones of ``timestamp driver_version count`` and ``gpu``, a list
            with a dict for each GPU; or a help text.

        Raises:
            NVMLError: See ``errors``.
            TypeError: The filter is, or contains, another type.
            ValueError: A name is unknown (``strict``), or ``errors`` is another text.
        """
        text = help_text(filter)
        if text is not None:
            return text
        numbers = parse_filter(filter, strict=strict)
        return _attempt(errors, lambda raises: read_tree(numbers, raises=raises)) or {}

    @classmethod
    def XmlDeviceQuery(
        cls, filter: Filter = None, *, errors: str = 'value', strict: bool = False
    ) -> str:
        """Return the selected values as XML; numbers have their unit: ``<free>81007.0 MiB</free>``.

        See :meth:`DeviceQuery` for the arguments and the errors.
        """
        text = help_text(filter)
        if text is not None:
            return text
        numbers = parse_filter(filter, strict=strict)

        def read(raises: bool) -> str:
            tree = read_tree(numbers, raises=raises)
            return tree_to_xml(tree, read_bus_ids(tree, raises=raises))

        return _attempt(errors, read) or tree_to_xml({}, [])

    @staticmethod
    def loop(
        time_in_milliseconds: float = 1,
        filter: Filter = None,
        callback: Callable[[LoopAsync, Any], object] | None = None,
        *,
        errors: str = 'value',
        strict: bool = False,
    ) -> LoopAsync:
        """Repeat :meth:`DeviceQuery` in a daemon thread.

        Args:
            time_in_milliseconds: Period from the start of one query to the start of the next.
            filter: See :meth:`DeviceQuery`.
            callback: Called in the thread with the loop and each result.
            errors: See :meth:`DeviceQuery`; :meth:`LoopAsync.exception` returns the last exception.
            strict: See :meth:`DeviceQuery`.

        Raises:
            TypeError: The filter is, or contains, another type.
            ValueError: A name is unknown (``strict``), or the period is negative.
        """
        if not time_in_milliseconds >= 0:
            raise ValueError(f'expected a period of at least 0 ms, got {time_in_milliseconds!r}')
        if help_text(filter) is None:
            parse_filter(filter, strict=strict)
        _check_errors(errors)
        return LoopAsync(
            time_in_milliseconds / 1000,
            lambda: nvidia_smi.DeviceQuery(filter, errors=errors, strict=strict),
            callback,
        )

    @staticmethod
    def format(results: object) -> str:
        """Return the result of a query as text, with one line for each value."""
        return format_tree(results)


def help_text(filter: Filter) -> str | None:
    """Return the help that a filter requests; ``None``: it requests none."""
    if not isinstance(filter, str):
        return None
    return help_query_gpu() if filter in _HELP_QUERY_GPU else _HELP.get(filter)


def _check_errors(errors: str) -> None:
    if errors not in _ERRORS:
        raise ValueError(f'expected errors={" or ".join(map(repr, _ERRORS))}, got {errors!r}')


def _attempt(errors: str, read: Callable[[bool], T]) -> T | None:
    """Return the result of ``read``; ``None`` if the whole query fails and errors are not raised."""
    _check_errors(errors)
    raises = errors == 'raise'
    try:
        return read(raises)
    except NVMLError as error:
        if raises:
            raise
        print(f'nvidia_smi: {error}', file=sys.stderr)
        return None
