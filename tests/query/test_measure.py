"""query_devices and query_processes on simulated machines: rows and NVML calls."""

from __future__ import annotations

import collections
import copy
import pickle
import re

import pytest

from nvitop import simulation
from nvitop.api import libnvml
from nvitop.api.device import Device
from nvitop.query import query_devices, query_processes
from nvitop.query.fields import device_table, process_table
from nvitop.query.measure import QueryRunner, TableQuery

#: Calls that every query makes.
ALWAYS = {
    'nvmlInitWithFlags',
    'nvmlDeviceGetCount',
    'nvmlDeviceGetHandleByIndex',
    'nvmlDeviceGetUUID',
    'nvmlSystemGetDriverVersion',
    'nvmlSystemGetCudaDriverVersion',
}


def calls_for(machine: simulation.Machine, query: TableQuery) -> dict[str, int]:
    """NVML calls for one result, without those of every query."""
    machine.reset_calls()
    QueryRunner(query).run()
    return {name: count for name, count in calls_of(machine).items() if name not in ALWAYS}


def calls_of(machine: simulation.Machine) -> collections.Counter[str]:
    """NVML calls by function, without version suffixes, which depend on the binding."""
    calls: collections.Counter[str] = collections.Counter()
    for name, count in machine.calls.items():
        function = re.sub(r'(_v\d+|(?<=Temperature)V)$', '', name)
        calls[function.replace('ThrottleReasons', 'EventReasons')] += count
    return calls


def gpus(names: str) -> TableQuery:
    return TableQuery(devices=device_table().find(names))


@pytest.mark.parametrize(
    ('names', 'calls'),
    [
        ('index', {}),
        ('memory.used, memory.free, memory.total', {'nvmlDeviceGetMemoryInfo': 8}),
        ('power.draw,name', {'nvmlDeviceGetPowerUsage': 8, 'nvmlDeviceGetName': 8}),
        (
            'clocks_event_reasons.sw_power_cap,clocks_event_reasons.active',
            {
                'nvmlDeviceGetCurrentClocksEventReasons': 8,
                'nvmlDeviceGetSupportedClocksEventReasons': 8,
            },
        ),
        ('ecc.errors.corrected.volatile.dram,inforom.img', {
            'nvmlDeviceGetMemoryErrorCounter': 8, 'nvmlDeviceGetInforomImageVersion': 8
        }),
    ],
)  # fmt: skip
def test_only_values_of_the_fields_are_measured(
    machine: simulation.Machine, names: str, calls: dict[str, int]
) -> None:
    assert calls_for(machine, gpus(names)) == calls


def test_extended_values_that_never_change_are_read_once(machine: simulation.Machine) -> None:
    runner = QueryRunner(gpus('inforom.img, pci.device_id, ecc.mode.current, gom.current'))
    first = runner.run().sample.devices[0].extended
    assert first == (
        ('pci_device_id', '0x233010DE'),
        ('inforom_image_version', 'G520.0200.00.05'),
        ('operation_mode', None),
        ('ecc', 'Enabled'),
    )
    machine.reset_calls()
    again = dict(runner.run().sample.devices[0].extended)
    assert calls_of(machine) == {'nvmlDeviceGetCount': 1, 'nvmlDeviceGetEccMode': 8}
    assert again == dict(first)


LISTS = {
    'nvmlDeviceGetComputeRunningProcesses',
    'nvmlDeviceGetGraphicsRunningProcesses',
    'nvmlDeviceGetMPSComputeRunningProcesses',
}
#: Process lists need the leaf devices, and their memory.
AROUND = {'nvmlDeviceGetMigMode', 'nvmlDeviceGetMemoryInfo'}


@pytest.mark.parametrize(
    ('names', 'calls'),
    [
        ('pid, command, gpu_memory, gpu_index, gpu_uuid', set()),
        ('gpu_name', {'nvmlDeviceGetName'}),
        (
            'gpu_sm_utilization',
            # The others of GPUs with idle processes.
            {
                'nvmlDeviceGetProcessesUtilizationInfo',
                'nvmlDeviceGetUtilizationRates',
                'nvmlDeviceGetEncoderUtilization',
            },
        ),
    ],
)
def test_only_values_of_the_process_fields_are_measured(
    machine: simulation.Machine, names: str, calls: set[str]
) -> None:
    found = calls_for(machine, TableQuery(processes=process_table().find(names)))
    assert set(found) == LISTS | AROUND | calls


def test_mig_devices_are_measured_only_on_request() -> None:
    with simulation.machine('mig', processes='fixed') as machine:
        query = gpus('memory.used')
        assert calls_for(machine, query) == {'nvmlDeviceGetMemoryInfo': 4}
        found = calls_for(machine, query._replace(mig=True))
        assert found['nvmlDeviceGetMemoryInfo'] == 4 + 5
        found = calls_for(machine, query._replace(only=((0, 2),)))
        assert found['nvmlDeviceGetMemoryInfo'] == 1


def test_the_verdict_does_not_depend_on_the_other_fields() -> None:
    verdicts = []
    for fields in ('health_status', 'all'):
        with simulation.machine('faults', processes='fixed', clock=lambda: 0.0) as machine:
            machine.heal()
            machine.fail('nvmlDeviceGet*Processes*', 'RESET_REQUIRED', gpu=7)
            machine.fail('nvmlDeviceGetTemperature*', 'UNKNOWN', gpu=3)
            verdicts.append([row['health_status'] for row in query_devices(fields)])
    assert verdicts[0] == verdicts[1]
    assert verdicts[0][3] == 'unknown'
    assert verdicts[0][7] == 'critical'


def test_health_fields_have_a_status_and_findings_with_evidence() -> None:
    with simulation.machine('faults', processes='fixed'):
        rows = query_devices('health_status, health_findings')
    assert rows[0] == {'health_status': 'ok', 'health_findings': ()}
    assert rows[2]['health_status'] == 'warning'
    assert 'too hot: 91°C, slows down at 89°C' in str(rows[2]['health_findings'])


# query_devices and query_processes


def test_rows_of_devices(machine: simulation.Machine) -> None:
    rows = query_devices('memory.free, memory.total')
    assert rows == [
        {'memory_free': Device(i).memory_free(), 'memory_total': Device(i).memory_total()}
        for i in range(8)
    ]
    assert rows[3]['memory.free'] == rows[3]['memory_free']
    with pytest.raises(KeyError, match=r'memory\.used'):
        rows[3]['memory.used']
    with pytest.raises(KeyError, match='nonsense'):
        rows[3]['nonsense']
    assert pickle.loads(pickle.dumps(rows[3])) == rows[3]
    assert copy.copy(rows[3])['memory.free'] == rows[3]['memory_free']


def test_rows_of_processes(machine: simulation.Machine) -> None:
    rows = query_processes('pid, used_memory, gpu_index')
    expected = {
        (pid, process.gpu_memory(), index)
        for index in range(8)
        for pid, process in Device(index).processes().items()
    }
    assert {tuple(row.values()) for row in rows} == expected
    assert rows[0]['used_memory'] == rows[0]['gpu_memory']
    assert {row['gpu_index'] for row in query_processes(ids=5)} == {5}


@pytest.mark.parametrize('call', ['nvmlInit*', 'nvmlDeviceGetCount*'])
def test_without_a_driver_it_raises(machine: simulation.Machine, call: str) -> None:
    machine.fail(call, 'DRIVER_NOT_LOADED')
    with pytest.raises(libnvml.NVMLError):
        query_devices()
    with pytest.raises(libnvml.NVMLError):
        query_processes()
