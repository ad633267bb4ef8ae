# SPDX-License-Identifier: Apache-2.0
"""How a device is set up: display, persistence, driver model, performance state, compute mode."""

from __future__ import annotations

from nvitop.api.device.base import DeviceBase
from nvitop.api.utils import NA

#: NVML's number of a driver model → its name.
DRIVER_MODELS = {0: 'WDDM', 1: 'WDM', 2: 'MCDM'}
#: The same of compute modes.
COMPUTE_MODES = {0: 'Default', 1: 'Exclusive Thread', 2: 'Prohibited', 3: 'Exclusive Process'}


class ModeMixin(DeviceBase):
    """Modes, as words: ``'Enabled'`` or ``'Disabled'`` where not said otherwise."""

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
        """Whether the driver stays loaded when no client is active; ``NA`` on Windows.

        NVML: ``nvmlDeviceGetPersistenceMode`` · nvidia-smi: ``persistence_mode``
        """
        return self._word('nvmlDeviceGetPersistenceMode')

    def current_driver_model(self) -> str:
        """Driver model: ``'WDDM'``, ``'WDM'`` (which nvidia-smi calls TCC) or ``'MCDM'``.

        It changes with a restart of Windows only and is asked once; elsewhere it is ``NA``.

        NVML: ``nvmlDeviceGetCurrentDriverModel`` · nvidia-smi: ``driver_model.current``
        """
        return DRIVER_MODELS.get(self._fact('nvmlDeviceGetCurrentDriverModel'), NA)

    driver_model = current_driver_model

    def performance_state(self) -> str:
        """Performance state, ``'P0'`` (highest) to ``'P15'``.

        NVML: ``nvmlDeviceGetPerformanceState`` · nvidia-smi: ``pstate``
        """
        state = self._int('nvmlDeviceGetPerformanceState', most=15)
        return f'P{state}' if isinstance(state, int) else NA

    def compute_mode(self) -> str:
        """Who may make contexts: ``'Default'``, ``'Exclusive Process'`` or ``'Prohibited'``.

        ``'Exclusive Thread'`` is what drivers before CUDA 8 called a mode that is gone.

        NVML: ``nvmlDeviceGetComputeMode`` · nvidia-smi: ``compute_mode``
        """
        return self._word('nvmlDeviceGetComputeMode', COMPUTE_MODES)

    def mig_mode(self) -> str:
        """Whether the GPU is split into MIG devices; ``NA`` for GPUs that cannot be, and before R450.

        NVML: ``nvmlDeviceGetMigMode`` · nvidia-smi: ``mig.mode.current``
        """
        return self._word_of('nvmlDeviceGetMigMode', 0)

    def is_mig_mode_enabled(self) -> bool:
        """Whether the GPU is split into MIG devices now. NVML: ``nvmlDeviceGetMigMode``."""
        return self.mig_mode() == 'Enabled'

    def max_mig_device_count(self) -> int:
        """How many MIG devices the GPU can have, 0 where it cannot have any.

        NVML: ``nvmlDeviceGetMaxMigDeviceCount``
        """
        count = self._int_fact('nvmlDeviceGetMaxMigDeviceCount')
        return count if isinstance(count, int) else 0
