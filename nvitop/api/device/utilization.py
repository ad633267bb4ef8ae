# SPDX-License-Identifier: Apache-2.0
"""How busy the engines of a device are."""

from __future__ import annotations

from nvitop.api.device.base import DeviceBase
from nvitop.api.utils import NA, NaType
from nvitop.namedtuple import NamedTuple


class UtilizationRates(NamedTuple):
    """Loads in percent, each ``NA`` where unknown."""

    gpu: int | NaType = NA
    memory: int | NaType = NA
    encoder: int | NaType = NA
    decoder: int | NaType = NA


class UtilizationMixin(DeviceBase):
    """Loads, in percent. A GPU in MIG mode, and a MIG device, has none: ``NA``."""

    def utilization_rates(self) -> UtilizationRates:
        """Loads of GPU, memory bandwidth, encoder and decoder in percent, each ``NA`` where unknown.

        NVML: ``nvmlDeviceGetUtilizationRates`` ``nvmlDeviceGetEncoderUtilization``
        ``nvmlDeviceGetDecoderUtilization`` · nvidia-smi: ``utilization.*``
        """
        return UtilizationRates(
            self.gpu_utilization(),
            self.memory_utilization(),
            self.encoder_utilization(),
            self.decoder_utilization(),
        )

    def gpu_utilization(self) -> int | NaType:
        """Share of time in percent in which at least one kernel ran.

        The driver averages over 1/6 to 1 second.

        NVML: ``nvmlDeviceGetUtilizationRates`` · nvidia-smi: ``utilization.gpu``
        """
        return self._in_range(getattr(self._query('nvmlDeviceGetUtilizationRates'), 'gpu', NA), 100)

    gpu_percent = gpu_utilization

    def memory_utilization(self) -> int | NaType:
        """Share of time in percent in which device memory was read or written (bandwidth).

        Not how much memory is allocated: that is :meth:`memory_percent`.

        NVML: ``nvmlDeviceGetUtilizationRates`` · nvidia-smi: ``utilization.memory``
        """
        return self._in_range(
            getattr(self._query('nvmlDeviceGetUtilizationRates'), 'memory', NA), 100
        )

    def _engine(self, function: str) -> int | NaType:
        # The answer is a load and the time over which it was measured.
        answer = self._query(function)
        return self._in_range(answer[0], 100) if answer is not NA else NA

    def encoder_utilization(self) -> int | NaType:
        """Load of the video encoder in percent.

        NVML: ``nvmlDeviceGetEncoderUtilization`` · nvidia-smi: ``utilization.encoder``
        """
        return self._engine('nvmlDeviceGetEncoderUtilization')

    def decoder_utilization(self) -> int | NaType:
        """Load of the video decoder in percent.

        NVML: ``nvmlDeviceGetDecoderUtilization`` · nvidia-smi: ``utilization.decoder``
        """
        return self._engine('nvmlDeviceGetDecoderUtilization')

    def jpeg_utilization(self) -> int | NaType:
        """Load of the JPEG engine in percent; ``NA`` before R535 and without such an engine.

        NVML: ``nvmlDeviceGetJpgUtilization`` · nvidia-smi: ``utilization.jpeg``
        """
        return self._engine('nvmlDeviceGetJpgUtilization')

    def ofa_utilization(self) -> int | NaType:
        """Load of the optical-flow accelerator in percent; ``NA`` before R535 and without one.

        NVML: ``nvmlDeviceGetOfaUtilization`` · nvidia-smi: ``utilization.ofa``
        """
        return self._engine('nvmlDeviceGetOfaUtilization')
