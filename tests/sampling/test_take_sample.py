"""A sample in one call, for programs."""

from __future__ import annotations

import pytest

from nvitop import libnvml, simulation
from nvitop.health import findings
from nvitop.sampling import take_sample


def test_sample_has_the_devices_and_their_values() -> None:
    with simulation.machine('half-busy', processes='none', clock=lambda: 0.0):
        sample = take_sample(metrics=['temperature'])
    assert len(sample.devices) == 8
    assert all(device.temperature_celsius for device in sample.devices)
    assert not any(device.power_usage_mw for device in sample.devices)


def test_findings_without_a_sample_are_those_of_this_machine() -> None:
    with simulation.machine('half-busy', processes='none', clock=lambda: 0.0) as machine:
        assert findings() == ()
        machine.set(gpu=2, ecc_uncorrected_volatile=1)
        (finding,) = findings()
        assert (finding.device.label, finding.kind) == ('2', 'memory_errors')
        assert (finding.serial, finding.bus_id) == ('1652323000002', '0000:45:00.0')


def test_without_a_driver_nothing_is_said_to_be_well() -> None:
    with simulation.machine('half-busy', processes='none') as machine:
        machine.fail('nvmlInit*', 'DRIVER_NOT_LOADED')
        with pytest.raises(libnvml.NVMLError):
            findings()
