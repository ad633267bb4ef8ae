# SPDX-License-Identifier: Apache-2.0
"""Utilization of the engines of a device, hardware counters (GPM), and sessions of the video encoder."""

from __future__ import annotations

import collections
import contextlib
import math
import weakref
from typing import Any, NamedTuple

from nvitop.api import libnvml
from nvitop.api.device.base import DeviceBase, a_float, an_int, documented, once_in_oneshot
from nvitop.api.timing import Window, check_interval
from nvitop.basics.units import NA, KiB, NaType

#: Shortest useful time between two readings: the hardware updates its counters slowly.
_SHORTEST_GPM_SECONDS = 0.1


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


@documented
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
        """
        return self._rate('gpu')

    gpu_percent = gpu_utilization

    def memory_utilization(self) -> int | NaType:
        """Memory bandwidth utilization: the percent of time during which memory was read or written.

        The percentage of memory in use is :meth:`memory_percent`.
        """
        return self._rate('memory')

    def _rate(self, name: str) -> int | NaType:
        rates = self._query('nvmlDeviceGetUtilizationRates')
        return self._in_range(getattr(rates, name, NA), 100)

    def _engine(self, function: str) -> int | NaType:
        # The result is the utilization and the time over which it was measured.
        answer = self._query(function)
        return self._in_range(answer[0], 100) if answer is not NA else NA

    encoder_utilization = an_int('_engine', 'nvmlDeviceGetEncoderUtilization')
    decoder_utilization = an_int('_engine', 'nvmlDeviceGetDecoderUtilization')
    jpeg_utilization = an_int('_engine', 'nvmlDeviceGetJpgUtilization')
    ofa_utilization = an_int('_engine', 'nvmlDeviceGetOfaUtilization')

    def encoder_stats(self) -> EncoderStats:
        """Number of encoder sessions, frames per second, and latency in µs, each ``NA`` if unknown.

        NVML: ``nvmlDeviceGetEncoderStats`` · nvidia-smi: ``encoder.stats.*``
        """
        answer = self._query('nvmlDeviceGetEncoderStats')
        if answer is NA:
            return EncoderStats()
        return EncoderStats(*(self._in_range(value) for value in answer))

    encoder_session_count = an_int('_field_of', 'encoder_stats', 'session_count')
    encoder_average_fps = an_int('_field_of', 'encoder_stats', 'average_fps')
    encoder_average_latency = an_int('_field_of', 'encoder_stats', 'average_latency')


class GpmMetrics(NamedTuple):
    """Utilization in percent and traffic in KiB/s, each ``NA`` if unknown."""

    #: Percent of time during which an SM had at least one warp, averaged over the SMs.
    sm_active: float | NaType = NA
    #: Resident warps in percent of the maximum.
    sm_occupancy: float | NaType = NA
    #: Percent of time during which the tensor cores were busy.
    tensor_active: float | NaType = NA
    #: Memory bandwidth in use, in percent.
    dram_active: float | NaType = NA
    pcie_tx: int | NaType = NA
    pcie_rx: int | NaType = NA
    nvlink_tx: int | NaType = NA
    nvlink_rx: int | NaType = NA
    #: Percent of time during which a graphics or compute engine was busy.
    graphics_active: float | NaType = NA
    #: Percent of time during which the pipes for numbers of 16, 32 and 64 bits were busy.
    fp16_active: float | NaType = NA
    fp32_active: float | NaType = NA
    fp64_active: float | NaType = NA


#: Fields of GpmMetrics → numbers of NVML_GPM_METRIC_…, in percent.
_PERCENTAGES = {
    'graphics_active': 1,
    'sm_active': 2,
    'sm_occupancy': 3,
    'tensor_active': 5,
    'dram_active': 10,
    'fp64_active': 11,
    'fp32_active': 12,
    'fp16_active': 13,
}
#: Fields of GpmMetrics → numbers of NVML_GPM_METRIC_…, in MiB/s.
_TRAFFIC = {'pcie_tx': 20, 'pcie_rx': 21, 'nvlink_tx': 61, 'nvlink_rx': 60}


#: Samples without a reference, each with the library that allocated it.
_released: collections.deque[tuple[Any, object]] = collections.deque()


class _Sample:
    """One reading of the counters. The driver owns its memory, which is freed later."""

    def __init__(self) -> None:
        self.pointer = libnvml.nvmlQuery('nvmlGpmSampleAlloc', ignore_errors=False)
        # A finalizer may run at any point, even inside a driver call, so it must not call the driver.
        finalizer = weakref.finalize(self, _released.append, (self.pointer, libnvml.nvmlLib))
        # At exit NVML has been shut down, and the system frees the memory.
        finalizer.atexit = False


def _free_released() -> None:
    """Free the memory of samples without a reference."""
    while True:
        try:
            pointer, library = _released.popleft()
        except IndexError:
            return
        # nvmlQuery would initialize NVML again, and another library must not get the pointer.
        if libnvml.nvmlLib is library:
            with contextlib.suppress(libnvml.NVMLError):
                libnvml.nvmlGpmSampleFree(pointer)


def _compare(earlier: _Sample, later: _Sample, seconds: float) -> GpmMetrics:
    request = libnvml.c_nvmlGpmMetricsGet_t()
    request.version = libnvml.NVML_GPM_METRICS_GET_VERSION
    request.numMetrics = len(_PERCENTAGES) + len(_TRAFFIC)
    request.sample1, request.sample2 = earlier.pointer, later.pointer
    numbers = {**_PERCENTAGES, **_TRAFFIC}
    for metric, number in zip(request.metrics, numbers.values()):
        metric.metricId = number
    if libnvml.nvmlQuery('nvmlGpmMetricsGet', request) is NA:
        return GpmMetrics()
    values: dict[str, Any] = {}
    for field, metric in zip(numbers, request.metrics):
        value = metric.value
        if metric.nvmlReturn != 0 or not 0 <= value < math.inf:
            continue
        if field in _TRAFFIC:
            values[field] = round(value * KiB)
        elif value <= 100:
            values[field] = round(value, 1)
    return GpmMetrics(**values)


@documented
class GpmMixin(DeviceBase):
    """Hardware performance counters; ``NA`` before Hopper, and without permission.

    Reading them may keep the GPU from saving power, so the monitor reads them only while shown.
    """

    _gpm: Window[_Sample, GpmMetrics] | None = None

    def is_gpm_supported(self) -> bool:
        """Whether the GPU has these counters: Hopper and newer with driver R520 and newer.

        NVML: ``nvmlGpmQueryDeviceSupport``
        """
        answer = self._query('nvmlGpmQueryDeviceSupport', static=True)
        return bool(getattr(answer, 'isSupportedDevice', False))

    @once_in_oneshot
    def gpm_metrics(self, interval: float | None = None) -> GpmMetrics:
        """Utilization of SMs, tensor cores and memory in percent; PCIe and NVLink traffic in KiB/s.

        Without an interval, return the mean since the last call of any GPM getter; only the first
        call waits, for 100 ms. A MIG device has its own counters.

        NVML: ``nvmlGpmSampleGet`` (``nvmlGpmMigSampleGet``) and ``nvmlGpmMetricsGet``

        Args:
            interval: Seconds to wait and measure over.

        Raises:
            ValueError: The interval is negative.
        """
        check_interval(interval)
        window = self._gpm_window()
        if window is None:
            return GpmMetrics()
        metrics = window.measure(self._read_gpm, interval)
        if metrics == GpmMetrics() and self._missing.reason is None:
            self._missing.reason = libnvml.last_error('nvmlGpmMetricsGet')
        return metrics

    def begin_gpm(self) -> None:
        """Start a measurement: the next call of a GPM getter returns the mean since, without waiting."""
        window = self._gpm_window()
        if window is not None:
            window.begin(self._read_gpm)

    def _gpm_window(self) -> Window[_Sample, GpmMetrics] | None:
        if not self.is_gpm_supported():
            if self._missing.reason is None:  # the driver answered "no"
                self._missing.reason = libnvml.NVMLError(libnvml.NVML_ERROR_NOT_SUPPORTED)
            return None
        if self._gpm is None:
            self._gpm = Window(_compare, GpmMetrics(), shortest=_SHORTEST_GPM_SECONDS)
        return self._gpm

    def release_gpm(self) -> None:
        """Free the driver's memory that :meth:`gpm_metrics` holds; the next call starts over."""
        self._gpm = None
        _free_released()

    def _read_gpm(self) -> _Sample | None:
        _free_released()
        try:
            sample = _Sample()
            self._fill_gpm_sample(sample.pointer)
        except libnvml.NVMLError as error:
            # Its traceback would keep a reference to the sample.
            self._missing.reason = error.with_traceback(None)
            return None
        return sample

    def _fill_gpm_sample(self, pointer: Any) -> None:
        libnvml.nvmlQuery('nvmlGpmSampleGet', self._handle, pointer, ignore_errors=False)

    gpm_graphics_active = a_float('_field_of', 'gpm_metrics', 'graphics_active')
    gpm_sm_active = a_float('_field_of', 'gpm_metrics', 'sm_active')
    gpm_sm_occupancy = a_float('_field_of', 'gpm_metrics', 'sm_occupancy')
    gpm_tensor_active = a_float('_field_of', 'gpm_metrics', 'tensor_active')
    gpm_dram_active = a_float('_field_of', 'gpm_metrics', 'dram_active')
    gpm_fp16_active = a_float('_field_of', 'gpm_metrics', 'fp16_active')
    gpm_fp32_active = a_float('_field_of', 'gpm_metrics', 'fp32_active')
    gpm_fp64_active = a_float('_field_of', 'gpm_metrics', 'fp64_active')
