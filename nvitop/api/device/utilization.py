# SPDX-License-Identifier: Apache-2.0
"""Utilization of the engines of a device, and sessions of the video encoder."""

from __future__ import annotations

from typing import NamedTuple

from nvitop.api.device.base import DeviceBase
from nvitop.api.utils import NA, NaType


class UtilizationRates(NamedTuple):
    """Utilization in percent, each ``NA`` if unknown."""

    gpu: int | NaType = NA
    memory: int | NaType = NA
    encoder: int | NaType = NA
    decoder: int | NaType = NA


class EncoderStats(NamedTuple):
    """Sessions of the video encoder, each value ``NA`` if unknown."""

    session_count: int | NaType = NA
    #: Frames per second, averaged over the sessions.
    average_fps: int | NaType = NA
    #: Latency in µs, averaged over the sessions.
    average_latency: int | NaType = NA


class UtilizationMixin(DeviceBase):
    """Utilization in percent. ``NA`` for a GPU in MIG mode and for MIG devices."""

    def utilization_rates(self) -> UtilizationRates:
        """Utilization of GPU, memory bandwidth, encoder and decoder in percent, each ``NA`` if unknown.

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
        """GPU utilization: the percent of time during which at least one kernel was running.

        The driver averages over 1/6 s to 1 s.

        NVML: ``nvmlDeviceGetUtilizationRates`` · nvidia-smi: ``utilization.gpu``
        """
        return self._rate('gpu')

    gpu_percent = gpu_utilization

    def memory_utilization(self) -> int | NaType:
        """Memory bandwidth utilization: the percent of time during which memory was read or written.

        The percentage of memory in use is :meth:`memory_percent`.

        NVML: ``nvmlDeviceGetUtilizationRates`` · nvidia-smi: ``utilization.memory``
        """
        return self._rate('memory')

    def _rate(self, name: str) -> int | NaType:
        rates = self._query('nvmlDeviceGetUtilizationRates')
        return self._in_range(getattr(rates, name, NA), 100)

    def _engine(self, function: str) -> int | NaType:
        # The result is the utilization and the time over which it was measured.
        answer = self._query(function)
        return self._in_range(answer[0], 100) if answer is not NA else NA

    def encoder_utilization(self) -> int | NaType:
        """Utilization of the video encoder in percent.

        NVML: ``nvmlDeviceGetEncoderUtilization`` · nvidia-smi: ``utilization.encoder``
        """
        return self._engine('nvmlDeviceGetEncoderUtilization')

    def decoder_utilization(self) -> int | NaType:
        """Utilization of the video decoder in percent.

        NVML: ``nvmlDeviceGetDecoderUtilization`` · nvidia-smi: ``utilization.decoder``
        """
        return self._engine('nvmlDeviceGetDecoderUtilization')

    def jpeg_utilization(self) -> int | NaType:
        """Utilization of the JPEG engine in percent; ``NA`` before R535 and without such an engine.

        NVML: ``nvmlDeviceGetJpgUtilization`` · nvidia-smi: ``utilization.jpeg``
        """
        return self._engine('nvmlDeviceGetJpgUtilization')

    def ofa_utilization(self) -> int | NaType:
        """Utilization of the optical-flow accelerator in percent; ``NA`` before R535 and without one.

        NVML: ``nvmlDeviceGetOfaUtilization`` · nvidia-smi: ``utilization.ofa``
        """
        return self._engine('nvmlDeviceGetOfaUtilization')

    def encoder_stats(self) -> EncoderStats:
        """Number of encoder sessions, frames per second, and latency in µs, each ``NA`` if unknown.

        NVML: ``nvmlDeviceGetEncoderStats`` · nvidia-smi: ``encoder.stats.*``
        """
        answer = self._query('nvmlDeviceGetEncoderStats')
        if answer is NA:
            return EncoderStats()
        return EncoderStats(*(self._in_range(value) for value in answer))

    def encoder_session_count(self) -> int | NaType:
        """Number of sessions of the video encoder.

        NVML: ``nvmlDeviceGetEncoderStats`` · nvidia-smi: ``encoder.stats.sessionCount``
        """
        return self.encoder_stats().session_count

    def encoder_average_fps(self) -> int | NaType:
        """Frames per second of the video encoder, averaged over its sessions.

        NVML: ``nvmlDeviceGetEncoderStats`` · nvidia-smi: ``encoder.stats.averageFps``
        """
        return self.encoder_stats().average_fps

    def encoder_average_latency(self) -> int | NaType:
        """Latency of the video encoder in µs, averaged over its sessions.

        NVML: ``nvmlDeviceGetEncoderStats`` · nvidia-smi: ``encoder.stats.averageLatency``
        """
        return self.encoder_stats().average_latency
