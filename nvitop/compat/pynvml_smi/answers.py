# SPDX-License-Identifier: Apache-2.0
"""What NVML answers about one GPU: each question is asked once, and an error can be the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nvitop.api import libnvml
from nvitop.api.libnvml import NVMLError, NVMLError_FunctionNotFound, NVMLError_NotSupported
from nvitop.api.utils import NA, UINT_MAX, ULONGLONG_MAX

if TYPE_CHECKING:
    from collections.abc import Callable

_MISSING = object()


def ask(function: str, *args: Any) -> Any:
    """NVML's answer.

    Raises:
        NVMLError: There is none. A number that means *not available* is *not supported*.
    """
    answer = libnvml.nvmlQuery(
        function, *args, default=_MISSING, ignore_errors=False, ignore_function_not_found=True
    )
    if answer is _MISSING:
        raise NVMLError_FunctionNotFound
    if isinstance(answer, int) and answer in (UINT_MAX, ULONGLONG_MAX):
        raise NVMLError_NotSupported
    return answer


class Answers:
    """The answers about one GPU at one time."""

    def __init__(self, index: int, *, raises: bool) -> None:
        """Look for the GPU. One that is lost answers each question with that."""
        self._raises = raises
        self._known: dict[tuple[Any, ...], Any] = {}
        self._handle: Any = self._try('nvmlDeviceGetHandleByIndex', index)

    def ask(self, function: str, *args: Any) -> Any:
        """The answer to a question about this GPU.

        Raises:
            NVMLError: There is none.
        """
        if isinstance(self._handle, NVMLError):
            raise self._handle
        key = (function, *args)
        if key not in self._known:
            self._known[key] = self._try(function, self._handle, *args)
        answer = self._known[key]
        if isinstance(answer, NVMLError):
            raise answer
        return answer

    def ask_field(self, field: int) -> Any:
        """The value of a field (``NVML_FI_DEV_…``) of this GPU.

        Raises:
            NVMLError: There is none.
        """
        if isinstance(self._handle, NVMLError):
            raise self._handle
        ((value, _),) = libnvml.nvmlQueryFieldValues(self._handle, [field])
        if value is NA:
            function = 'nvmlDeviceGetFieldValues'
            error = libnvml.last_error(function, self._handle, field)
            raise error or libnvml.last_error(function, self._handle) or NVMLError_NotSupported()
        return value

    def _try(self, function: str, *args: Any) -> Any:
        try:
            return ask(function, *args)
        except NVMLError as error:
            return error.with_traceback(None)

    def value(self, read: Callable[[Answers], object]) -> object:
        """What ``read`` makes of the answers; ``'N/A'``, or the words of the error, where it fails.

        Raises:
            NVMLError: Errors are to be raised, and this is another than *not supported*.
        """
        try:
            return read(self)
        except NVMLError_NotSupported:
            return str(NA)
        except NVMLError as error:
            if self._raises:
                raise
            return str(error)
