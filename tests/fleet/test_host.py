"""Series that the exporter makes become the samples that they were made from."""

from __future__ import annotations

import pytest

from nvitop.exporter.dialects import dialect
from nvitop.exporter.families import make_families
from nvitop.fleet.series import ROW, read_host, series_names
from nvitop.fleet.types import FleetHost, Series
from nvitop.sampling.types import DeviceSample, Sample
from tests.exporter.machines import SCENARIOS, observed

#: Fields that no dialect has, and those that are checked in another way.
NOT_EXPORTED = ('info', 'extended', 'key', 'uuid', 'is_unified_memory', 'is_own', 'is_idle_longer')


def read_sample(kind: str, series: list[Series]) -> Sample:
    return read_host(series, FleetHost('gpu01', kind), 1e9)


@pytest.mark.parametrize('scenario', SCENARIOS)
@pytest.mark.parametrize('name', ['own', 'dcgm'])
def test_samples_are_read_back_from_series(scenario: str, name: str) -> None:
    observation = observed(scenario)
    sample = observation.sample
    made = make_families([name], observation)
    again = read_sample(
        name,
        [
            Series(family.name, point.labels, point.value)
            for family in made
            for point in family.points
        ],
    )
    table = dialect(name)
    known = {device.key[:2]: device for device in sample.devices}
    expected = [device for device in sample.devices if device.status == 'ok' or table.up]
    if (scenario, name) != ('mig', 'dcgm'):  # which has instances instead of their GPU
        assert len(again.devices) == len(expected)
    for device in again.devices:
        if not (device.key.is_mig and name == 'dcgm'):  # which does not name its UUID
            check_device(device, known[device.key[:2]])
    check_processes(again, sample, has_status=True)


def check_device(device: DeviceSample, original: DeviceSample) -> None:
    """Check that everything that is known was read correctly."""
    assert device.key.uuid.lower() == original.key.uuid.lower()
    assert (device.status, device.reason) == (original.status, original.reason)
    for mine, other in ((device, original), (device.info, original.info)):
        for field, value in zip(mine._fields, mine):
            expected = getattr(other, field)
            if field == 'memory_percent' or (
                field == 'gpu_utilization_percent' and expected is None
            ):
                continue  # made from other values
            if value is not None and field not in NOT_EXPORTED:
                assert value == pytest.approx(expected), field
                assert type(value) is type(expected), field
    assert {*device.extended} <= {*original.extended}


def check_processes(again: Sample, original: Sample, *, has_status: bool) -> None:
    known = {process.key[0]: process for process in original.processes}
    for process in again.processes:
        for field, value in zip(process._fields, process):
            if value is not None and field not in NOT_EXPORTED:
                expected = getattr(known[process.key.pid], field)
                is_number = isinstance(value, float)
                same = pytest.approx(expected) if is_number else expected
                assert value == same or (field == 'status' and not has_status), field
                assert type(value) is type(expected), field


def test_a_sleeping_gpu_is_read_from_its_only_series() -> None:
    assert 'nvitop_gpu_asleep' in series_names('own')
    labels = {'gpu': '1', 'uuid': 'GPU-1'}
    (device,) = read_sample('own', [Series('nvitop_gpu_asleep', labels, 1.0)]).devices
    assert (device.key, device.status, device.reason) == ((1, -1, 'GPU-1'), 'asleep', 'asleep')


def test_reading_ignores_what_it_cannot_understand() -> None:
    labels = {'gpu': '0', 'uuid': 'GPU-1'}
    sample = read_sample(
        'own',
        [
            Series('other', labels, 1.0),
            Series('nvitop_gpu_temperature_celsius', labels, float('nan')),
            Series('nvitop_gpu_power_limit_watts', labels, 1e305),
            Series('nvitop_gpu_memory_used_bytes', labels, float('inf')),
            Series('nvitop_gpu_power_usage_watts', {'gpu': 'x' * 20}, 5.0),
            Series('nvitop_process_gpu_memory_bytes', {**labels, 'pid': 'x'}, 5.0),
        ],
    )
    assert [device.power_usage_mw for device in sample.devices] == [5000, None]
    assert sample.processes == ()


def test_values_have_the_time_at_which_they_were_stored() -> None:
    values = Series('DCGM_FI_DEV_GPU_UTIL', {'gpu': '0'}, 5.0)
    assert read_sample('dcgm', [values]).timestamp == 1e9
    assert read_sample('dcgm', [values, Series('', {ROW: 'time'}, 9e8)]).timestamp == 9e8


def test_names_of_devices_are_safe_to_draw() -> None:
    labels = {'gpu': '0', 'UUID': 'GPU-1', 'modelName': 'H100\x1b[2J'}
    (device,) = read_sample('dcgm', [Series('DCGM_FI_DEV_GPU_UTIL', labels, 5.0)]).devices
    assert device.info.name is not None
    assert device.info.name.isprintable()


def test_a_device_whose_pod_changes_stays_one_device() -> None:
    labels = {'gpu': '0', 'UUID': 'GPU-1', 'pod': 'a', 'namespace': 'ml'}
    series = [
        Series('DCGM_FI_DEV_GPU_UTIL', labels, 5.0),
        Series('DCGM_FI_DEV_GPU_TEMP', {**labels, 'pod': 'b'}, 50.0),
    ]
    (device,) = read_sample('dcgm', series).devices
    assert (device.gpu_utilization_percent, device.temperature_celsius) == (5, 50)


def test_memory_that_is_not_reported_is_the_sum_of_its_parts() -> None:
    labels = {'gpu': '0', 'UUID': 'GPU-1'}
    parts = {'USED': 20.0, 'FREE': 70.0, 'RESERVED': 10.0}
    series = [Series(f'DCGM_FI_DEV_FB_{part}', labels, value) for part, value in parts.items()]
    (device,) = read_sample('dcgm', series).devices
    assert device.info.memory_total_bytes == 100 << 20
    assert device.memory_percent == 20
