# SPDX-License-Identifier: Apache-2.0
"""vGPU capabilities of a GPU."""

from __future__ import annotations

from nvitop.api.device.base import DeviceBase
from nvitop.api.libnvml import NVMLError, last_error, nvmlQuery
from nvitop.api.utils import NA

_SUPPORTED = {0: 'Not Supported', 1: 'Supported'}
#: Capability of the driver.
_HETEROGENEOUS = 0
#: Capabilities of a device.
_FRACTIONAL, _HETEROGENEOUS_PROFILES, _HETEROGENEOUS_SIZES = range(3)


class VgpuMixin(DeviceBase):
    """vGPU capabilities: ``'Supported'`` or ``'Not Supported'``; ``NA`` except on vGPU hosts."""

    def heterogeneous_multi_vgpu(self) -> str:
        """Whether the driver supports vGPUs of several profiles in one guest.

        NVML: ``nvmlGetVgpuDriverCapabilities``
        · nvidia-smi: ``vgpu_driver_capability.heterogenous_multivGPU``
        """
        if self._handle is None or self.is_mig_device():
            return NA
        function = 'nvmlGetVgpuDriverCapabilities'
        try:
            answer = nvmlQuery(function, _HETEROGENEOUS, ignore_function_not_found=True)
        except NVMLError as error:  # NVML can no longer be initialized
            self._missing.reason = error.with_traceback(None)
            return NA
        self._missing.reason = last_error(function, _HETEROGENEOUS)
        return _SUPPORTED.get(answer, NA)

    def _vgpu_capability(self, capability: int) -> str:
        return _SUPPORTED.get(self._query('nvmlDeviceGetVgpuCapabilities', capability), NA)

    def fractional_multi_vgpu(self) -> str:
        """Whether several fractional vGPUs can be assigned to one guest.

        NVML: ``nvmlDeviceGetVgpuCapabilities``
        · nvidia-smi: ``vgpu_device_capability.fractional_multiVgpu``
        """
        return self._vgpu_capability(_FRACTIONAL)

    def heterogeneous_vgpu_profiles(self) -> str:
        """Whether vGPUs of different types can time-share the GPU.

        NVML: ``nvmlDeviceGetVgpuCapabilities``
        · nvidia-smi: ``vgpu_device_capability.heterogeneous_timeSlice_profile``
        """
        return self._vgpu_capability(_HETEROGENEOUS_PROFILES)

    def heterogeneous_vgpu_sizes(self) -> str:
        """Whether vGPUs of different memory sizes can time-share the GPU.

        NVML: ``nvmlDeviceGetVgpuCapabilities``
        · nvidia-smi: ``vgpu_device_capability.heterogeneous_timeSlice_sizes``
        """
        return self._vgpu_capability(_HETEROGENEOUS_SIZES)
