# SPDX-License-Identifier: Apache-2.0
"""Switches that are seldom looked at, and what they will be after a restart."""

from __future__ import annotations

from nvitop.api.device.base import ENABLED
from nvitop.api.device.extended.facts import ExtendedValues
from nvitop.api.device.mode import DRIVER_MODELS
from nvitop.api.libnvml._extended_structures import read_gsp_modes
from nvitop.api.utils import NA

#: NVML's number of a GPU operation mode → its name.
OPERATION_MODES = {0: 'All On', 1: 'Compute', 2: 'Low Double Precision'}
_ADDRESSING_MODES = {0: 'None', 1: 'HMM', 2: 'ATS'}


class ModeFacts(ExtendedValues):
    """Modes, as words: ``'Enabled'`` or ``'Disabled'`` where not said otherwise."""

    def driver_model_pending(self) -> str:
        """Driver model after the next restart: words as in :meth:`current_driver_model`.

        NVML: ``nvmlDeviceGetPendingDriverModel`` · nvidia-smi: ``driver_model.pending``
        """
        return self._word('nvmlDeviceGetPendingDriverModel', DRIVER_MODELS)

    def mig_mode_pending(self) -> str:
        """Whether the GPU is split into MIG devices after its next reset; ``NA`` as ``mig_mode()``.

        NVML: ``nvmlDeviceGetMigMode`` · nvidia-smi: ``mig.mode.pending``
        """
        return self._word_of('nvmlDeviceGetMigMode', 1)

    def operation_mode(self) -> str:
        """GPU operation mode: ``'All On'``, ``'Compute'`` or ``'Low Double Precision'``.

        ``NA`` on all but some boards of the Kepler generation.

        NVML: ``nvmlDeviceGetGpuOperationMode`` · nvidia-smi: ``gom.current``
        """
        return self._word_of('nvmlDeviceGetGpuOperationMode', 0, OPERATION_MODES)

    def operation_mode_pending(self) -> str:
        """GPU operation mode after the next restart, see :meth:`operation_mode`.

        NVML: ``nvmlDeviceGetGpuOperationMode`` · nvidia-smi: ``gom.pending``
        """
        return self._word_of('nvmlDeviceGetGpuOperationMode', 1, OPERATION_MODES)

    def memory_addressing(self) -> str:
        """How CPU memory can be used on the GPU: ``'ATS'``, ``'HMM'`` or ``'None'``; ``NA`` before R580.

        NVML: ``nvmlDeviceGetAddressingMode`` · nvidia-smi: ``addressing_mode``
        """
        return self._word('nvmlDeviceGetAddressingMode', _ADDRESSING_MODES)

    def gsp_mode(self) -> str:
        """Whether the driver's work is done by the GPU's own processor (GSP); ``NA`` before R520.

        NVML: ``nvmlDeviceGetGspFirmwareMode`` · nvidia-smi: ``gsp.mode.current``
        """
        return self._word_of(read_gsp_modes, 0)

    def gsp_mode_default(self) -> str:
        """Whether it is by default, see :meth:`gsp_mode`.

        NVML: ``nvmlDeviceGetGspFirmwareMode`` · nvidia-smi: ``gsp.mode.default``
        """
        return self._word_of(read_gsp_modes, 1)

    def dram_encryption(self) -> str:
        """Whether the memory is encrypted; ``NA`` before R570 and for GPUs that cannot.

        NVML: ``nvmlDeviceGetDramEncryptionMode`` · nvidia-smi: ``dramEncryption.mode.current``
        """
        return self._word_of('nvmlDeviceGetDramEncryptionMode', 0)

    def dram_encryption_pending(self) -> str:
        """Whether the memory is encrypted after the next restart.

        NVML: ``nvmlDeviceGetDramEncryptionMode`` · nvidia-smi: ``dramEncryption.mode.pending``
        """
        return self._word_of('nvmlDeviceGetDramEncryptionMode', 1)

    def c2c_mode(self) -> str:
        """Whether CPU and GPU are connected chip to chip (Grace); ``NA`` before R535.

        NVML: ``nvmlDeviceGetC2cModeInfoV`` · nvidia-smi: ``c2c.mode``
        """
        answer = self._query('nvmlDeviceGetC2cModeInfoV')
        return ENABLED.get(getattr(answer, 'isC2cEnabled', -1), NA)
