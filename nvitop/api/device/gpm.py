# SPDX-License-Identifier: Apache-2.0
"""GPU performance monitoring: what the hardware itself counts, on Hopper and newer."""

from __future__ import annotations

import collections
import contextlib
import math
import weakref
from typing import Any

from nvitop.api import libnvml
from nvitop.api.device.base import DeviceBase, once_in_oneshot
from nvitop.api.device.window import Window, check_interval
from nvitop.api.utils import NA, KiB, NaType
from nvitop.namedtuple import NamedTuple

#: The counters of the hardware are gathered slower than others; shorter times give rough values.
_SHORTEST_SECONDS = 0.1


class GpmMetrics(NamedTuple):
    """Loads in percent and traffic in KiB/s, each ``NA`` where unknown."""

    #: Share of time in which an SM had at least one warp, mean over the SMs.
    sm_active: float | NaType = NA
    #: Resident warps, of those possible.
    sm_occupancy: float | NaType = NA
    #: Share of time in which tensor cores were busy.
    tensor_active: float | NaType = NA
    #: Share of the memory bandwidth in use.
    dram_active: float | NaType = NA
    pcie_tx: int | NaType = NA
    pcie_rx: int | NaType = NA
    nvlink_tx: int | NaType = NA
    nvlink_rx: int | NaType = NA


#: Numbers of NVML_GPM_METRIC_… in the order of GpmMetrics; of loads in percent, then in MiB/s.
_LOADS = (2, 3, 5, 10)
_TRAFFIC = (20, 21, 61, 60)


#: Samples that nobody holds any more, each with the library that made it.
_released: collections.deque[tuple[Any, object]] = collections.deque()


class _Sample:
    """One reading of the counters; its memory is the driver's and is given back later."""

    def __init__(self) -> None:
        self.pointer = libnvml.nvmlQuery('nvmlGpmSampleAlloc', ignore_errors=False)
        # A finalizer may run at any point, also inside a call of the driver: it must not call it.
        finalizer = weakref.finalize(self, _released.append, (self.pointer, libnvml.nvmlLib))
        # At the end of the process NVML has been shut down: the system takes the memory back.
        finalizer.atexit = False


def _free_released() -> None:
    """Give the memory of samples that nobody holds back to the driver."""
    while True:
        try:
            pointer, library = _released.popleft()
        except IndexError:
            return
        # Not by nvmlQuery: nothing is to be initialised again for this, nor told another library.
        if libnvml.nvmlLib is library:
            with contextlib.suppress(libnvml.NVMLError):
                libnvml.nvmlGpmSampleFree(pointer)


def _compare(earlier: _Sample, later: _Sample) -> GpmMetrics:
    request = libnvml.c_nvmlGpmMetricsGet_t()
    request.version = libnvml.NVML_GPM_METRICS_GET_VERSION
    request.numMetrics = len(_LOADS) + len(_TRAFFIC)
    request.sample1, request.sample2 = earlier.pointer, later.pointer
    for metric, number in zip(request.metrics, _LOADS + _TRAFFIC):
        metric.metricId = number
    if libnvml.nvmlQuery('nvmlGpmMetricsGet', request) is NA:
        return GpmMetrics()
    metrics = request.metrics[: request.numMetrics]
    values = [m.value if m.nvmlReturn == 0 and 0 <= m.value < math.inf else None for m in metrics]
    loads, traffic = values[: len(_LOADS)], values[len(_LOADS) :]
    return GpmMetrics(
        *(NA if v is None or v > 100 else round(v, 1) for v in loads),
        *(NA if v is None else round(v * KiB) for v in traffic),
    )


class GpmMixin(DeviceBase):
    """Performance counters of the hardware: ``NA`` before Hopper, and without permission.

    While they are read the GPU may save less power, so the monitor reads them only while shown.
    """

    _gpm: Window[_Sample, GpmMetrics] | None = None

    def is_gpm_supported(self) -> bool:
        """Whether the GPU has these counters: Hopper and newer, driver R520 and newer.

        NVML: ``nvmlGpmQueryDeviceSupport``
        """
        answer = self._fact('nvmlGpmQueryDeviceSupport')
        return bool(getattr(answer, 'isSupportedDevice', False))

    @once_in_oneshot
    def gpm_metrics(self, interval: float | None = None) -> GpmMetrics:
        """Real loads of the SMs, tensor cores and memory in percent, PCIe and NVLink traffic in KiB/s.

        Without an interval this is the mean since the last call of any GPM getter, and only the
        first call waits, for 100 ms. A MIG device has counters of its own.

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
        if metrics == GpmMetrics() and self._failure.error is None:
            self._failure.error = libnvml.last_error('nvmlGpmMetricsGet')
        return metrics

    def begin_gpm(self) -> None:
        """Begin to measure: the next call of a GPM getter gives the mean since, and need not wait."""
        window = self._gpm_window()
        if window is not None:
            window.begin(self._read_gpm)

    def _gpm_window(self) -> Window[_Sample, GpmMetrics] | None:
        if not self.is_gpm_supported():
            self._note_unsupported()
            return None
        if self._gpm is None:
            self._gpm = Window(_compare, GpmMetrics(), shortest=_SHORTEST_SECONDS)
        return self._gpm

    def release_gpm(self) -> None:
        """Give back what :meth:`gpm_metrics` holds of the driver; the next call begins anew."""
        self._gpm = None
        _free_released()

    def _read_gpm(self) -> _Sample | None:
        _free_released()
        try:
            sample = _Sample()
            self._fill_gpm_sample(sample.pointer)
        except libnvml.NVMLError as error:
            # Its traceback would keep the sample.
            self._failure.error = error.with_traceback(None)
            return None
        return sample

    def _fill_gpm_sample(self, pointer: Any) -> None:
        libnvml.nvmlQuery('nvmlGpmSampleGet', self._handle, pointer, ignore_errors=False)

    def gpm_sm_active(self) -> float | NaType:
        """Share of time in percent in which an SM had a warp, mean over SMs; see :meth:`gpm_metrics`."""
        return self.gpm_metrics().sm_active

    def gpm_sm_occupancy(self) -> float | NaType:
        """Resident warps in percent of those possible; see :meth:`gpm_metrics`."""
        return self.gpm_metrics().sm_occupancy

    def gpm_tensor_active(self) -> float | NaType:
        """Share of time in percent in which tensor cores were busy; see :meth:`gpm_metrics`."""
        return self.gpm_metrics().tensor_active

    def gpm_dram_active(self) -> float | NaType:
        """Share of the memory bandwidth in use, in percent; see :meth:`gpm_metrics`."""
        return self.gpm_metrics().dram_active
