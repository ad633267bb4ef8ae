# SPDX-License-Identifier: Apache-2.0
"""Rarely used modes, and the values that modes will have after a restart."""

from __future__ import annotations

from nvitop.api.device.base import ENABLED, DeviceBase
from nvitop.api.device.mode import DRIVER_MODELS
from nvitop.api.utils import NA

#: NVML's number of a GPU operation mode → its name.
OPERATION_MODES = {0: 'All On', 1: 'Compute', 2: 'Low Double Precision'}
_ADDRESSING_MODES = {0: 'None', 1: 'HMM', 2: 'ATS'}


class ExtendedModeMixin(DeviceBase):
    """Modes, as ``'Enabled'`` or ``'Disabled'`` unless stated otherwise."""

    def driver_model_pending(self) -> str:
        """Driver model after the next restart, see :meth:`current_driver_model`.

        NVML: ``nvmlDeviceGetPendingDriverModel`` · nvidia-smi: ``driver_model.pending``
        """
        return self._word('nvmlDeviceGetPendingDriverModel', DRIVER_MODELS)

    def mig_mode_pending(self) -> str:
        """Whether MIG mode is enabled after the next reset, see :meth:`mig_mode`.

        NVML: ``nvmlDeviceGetMigMode`` · nvidia-smi: ``mig.mode.pending``
        """
        return self._word('nvmlDeviceGetMigMode', item=1)

    def operation_mode(self) -> str:
        """GPU operation mode: ``'All On'``, ``'Compute'`` or ``'Low Double Precision'``.

        ``NA`` except on some Kepler boards.

        NVML: ``nvmlDeviceGetGpuOperationMode`` · nvidia-smi: ``gom.current``
        """
        return self._word('nvmlDeviceGetGpuOperationMode', OPERATION_MODES, item=0)

    def operation_mode_pending(self) -> str:
        """GPU operation mode after the next restart, see :meth:`operation_mode`.

        NVML: ``nvmlDeviceGetGpuOperationMode`` · nvidia-smi: ``gom.pending``
        """
        return self._word('nvmlDeviceGetGpuOperationMode', OPERATION_MODES, item=1)

    def memory_addressing(self) -> str:
        """How the GPU addresses CPU memory: ``'ATS'``, ``'HMM'`` or ``'None'``; ``NA`` before R580.

        NVML: ``nvmlDeviceGetAddressingMode`` · nvidia-smi: ``addressing_mode``
        """
        return self._word('nvmlDeviceGetAddressingMode', _ADDRESSING_MODES)

    def _gsp_mode(self, *, item: int) -> str:
        from nvitop.api.libnvml._extended_structures import read_gsp_modes

        return self._word(read_gsp_modes, item=item)

    def gsp_mode(self) -> str:
        """Whether driver work runs on the GPU's own processor (GSP); ``NA`` before R520.

        NVML: ``nvmlDeviceGetGspFirmwareMode`` · nvidia-smi: ``gsp.mode.current``
        """
        return self._gsp_mode(item=0)

    def gsp_mode_default(self) -> str:
        """Default of :meth:`gsp_mode`.

        NVML: ``nvmlDeviceGetGspFirmwareMode`` · nvidia-smi: ``gsp.mode.default``
        """
        return self._gsp_mode(item=1)

    def dram_encryption(self) -> str:
        """Whether the memory is encrypted; ``NA`` for GPUs without encryption, and before R570.

        NVML: ``nvmlDeviceGetDramEncryptionMode`` · nvidia-smi: ``dramEncryption.mode.current``
        """
        return self._word('nvmlDeviceGetDramEncryptionMode', item=0)

    def dram_encryption_pending(self) -> str:
        """Whether the memory is encrypted after the next restart, see :meth:`dram_encryption`.

        NVML: ``nvmlDeviceGetDramEncryptionMode`` · nvidia-smi: ``dramEncryption.mode.pending``
        """
        return self._word('nvmlDeviceGetDramEncryptionMode', item=1)

    def c2c_mode(self) -> str:
        """Whether CPU and GPU are connected chip to chip (Grace); ``NA`` before R535.

        NVML: ``nvmlDeviceGetC2cModeInfoV`` · nvidia-smi: ``c2c.mode``
        """
        answer = self._query('nvmlDeviceGetC2cModeInfoV')
        return ENABLED.get(getattr(answer, 'isC2cEnabled', -1), NA)
