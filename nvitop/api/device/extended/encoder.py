# SPDX-License-Identifier: Apache-2.0
"""What the video encoder does."""

from __future__ import annotations

from nvitop.api.device.extended.facts import ExtendedValues
from nvitop.api.utils import NA, NaType
from nvitop.namedtuple import NamedTuple


class EncoderStats(NamedTuple):
    """What the video encoder does, each ``NA`` where unknown."""

    session_count: int | NaType = NA
    #: Frames per second, mean of all sessions.
    average_fps: int | NaType = NA
    #: In µs, mean of all sessions.
    average_latency: int | NaType = NA


class EncoderFacts(ExtendedValues):
    """Sessions of the video encoder."""

    def encoder_stats(self) -> EncoderStats:
        """Sessions of the video encoder, their frame rate and their latency in µs, each may be ``NA``.

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
        """Frames per second of the video encoder, mean of its sessions.

        NVML: ``nvmlDeviceGetEncoderStats`` · nvidia-smi: ``encoder.stats.averageFps``
        """
        return self.encoder_stats().average_fps

    def encoder_average_latency(self) -> int | NaType:
        """Latency of the video encoder in µs, mean of its sessions.

        NVML: ``nvmlDeviceGetEncoderStats`` · nvidia-smi: ``encoder.stats.averageLatency``
        """
        return self.encoder_stats().average_latency
