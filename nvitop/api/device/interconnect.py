# SPDX-License-Identifier: Apache-2.0
"""PCIe and NVLink: links, traffic, the fabric of a rack, and the position of a GPU in its chassis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping, NamedTuple

from nvitop.api import libnvml
from nvitop.api.device.base import (
    MAX_ULONGLONG,
    DeviceBase,
    a_text,
    an_int,
    documented,
    once_in_oneshot,
)
from nvitop.api.libnvml import NVMLError
from nvitop.api.libnvml._overrides import read_fabric_health, read_fabric_info, read_platform_info
from nvitop.api.timing import Window, check_interval
from nvitop.basics.units import NA, KiB, NaType, bytes2human

if TYPE_CHECKING:
    #: Value and driver's time (µs) of each counter.
    _Counters = list[tuple[Any, int]]
    _RateWindow = Window[_Counters, list[float | NaType]]

_PCIE_TX, _PCIE_RX = 0, 1
# Numbers of NVML_FI_DEV_…; the oldest bindings lack some of the names.
_FIELD_NVLINK_LINK_COUNT = 91
_NVLINK_COUNTERS = (138, 139)  # NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, …_RX
_FLITS, _DATA, _REPLAYS, _RECOVERIES = _NVLINK_ERRORS = (38, 0), (45, 0), (52, 0), (59, 0)
#: Unit of nvmlDeviceGetPcieThroughput in bytes.
_KB = 1000
#: Performance states in which a PCIe link may run slower to save power.
_SAVING_STATES = range(3, 16)
#: Without 0: not supported.
_FABRIC_STATES = {1: 'Not Started', 2: 'In Progress', 3: 'Completed'}
_FABRIC_COMPLETED = 3
#: Positions of two-bit values in the fabric's health mask: 0 unknown, 1 true, 2 false.
_BANDWIDTH, _ROUTE_RECOVERY, _ROUTE_UNHEALTHY, _TIMEOUT_RECOVERY = 0, 2, 4, 6
_FLAGS = {1: 'True', 2: 'False'}
#: Position of a four-bit value in the same mask.
_CONFIGURATION = 8
_CONFIGURATIONS = {
    1: 'None',
    2: 'Incorrect System GUID',
    3: 'Incorrect Chassis Serial Number',
    4: 'No Partition',
    5: 'Insufficient NVLinks',
    6: 'Incompatible GPU Firmware',
    7: 'Invalid Location',
    8: 'Invalid GPU State',
}
#: All bits set, as in other structures of NVML for an unknown number.
_UNKNOWN_NUMBER = 255
_PEER_TYPES = {0: 'Direct Connected', 1: 'Switch Connected'}


class ThroughputInfo(NamedTuple):
    """Traffic in KiB/s, each direction ``NA`` if unknown."""

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


def _rates(earlier: _Counters, later: _Counters, measured: float) -> list[float | NaType]:
    """Return the increase per second of each counter; ``NA`` for one that was reset in between."""
    rates: list[float | NaType] = []
    for (before, since), (after, until) in zip(earlier, later):
        seconds = (until - since) / 1e6
        # The driver's times are of the system clock, which may have been set in between.
        if not (since > 0 < seconds and abs(seconds - measured) < max(1.0, measured)):
            seconds = measured
        is_known = isinstance(before, int) and isinstance(after, int)
        rates.append((after - before) / seconds if is_known and after >= before and seconds else NA)
    return rates


def _is_below(value: int | NaType, maximum: int | NaType) -> bool | NaType:
    return value < maximum if isinstance(value, int) and isinstance(maximum, int) else NA


def throughput2human(throughput: int | NaType) -> str:
    """Return a throughput in KiB/s as text, such as ``'1.50MiB/s'``; ``NA`` for ``NA``."""
    if isinstance(throughput, NaType):
        return NA
    return f'{bytes2human(throughput * KiB)}/s'


def _total(infos: list[ThroughputInfo]) -> ThroughputInfo:
    return ThroughputInfo(*(sum(known) if known else NA for known in _by_direction(infos)))


def _mean(infos: list[ThroughputInfo]) -> ThroughputInfo:
    return ThroughputInfo(
        *(round(sum(known) / len(known)) if known else NA for known in _by_direction(infos))
    )


def _by_direction(infos: list[ThroughputInfo]) -> tuple[list[int], list[int]]:
    """Return the known values of all links, from and to the GPU."""
    tx, rx = zip(*infos) if infos else ((), ())
    return [v for v in tx if isinstance(v, int)], [v for v in rx if isinstance(v, int)]


@documented
class InterconnectMixin(DeviceBase):
    """PCIe and NVLink. Throughputs are in KiB/s; *tx* is from the GPU, *rx* is to the GPU."""

    pcie_link_generation = an_int('_number', 'nvmlDeviceGetCurrPcieLinkGeneration')
    max_pcie_link_generation = an_int('_number', 'nvmlDeviceGetMaxPcieLinkGeneration', static=True)
    pcie_link_width = an_int('_number', 'nvmlDeviceGetCurrPcieLinkWidth')
    max_pcie_link_width = an_int('_number', 'nvmlDeviceGetMaxPcieLinkWidth', static=True)

    def is_pcie_link_down_trained(self) -> bool | NaType:
        """Whether the PCIe link is worse than GPU and system support, as with a bad riser or slot.

        Fewer lanes always count. A lower generation counts only while the GPU does not save power
        (performance state P0 to P2, or unknown). ``NA`` if there is nothing to compare.

        NVML: the functions of :meth:`pcie_link_width` and :meth:`pcie_link_generation`
        """
        is_narrow = _is_below(self.pcie_link_width(), self.max_pcie_link_width())
        is_slow = _is_below(self.pcie_link_generation(), self.max_pcie_link_generation())
        if is_narrow is True or is_slow is not True:
            return is_slow if is_narrow is NA else is_narrow
        return self._number('nvmlDeviceGetPerformanceState') not in _SAVING_STATES

    def pcie_throughput(self) -> ThroughputInfo:
        """PCIe traffic from and to the GPU in KiB/s, each ``NA`` if unknown.

        Headers of packets count too: 8 to 10 % of a large copy. The driver measures each direction
        for 20 ms. (Its counters ``NVML_FI_DEV_PCIE_COUNT_…_BYTES`` start over after 4 GiB, which a
        link of generation 5 moves in 0.07 s.)

        NVML: ``nvmlDeviceGetPcieThroughput``
        """
        return ThroughputInfo(self.pcie_tx_throughput(), self.pcie_rx_throughput())

    pcie_tx_throughput = an_int('_pcie_direction', _PCIE_TX)
    pcie_rx_throughput = an_int('_pcie_direction', _PCIE_RX)
    pcie_tx_throughput_human = a_text('_human', 'pcie_tx_throughput', throughput2human)
    pcie_rx_throughput_human = a_text('_human', 'pcie_rx_throughput', throughput2human)

    def _pcie_direction(self, direction: int) -> int | NaType:
        kb_per_s = self._number('nvmlDeviceGetPcieThroughput', direction)
        return kb_per_s if kb_per_s is NA else round(kb_per_s * _KB / KiB)

    pcie_replay_counter = an_int('_number', 'nvmlDeviceGetPcieReplayCounter')

    def nvlink_link_count(self) -> int | NaType:
        """Number of NVLinks of the GPU, active or not; 0 or ``NA`` without NVLink. Queried once."""
        return self._remembered('NVLink count', lambda: self._field(_FIELD_NVLINK_LINK_COUNT))

    nvlink_crc_flit_errors = an_int('_grouped_field', _NVLINK_ERRORS, _FLITS, MAX_ULONGLONG)
    nvlink_crc_data_errors = an_int('_grouped_field', _NVLINK_ERRORS, _DATA, MAX_ULONGLONG)
    nvlink_replay_errors = an_int('_grouped_field', _NVLINK_ERRORS, _REPLAYS, MAX_ULONGLONG)
    nvlink_recovery_errors = an_int('_grouped_field', _NVLINK_ERRORS, _RECOVERIES, MAX_ULONGLONG)

    @once_in_oneshot
    def nvlink_throughput(self, interval: float | None = None) -> list[ThroughputInfo]:
        """Traffic of each NVLink in KiB/s without protocol overhead, each direction ``NA`` if unknown.

        Without an interval this is the mean since the last call of any NVLink getter in this
        program, and only the first call waits, for 20 ms. The list is empty without NVLink.

        Args:
            interval: Seconds to wait and measure over.

        Raises:
            ValueError: The interval is negative.
        """
        check_interval(interval)
        window = self._nvlink_window()
        if window is None:
            return []
        rates = [
            round(rate) if isinstance(rate, float) else NA
            for rate in window.measure(self._read_nvlink, interval)
        ]
        if not rates:
            return [ThroughputInfo()] * int(self.nvlink_link_count())
        return [ThroughputInfo(*pair) for pair in zip(rates[::2], rates[1::2])]

    def begin_nvlink_throughput(self) -> None:
        """Start a measurement: the next call of an NVLink getter returns the mean since, without waiting."""
        window = self._nvlink_window()
        if window is not None:
            window.begin(self._read_nvlink)

    def _nvlink_window(self) -> _RateWindow | None:
        if not self.nvlink_link_count():
            if self._missing.reason is None:  # the driver answered 0
                self._missing.reason = libnvml.NVMLError(libnvml.NVML_ERROR_NOT_SUPPORTED)
            return None
        return self._window('NVLink', lambda: Window(_rates, []))

    def _read_nvlink(self) -> _Counters | None:
        links = range(int(self.nvlink_link_count()))
        values = self._fields([(field, link) for link in links for field in _NVLINK_COUNTERS])
        is_known = any(value is not NA for value, _ in values)
        return values if is_known else None

    # The arguments and errors of these are those of nvlink_throughput().

    def nvlink_mean_throughput(self, interval: float | None = None) -> ThroughputInfo:
        """Mean NVLink traffic over all links in KiB/s, see :meth:`nvlink_throughput`."""
        return _mean(self.nvlink_throughput(interval))

    def nvlink_total_throughput(self, interval: float | None = None) -> ThroughputInfo:
        """Total NVLink traffic of all links in KiB/s, see :meth:`nvlink_throughput`."""
        return _total(self.nvlink_throughput(interval))

    def nvlink_tx_throughput(self, interval: float | None = None) -> list[int | NaType]:
        """NVLink traffic from the GPU in KiB/s per link, see :meth:`nvlink_throughput`."""
        return [info.tx for info in self.nvlink_throughput(interval)]

    def nvlink_rx_throughput(self, interval: float | None = None) -> list[int | NaType]:
        """NVLink traffic to the GPU in KiB/s per link, see :meth:`nvlink_throughput`."""
        return [info.rx for info in self.nvlink_throughput(interval)]

    def nvlink_mean_tx_throughput(self, interval: float | None = None) -> int | NaType:
        """Mean NVLink traffic from the GPU in KiB/s, see :meth:`nvlink_throughput`."""
        return self.nvlink_mean_throughput(interval).tx

    def nvlink_mean_rx_throughput(self, interval: float | None = None) -> int | NaType:
        """Mean NVLink traffic to the GPU in KiB/s, see :meth:`nvlink_throughput`."""
        return self.nvlink_mean_throughput(interval).rx

    def nvlink_total_tx_throughput(self, interval: float | None = None) -> int | NaType:
        """Total NVLink traffic from the GPU in KiB/s, see :meth:`nvlink_throughput`."""
        return self.nvlink_total_throughput(interval).tx

    def nvlink_total_rx_throughput(self, interval: float | None = None) -> int | NaType:
        """Total NVLink traffic to the GPU in KiB/s, see :meth:`nvlink_throughput`."""
        return self.nvlink_total_throughput(interval).rx

    def nvlink_tx_throughput_human(self, interval: float | None = None) -> list[str]:
        """NVLink traffic from the GPU per link as text, see :meth:`nvlink_throughput`."""
        return [throughput2human(throughput) for throughput in self.nvlink_tx_throughput(interval)]

    def nvlink_rx_throughput_human(self, interval: float | None = None) -> list[str]:
        """NVLink traffic to the GPU per link as text, see :meth:`nvlink_throughput`."""
        return [throughput2human(throughput) for throughput in self.nvlink_rx_throughput(interval)]

    def nvlink_mean_tx_throughput_human(self, interval: float | None = None) -> str:
        """Mean NVLink traffic from the GPU as text, see :meth:`nvlink_throughput`."""
        return throughput2human(self.nvlink_mean_tx_throughput(interval))

    def nvlink_mean_rx_throughput_human(self, interval: float | None = None) -> str:
        """Mean NVLink traffic to the GPU as text, see :meth:`nvlink_throughput`."""
        return throughput2human(self.nvlink_mean_rx_throughput(interval))

    def nvlink_total_tx_throughput_human(self, interval: float | None = None) -> str:
        """Total NVLink traffic from the GPU as text, see :meth:`nvlink_throughput`."""
        return throughput2human(self.nvlink_total_tx_throughput(interval))

    def nvlink_total_rx_throughput_human(self, interval: float | None = None) -> str:
        """Total NVLink traffic to the GPU as text, see :meth:`nvlink_throughput`."""
        return throughput2human(self.nvlink_total_rx_throughput(interval))


@documented
class FabricMixin(DeviceBase):
    """Fabric and platform; ``NA`` for GPUs that are part of neither, and before R535."""

    def _fabric(self) -> Any:
        return self._query(read_fabric_info)

    def fabric_state(self) -> str:
        """Progress of joining the fabric: ``'Not Started'``, ``'In Progress'`` or ``'Completed'``."""
        return _FABRIC_STATES.get(getattr(self._fabric(), 'state', -1), NA)

    def fabric_status(self) -> str:
        """Result of joining the fabric: ``'Success'`` or an error; ``NA`` until it is completed."""
        info = self._fabric()
        if getattr(info, 'state', 0) != _FABRIC_COMPLETED:
            return NA
        return str(NVMLError(info.status)) if info.status else 'Success'

    def fabric_clique_id(self) -> int | NaType:
        """ID of the clique: GPUs of the same cluster and clique reach each other over NVLink."""
        info = self._fabric()
        return int(info.cliqueId) if getattr(info, 'state', 0) == _FABRIC_COMPLETED else NA

    def fabric_cluster_uuid(self) -> str:
        """UUID of the cluster; all zeros within one machine."""
        info = self._fabric()
        if getattr(info, 'state', 0) != _FABRIC_COMPLETED:
            return NA
        digits = bytes(info.clusterUuid).hex()
        return '-'.join(digits[a:b] for a, b in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32)))

    def _fabric_flag(self, position: int, names: Mapping[int, str] = _FLAGS) -> str:
        mask: int = getattr(self._fabric(), 'healthMask', 0)
        width = 4 if position == _CONFIGURATION else 2
        return names.get(mask >> position & ((1 << width) - 1), NA)

    fabric_bandwidth = a_text('_fabric_flag', _BANDWIDTH, {1: 'Degraded', 2: 'Full'})
    fabric_route_recovery = a_text('_fabric_flag', _ROUTE_RECOVERY)
    fabric_route_unhealthy = a_text('_fabric_flag', _ROUTE_UNHEALTHY)
    fabric_access_timeout_recovery = a_text('_fabric_flag', _TIMEOUT_RECOVERY)
    fabric_incorrect_configuration = a_text('_fabric_flag', _CONFIGURATION, _CONFIGURATIONS)

    def fabric_health_summary(self) -> str:
        """Health of the fabric in one word: ``'Healthy'``, ``'Unhealthy'`` or ``'Limited Capacity'``."""
        summary = getattr(self._query(read_fabric_health), 'healthSummary', 0)
        return {1: 'Healthy', 2: 'Unhealthy', 3: 'Limited Capacity'}.get(summary, NA)

    def _platform(self, name: str) -> Any:
        return getattr(self._query(read_platform_info), name, NA)

    def _platform_number(self, name: str) -> int | NaType:
        value = self._platform(name)
        return NA if value == _UNKNOWN_NUMBER else self._in_range(value)

    def chassis_serial_number(self) -> str:
        """Serial number of the chassis; empty on machines without one."""
        text = self._platform('chassisSerialNumber')
        return text.decode('utf-8', 'replace').strip() if isinstance(text, bytes) else NA

    slot_number = an_int('_platform_number', 'slotNumber')
    tray_index = an_int('_platform_number', 'trayIndex')
    host_id = an_int('_platform_number', 'hostId')

    def peer_type(self) -> str:
        """Connection to peer GPUs: ``'Direct Connected'`` or ``'Switch Connected'``."""
        return _PEER_TYPES.get(self._platform('peerType'), NA)

    platform_module_id = an_int('_platform_number', 'moduleId')

    def gpu_fabric_guid(self) -> str:
        """Globally unique number of the GPU in its fabric, in hexadecimal: ``'0x38c0ffee…'``.

        It is 0 without a fabric.
        """
        guid = self._platform('ibGuid')
        return NA if guid is NA else f'0x{bytes(guid)[:8].hex()}'
