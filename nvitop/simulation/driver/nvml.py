# SPDX-License-Identifier: Apache-2.0
"""The complete NVML driver: the object that the binding uses as the loaded library.

A driver lacks the functions of newer ones, and has some that it never supports or permits.
"""

from __future__ import annotations

import fnmatch
from typing import Callable

from nvitop.api.libnvml._errors import NO_PERMISSION, NOT_SUPPORTED
from nvitop.simulation.abi import DriverError
from nvitop.simulation.driver import (
    counters,
    global_functions,
    health,
    identity,
    processes,
    sensors,
)
from nvitop.simulation.driver.symbols import GPU, SYSTEM, Symbol, Symbols, bind, branch_of
from nvitop.simulation.world import World

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
    580: (
        'nvmlDeviceGetAddressingMode', '*RepairStatus', '*Pdi', '*PowerMizerMode_v1', '*ReadWritePRM_v1',
        '*Hostname_v1', '*UnrepairableMemoryFlag_v1',
    ),
    590: ('*RusdSettings_v1', '*ReadPRMCounters_v1', '*UpdateProfiles_v1'),
    610: (
        'nvmlDeviceGetRemappedRows_v2', '*BBXTimeData_v1', '*AccountingStats_v2', '*SchedulerLog_v2',
        '*SchedulerState_v2', '*CPER_v1',
    ),
    615: (
        '*AdaptiveTgpMode*_v1', '*BankRemapperStatus_v1', '*GpuFabricInfo_v4', '*MemoryLimits_v1',
        '*TelemetrySamples_v1', '*NvlinkBwModeAsync_v1',
    ),
}  # fmt: skip


#: Functions among them that return what older ones do, in other structures.
LAYOUTS = (
    '*RunningProcesses_v2', '*RunningProcesses_v3', 'nvmlDeviceGetMemoryInfo_v2', 'nvmlDeviceGetFanSpeed_v2',
    'nvmlDeviceGetRunningProcessDetailList', 'nvmlDeviceGetProcessesUtilizationInfo', 'nvmlDeviceGetHandleByUUIDV',
    'nvmlDeviceGetTemperatureV', 'nvmlDeviceGetRemappedRows_v2', 'nvmlDeviceGetRetiredPages_v2',
)  # fmt: skip

SYMBOLS = Symbols()

#: ``nvmlDeviceGet…`` functions that return *not supported*, like a GPU without the feature. nvitop
#: calls none of them.
GETTERS = """
    APIRestriction AccountingStats_v2 ActiveVgpus AdaptiveClockInfoStatus AdaptiveTgpModeInfo_v1
    BBXTimeData_v1 BankRemapperStatus_v1 BusType Capabilities ClkMonStatus Clock ClockOffsets
    ConfComputeGpuAttestationReport ConfComputeGpuCertificate ConfComputeMemSizeInfo CoolerInfo
    CpuAffinity CpuAffinityWithinScope CreatableVgpus CurrentClockFreqs DetailedEccErrors
    DynamicPstatesInfo EncoderCapacity EncoderSessions FBCSessions FBCStats FanControlPolicy_v2
    FanSpeedRPM GpcClkMinMaxVfOffset GpcClkVfOffset GpuFabricInfo GpuFabricInfo_v4 GpuInstanceById
    GpuInstancePossiblePlacements GpuInstancePossiblePlacements_v2 GpuInstanceProfileInfo
    GpuInstanceProfileInfoByIdV GpuInstanceProfileInfoV GpuInstanceRemainingCapacity GpuInstances
    GridLicensableFeatures_v3 GridLicensableFeatures_v4 GspFirmwareVersion HostVgpuMode Hostname_v1
    InforomConfigurationChecksum IrqNum LastBBXFlushTime MaxCustomerBoostClock MemClkMinMaxVfOffset
    MemClkVfOffset MemoryAffinity MemoryLimits_v1 MinMaxClockOfPState MinMaxFanSpeed ModuleId
    NvLinkCapability NvLinkErrorCounter NvLinkInfo NvLinkRemoteDeviceType NvLinkRemotePciInfo
    NvLinkRemotePciInfo_v2 NvLinkTelemetrySamples_v1 NvLinkUtilizationControl
    NvLinkUtilizationCounter NvLinkVersion NvlinkBwMode NvlinkSupportedBwModes P2PStatus
    PcieLinkMaxSpeed PcieSpeed Pdi PerformanceModes PgpuMetadataString PowerMizerMode_v1 PowerSource
    RepairStatus RunningProcessDetailList Samples
    SramUniqueUncorrectedEccErrorCounts SupportedPerformanceStates SupportedVgpus ThermalSettings
    TopologyCommonAncestor TopologyNearestGpus UnrepairableMemoryFlag_v1 VgpuHeterogeneousMode
    VgpuInstancesUtilizationInfo VgpuMetadata VgpuProcessUtilization VgpuProcessesUtilizationInfo
    VgpuSchedulerCapabilities VgpuSchedulerLog VgpuSchedulerLog_v2 VgpuSchedulerState
    VgpuSchedulerState_v2 VgpuTypeCreatablePlacements VgpuTypeSupportedPlacements VgpuUtilization
    ViolationStatus VirtualizationMode
"""
#: ``nvmlDevice…`` functions that return *no permission*, like for an unprivileged user.
SETTERS = """
    ClearAccountingPids ClearCpuAffinity ClearEccErrorCounts ClearFieldValues CreateGpuInstance
    CreateGpuInstanceWithPlacement FreezeNvLinkUtilizationCounter
    PowerSmoothingActivatePresetProfile PowerSmoothingSetState
    PowerSmoothingUpdatePresetProfileParam ResetApplicationsClocks
    ResetGpuLockedClocks ResetMemoryLockedClocks ResetNvLinkErrorCounters
    ResetNvLinkUtilizationCounter SetAPIRestriction SetAccountingMode SetAdaptiveTgpMode_v1
    SetApplicationsClocks SetAutoBoostedClocksEnabled SetClockOffsets SetComputeMode
    SetConfComputeUnprotectedMemSize SetCpuAffinity SetDefaultAutoBoostedClocksEnabled
    SetDefaultFanSpeed_v2 SetDramEncryptionMode SetDriverModel SetEccMode SetFanControlPolicy
    SetFanSpeed_v2 SetGpcClkVfOffset SetGpuLockedClocks SetGpuOperationMode SetHostname_v1
    SetMemClkVfOffset SetMemoryLimits_v1 SetMemoryLockedClocks SetMigMode
    SetNvLinkDeviceLowPowerThreshold SetNvLinkUtilizationControl SetNvlinkBwMode
    SetNvlinkBwModeAsync_v1 SetPersistenceMode SetPowerManagementLimit SetPowerManagementLimit_v2
    SetPowerMizerMode_v1 SetRusdSettings_v1 SetTemperatureThreshold SetVgpuCapabilities
    SetVgpuHeterogeneousMode SetVgpuSchedulerState SetVgpuSchedulerState_v2 SetVirtualizationMode
    WorkloadPowerProfileClearRequestedProfiles WorkloadPowerProfileSetRequestedProfiles
    WorkloadPowerProfileUpdateProfiles_v1
"""
#: ``nvml…`` functions that return *not supported*.
SYSTEM_FUNCTIONS = """
    DeviceGetHandleByUUIDV DeviceOnSameBoard GetExcludedDeviceCount GetExcludedDeviceInfoByIndex
    GpmQueryIfStreamingEnabled SystemGetCPER_v1 SystemGetConfComputeCapabilities
    SystemGetConfComputeGpusReadyState SystemGetConfComputeKeyRotationThresholdInfo
    SystemGetConfComputeSettings SystemGetConfComputeState SystemGetDriverBranch SystemGetHicVersion
    SystemGetNvlinkBwMode SystemGetTopologyGpuSet UnitGetCount UnitGetDevices UnitGetFanSpeedInfo
    UnitGetHandleByIndex UnitGetLedState UnitGetPsuInfo UnitGetTemperature UnitGetUnitInfo
"""


def not_supported(caller: object) -> None:
    """Return *not supported* for all arguments."""
    raise DriverError(NOT_SUPPORTED)


def no_permission(caller: object) -> None:
    """Return *no permission* for all arguments."""
    raise DriverError(NO_PERMISSION)


SYMBOLS.add(GPU, *(f'nvmlDeviceGet{name}' for name in GETTERS.split()))(not_supported)
SYMBOLS.add(GPU, *(f'nvmlDevice{name}' for name in SETTERS.split()))(no_permission)
SYMBOLS.add(SYSTEM, *(f'nvml{name}' for name in SYSTEM_FUNCTIONS.split()))(not_supported)

ALL_SYMBOLS: dict[str, Symbol] = {
    symbol.name: symbol
    for subject in (global_functions, identity, sensors, health, counters, processes)
    for symbol in (*subject.SYMBOLS.all, *SYMBOLS.all)
}


class Driver:
    """Plain functions as attributes. A symbol that the driver lacks is an absent attribute."""

    def __init__(self, functions: dict[str, Callable[..., object]]) -> None:
        self.__dict__.update(functions)

    def hide(self, pattern: str) -> None:
        """Remove symbols by name, with ``*`` and ``?``; raises ValueError if none matches."""
        names = fnmatch.filter(list(self.__dict__), pattern)
        if not names:
            raise ValueError(f'the simulated driver has no function {pattern!r}')
        for name in names:
            del self.__dict__[name]


def nvml_driver(world: World) -> Driver:
    """Create the NVML driver of a machine, with the symbols that its version has."""
    functions: dict[str, Callable[..., object]] = {
        name: bind(world, symbol) for name, symbol in ALL_SYMBOLS.items()
    }
    functions['nvmlErrorString'] = global_functions.nvmlErrorString
    world.faults.know(ALL_SYMBOLS)
    driver = Driver(functions)
    scenario = world.scenario
    newer = _newer(branch_of(scenario.driver_version), layouts_only=scenario.complete)
    for pattern in (*newer, *scenario.hidden):
        if fnmatch.filter(list(driver.__dict__), pattern):
            driver.hide(pattern)
    return driver


def _newer(branch: int, *, layouts_only: bool) -> list[str]:
    """Patterns of the functions that are newer than a driver branch.

    With *layouts_only*, only other versions of older functions count, not new getters.
    """
    patterns = [pattern for since, names in SINCE.items() if branch < since for pattern in names]
    return [pattern for pattern in patterns if pattern in LAYOUTS or not layouts_only]
