"""Values that few programs query."""

from __future__ import annotations

from typing import Any

import pytest

from nvitop import simulation
from nvitop.api import libnvml
from nvitop.api.device import ClockEventReasons, Device, MemoryInfo
from nvitop.api.device.clock import SupportedClocks
from nvitop.api.device.health import RemappingHistogram, RetiredPage
from nvitop.api.device.utilization import EncoderStats
from nvitop.basics.units import NA, ULONGLONG_MAX, GiB
from tests.api.machines import known
from tests.api.machines import machine as make_machine


@pytest.fixture
def device(machine: simulation.Machine) -> Device:
    return Device(0)


def test_pci_and_inforom(device: Device) -> None:
    assert device.pci_device_id() == '0x233010DE'
    assert device.pci_subsystem_id() == '0x16C110DE'
    assert (device.pci_base_class(), device.pci_subclass()) == ('0x3', '0x2')
    assert device.inforom_image_version() == 'G520.0200.00.05'
    assert (device.inforom_oem_version(), device.inforom_ecc_version()) == ('2.1', '7.16')
    assert device.inforom_power_version() is NA
    maximum = known(6, 'nvmlDeviceGetGpuMaxPcieLinkGeneration')
    assert device.gpu_max_pcie_link_generation() == maximum
    assert device.host_max_pcie_link_generation() == known(
        5, 'nvmlDeviceGetGpuMaxPcieLinkGeneration'
    )
    assert Device(2).host_max_pcie_link_generation() is NA


def test_inforom_checksum(machine: simulation.Machine, device: Device) -> None:
    assert device.inforom_checksum_validation() == 'valid'
    machine.fail('nvmlDeviceValidateInforom', 'CORRUPTED_INFOROM')
    assert device.inforom_checksum_validation() == 'invalid'
    machine.heal()
    machine.fail('nvmlDeviceValidateInforom', 'NO_PERMISSION')
    assert device.inforom_checksum_validation() is NA


def test_modes(device: Device) -> None:
    assert (device.ecc(), device.ecc_pending()) == ('Enabled', 'Enabled')
    assert device.mig_mode_pending() == 'Disabled'
    assert Device(1).mig_mode_pending() == 'Enabled'
    assert (device.accounting(), device.accounting_buffer_size()) == ('Enabled', 4000)
    assert device.operation_mode() == device.operation_mode_pending() == 'Compute'
    assert Device(2).operation_mode() is NA
    assert device.gsp_mode() == device.gsp_mode_default() == 'Enabled'
    assert device.memory_addressing() == known('HMM', 'nvmlDeviceGetAddressingMode')
    assert Device(3).memory_addressing() == known('ATS', 'nvmlDeviceGetAddressingMode')
    assert device.dram_encryption() == known('Enabled', 'nvmlDeviceGetDramEncryptionMode')
    assert device.c2c_mode() == known('Disabled', 'nvmlDeviceGetC2cModeInfoV')
    assert Device(3).c2c_mode() == known('Enabled', 'nvmlDeviceGetC2cModeInfoV')
    assert device.power_management() == 'Enabled'


def test_vgpu_capabilities(device: Device) -> None:
    supported = known('Supported', 'nvmlGetVgpuDriverCapabilities')
    assert device.heterogeneous_multi_vgpu() == supported
    supported = known('Supported', 'nvmlDeviceGetVgpuCapabilities')
    refused = known('Not Supported', 'nvmlDeviceGetVgpuCapabilities')
    assert device.fractional_multi_vgpu() == supported
    assert device.heterogeneous_vgpu_profiles() == refused
    assert device.heterogeneous_vgpu_sizes() == supported
    assert Device(2).fractional_multi_vgpu() is NA


def test_reason_for_a_missing_vgpu_capability(machine: simulation.Machine, device: Device) -> None:
    function = 'nvmlGetVgpuDriverCapabilities'
    machine.fail(function, 'NO_PERMISSION')
    reason = device.unavailable_reason('heterogeneous_multi_vgpu')
    assert isinstance(reason, libnvml.NVMLError)
    is_there = known(True, function) is True
    assert reason.value == (
        libnvml.NVML_ERROR_NO_PERMISSION if is_there else libnvml.NVML_ERROR_FUNCTION_NOT_FOUND
    )


def test_unknown_error_count_is_na(machine: simulation.Machine, device: Device) -> None:
    def nvmlDeviceGetMemoryErrorCounter(*arguments: Any) -> int:
        arguments[-1]._obj.value = ULONGLONG_MAX
        return 0

    vars(machine.driver)['nvmlDeviceGetMemoryErrorCounter'] = nvmlDeviceGetMemoryErrorCounter
    libnvml.use_library(machine.driver)
    assert device.dram_volatile_uncorrected_ecc_errors() is NA


def test_memory_and_encoder(device: Device) -> None:
    info = MemoryInfo(1 * GiB, 0, 1 * GiB)
    function = 'nvmlDeviceGetConfComputeProtectedMemoryUsage'
    assert device.protected_memory_info() == known(info, function) or known(1, function) is NA
    assert device.protected_memory_used() == known(1 * GiB, function)
    assert device.protected_memory_total() == known(1 * GiB, function)
    assert device.protected_memory_free() == known(0, function)
    assert device.encoder_stats() == EncoderStats(1, 60, 2100)
    assert device.encoder_session_count() == 1
    assert (device.encoder_average_fps(), device.encoder_average_latency()) == (60, 2100)


def test_clocks(device: Device) -> None:
    assert (device.application_graphics_clock(), device.application_memory_clock()) == (1980, 2619)
    assert device.default_application_graphics_clock() == 1980
    assert device.default_application_memory_clock() == 2619
    assert Device(2).application_graphics_clock() is NA
    pairs = device.supported_clocks()
    assert pairs[:2] == [SupportedClocks(2619, 1980), SupportedClocks(2619, 1965)]
    reasons = device.supported_clock_event_reasons()
    assert isinstance(reasons, ClockEventReasons)
    assert reasons.names[0] == 'gpu_idle'
    assert 'hw_power_brake_slowdown' in reasons.names
    for reason in (
        'sw_power_cap',
        'sync_boost',
        'sw_thermal_slowdown',
        'hw_thermal_slowdown',
        'hw_power_brake_slowdown',
    ):
        assert getattr(device, f'{reason}_time')() == 5000


def test_temperature_margin_and_module_power(machine: simulation.Machine, device: Device) -> None:
    has_margin = 'nvmlDeviceGetMarginTemperature'
    assert device.temperature_margin() == known(89 - 44, has_margin)
    machine.set(gpu=0, temperature=95)
    assert device.temperature_margin() == known(-6, has_margin)
    assert device.average_power_usage() == device.instant_power_usage() == 312_500
    assert device.module_average_power_usage() == device.module_instant_power_usage() == 400_000
    assert device.module_power_limit() == device.module_enforced_power_limit() == 900_000
    assert device.module_default_power_limit() == device.module_max_power_limit() == 900_000
    assert device.module_min_power_limit() == 900_000
    assert Device(2).module_average_power_usage() is NA


def test_ecc_errors_by_location(device: Device) -> None:
    assert device.dram_volatile_uncorrected_ecc_errors() == 1
    assert device.dram_volatile_corrected_ecc_errors() == 2
    assert device.device_memory_aggregate_uncorrected_ecc_errors() == 3
    assert device.device_memory_aggregate_corrected_ecc_errors() == 4
    assert device.l2_cache_volatile_corrected_ecc_errors() is NA
    assert Device(2).dram_volatile_corrected_ecc_errors() is NA
    with make_machine('[[gpu]]\nmodel = "V100"'):
        assert Device(0).l2_cache_volatile_corrected_ecc_errors() == 0


def test_sram_errors(device: Device) -> None:
    assert (device.sram_aggregate_parity_errors(), device.sram_l2_errors()) == (5, 5)
    assert device.sram_volatile_parity_errors() == device.sram_aggregate_secded_errors() == 0
    assert device.sram_volatile_secded_errors() == device.sram_sm_errors() == 0
    assert device.sram_pcie_errors() == device.sram_other_errors() == 0
    assert device.sram_microcontroller_errors() == 0
    assert device.is_sram_threshold_exceeded() is True
    assert Device(2).is_sram_threshold_exceeded() is NA


def test_health(device: Device) -> None:
    assert device.retired_pages_pending() is NA
    assert device.retired_page_list() == []
    histogram = RemappingHistogram(2549, 11, 0, 0, 0)
    assert device.remapping_histogram() == histogram
    assert (device.remapping_banks_max(), device.remapping_banks_high()) == (2549, 11)
    assert device.recovery_action() == 'GPU Reset'
    assert device.is_reset_required() is True
    assert device.is_drain_and_reset_recommended() is False
    assert Device(2).recovery_action() == 'None'


def test_retired_pages() -> None:
    text = '[[gpu]]\nmodel = "V100"\nretired_single_bit = 2\nretired_double_bit = 1'
    with make_machine(text):
        device = Device(0)
        assert device.retired_page_list() == [
            RetiredPage(0x10000, 'Single Bit ECC'),
            RetiredPage(0x20000, 'Single Bit ECC'),
            RetiredPage(0x10000, 'Double Bit ECC'),
        ]
        assert device.retired_pages_single_bit_ecc() == 2
        assert device.retired_pages_double_bit_ecc() == 1
        assert device.retired_pages_pending() is False


def test_fabric_and_platform(device: Device) -> None:
    assert (device.fabric_state(), device.fabric_status()) == ('Completed', 'Success')
    assert device.fabric_clique_id() == 3
    assert device.fabric_cluster_uuid() == '00000000-0000-0000-0000-000000000000'
    assert device.fabric_bandwidth() == 'Full'
    assert device.fabric_route_recovery() == device.fabric_route_unhealthy() == 'False'
    assert device.fabric_access_timeout_recovery() == 'False'
    assert device.chassis_serial_number() == 'SN1'
    assert (device.slot_number(), device.tray_index(), device.host_id()) == (7, 0, 1)
    assert (device.peer_type(), device.platform_module_id()) == ('Switch Connected', 1)
    assert device.gpu_fabric_guid() == '0x4800000000000001'
    assert Device(2).fabric_state() is NA
    assert Device(2).slot_number() is NA


def test_fabric_in_progress_has_no_other_values() -> None:
    with make_machine('[[gpu]]\nfabric_state = "in-progress"'):
        device = Device(0)
        assert device.fabric_state() == 'In Progress'
        assert device.fabric_status() is NA
        assert device.fabric_clique_id() is NA
        assert device.fabric_bandwidth() is NA


def test_unsupported_fabric_has_no_state() -> None:
    with make_machine('[[gpu]]\nfabric_state = "not-supported"'):
        assert Device(0).fabric_state() is NA


def test_old_driver_causes_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    with make_machine('[driver]\nversion = "470.57"\n[[gpu]]\nmodel = "V100"'):
        device = Device(0)
        assert device.fabric_state() is NA
        assert device.temperature_margin() is NA
        assert device.supported_clock_event_reasons() is not NA
    assert not caplog.records
