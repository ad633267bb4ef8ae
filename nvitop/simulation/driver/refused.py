# SPDX-License-Identifier: Apache-2.0
"""Functions that exist in the driver, but are never supported or permitted. A table."""

from __future__ import annotations

from nvitop.api.libnvml._errors import NO_PERMISSION, NOT_SUPPORTED
from nvitop.simulation.abi import DriverError
from nvitop.simulation.driver.symbols import GPU, SYSTEM, Symbols

SYMBOLS = Symbols()

#: ``nvmlDeviceGet…`` functions that return *not supported*, like a GPU without the feature.
GETTERS = """
    APIRestriction AccountingStats_v2 ActiveVgpus AdaptiveClockInfoStatus AdaptiveTgpModeInfo_v1
    BBXTimeData_v1 BankRemapperStatus_v1 Capabilities ClkMonStatus ClockOffsets
    ConfComputeGpuAttestationReport ConfComputeGpuCertificate CoolerInfo CpuAffinity
    CpuAffinityWithinScope CreatableVgpus CurrentClockFreqs DynamicPstatesInfo FanControlPolicy_v2
    GpcClkMinMaxVfOffset GpcClkVfOffset GpuFabricInfo GpuFabricInfo_v4 GpuInstanceById
    GpuInstancePossiblePlacements GpuInstancePossiblePlacements_v2 GpuInstanceProfileInfo
    GpuInstanceProfileInfoByIdV GpuInstanceProfileInfoV GpuInstanceRemainingCapacity GpuInstances
    GridLicensableFeatures_v3 GridLicensableFeatures_v4 GspFirmwareVersion HostVgpuMode Hostname_v1
    IrqNum LastBBXFlushTime MemClkMinMaxVfOffset MemClkVfOffset MemoryAffinity MemoryLimits_v1
    MinMaxClockOfPState MinMaxFanSpeed ModuleId NvLinkInfo NvLinkTelemetrySamples_v1
    NvLinkUtilizationControl NvLinkUtilizationCounter NvlinkBwMode NvlinkSupportedBwModes P2PStatus
    Pdi PerformanceModes PgpuMetadataString PowerMizerMode_v1 PowerSource RepairStatus Samples
    SramUniqueUncorrectedEccErrorCounts SupportedEventTypes SupportedPerformanceStates
    SupportedVgpus ThermalSettings TopologyCommonAncestor TopologyNearestGpus
    UnrepairableMemoryFlag_v1 VgpuHeterogeneousMode VgpuInstancesUtilizationInfo VgpuMetadata
    VgpuProcessUtilization VgpuProcessesUtilizationInfo VgpuSchedulerCapabilities VgpuSchedulerLog
    VgpuSchedulerLog_v2 VgpuSchedulerState VgpuSchedulerState_v2 VgpuTypeCreatablePlacements
    VgpuTypeSupportedPlacements VgpuUtilization ViolationStatus VirtualizationMode
"""
#: ``nvmlDevice…`` functions that return *no permission*, like for an unprivileged user.
SETTERS = """
    ClearAccountingPids ClearCpuAffinity ClearEccErrorCounts ClearFieldValues CreateGpuInstance
    CreateGpuInstanceWithPlacement FreezeNvLinkUtilizationCounter
    PowerSmoothingActivatePresetProfile PowerSmoothingSetState
    PowerSmoothingUpdatePresetProfileParam RegisterEvents ResetApplicationsClocks
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
    EventSetCreate EventSetFree EventSetWait_v2 GetExcludedDeviceInfoByIndex SystemGetCPER_v1
    SystemGetConfComputeCapabilities SystemGetConfComputeGpusReadyState
    SystemGetConfComputeKeyRotationThresholdInfo SystemGetConfComputeSettings
    SystemGetConfComputeState SystemGetNvlinkBwMode SystemGetTopologyGpuSet UnitGetDevices
    UnitGetFanSpeedInfo UnitGetHandleByIndex UnitGetLedState UnitGetPsuInfo UnitGetTemperature
    UnitGetUnitInfo
"""


def not_supported(*arguments: object) -> None:
    """Return *not supported* for all arguments."""
    raise DriverError(NOT_SUPPORTED)


def no_permission(*arguments: object) -> None:
    """Return *no permission* for all arguments."""
    raise DriverError(NO_PERMISSION)


SYMBOLS.add(GPU, *(f'nvmlDeviceGet{name}' for name in GETTERS.split()))(not_supported)
SYMBOLS.add(GPU, *(f'nvmlDevice{name}' for name in SETTERS.split()))(no_permission)
SYMBOLS.add(SYSTEM, *(f'nvml{name}' for name in SYSTEM_FUNCTIONS.split()))(not_supported)
