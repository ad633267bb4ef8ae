# SPDX-License-Identifier: Apache-2.0
"""How a device is connected, and what moves over it: PCIe and NVLink."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nvitop.api.device.base import (
    DeviceBase,
    derived,
    human,
    once_in_oneshot,
)
from nvitop.api.device.window import Window, check_interval
from nvitop.api.libnvml._errors import is_unsupported
from nvitop.api.utils import NA, KiB, NaType, bytes2human
from nvitop.namedtuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Concatenate, ParamSpec, TypeVar

    _RateWindow = Window['_Counters', 'list[float | NaType]']
    P = ParamSpec('P')
    V = TypeVar('V')

_PCIE_TX, _PCIE_RX = 0, 1
# Numbers of NVML_FI_DEV_…, of which the oldest bindings lack some.
_FIELD_NVLINK_LINK_COUNT = 91
_NVLINK_COUNTERS = (138, 139)  # NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, …_RX
_PCIE_COUNTERS = [(197, 0), (198, 0)]  # NVML_FI_DEV_PCIE_COUNT_TX_BYTES, …_RX_BYTES
#: Performance states in which a PCIe link may run slower to save power.
_SAVING_STATES = range(3, 16)


class ThroughputInfo(NamedTuple):
    """Traffic in KiB/s, each direction ``NA`` where unknown."""

    #: From the GPU.
    tx: int | NaType = NA
    #: To the GPU.
    rx: int | NaType = NA

    @property
    def transmit(self) -> int | NaType:
        """Traffic from the GPU: ``tx``."""
        return self.tx

    @property
    def receive(self) -> int | NaType:
        """Traffic to the GPU: ``rx``."""
        return self.rx


class _Counters(NamedTuple):
    """Counters as read at one time; ``NA`` for those that the driver does not tell."""

    #: Monotonic, in seconds.
    taken: float
    #: Value and the driver's own time (µs) of each.
    values: list[tuple[Any, int]]


def _rates(earlier: _Counters, later: _Counters) -> list[float | NaType]:
    """Growth per second of each counter. One that has been reset in between has none."""
    rates: list[float | NaType] = []
    measured = later.taken - earlier.taken
    for (before, since), (after, until) in zip(earlier.values, later.values):
        seconds = (until - since) / 1e6
        # The driver's times are those of a clock that may be set in between.
        if not (since > 0 < seconds and abs(seconds - measured) < max(1.0, measured)):
            seconds = measured
        is_known = isinstance(before, int) and isinstance(after, int)
        rates.append((after - before) / seconds if is_known and after >= before and seconds else NA)
    return rates


def _rounded(rate: float | NaType, divisor: int = 1) -> int | NaType:
    return round(rate / divisor) if isinstance(rate, float) else NA


def _new_rate_window() -> _RateWindow:
    return Window(_rates, [])


def _is_below(value: int | NaType, most: int | NaType) -> bool | NaType:
    return value < most if isinstance(value, int) and isinstance(most, int) else NA


def throughput2human(throughput: int | NaType) -> str:
    """Text of a throughput in KiB/s: ``'1.50MiB/s'``; ``NA`` for ``NA``."""
    if isinstance(throughput, NaType):
        return NA
    return f'{bytes2human(throughput * KiB, min_unit=KiB)}/s'


def _throughputs2human(throughputs: list[int | NaType]) -> list[str]:
    return [throughput2human(throughput) for throughput in throughputs]


def _tx(info: ThroughputInfo) -> int | NaType:
    return info.tx


def _rx(info: ThroughputInfo) -> int | NaType:
    return info.rx


def _each_tx(infos: list[ThroughputInfo]) -> list[int | NaType]:
    return [info.tx for info in infos]


def _each_rx(infos: list[ThroughputInfo]) -> list[int | NaType]:
    return [info.rx for info in infos]


def _total(infos: list[ThroughputInfo]) -> ThroughputInfo:
    return ThroughputInfo(*(_sum(known) for known in _by_direction(infos)))


def _mean(infos: list[ThroughputInfo]) -> ThroughputInfo:
    return ThroughputInfo(
        *(round(sum(known) / len(known)) if known else NA for known in _by_direction(infos))
    )


def _sum(known: list[int]) -> int | NaType:
    return sum(known) if known else NA


def _by_direction(infos: list[ThroughputInfo]) -> tuple[list[int], list[int]]:
    """The known values of all links, from and to the GPU."""
    tx, rx = zip(*infos) if infos else ((), ())
    return [v for v in tx if isinstance(v, int)], [v for v in rx if isinstance(v, int)]


def _of_links(
    name: str, getter: Callable[..., Any], convert: Callable[[Any], V], what: str
) -> Callable[Concatenate[Any, P], V]:
    doc = f'NVLink traffic, {what}. Arguments and errors are those of :meth:`nvlink_throughput`.'
    return derived(name, getter, convert, doc)


class InterconnectMixin(DeviceBase):
    """PCIe and NVLink. Throughputs are in KiB/s, *tx* is from the GPU, *rx* to it."""

    def pcie_link_generation(self) -> int | NaType:
        """PCIe generation in use; the link slows down while the GPU saves power.

        NVML: ``nvmlDeviceGetCurrPcieLinkGeneration`` · nvidia-smi: ``pcie.link.gen.current``
        """
        return self._int('nvmlDeviceGetCurrPcieLinkGeneration')

    def max_pcie_link_generation(self) -> int | NaType:
        """Highest PCIe generation that both GPU and system can; asked once.

        NVML: ``nvmlDeviceGetMaxPcieLinkGeneration`` · nvidia-smi: ``pcie.link.gen.max``
        """
        return self._int_fact('nvmlDeviceGetMaxPcieLinkGeneration')

    def pcie_link_width(self) -> int | NaType:
        """PCIe lanes in use.

        NVML: ``nvmlDeviceGetCurrPcieLinkWidth`` · nvidia-smi: ``pcie.link.width.current``
        """
        return self._int('nvmlDeviceGetCurrPcieLinkWidth')

    def max_pcie_link_width(self) -> int | NaType:
        """PCIe lanes that both GPU and system have; asked once.

        NVML: ``nvmlDeviceGetMaxPcieLinkWidth`` · nvidia-smi: ``pcie.link.width.max``
        """
        return self._int_fact('nvmlDeviceGetMaxPcieLinkWidth')

    def is_pcie_link_down_trained(self) -> bool | NaType:
        """Whether the PCIe link is worse than GPU and system can: a bad seat, riser or slot.

        Fewer lanes always count. A lower generation counts only while the GPU works (performance
        states P0 to P2, or unknown): otherwise it saves power. ``NA`` where nothing can be compared.
        """
        is_narrow = _is_below(self.pcie_link_width(), self.max_pcie_link_width())
        is_slow = _is_below(self.pcie_link_generation(), self.max_pcie_link_generation())
        if is_narrow is True or is_slow is not True:
            return is_slow if is_narrow is NA else is_narrow
        return self._int('nvmlDeviceGetPerformanceState') not in _SAVING_STATES

    def pcie_throughput(self) -> ThroughputInfo:
        """PCIe traffic from and to the GPU in KiB/s, each ``NA`` where unknown.

        Where the driver counts the bytes, this is the mean since this program asked the last time,
        and only the first call waits, for 20 ms. Where it does not, it measures each direction for
        20 ms.

        NVML: ``NVML_FI_DEV_PCIE_COUNT_TX_BYTES`` and ``…_RX_BYTES``, otherwise
        ``nvmlDeviceGetPcieThroughput``
        """
        return ThroughputInfo(self.pcie_tx_throughput(), self.pcie_rx_throughput())

    def pcie_tx_throughput(self) -> int | NaType:
        """PCIe traffic from the GPU in KiB/s, see :meth:`pcie_throughput`."""
        return self._pcie_direction(_PCIE_TX)

    def pcie_rx_throughput(self) -> int | NaType:
        """PCIe traffic to the GPU in KiB/s, see :meth:`pcie_throughput`."""
        return self._pcie_direction(_PCIE_RX)

    pcie_tx_throughput_human = human(pcie_tx_throughput, throughput2human)
    pcie_rx_throughput_human = human(pcie_rx_throughput, throughput2human)

    def _pcie_direction(self, direction: int) -> int | NaType:
        rates = self._counted_pcie_rates()
        if rates:
            return _rounded(rates[direction], KiB)
        return self._int('nvmlDeviceGetPcieThroughput', direction)

    @once_in_oneshot
    def _counted_pcie_rates(self) -> list[float | NaType]:
        """Bytes per second from the driver's counters, empty where it has none."""
        window = self._pcie_window()
        return [] if window is None else window.measure(self._read_pcie)

    def begin_pcie_throughput(self, *, anew: bool = True) -> None:
        """Begin to measure: the next call of a PCIe getter gives the mean since, and need not wait.

        Where the driver does not count the bytes this does nothing. Unless ``anew``, a measurement
        that has begun goes on.
        """
        window = self._pcie_window()
        if window is not None and (anew or not window.has_begun):
            window.begin(self._read_pcie)

    def _pcie_window(self) -> _RateWindow | None:
        is_counted = self._known('PCIe counters', self._find_pcie_counters)
        return self._window('PCIe', _new_rate_window) if is_counted else None

    def _find_pcie_counters(self) -> bool | NaType:
        self._failure.error = None
        counters = self._read_pcie()
        if counters is not None:
            # The first rate is measured since this reading: there is no need for another one.
            self._window('PCIe', _new_rate_window).begin(lambda: counters)
            return True
        return False if is_unsupported(self._failure.error, or_invalid=True) else NA

    def _read_pcie(self) -> _Counters | None:
        return self._read_counters(_PCIE_COUNTERS)

    def _read_counters(self, fields: list[tuple[int, int]]) -> _Counters | None:
        values = self._read_fields(fields)
        is_known = any(value is not NA for value, _ in values)
        return _Counters(Window.clock(), values) if is_known else None

    def nvlink_link_count(self) -> int | NaType:
        """Number of NVLinks of the GPU, active or not; 0 or ``NA`` where it has none; asked once.

        NVML: ``NVML_FI_DEV_NVLINK_LINK_COUNT``
        """
        fields = [(_FIELD_NVLINK_LINK_COUNT, 0)]
        return self._known('NVLink count', lambda: self._in_range(self._read_fields(fields)[0][0]))

    @once_in_oneshot
    def nvlink_throughput(self, interval: float | None = None) -> list[ThroughputInfo]:
        """Traffic of each NVLink in KiB/s, each direction ``NA`` where unknown; protocol not counted.

        Without an interval this is the mean since this program asked the last time, by any NVLink
        getter, and only the first call waits, for 20 ms. An empty list where there are no NVLinks.

        NVML: ``NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX`` and ``…_RX`` · nvidia-smi nvlink -gt d

        Args:
            interval: Seconds to wait and measure over.

        Raises:
            ValueError: The interval is negative.
        """
        check_interval(interval)
        window = self._nvlink_window()
        if window is None:
            return []
        rates = [_rounded(rate) for rate in window.measure(self._read_nvlink, interval)]
        if not rates:
            return [ThroughputInfo()] * int(self.nvlink_link_count())
        return [ThroughputInfo(*pair) for pair in zip(rates[::2], rates[1::2])]

    def begin_nvlink_throughput(self) -> None:
        """Begin to measure: the next call of an NVLink getter gives the mean since without a wait."""
        window = self._nvlink_window()
        if window is not None:
            window.begin(self._read_nvlink)

    def _nvlink_window(self) -> _RateWindow | None:
        if not self.nvlink_link_count():
            self._note_unsupported()
            return None
        return self._window('NVLink', _new_rate_window)

    def _read_nvlink(self) -> _Counters | None:
        links = range(int(self.nvlink_link_count()))
        return self._read_counters([(field, link) for link in links for field in _NVLINK_COUNTERS])

    nvlink_mean_throughput = _of_links(
        'nvlink_mean_throughput', nvlink_throughput, _mean, 'mean of all links in KiB/s'
    )
    nvlink_total_throughput = _of_links(
        'nvlink_total_throughput', nvlink_throughput, _total, 'sum of all links in KiB/s'
    )
    nvlink_tx_throughput = _of_links(
        'nvlink_tx_throughput', nvlink_throughput, _each_tx, 'from the GPU, of each link in KiB/s'
    )
    nvlink_rx_throughput = _of_links(
        'nvlink_rx_throughput', nvlink_throughput, _each_rx, 'to the GPU, of each link in KiB/s'
    )
    nvlink_mean_tx_throughput = _of_links(
        'nvlink_mean_tx_throughput', nvlink_mean_throughput, _tx, 'from the GPU, mean in KiB/s'
    )
    nvlink_mean_rx_throughput = _of_links(
        'nvlink_mean_rx_throughput', nvlink_mean_throughput, _rx, 'to the GPU, mean in KiB/s'
    )
    nvlink_total_tx_throughput = _of_links(
        'nvlink_total_tx_throughput', nvlink_total_throughput, _tx, 'from the GPU, sum in KiB/s'
    )
    nvlink_total_rx_throughput = _of_links(
        'nvlink_total_rx_throughput', nvlink_total_throughput, _rx, 'to the GPU, sum in KiB/s'
    )
    nvlink_tx_throughput_human = human(nvlink_tx_throughput, _throughputs2human)
    nvlink_rx_throughput_human = human(nvlink_rx_throughput, _throughputs2human)
    nvlink_mean_tx_throughput_human = human(nvlink_mean_tx_throughput, throughput2human)
    nvlink_mean_rx_throughput_human = human(nvlink_mean_rx_throughput, throughput2human)
    nvlink_total_tx_throughput_human = human(nvlink_total_tx_throughput, throughput2human)
    nvlink_total_rx_throughput_human = human(nvlink_total_rx_throughput, throughput2human)
