"""Values that few programs query."""

from __future__ import annotations

from typing import Any

import pytest

from nvitop import simulation
from nvitop.api import libnvml
from nvitop.api.device import Device
from nvitop.api.device.health import RetiredPage
from nvitop.basics.units import NA, ULONGLONG_MAX
from tests.api.machines import known
from tests.api.machines import machine as make_machine


@pytest.fixture
def device(machine: simulation.Machine) -> Device:
    return Device(0)


def test_inforom_checksum(machine: simulation.Machine, device: Device) -> None:
    assert device.inforom_checksum_validation() == 'valid'
    machine.fail('nvmlDeviceValidateInforom', 'CORRUPTED_INFOROM')
    assert device.inforom_checksum_validation() == 'invalid'
    machine.heal()
    machine.fail('nvmlDeviceValidateInforom', 'NO_PERMISSION')
    assert device.inforom_checksum_validation() is NA


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


def test_retired_pages() -> None:
    text = '[[gpu]]\nmodel = "V100"\nretired_pages_single_bit_ecc = 2\nretired_pages_double_bit_ecc = 1'
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


def test_fabric_in_progress_has_no_other_values() -> None:
    with make_machine('[[gpu]]\nfabric_state = "in-progress"'):
        device = Device(0)
        assert device.fabric_state() == 'In Progress'
        assert device.fabric_status() is NA
        assert device.fabric_clique_id() is NA
        assert device.fabric_bandwidth() is NA
