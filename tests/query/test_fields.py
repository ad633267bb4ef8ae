"""Fields: their names, values and texts."""

from __future__ import annotations

import csv
import pathlib
import re

import pytest

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
from nvitop.query.formats import header_text, table_of, value_text
from tests.query.samples import DEVICES, PROCESSES, SAMPLE, TIMESTAMP

#: Names and headers of ``nvidia-smi --query-…`` of real drivers, R590 to R610.
FIELDS = pathlib.Path(__file__).parent.parent / 'captures' / 'fields.tsv'


def real_fields() -> list[dict[str, str]]:
    with FIELDS.open(encoding='utf-8', newline='') as file:
        return list(csv.DictReader(file, delimiter='\t'))


def test_headers_are_those_of_real_drivers() -> None:
    different = []
    for listed in real_fields():
        for name in (listed['name'], *listed['aliases'].split()):
            (field,) = table_of(listed['query']).find(name)
            if listed['header'] and header_text(field) != listed['header']:
                different.append((name, header_text(field)))
    assert different == []


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
        ('memory.usd', "unknown field 'memory.usd'; did you mean 'memory.used'?"),
        ('temprature', "did you mean 'temperature"),
        (' , ', 'no field given'),
    ],
)
def test_an_unknown_name_suggests_similar_ones(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        device_table().find(name)
    with pytest.raises(ValueError, match=r"unknown field 'qqqqqqqq'$"):
        device_table().find('index,qqqqqqqq')


def both(name: str, row: DeviceQueryRow | ProcessQueryRow) -> tuple[CellValue, str]:
    table = device_table() if isinstance(row, DeviceQueryRow) else process_table()
    (field,) = table.find(name)
    value = field.value(row)
    return value, value_text(field, value, units=True)


@pytest.mark.parametrize(
    ('name', 'value', 'text'),
    [
        ('process_name', '/usr/bin/python3', '/usr/bin/python3'),
        ('used_memory', 1000 << 20, '1000 MiB'),
        ('cpu_percent', 101.25, '101.2 %'),
        ('start_time', TIMESTAMP - 60, '2024/01/02 03:03:05.678'),
        ('gpu_serial', '1320', '1320'),
        ('mig_index', None, '[N/A]'),
    ],
)
def test_values_of_a_process(name: str, value: CellValue, text: str) -> None:
    assert both(name, ProcessQueryRow(SAMPLE, DEVICES[0], PROCESSES[0])) == (value, text)


def test_an_unknown_start_time_is_not_available() -> None:
    assert both('start_time', ProcessQueryRow(SAMPLE, None, PROCESSES[1])) == (None, '[N/A]')


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
    only_login = row._replace(process=PROCESSES[0]._replace(owner=make_owner(layers[-1:])))
    known = {name: both(name, only_login)[0] for name in expected}
    assert known == {**dict.fromkeys(expected), 'login_user': 'ada'}


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
        (' ' * (1 << 18) + "'", 'the name'),
    ],
)
def test_the_program_of_a_process_is_the_first_word_of_its_command(
    command: str | None, program: str
) -> None:
    process = PROCESSES[0]._replace(command=command, name='the name')
    (field,) = process_table().find('process_name')
    assert field.value(ProcessQueryRow(SAMPLE, None, process)) == program
