# SPDX-License-Identifier: Apache-2.0
"""The face of pynvml.smi: one object that is asked with filters."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, ClassVar

from nvitop.api import libnvml
from nvitop.api.libnvml import NVMLError
from nvitop.compat.pynvml_smi.loop import LoopAsync
from nvitop.compat.pynvml_smi.names import HELP
from nvitop.compat.pynvml_smi.query import parse_filter, read_bus_ids, read_tree
from nvitop.compat.pynvml_smi.text import format_tree, tree_to_xml

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from nvitop.compat.pynvml_smi.query import Filter

    T = TypeVar('T')

_USAGE = """\
DeviceQuery(filter) returns a dict, XmlDeviceQuery(filter) the same as XML.

  DeviceQuery()                             everything
  DeviceQuery('memory.free, memory.total')  these, by name
  DeviceQuery([NVSMI_UUID, NVSMI_PSTATE])   these, by number
  DeviceQuery('--help-query-gpu')           the list of names
"""
_HELP = {'-h': _USAGE, '--help': _USAGE}
_HELP_QUERY_GPU = ('--help-query-gpu', '--help_query_gpu')

_ERRORS = ('value', 'raise')


def help_query_gpu() -> str:
    """All names, with what they ask for."""
    width = max(map(len, HELP))
    return ''.join(f'{name:<{width}}  {text}\n' for name, text in HELP.items())


class nvidia_smi:
    """Asks NVML about all GPUs, with the filters and the results of pynvml.smi.

    >>> smi = nvidia_smi.getInstance()
    >>> smi.DeviceQuery('memory.free, memory.total')
    {'gpu': [{'fb_memory_usage': {'total': 81559.0, 'free': 81007.0, 'unit': 'MiB'}}]}

    What a GPU does not support is ``'N/A'``; any other error is the value, in NVML's words. Every query
    takes ``errors='raise'``, which raises these instead, and ``strict=True``, which does not pass over
    names that do not exist. NVML is shut down as the program ends.
    """

    #: The class of what :meth:`loop` returns.
    loop_async: ClassVar[type[LoopAsync]] = LoopAsync

    _instance: ClassVar[nvidia_smi | None] = None

    def __init__(self) -> None:
        """Initialise NVML. Any number of objects may be made: they are all alike.

        Raises:
            NVMLError: NVML cannot be initialised.
        """
        libnvml.nvmlInit()

    @staticmethod
    def getInstance() -> nvidia_smi:
        """The one object of this process, made at the first call.

        Raises:
            NVMLError: NVML cannot be initialised.
        """
        if nvidia_smi._instance is None:
            nvidia_smi._instance = nvidia_smi()
        return nvidia_smi._instance

    @classmethod
    def DeviceQuery(
        cls, filter: Filter = None, *, errors: str = 'value', strict: bool = False
    ) -> Any:
        """The answers of all GPUs.

        A member comes in its group, with the unit of the group: ``'memory.free'`` gives
        ``{'fb_memory_usage': {'free': 81007.0, 'unit': 'MiB'}}``. Memory is in MiB, and what the driver
        keeps for itself is part of ``used``.

        Args:
            filter: Names joined with commas, a number (``NVSMI_UUID``), several of either, or
                ``None`` for everything. ``'--help-query-gpu'`` and ``'--help'`` give a text.
            errors: ``'value'`` puts the words of an error where its value would be; an error of the
                whole query is printed on standard error and the result is empty. ``'raise'`` raises
                errors, but for *not supported*.
            strict: Whether a name or number that does not exist is an error.

        Returns:
            A dict of ``timestamp driver_version count`` and ``gpu``, a list with a dict for each GPU,
            of what was asked for; a text where help was.

        Raises:
            NVMLError: See ``errors``.
            TypeError: The filter is, or holds, something else.
            ValueError: A name does not exist (``strict``), or ``errors`` is another text.
        """
        text = _help(filter)
        if text is not None:
            return text
        numbers = parse_filter(filter, strict=strict)
        return _attempt(errors, lambda raises: read_tree(numbers, raises=raises)) or {}

    @classmethod
    def XmlDeviceQuery(
        cls, filter: Filter = None, *, errors: str = 'value', strict: bool = False
    ) -> str:
        """The same as an XML document, in which each number has its unit: ``<free>81007.0 MiB</free>``.

        Arguments and errors are those of :meth:`DeviceQuery`.
        """
        text = _help(filter)
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
        """Ask :meth:`DeviceQuery` again and again, in a thread that does not keep the program alive.

        Args:
            time_in_milliseconds: From the beginning of one query to that of the next.
            filter: What to ask for.
            callback: Called in the thread with the loop and each result.
            errors: See :meth:`DeviceQuery`; what is raised is kept as
                :meth:`LoopAsync.exception`.
            strict: See :meth:`DeviceQuery`; checked here.

        Raises:
            TypeError: The filter is, or holds, something else.
            ValueError: A name does not exist (``strict``), or the time is negative.
        """
        if not time_in_milliseconds >= 0:
            raise ValueError(f'the time of a loop is 0 ms or more, not {time_in_milliseconds!r}')
        if _help(filter) is None:
            parse_filter(filter, strict=strict)
        _check_errors(errors)
        return LoopAsync(
            time_in_milliseconds / 1000,
            lambda: nvidia_smi.DeviceQuery(filter, errors=errors, strict=strict),
            callback,
        )

    @staticmethod
    def format(results: object) -> str:
        """The result of a query for people: a line for each value."""
        return format_tree(results)


def _help(filter: Filter) -> str | None:
    if not isinstance(filter, str):
        return None
    return help_query_gpu() if filter in _HELP_QUERY_GPU else _HELP.get(filter)


def _check_errors(errors: str) -> None:
    if errors not in _ERRORS:
        raise ValueError(f'errors are {" or ".join(map(repr, _ERRORS))}, not {errors!r}')


def _attempt(errors: str, read: Callable[[bool], T]) -> T | None:
    """What ``read`` gives, told whether to raise errors; ``None`` where the whole query fails."""
    _check_errors(errors)
    raises = errors == 'raise'
    try:
        return read(raises)
    except NVMLError as error:
        if raises:
            raise
        print(f'nvidia_smi: {error}', file=sys.stderr)
        return None
