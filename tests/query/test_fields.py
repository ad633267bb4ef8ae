"""Fields: their names, values and texts."""

from __future__ import annotations

import csv
import pathlib
import re

import pytest

from nvitop.api.device import ClockEventReasons
from nvitop.basics.metrics import CLOCK_EVENT_REASONS, EXTENDED_METRICS, METRICS, PROCESS_METRICS
from nvitop.compat.pynvml_smi.fields import NVSMI_QUERY_GPU
from nvitop.owner.types import Layer, make_owner
from nvitop.query.fields import (
    CellValue,
    DeviceQueryRow,
    ProcessQueryRow,
    QueryTable,
    device_table,
    list_tables,
    process_table,
    remapped_rows_table,
)
from nvitop.query.formats import header_text, help_on, table_of, value_text
from nvitop.sampling.types import DeviceInfo, DeviceKey, DeviceSample
from tests.query.samples import DEVICES, PROCESSES, SAMPLE, TIMESTAMP

#: Names and headers of ``nvidia-smi --query-…`` of real drivers, R590 to R610.
FIELDS = pathlib.Path(__file__).parent.parent / 'captures' / 'fields.tsv'


def real_fields() -> list[dict[str, str]]:
    with FIELDS.open(encoding='utf-8', newline='') as file:
        return list(csv.DictReader(file, delimiter='\t'))


def test_all_names_of_real_drivers_are_known() -> None:
    names = [
        (listed['query'], name)
        for listed in real_fields()
        for name in (listed['name'], *listed['aliases'].split())
    ]
    assert len(names) == 314
    assert [name for query, name in names if name not in table_of(query).by_name] == []


def test_headers_are_those_of_real_drivers() -> None:
    different = []
    for listed in real_fields():
        for name in (listed['name'], *listed['aliases'].split()):
            (field,) = table_of(listed['query']).find(name)
            if listed['header'] and header_text(field) != listed['header']:
                different.append((name, header_text(field)))
    assert different == []


@pytest.mark.parametrize('query', ['gpu', 'compute-apps', 'accounted-apps', 'retired-pages'])
def test_help_has_all_names_of_real_drivers_in_quotes(query: str) -> None:
    found = re.findall(r'"(\S+)"', '\n'.join(re.findall(r'^".*', help_on(query), re.MULTILINE)))
    real = {
        name
        for listed in real_fields()
        if listed['query'] == query
        for name in (listed['name'], *listed['aliases'].split())
    }
    assert real <= set(found)


def test_headers_of_processes_are_those_of_nvidia_smi() -> None:
    names = 'timestamp,gpu_name,gpu_bus_id,gpu_serial,gpu_uuid,pid,process_name,used_memory'
    found = process_table(compute_apps=True).find(names)
    assert [header_text(field) for field in found] == [
        *names.split(',')[:-1],
        'used_gpu_memory [MiB]',
    ]
    (field,) = process_table(compute_apps=True).find('name')
    assert field.query == 'process_name'
    (field,) = process_table().find('name')
    assert field.query is None


def test_every_metric_has_a_field() -> None:
    for metric in (*METRICS, *EXTENDED_METRICS):
        for name in (metric.name, metric.query or metric.name):
            (field,) = device_table().find(name)
            assert (field.name, field.metrics) == (metric.name, (metric.name,))
    for process_metric in PROCESS_METRICS:
        assert process_metric.name in process_table().by_name


def test_every_name_of_pynvml_smi_but_lists_has_a_field() -> None:
    lists = {'compute-apps', 'accounted-apps', 'clocks', 'supported-clocks'}
    assert {name for name in NVSMI_QUERY_GPU if name not in device_table().by_name} == lists


LISTS = [one.table for one in list_tables().values()]


@pytest.mark.parametrize('table', [device_table(), process_table(), remapped_rows_table(), *LISTS])
def test_names_are_unique(table: QueryTable) -> None:
    names = [field.name for field in table.fields]
    names += [field.query for field in table.fields if field.query not in (None, field.name)]
    assert len(names) == len(set(names))
    units = {field.name: field.unit for field in device_table().fields}
    for field in table.fields:
        assert units.get(field.name, field.unit) == field.unit


def test_names_may_be_separated_by_spaces_and_in_any_case() -> None:
    found = device_table().find('memory.free, MEMORY.total\n  index')
    assert [field.name for field in found] == ['memory_free', 'memory_total', 'index']
    assert device_table().find(['index', 'index']) == device_table().find('index,index')
    assert device_table().find('all') == device_table().fields


@pytest.mark.parametrize(
    ('name', 'message'),
    [
        ('memory.usd', "unknown field 'memory.usd'; did you mean 'memory.used', "),
        ('temprature', "did you mean 'temperature"),
        ('clock.sm', "'clocks.sm'"),
        ('', 'no field given'),
        (' , ', 'no field given'),
    ],
)
def test_an_unknown_name_suggests_similar_ones(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        device_table().find(name)
    with pytest.raises(ValueError, match=r"unknown field 'qqqqqqqq'$"):
        device_table().find('index,qqqqqqqq')


def row_of(position: int) -> DeviceQueryRow:
    return DeviceQueryRow(SAMPLE, DEVICES[position])


def both(name: str, row: DeviceQueryRow | ProcessQueryRow) -> tuple[CellValue, str]:
    table = device_table() if isinstance(row, DeviceQueryRow) else process_table()
    (field,) = table.find(name)
    value = field.value(row)
    return value, value_text(field, value, units=True)


@pytest.mark.parametrize(
    ('name', 'value', 'text'),
    [
        ('index', 0, '0'),
        ('name', 'NVIDIA H100', 'NVIDIA H100'),
        ('memory.total', 80 << 30, '81920 MiB'),
        ('memory.used', (1234 << 20) + 700_000, '1234 MiB'),
        ('memory.reserved', None, '[N/A]'),
        ('memory_percent', 1.5, '1.5 %'),
        ('utilization.gpu', 97, '97 %'),
        ('clocks.sm', 1980, '1980 MHz'),
        ('temperature.gpu', 44, '44'),
        ('power.draw', 68.236, '68.24 W'),
        ('power.max_limit', 700.0, '700.00 W'),
        ('compute_mode', 'Exclusive Process', 'Exclusive_Process'),
        ('driver_model.current', 'WDM', 'TCC'),
        ('pstate', 'P0', 'P0'),
        ('total_energy', 1234.56789, '1234.6 J'),
        ('pcie_tx_throughput', 512, '512 KiB/s'),
        ('remapped_rows_pending', True, 'Yes'),
        (
            'clocks_event_reasons.active',
            ('sw_power_cap', 'display_clock_setting', '0x800'),
            '0x0000000000000904',
        ),
        ('clocks_event_reasons.sw_power_cap', True, 'Active'),
        ('clocks_event_reasons.gpu_idle', False, 'Not Active'),
        ('pci.bus_id', '00000001:1B:03.0', '00000001:1B:03.0'),
        ('pci.domain', '0x0001', '0x0001'),
        ('pci.bus', '0x1B', '0x1B'),
        ('pci.device', '0x03', '0x03'),
        ('minor_number', 2, '2'),
        ('driver_version', '580.65.06', '580.65.06'),
        ('count', 3, '3'),
        ('timestamp', TIMESTAMP, '2024/01/02 03:04:05.678'),
        ('mig_index', None, '[N/A]'),
        ('status', 'ok', 'ok'),
        ('reason', None, '[N/A]'),
        ('hostname', 'dgx-01', 'dgx-01'),
        ('ecc.mode.current', 'Enabled', 'Enabled'),
        ('ecc.mode.pending', None, '[N/A]'),
        ('driver_model.pending', 'WDM', 'TCC'),
        ('clocks_event_reasons.supported', ('gpu_idle', 'reliability'), '0x0000000000000401'),
        ('clocks_event_reasons_counters.sw_power_cap', 5000, '5000 us'),
        ('power.draw.instant', 68.236, '68.24 W'),
        ('protected_memory.total', 1 << 30, '1024 MiB'),
        ('temperature.gpu.tlimit', -6, '-6'),
        ('retired_pages.pending', False, 'No'),
        ('pci.device_id', '0x233010DE', '0x233010DE'),
    ],
)
def test_values_of_a_gpu(name: str, value: CellValue, text: str) -> None:
    assert both(name, row_of(0)) == (value, text)


def test_values_of_other_devices() -> None:
    assert both('clocks_event_reasons.active', row_of(1)) == ((), '0x0000000000000000')
    assert both('remapped_rows_pending', row_of(1)) == (False, 'No')
    assert both('clocks_event_reasons.gpu_idle', row_of(2)) == (None, '[N/A]')
    assert both('index', row_of(2)) == (1, '1')
    assert both('mig_index', row_of(2)) == (2, '2')
    assert both('mig_profile', row_of(2)) == ('1g.5gb', '1g.5gb')
    assert both('gpu_instance_id', row_of(2)) == (9, '9')
    assert both('name', row_of(3)) == (None, '[N/A]')
    assert both('uuid', row_of(3)) == (None, '[N/A]')
    assert both('pci.bus', row_of(3)) == (None, '[N/A]')
    assert both('status', row_of(3)) == ('lost', 'lost')
    assert both('reason', row_of(3)) == ('GPU is lost', 'GPU is lost')


@pytest.mark.parametrize(
    ('name', 'value', 'text'),
    [
        ('pid', 4242, '4242'),
        ('user', 'ada', 'ada'),
        ('process_name', '/usr/bin/python3', '/usr/bin/python3'),
        ('used_memory', 1000 << 20, '1000 MiB'),
        ('gpu_sm_utilization', 55, '55 %'),
        ('cpu_percent', 101.25, '101.2 %'),
        ('running_time', 60.0, '60.0 s'),
        ('start_time', TIMESTAMP - 60, '2024/01/02 03:03:05.678'),
        ('gpu_index', 0, '0'),
        ('gpu_name', 'NVIDIA H100', 'NVIDIA H100'),
        ('gpu_uuid', 'GPU-0', 'GPU-0'),
        ('gpu_serial', '1320', '1320'),
        ('mig_index', None, '[N/A]'),
    ],
)
def test_values_of_a_process(name: str, value: CellValue, text: str) -> None:
    assert both(name, ProcessQueryRow(SAMPLE, DEVICES[0], PROCESSES[0])) == (value, text)


def test_values_of_an_owner() -> None:
    layers = (
        Layer('slurm', '42', detail='0'),
        Layer('pod', '5ba385ca-b6e6-4246-bd66-d48d429dbc12', 'ml/train-0'),
        Layer('docker', '4f' * 32, 'web'),
        Layer('unit', 'ssh.service'),
        Layer('login', '1000', 'ada', 'loginuid'),
    )
    row = ProcessQueryRow(SAMPLE, None, PROCESSES[0]._replace(owner=make_owner(layers)))
    expected = {
        'owner': 'slurm 42.0',
        'owner_kind': 'slurm',
        'owner_id': '42',
        'owner_source': 'cgroup',
        'job_id': '42',
        'job_step': '0',
        'pod_uid': '5ba385ca-b6e6-4246-bd66-d48d429dbc12',
        'pod_name': 'ml/train-0',
        'container_id': '4f' * 32,
        'container_name': 'web',
        'unit': 'ssh.service',
        'login_user': 'ada',
    }
    assert {name: both(name, row)[0] for name in expected} == expected
    nothing = PROCESSES[0]._replace(owner=make_owner(layers[-1:]))
    for process in (PROCESSES[0], nothing):
        known = {name: both(name, row._replace(process=process))[0] for name in expected}
        login = None if process.owner is None else 'ada'
        assert known == {**dict.fromkeys(expected), 'login_user': login}


def test_values_of_other_processes() -> None:
    gone = ProcessQueryRow(SAMPLE, None, PROCESSES[1])
    for name in ('user', 'command', 'process_name', 'start_time', 'gpu_name', 'used_memory'):
        assert both(name, gone) == (None, '[N/A]')
    sliced = ProcessQueryRow(SAMPLE, DEVICES[1], PROCESSES[2])
    assert both('gpu_index', sliced) == (1, '1')
    assert both('mig_index', sliced) == (2, '2')
    assert both('gpu_uuid', sliced) == ('GPU-1', 'GPU-1')


def test_unavailable_values_of_every_column_have_a_text() -> None:
    key = DeviceKey(0)
    empty = DeviceQueryRow(SAMPLE, DeviceSample(key, DeviceInfo(key, 0)))
    known = {'timestamp', 'driver_version', 'cuda_driver_version', 'count', 'index', 'status'}
    known |= {'hostname', 'health_status', 'health_findings', 'kmd_version'}
    for field in device_table().fields:
        text = value_text(field, field.value(empty), units=True)
        assert (text in ('[N/A]', 'N/A')) == (field.name not in known), field.name


def test_reasons_for_low_clocks_are_those_of_the_library() -> None:
    names = [name.lower() for name in ClockEventReasons.__members__]
    assert set(CLOCK_EVENT_REASONS) < set(names)


@pytest.mark.parametrize(
    ('command', 'program'),
    [
        ('/usr/bin/python3 -c pass', '/usr/bin/python3'),
        ("'/opt/a program/run' x", '/opt/a program/run'),
        ("'/opt/it'\"'\"'s' x", "/opt/it's"),
        ('sshd: alice [priv]', 'sshd:'),
        ("python3 -c 'never closed", 'python3'),
        ("'never closed", 'the name'),
        ('', 'the name'),
        (None, 'the name'),
        # Quadratic time would exceed the time limit of a test.
        ('x' * (1 << 18), 'x' * (1 << 18)),
        ("''" * (1 << 17), 'the name'),
        ('"' * ((1 << 18) + 1), 'the name'),
        (' ' * (1 << 18) + "'", 'the name'),
    ],
)
def test_the_program_of_a_process_is_the_first_word_of_its_command(
    command: str | None, program: str
) -> None:
    process = PROCESSES[0]._replace(command=command, name='the name')
    (field,) = process_table().find('process_name')
    assert field.value(ProcessQueryRow(SAMPLE, None, process)) == program
