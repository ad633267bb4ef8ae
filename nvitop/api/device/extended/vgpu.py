# SPDX-License-Identifier: Apache-2.0
"""What a GPU can share with virtual machines."""

from __future__ import annotations

from nvitop.api.device.extended.facts import ExtendedValues
from nvitop.api.libnvml import NVMLError, last_error, nvmlQuery
from nvitop.api.utils import NA

_SUPPORTED = {0: 'Not Supported', 1: 'Supported'}
#: What is asked of the driver.
_HETEROGENEOUS = 0
_FRACTIONAL, _HETEROGENEOUS_PROFILES, _HETEROGENEOUS_SIZES = range(3)


class VgpuFacts(ExtendedValues):
    """Capabilities: ``'Supported'`` or ``'Not Supported'``; ``NA`` but on hosts of vGPUs."""

    def heterogeneous_multi_vgpu(self) -> str:
        """Whether the driver can give one guest vGPUs of several profiles.

        NVML: ``nvmlGetVgpuDriverCapabilities``
        · nvidia-smi: ``vgpu_driver_capability.heterogenous_multivGPU``
        """
        if self._handle is None or self.is_mig_device():
            return NA
        function = 'nvmlGetVgpuDriverCapabilities'
        try:
            answer = nvmlQuery(function, _HETEROGENEOUS, ignore_function_not_found=True)
        except NVMLError as error:  # NVML cannot be initialised any more
            self._failure.error = error.with_traceback(None)
            return NA
        self._failure.error = last_error(function, _HETEROGENEOUS)
        return _SUPPORTED.get(answer, NA)

    def _vgpu_capability(self, capability: int) -> str:
        return _SUPPORTED.get(self._query('nvmlDeviceGetVgpuCapabilities', capability), NA)

    def fractional_multi_vgpu(self) -> str:
        """Whether fractions of the GPU can be several vGPUs of one guest.

        NVML: ``nvmlDeviceGetVgpuCapabilities``
        · nvidia-smi: ``vgpu_device_capability.fractional_multiVgpu``
        """
        return self._vgpu_capability(_FRACTIONAL)

    def heterogeneous_vgpu_profiles(self) -> str:
        """Whether vGPUs of differing types can share the time of the GPU.

        NVML: ``nvmlDeviceGetVgpuCapabilities``
        · nvidia-smi: ``vgpu_device_capability.heterogeneous_timeSlice_profile``
        """
        return self._vgpu_capability(_HETEROGENEOUS_PROFILES)

    def heterogeneous_vgpu_sizes(self) -> str:
        """Whether vGPUs of differing memory sizes can share the time of the GPU.

        NVML: ``nvmlDeviceGetVgpuCapabilities``
        · nvidia-smi: ``vgpu_device_capability.heterogeneous_timeSlice_sizes``
        """
        return self._vgpu_capability(_HETEROGENEOUS_SIZES)
