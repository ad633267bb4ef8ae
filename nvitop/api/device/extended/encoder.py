# SPDX-License-Identifier: Apache-2.0
"""Sessions of the video encoder."""

from __future__ import annotations

from nvitop.api.device.base import DeviceBase
from nvitop.api.utils import NA, NaType
from nvitop.namedtuple import NamedTuple


class EncoderStats(NamedTuple):
    """Sessions of the video encoder, each value ``NA`` if unknown."""

    session_count: int | NaType = NA
    #: Frames per second, averaged over the sessions.
    average_fps: int | NaType = NA
    #: Latency in µs, averaged over the sessions.
    average_latency: int | NaType = NA


class EncoderMixin(DeviceBase):
    """Sessions of the video encoder."""

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
