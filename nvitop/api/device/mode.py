# SPDX-License-Identifier: Apache-2.0
"""Modes of a device: display, persistence, driver model, performance state, compute mode, MIG."""

from __future__ import annotations

from nvitop.api.device.base import DeviceBase
from nvitop.api.utils import NA

# The simulated driver has tables of its own, so that a wrong number here fails a test.
#: NVML's number of a driver model → its name.
DRIVER_MODELS = {0: 'WDDM', 1: 'WDM', 2: 'MCDM'}
#: NVML's number of a compute mode → its name.
COMPUTE_MODES = {0: 'Default', 1: 'Exclusive Thread', 2: 'Prohibited', 3: 'Exclusive Process'}


class ModeMixin(DeviceBase):
    """Modes, as ``'Enabled'`` or ``'Disabled'`` unless stated otherwise."""

    def display_active(self) -> str:
        """Whether a display is initialized on the GPU, even without a monitor attached.

        NVML: ``nvmlDeviceGetDisplayActive`` · nvidia-smi: ``display_active``
        """
        return self._word('nvmlDeviceGetDisplayActive')

    def display_mode(self) -> str:
        """Whether a monitor is connected to the GPU.

        NVML: ``nvmlDeviceGetDisplayMode`` · nvidia-smi: ``display_mode``
        """
        return self._word('nvmlDeviceGetDisplayMode')

    def persistence_mode(self) -> str:
        """Whether the driver stays loaded while no program uses it; ``NA`` on Windows.

        NVML: ``nvmlDeviceGetPersistenceMode`` · nvidia-smi: ``persistence_mode``
        """
        return self._word('nvmlDeviceGetPersistenceMode')

    def current_driver_model(self) -> str:
        """Driver model: ``'WDDM'``, ``'WDM'`` (TCC in nvidia-smi) or ``'MCDM'``; ``NA`` except on Windows.

        It changes only when Windows restarts and is queried once.

        NVML: ``nvmlDeviceGetCurrentDriverModel`` · nvidia-smi: ``driver_model.current``
        """
        return self._word('nvmlDeviceGetCurrentDriverModel', DRIVER_MODELS, static=True)

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
        return self._word('nvmlDeviceGetComputeMode', COMPUTE_MODES)

    def mig_mode(self) -> str:
        """Whether MIG mode is enabled; ``NA`` for GPUs without MIG, and before R450.

        NVML: ``nvmlDeviceGetMigMode`` · nvidia-smi: ``mig.mode.current``
        """
        return self._word('nvmlDeviceGetMigMode', item=0)

    def is_mig_mode_enabled(self) -> bool:
        """Whether MIG mode is enabled, as a bool. NVML: ``nvmlDeviceGetMigMode``."""
        return self.mig_mode() == 'Enabled'

    def max_mig_device_count(self) -> int:
        """Maximum number of MIG devices of the GPU; 0 without MIG. Queried once.

        NVML: ``nvmlDeviceGetMaxMigDeviceCount``
        """
        count = self._number('nvmlDeviceGetMaxMigDeviceCount', static=True)
        return count if isinstance(count, int) else 0
