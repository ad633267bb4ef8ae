# SPDX-License-Identifier: Apache-2.0
"""Versions of the driver and of CUDA, and NVML functions by name."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any, Callable

from nvitop.api import libnvml
from nvitop.api.device.base import DeviceBase
from nvitop.api.utils import NA

_GETTER = 'nvmlDeviceGet'
#: Beginnings of the getters whose first argument is not a device.
_OTHER_GETTERS = (f'{_GETTER}Count', f'{_GETTER}HandleBy')


class DriverMixin(DeviceBase):
    """Versions of the driver and of CUDA, and the functions of NVML that have no getter."""

    @staticmethod
    def driver_version() -> str:
        """Version of the driver, such as ``'570.172.08'``.

        NVML: ``nvmlSystemGetDriverVersion`` · nvidia-smi: ``driver_version``

        Raises:
            NVMLError: NVML cannot be initialized.
        """
        version = libnvml.nvmlQuery('nvmlSystemGetDriverVersion')
        return version if isinstance(version, str) else NA

    @staticmethod
    def cuda_driver_version() -> str:
        """Maximum CUDA version that the driver supports, such as ``'12.8'``.

        NVML: ``nvmlSystemGetCudaDriverVersion`` · nvidia-smi: CUDA Version

        Raises:
            NVMLError: NVML cannot be initialized.
        """
        return version_text(libnvml.nvmlQuery('nvmlSystemGetCudaDriverVersion'))

    max_cuda_version = cuda_driver_version

    @staticmethod
    def cuda_runtime_version() -> str:
        """Version of the CUDA runtime that programs find on this host, such as ``'12.9'``.

        ``NA`` if there is none. CUDA: ``cudaRuntimeGetVersion``
        """
        from nvitop.api import libcudart

        try:
            return libcudart.cudaRuntimeGetVersion()
        except libcudart.cudaError:
            return NA

    cudart_version = cuda_runtime_version

    if not TYPE_CHECKING:  # it would hide misspelled names

        def __getattr__(self, name: str) -> Callable[..., Any]:
            """Return a method for any other ``nvmlDeviceGet…`` function, by its snake_case name."""
            function = getter_function(name)
            if function is None:
                raise AttributeError(f'{type(self).__name__!r} object has no attribute {name!r}')

            def method(*args: Any, **kwargs: Any) -> Any:
                return self._call(function, args, kwargs)[0]

            method.__name__ = name
            method.__qualname__ = f'{type(self).__name__}.{name}'
            method.__doc__ = f'Return the result of ``{function}``, ``NA`` if there is none.'
            self.__dict__[name] = method
            return method


def version_text(version: Any) -> str:
    """Return a CUDA version number as text: ``12040`` is ``'12.4'``, and ``NA`` stays ``NA``."""
    if not isinstance(version, int) or version <= 0:
        return NA
    major, minor, revision = version // 1000, version % 1000 // 10, version % 10
    return f'{major}.{minor}.{revision}' if revision else f'{major}.{minor}'


def getter_function(name: str) -> str | None:
    """Return the NVML function of a device for a snake_case name; ``None`` if there is none."""
    if name.startswith('_') or name != name.lower():
        return None
    stem, *suffix = re.split(r'(_v\d+)\Z', name)
    return _getters().get(''.join([stem.replace('_', ''), *suffix]))


@functools.lru_cache(maxsize=None)
def _getters() -> dict[str, str]:
    """Functions of NVML whose first argument is a device, by the lowercase name of the value."""
    return {
        name[len(_GETTER) :].lower(): name
        for name in dir(libnvml)
        if name.startswith(_GETTER) and not name.startswith(_OTHER_GETTERS)
    }
