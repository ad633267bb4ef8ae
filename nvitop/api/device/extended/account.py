# SPDX-License-Identifier: Apache-2.0
"""Accounts of what processes use, which the driver keeps after they ended too."""

from __future__ import annotations

from nvitop.api.device.extended.facts import ExtendedValues
from nvitop.api.utils import NA, ULONGLONG_MAX, NaType
from nvitop.namedtuple import NamedTuple


class AccountedProcess(NamedTuple):
    """What a process uses or used in its life, each ``NA`` where unknown."""

    pid: int
    #: Loads in percent, averaged over its life.
    gpu_utilization: int | NaType
    memory_utilization: int | NaType
    #: The most memory that it had, in bytes.
    max_memory: int | NaType
    #: For how long it used the device, in ms; 0 while it runs.
    time: int | NaType
    is_running: bool


class AccountFacts(ExtendedValues):
    """Accounts: empty unless somebody with the right to do so switched them on."""

    def accounted_processes(self) -> list[AccountedProcess]:
        """The accounts of processes, also of ended ones; an empty list where none are kept.

        NVML: ``nvmlDeviceGetAccountingPids`` ``nvmlDeviceGetAccountingStats``
        · nvidia-smi: ``--query-accounted-apps``
        """
        if self.accounting() != 'Enabled':
            return []
        pids = self._query('nvmlDeviceGetAccountingPids')
        accounts = [] if pids is NA else map(self._account, pids)
        return [account for account in accounts if account is not None]

    def _account(self, pid: int) -> AccountedProcess | None:
        """The account of a process; ``None`` where it has been forgotten since."""
        stats = self._query('nvmlDeviceGetAccountingStats', pid)
        if stats is NA:
            return None
        return AccountedProcess(
            pid,
            self._in_range(stats.gpuUtilization, 100),
            self._in_range(stats.memoryUtilization, 100),
            self._in_range(stats.maxMemoryUsage, most=ULONGLONG_MAX - 1),
            self._in_range(stats.time, most=ULONGLONG_MAX - 1),
            bool(stats.isRunning),
        )

    def accounting(self) -> str:
        """Whether the driver keeps an account of what processes use, also after they ended.

        NVML: ``nvmlDeviceGetAccountingMode`` · nvidia-smi: ``accounting.mode``
        """
        return self._word('nvmlDeviceGetAccountingMode')

    def accounting_buffer_size(self) -> int | NaType:
        """How many processes the account holds: the oldest are forgotten.

        NVML: ``nvmlDeviceGetAccountingBufferSize`` · nvidia-smi: ``accounting.buffer_size``
        """
        return self._int('nvmlDeviceGetAccountingBufferSize')
