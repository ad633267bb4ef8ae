# SPDX-License-Identifier: Apache-2.0
"""Driver branch that introduced each function, approximately. Pure data."""

from __future__ import annotations

import fnmatch
import re

#: Driver branch → functions that it introduced, with ``*``.
SINCE = {
    450: (
        '*GpuInstance*', '*ComputeInstance*',
        '*Mig*', '*RunningProcesses_v2', '*InstanceId', 'nvmlDeviceGetAttributes*',
        'nvmlDeviceGetRemappedRows', 'nvmlDeviceGetRowRemapperHistogram', 'nvmlDeviceGetArchitecture',
        'nvmlGetExcludedDeviceCount', 'nvmlDeviceGetRetiredPages_v2',
    ),
    455: ('nvmlDeviceGetFanSpeed_v2', 'nvmlDeviceGetMPSComputeRunningProcesses'),
    470: (
        'nvmlDeviceGetNumGpuCores', 'nvmlDeviceGetMemoryBusWidth', 'nvmlDeviceGetPcieSpeed',
        'nvmlDeviceGetPcieLinkMaxSpeed', 'nvmlDeviceGetNumFans', 'nvmlDeviceGetTargetFanSpeed',
        'nvmlDeviceGetBusType', 'nvmlDeviceGetPowerSource', 'nvmlDeviceGetDefaultEccMode',
    ),
    510: (
        '*RunningProcesses_v3', 'nvmlDeviceGetMemoryInfo_v2', 'nvmlDeviceGetGpuMaxPcieLinkGeneration',
    ),
    520: ('nvmlGpm*', '*GpuFabricInfo', '*Gsp*', '*GpcClk*', '*MemClk*', '*ThermalSettings', '*DynamicPstatesInfo'),
    530: ('nvmlDeviceGetNumaNodeId', 'nvmlDeviceGetPciInfoExt'),
    535: (
        '*ConfCompute*', '*C2cModeInfoV', '*ModuleId',
        '*ClocksEventReasons', 'nvmlDeviceGetJpgUtilization', 'nvmlDeviceGetOfaUtilization',
        'nvmlDeviceGetRunningProcessDetailList',
    ),
    545: ('nvmlDeviceGetGpuFabricInfoV', 'nvmlDeviceGetSramEccErrorStatus', 'nvmlDeviceGetVgpuCapabilities'),
    550: ('nvmlDeviceGetProcessesUtilizationInfo', 'nvmlSystemGetDriverBranch'),
    555: ('nvmlDeviceGetHandleByUUIDV', 'nvmlDeviceGetFanSpeedRPM', 'nvmlDeviceGetMarginTemperature'),
    560: ('nvmlDeviceGetTemperatureV', '*Capabilities', '*PerformanceModes', '*ClockOffsets', '*CurrentClockFreqs'),
    570: ('nvmlDeviceGetDriverModel_v2', '*PlatformInfo', '*NvlinkBwMode*', '*DramEncryptionMode', '*SramUnique*'),
    580: ('nvmlDeviceGetAddressingMode',),
    590: ('nvmlDeviceGetRemappedRows_v2', '*_v1', '*RepairStatus', '*Pdi'),
}  # fmt: skip


#: Functions among them that return what older ones do, in other structures.
LAYOUTS = (
    '*RunningProcesses_v2', '*RunningProcesses_v3', 'nvmlDeviceGetMemoryInfo_v2', 'nvmlDeviceGetFanSpeed_v2',
    'nvmlDeviceGetRunningProcessDetailList', 'nvmlDeviceGetProcessesUtilizationInfo', 'nvmlDeviceGetHandleByUUIDV',
    'nvmlDeviceGetTemperatureV', 'nvmlDeviceGetRemappedRows_v2', 'nvmlDeviceGetRetiredPages_v2',
)  # fmt: skip

#: Driver branch → first field value that it introduced.
FIELDS_SINCE = {0: 1, 450: 138, 510: 164, 525: 185, 550: 197, 570: 228}
MAX_FIELD = 310


def branch_of(driver_version: str) -> int:
    """``'580.65.06'`` → 580."""
    match = re.match(r'\d+', driver_version)
    return int(match.group()) if match else 0


def is_field_known(field: int, driver_version: str) -> bool:
    """Whether a driver of this version has a field value."""
    branch = branch_of(driver_version)
    newer = [first for since, first in FIELDS_SINCE.items() if since > branch]
    return 0 < field < min([*newer, MAX_FIELD])


def newer_symbols(driver_version: str, names: list[str], *, layouts_only: bool = False) -> set[str]:
    """The names among *names* that are newer than a driver of this version.

    With *layouts_only*, only other versions of older functions count, not new getters.
    """
    branch = branch_of(driver_version)
    newer: set[str] = set()
    for since, patterns in SINCE.items():
        if branch < since:
            for pattern in patterns:
                if layouts_only and pattern not in LAYOUTS:
                    continue
                newer.update(fnmatch.filter(names, pattern))
    return newer
