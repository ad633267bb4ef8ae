# SPDX-License-Identifier: Apache-2.0
"""Accounting: what processes used over their life, which the driver keeps after they exit."""

from __future__ import annotations

from nvitop.api.device.base import MAX_ULONGLONG, DeviceBase
from nvitop.api.utils import NA, NaType
from nvitop.namedtuple import NamedTuple


class AccountedProcess(NamedTuple):
    """Account of a process over its life, each value ``NA`` if unknown."""

    pid: int
    #: Utilization in percent, averaged over its life.
    gpu_utilization: int | NaType
    memory_utilization: int | NaType
    #: Maximum memory in bytes.
    max_memory: int | NaType
    #: Time during which it used the device, in ms; 0 while it is running.
    time: int | NaType
    is_running: bool


class AccountMixin(DeviceBase):
    """Accounting; empty unless an administrator has enabled it."""

    def accounted_processes(self) -> list[AccountedProcess]:
        """Accounts of processes, including exited ones; an empty list if accounting is disabled.

        NVML: ``nvmlDeviceGetAccountingPids`` ``nvmlDeviceGetAccountingStats``
        · nvidia-smi: ``--query-accounted-apps``
        """
        if self.accounting() != 'Enabled':
            return []
        pids = self._query('nvmlDeviceGetAccountingPids')
        accounts = [] if pids is NA else map(self._account, pids)
        return [account for account in accounts if account is not None]

    def _account(self, pid: int) -> AccountedProcess | None:
        """Return the account of a process; ``None`` if the driver has dropped it."""
        stats = self._query('nvmlDeviceGetAccountingStats', pid)
        if stats is NA:
            return None
        return AccountedProcess(
            pid,
            self._in_range(stats.gpuUtilization, 100),
            self._in_range(stats.memoryUtilization, 100),
            self._in_range(stats.maxMemoryUsage, MAX_ULONGLONG),
            self._in_range(stats.time, MAX_ULONGLONG),
            bool(stats.isRunning),
        )

    def accounting(self) -> str:
        """Whether accounting is enabled: ``'Enabled'`` or ``'Disabled'``.

        NVML: ``nvmlDeviceGetAccountingMode`` · nvidia-smi: ``accounting.mode``
        """
        return self._word('nvmlDeviceGetAccountingMode')

    def accounting_buffer_size(self) -> int | NaType:
        """Maximum number of accounts; the driver drops the oldest.

        NVML: ``nvmlDeviceGetAccountingBufferSize`` · nvidia-smi: ``accounting.buffer_size``
        """
        return self._number('nvmlDeviceGetAccountingBufferSize')
