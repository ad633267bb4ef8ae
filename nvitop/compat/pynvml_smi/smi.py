# SPDX-License-Identifier: Apache-2.0
"""The class ``nvidia_smi`` of pynvml.smi."""

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
