# SPDX-License-Identifier: Apache-2.0
"""Versions of the driver and of CUDA, and NVML functions by name."""

from __future__ import annotations

import re
from typing import Any

from nvitop.api import libnvml
from nvitop.api.utils import NA

_VERSION_SUFFIX = r'(_v\d+)\Z'


class DriverMixin:
    """Versions of the driver and of CUDA."""

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


def version_text(version: Any) -> str:
    """Return a CUDA version number as text: ``12040`` is ``'12.4'``, and ``NA`` stays ``NA``."""
    if not isinstance(version, int) or version <= 0:
        return NA
    major, minor, revision = version // 1000, version % 1000 // 10, version % 10
    return f'{major}.{minor}.{revision}' if revision else f'{major}.{minor}'


def getter_function(name: str) -> str:
    """Return the NVML function for a snake_case name, in NVML's capitalization; ``''`` if none."""
    if name.startswith('_') or name != name.lower():
        return ''
    stem, *suffix = re.split(_VERSION_SUFFIX, name)
    exact = 'nvmlDeviceGet' + ''.join(word.capitalize() for word in stem.split('_'))
    wanted = ''.join([exact, *suffix])
    if hasattr(libnvml, wanted):
        return wanted
    names = (found for found in dir(libnvml) if found.lower() == wanted.lower())
    return next(names, '')
