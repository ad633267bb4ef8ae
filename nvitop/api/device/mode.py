# SPDX-License-Identifier: Apache-2.0
"""Modes of a device, now and after a restart, and vGPU capabilities."""

from __future__ import annotations

from nvitop.api.device.base import ENABLED, DeviceBase
from nvitop.api.libnvml import NVMLError, last_error, nvmlQuery
from nvitop.api.libnvml._structures import read_gsp_modes
from nvitop.basics.units import NA

_SUPPORTED = {0: 'Not Supported', 1: 'Supported'}
#: Capability of the driver.
_HETEROGENEOUS = 0
#: Capabilities of a device.
_FRACTIONAL, _HETEROGENEOUS_PROFILES, _HETEROGENEOUS_SIZES = range(3)
#: NVML's number of a GPU operation mode → its name.
OPERATION_MODES = {0: 'All On', 1: 'Compute', 2: 'Low Double Precision'}
_ADDRESSING_MODES = {0: 'None', 1: 'HMM', 2: 'ATS'}
# The simulated driver has tables of its own, so that a wrong number here fails a test.
#: NVML's number of a driver model → its name.
DRIVER_MODELS = {0: 'WDDM', 1: 'WDM', 2: 'MCDM'}
#: NVML's number of a compute mode → its name.
COMPUTE_MODES = {0: 'Default', 1: 'Exclusive Thread', 2: 'Prohibited', 3: 'Exclusive Process'}


class ModeMixin(DeviceBase):
    """Modes, as ``'Enabled'`` or ``'Disabled'`` unless stated otherwise.

    vGPU capabilities are ``'Supported'`` or ``'Not Supported'``, and ``NA`` except on vGPU hosts.
    """

    def display_active(self) -> str:
        """Whether a display is initialized on the GPU, even without a monitor attached.

        NVML: ``nvmlDeviceGetDisplayActive`` · nvidia-smi: ``display_active``
        """
        return self._named('nvmlDeviceGetDisplayActive')

    def display_mode(self) -> str:
        """Whether a monitor is connected to the GPU.

        NVML: ``nvmlDeviceGetDisplayMode`` · nvidia-smi: ``display_mode``
        """
        return self._named('nvmlDeviceGetDisplayMode')

    def persistence_mode(self) -> str:
        """Whether the driver stays loaded while no program uses it; ``NA`` on Windows.

        NVML: ``nvmlDeviceGetPersistenceMode`` · nvidia-smi: ``persistence_mode``
        """
        return self._named('nvmlDeviceGetPersistenceMode')

    def current_driver_model(self) -> str:
        """Driver model: ``'WDDM'``, ``'WDM'`` (TCC in nvidia-smi) or ``'MCDM'``; ``NA`` except on Windows.

        It changes only when Windows restarts and is queried once.

        NVML: ``nvmlDeviceGetCurrentDriverModel`` · nvidia-smi: ``driver_model.current``
        """
        return self._named('nvmlDeviceGetCurrentDriverModel', DRIVER_MODELS, static=True)

    driver_model = current_driver_model

    def performance_state(self) -> str:
        """Performance state, from ``'P0'`` (highest) to ``'P15'``.

        NVML: ``nvmlDeviceGetPerformanceState`` · nvidia-smi: ``pstate``
        """
        state = self._number('nvmlDeviceGetPerformanceState', maximum=15)
        return f'P{state}' if isinstance(state, int) else NA

    def compute_mode(self) -> str:
        """Which processes may use CUDA: ``'Default'``, ``'Exclusive Process'`` or ``'Prohibited'``.

        Drivers before CUDA 8 also had ``'Exclusive Thread'``.

        NVML: ``nvmlDeviceGetComputeMode`` · nvidia-smi: ``compute_mode``
        """
        return self._named('nvmlDeviceGetComputeMode', COMPUTE_MODES)

    def mig_mode(self) -> str:
        """Whether MIG mode is enabled; ``NA`` for GPUs without MIG, and before R450.

        NVML: ``nvmlDeviceGetMigMode`` · nvidia-smi: ``mig.mode.current``
        """
        return self._named('nvmlDeviceGetMigMode', item=0)

    def is_mig_mode_enabled(self) -> bool:
        """Whether MIG mode is enabled, as a bool. NVML: ``nvmlDeviceGetMigMode``."""
        return self.mig_mode() == 'Enabled'

    def max_mig_device_count(self) -> int:
        """Maximum number of MIG devices of the GPU; 0 without MIG. Queried once.

        NVML: ``nvmlDeviceGetMaxMigDeviceCount``
        """
        count = self._number('nvmlDeviceGetMaxMigDeviceCount', static=True)
        return count if isinstance(count, int) else 0

    def driver_model_pending(self) -> str:
        """Driver model after the next restart, see :meth:`current_driver_model`.

        NVML: ``nvmlDeviceGetPendingDriverModel`` · nvidia-smi: ``driver_model.pending``
        """
        return self._named('nvmlDeviceGetPendingDriverModel', DRIVER_MODELS)

    def mig_mode_pending(self) -> str:
        """Whether MIG mode is enabled after the next reset, see :meth:`mig_mode`.

        NVML: ``nvmlDeviceGetMigMode`` · nvidia-smi: ``mig.mode.pending``
        """
        return self._named('nvmlDeviceGetMigMode', item=1)

    def operation_mode(self) -> str:
        """GPU operation mode: ``'All On'``, ``'Compute'`` or ``'Low Double Precision'``.

        ``NA`` except on some Kepler boards.

        NVML: ``nvmlDeviceGetGpuOperationMode`` · nvidia-smi: ``gom.current``
        """
        return self._named('nvmlDeviceGetGpuOperationMode', OPERATION_MODES, item=0)

    def operation_mode_pending(self) -> str:
        """GPU operation mode after the next restart, see :meth:`operation_mode`.

        NVML: ``nvmlDeviceGetGpuOperationMode`` · nvidia-smi: ``gom.pending``
        """
        return self._named('nvmlDeviceGetGpuOperationMode', OPERATION_MODES, item=1)

    def memory_addressing(self) -> str:
        """How the GPU addresses CPU memory: ``'ATS'``, ``'HMM'`` or ``'None'``; ``NA`` before R580.

        NVML: ``nvmlDeviceGetAddressingMode`` · nvidia-smi: ``addressing_mode``
        """
        return self._named('nvmlDeviceGetAddressingMode', _ADDRESSING_MODES)

    def gsp_mode(self) -> str:
        """Whether driver work runs on the GPU's own processor (GSP); ``NA`` before R520.

        NVML: ``nvmlDeviceGetGspFirmwareMode`` · nvidia-smi: ``gsp.mode.current``
        """
        return self._named(read_gsp_modes, item=0)

    def gsp_mode_default(self) -> str:
        """Default of :meth:`gsp_mode`.

        NVML: ``nvmlDeviceGetGspFirmwareMode`` · nvidia-smi: ``gsp.mode.default``
        """
        return self._named(read_gsp_modes, item=1)

    def dram_encryption(self) -> str:
        """Whether the memory is encrypted; ``NA`` for GPUs without encryption, and before R570.

        NVML: ``nvmlDeviceGetDramEncryptionMode`` · nvidia-smi: ``dramEncryption.mode.current``
        """
        return self._named('nvmlDeviceGetDramEncryptionMode', item=0)

    def dram_encryption_pending(self) -> str:
        """Whether the memory is encrypted after the next restart, see :meth:`dram_encryption`.

        NVML: ``nvmlDeviceGetDramEncryptionMode`` · nvidia-smi: ``dramEncryption.mode.pending``
        """
        return self._named('nvmlDeviceGetDramEncryptionMode', item=1)

    def c2c_mode(self) -> str:
        """Whether CPU and GPU are connected chip to chip (Grace); ``NA`` before R535.

        NVML: ``nvmlDeviceGetC2cModeInfoV`` · nvidia-smi: ``c2c.mode``
        """
        answer = self._query('nvmlDeviceGetC2cModeInfoV')
        return ENABLED.get(getattr(answer, 'isC2cEnabled', -1), NA)

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
