# SPDX-License-Identifier: Apache-2.0
"""Which symbols a driver of which age has. Pure data; the ages are near, not exact."""

from __future__ import annotations

import fnmatch
import re

#: First driver branch → symbols it brought, with ``*``.
SINCE = {
    450: (
        '*GpuInstance*', '*ComputeInstance*',
        '*Mig*', '*RunningProcesses_v2', '*InstanceId', 'nvmlDeviceGetAttributes*',
        'nvmlDeviceGetRemappedRows', 'nvmlDeviceGetRowRemapperHistogram', 'nvmlDeviceGetArchitecture',
        'nvmlGetExcludedDeviceCount', 'nvmlDeviceGetRetiredPages_v2',
    ),
    455: ('nvmlDeviceGetFanSpeed_v2', 'nvmlDeviceGetMPSComputeRunningProcesses'),
    510: (
        '*RunningProcesses_v3', 'nvmlDeviceGetMemoryInfo_v2', 'nvmlDeviceGetNumGpuCores',
        'nvmlDeviceGetMemoryBusWidth', 'nvmlDeviceGetPcieSpeed', 'nvmlDeviceGetPcieLinkMaxSpeed',
        'nvmlDeviceGetNumFans', 'nvmlDeviceGetTargetFanSpeed', 'nvmlDeviceGetGpuMaxPcieLinkGeneration',
        'nvmlDeviceGetBusType', 'nvmlDeviceGetPowerSource', 'nvmlDeviceGetDefaultEccMode',
    ),
    520: ('nvmlGpm*', '*GpuFabricInfo', '*Gsp*', '*GpcClk*', '*MemClk*', '*ThermalSettings', '*DynamicPstatesInfo'),
    530: ('nvmlDeviceGetNumaNodeId', 'nvmlDeviceGetPciInfoExt'),
    535: (
        '*ConfCompute*', '*C2cModeInfoV', '*ModuleId',
        '*ClocksEventReasons', 'nvmlDeviceGetJpgUtilization', 'nvmlDeviceGetOfaUtilization',
        'nvmlDeviceGetRunningProcessDetailList',
    ),
    550: ('nvmlDeviceGetProcessesUtilizationInfo', 'nvmlSystemGetDriverBranch'),
    555: ('nvmlDeviceGetHandleByUUIDV', 'nvmlDeviceGetFanSpeedRPM', 'nvmlDeviceGetMarginTemperature'),
    560: ('nvmlDeviceGetTemperatureV', '*Capabilities', '*PerformanceModes', '*ClockOffsets', '*CurrentClockFreqs'),
    570: ('nvmlDeviceGetDriverModel_v2', '*PlatformInfo', '*NvlinkBwMode*', '*DramEncryptionMode', '*SramUnique*'),
    590: ('nvmlDeviceGetRemappedRows_v2', '*_v1', '*RepairStatus', '*Pdi'),
}  # fmt: skip


def newer_symbols(driver_version: str, names: list[str]) -> set[str]:
    """The names among *names* that a driver of this version does not have yet."""
    match = re.match(r'\d+', driver_version)
    branch = int(match.group()) if match else 0
    newer: set[str] = set()
    for since, patterns in SINCE.items():
        if branch < since:
            for pattern in patterns:
                newer.update(fnmatch.filter(names, pattern))
    return newer
