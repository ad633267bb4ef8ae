# SPDX-License-Identifier: Apache-2.0
"""``nvitop.libnvml`` for type checkers, to which a module is never a context manager."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nvitop.api.libnvml import _binding, _query

if TYPE_CHECKING:
    from typing import TypeAlias


class _ContextManager(type):
    def __enter__(cls) -> None: ...

    def __exit__(cls, *args: object) -> None: ...

    def __getattr__(cls, name: str) -> Any: ...


class libnvml(metaclass=_ContextManager):
    """NVML: the binding ``pynvml`` with safe queries; see :mod:`nvitop.api.libnvml`."""

    NVMLError: TypeAlias = _binding.NVMLError
    NVMLError_FunctionNotFound: TypeAlias = _binding.NVMLError_FunctionNotFound
    NVMLError_GpuIsLost: TypeAlias = _binding.NVMLError_GpuIsLost
    NVMLError_LibraryNotFound: TypeAlias = _binding.NVMLError_LibraryNotFound
    NVMLError_NotFound: TypeAlias = _binding.NVMLError_NotFound
    NVMLError_NotSupported: TypeAlias = _binding.NVMLError_NotSupported
    NVMLError_Uninitialized: TypeAlias = _binding.NVMLError_Uninitialized
    NVMLError_Unknown: TypeAlias = _binding.NVMLError_Unknown
    nvmlQuery = staticmethod(_query.nvmlQuery)
    nvmlCheckReturn = staticmethod(_query.nvmlCheckReturn)
    last_error = staticmethod(_query.last_error)
