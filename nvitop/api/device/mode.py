# SPDX-License-Identifier: Apache-2.0
"""Modes of a device, now and after a restart, and vGPU capabilities."""

from __future__ import annotations

from nvitop.api.device.base import ENABLED, DeviceBase, a_text, documented
from nvitop.api.libnvml import NVML_ERROR_NOT_SUPPORTED, NVMLError, last_error, nvmlQuery
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


@documented
class ModeMixin(DeviceBase):
    """Modes, as ``'Enabled'`` or ``'Disabled'`` unless stated otherwise.

    vGPU capabilities are ``'Supported'`` or ``'Not Supported'``, and ``NA`` except on vGPU hosts.
    """

    display_active = a_text('_named', 'nvmlDeviceGetDisplayActive')
    display_mode = a_text('_named', 'nvmlDeviceGetDisplayMode')
    persistence_mode = a_text('_named', 'nvmlDeviceGetPersistenceMode')

    def current_driver_model(self) -> str:
        """Driver model: ``'WDDM'``, ``'WDM'`` (TCC in nvidia-smi) or ``'MCDM'``; ``NA`` except on Windows.

        It changes only when Windows restarts and is queried once.
        """
        return self._named('nvmlDeviceGetCurrentDriverModel', DRIVER_MODELS, static=True)

    driver_model = current_driver_model

    def performance_state(self) -> str:
        """Performance state, from ``'P0'`` (highest) to ``'P15'``."""
        state = self._number('nvmlDeviceGetPerformanceState', maximum=15)
        return f'P{state}' if isinstance(state, int) else NA

    def compute_mode(self) -> str:
        """Which processes may use CUDA: ``'Default'``, ``'Exclusive Process'`` or ``'Prohibited'``.

        Drivers before CUDA 8 also had ``'Exclusive Thread'``.
        """
        return self._named('nvmlDeviceGetComputeMode', COMPUTE_MODES)

    def mig_mode(self) -> str:
        """Whether MIG mode is enabled; ``NA`` for GPUs without MIG, and before R450."""
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

    driver_model_pending = a_text('_named', 'nvmlDeviceGetPendingDriverModel', DRIVER_MODELS)
    mig_mode_pending = a_text('_named', 'nvmlDeviceGetMigMode', item=1)
    operation_mode = a_text('_named', 'nvmlDeviceGetGpuOperationMode', OPERATION_MODES, item=0)
    operation_mode_pending = a_text(
        '_named', 'nvmlDeviceGetGpuOperationMode', OPERATION_MODES, item=1
    )
    memory_addressing = a_text('_named', 'nvmlDeviceGetAddressingMode', _ADDRESSING_MODES)
    gsp_mode = a_text('_named', read_gsp_modes, item=0)
    gsp_mode_default = a_text('_named', read_gsp_modes, item=1)
    dram_encryption = a_text('_named', 'nvmlDeviceGetDramEncryptionMode', item=0)
    dram_encryption_pending = a_text('_named', 'nvmlDeviceGetDramEncryptionMode', item=1)

    def c2c_mode(self) -> str:
        """Whether CPU and GPU are connected chip to chip (Grace); ``NA`` before R535."""
        answer = self._query('nvmlDeviceGetC2cModeInfoV')
        return ENABLED.get(getattr(answer, 'isC2cEnabled', -1), NA)

    def heterogeneous_multi_vgpu(self) -> str:
        """Whether the driver supports vGPUs of several profiles in one guest."""
        if self._handle is None or self.is_mig_device():
            self._missing.reason = self._loss or NVMLError(NVML_ERROR_NOT_SUPPORTED)
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

    fractional_multi_vgpu = a_text('_vgpu_capability', _FRACTIONAL)
    heterogeneous_vgpu_profiles = a_text('_vgpu_capability', _HETEROGENEOUS_PROFILES)
    heterogeneous_vgpu_sizes = a_text('_vgpu_capability', _HETEROGENEOUS_SIZES)
