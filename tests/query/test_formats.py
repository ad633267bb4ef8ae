"""CSV, JSON, JSON lines and tables of a fixed sample."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest

from docs.query_schema import make_schema
from nvitop.query.fields import device_table, process_table
from nvitop.query.formats import OutputStyle, document, make_format, parse_style
from nvitop.query.measure import TableQuery, make_rows
from nvitop.sampling.types import Sample
from tests.query.samples import DEVICES, ISO, PROCESSES, SAMPLE
from tests.schema_check import violations

GPUS = TableQuery(devices=device_table().find('index,name,memory.used,power.draw,temperature.gpu'))
TASKS = TableQuery(
    processes=process_table().find('gpu_index,mig_index,pid,user,used_memory,command')
)
BOTH = GPUS._replace(processes=TASKS.processes)
EVERYTHING = TableQuery(devices=device_table().fields, processes=process_table().fields, mig=True)
SCHEMA = make_schema()


def text(query: TableQuery, style: str, sample: Sample = SAMPLE, *, width: int = 0) -> str:
    form = make_format(query, parse_style(style), width=width)
    return ''.join(form(make_rows(query, sample)))


def test_csv_of_gpus() -> None:
    assert text(GPUS, 'csv') == (
        'index, name, memory.used [MiB], power.draw [W], temperature.gpu\n'
        '0, NVIDIA H100, 1235 MiB, 68.24 W, 44\n'
        '1, NVIDIA A100, 0 MiB, [N/A], [N/A]\n'
        '2, [N/A], [N/A], [N/A], [N/A]\n'
    )


def test_csv_of_processes_reads_back() -> None:
    made = text(TASKS, 'csv')
    assert made == (
        'gpu_index, mig_index, pid, user, used_gpu_memory [MiB], command\n'
        '0, [N/A], 4242, ada, 1000 MiB,"/usr/bin/python3 -c \'a, b = ""x""\n\'"\n'
        '0, [N/A], 5, [N/A], [N/A], [N/A]\n'
        '1, 2, 6, +ada, [N/A], =HYPERLINK\n'
    )
    # Readers that keep the space as part of the field still see the quotes.
    for skips in (True, False):
        rows = list(csv.reader(io.StringIO(made, newline=''), skipinitialspace=skips))
        assert rows[1][-1] == PROCESSES[0].command
        assert [len(row) for row in rows] == [6] * 4


def test_csv_is_sanitized_only_for_terminals() -> None:
    hostile = PROCESSES[0]._replace(command='a\x1b[2Jb\n')
    sample = SAMPLE._replace(processes=(hostile,))
    query = TableQuery(processes=process_table().find('pid,command'))
    assert text(query, 'csv,noheader', sample) == '4242,"a\x1b[2Jb\n"\n'
    assert text(query, 'csv,noheader', sample, width=80) == '4242, a�[2Jb�\n'
    assert text(query, 'table,noheader', sample) == '4242  a�[2Jb�\n'
    long = sample._replace(processes=(hostile._replace(command='語' * 40),))
    assert text(query, 'table,noheader', long, width=25) == f'4242  {"語" * 8}..\n'
    assert '\x1b' not in text(query, 'json', sample)


def test_mig_devices_have_rows_on_request() -> None:
    index = TableQuery(devices=device_table().find('index,mig_index'))

    def rows(**options: Any) -> list[str]:
        return text(index._replace(**options), 'csv,noheader').splitlines()

    gpus = ['0, [N/A]', '1, [N/A]', '2, [N/A]']
    assert rows() == gpus
    assert rows(mig=True) == [*gpus[:2], '1:2, 2', gpus[2]]
    assert rows(only=(1,)) == ['1, [N/A]']
    assert rows(only=(1,), mig=True) == ['1, [N/A]', '1:2, 2']
    assert rows(only=((1, 2),)) == ['1:2, 2']
    assert rows(only=((1, 1),)) == []


def test_processes_are_filtered_by_device() -> None:
    pids = TableQuery(processes=process_table().find('pid'))

    def rows(**options: Any) -> list[str]:
        return text(pids._replace(**options), 'csv,noheader').splitlines()

    assert rows() == ['4242', '5', '6']
    assert rows(only=(0,)) == ['4242', '5']
    assert rows(only=(1,)) == ['6']
    assert rows(only=((1, 2),)) == ['6']
    assert rows(compute_only=True) == ['4242', '6']


def test_json_has_numbers_in_the_units_of_the_table() -> None:
    assert json.loads(text(GPUS, 'json', SAMPLE._replace(simulated='mig')))['simulated'] == 'mig'
    made = json.loads(text(BOTH, 'json'))
    gpu, _, lost = made.pop('devices')
    process, *_ = made.pop('processes')
    assert made == {
        'schema': 1,
        'timestamp': ISO,
        'hostname': 'dgx-01',
        'driver_version': '580.65.06',
        'units': {'memory_used': 'B', 'power_usage': 'W', 'temperature': '°C', 'gpu_memory': 'B'},
    }
    values = [0, 'NVIDIA H100', DEVICES[0].memory_used_bytes, 68.236, 44]
    names = ['index', 'name', 'memory_used', 'power_usage', 'temperature']
    assert gpu == dict(zip(names, values))
    assert lost == {**dict.fromkeys(names), 'index': 2}
    assert process == {
        'gpu_index': 0,
        'mig_index': None,
        'pid': 4242,
        'user': 'ada',
        'gpu_memory': PROCESSES[0].gpu_memory_bytes,
        'command': PROCESSES[0].command,
    }


def test_each_json_line_needs_no_other() -> None:
    form = make_format(BOTH, OutputStyle('jsonl'))
    result = make_rows(BOTH, SAMPLE)
    for (piece,) in (form(result), form(result)):
        assert piece.count('\n') == 1
        assert json.loads(piece) == document(BOTH, result)


def test_all_fields_match_the_schema() -> None:
    made = json.loads(text(EVERYTHING, 'json'))
    assert list(violations(SCHEMA, made)) == []
    assert len(made['devices'][0]) == len(device_table().fields)


def test_empty_values_of_csv_keep_their_separator() -> None:
    fields = device_table().find('index, chassis_serial_number, temperature')
    device = DEVICES[0]._replace(extended=(('chassis_serial_number', ''),))
    sample = SAMPLE._replace(devices=(device,))
    assert text(TableQuery(devices=fields), 'csv,noheader', sample) == '0, , 44\n'


def test_words_are_those_of_nvidia_smi() -> None:
    words = (('power_management', 'Enabled'), ('driver_model_pending', 'WDM'))
    device = DEVICES[0]._replace(extended=words)
    sample = SAMPLE._replace(devices=(device,), driver_version='525.147.05')
    query = TableQuery(devices=device_table().find(name for name, _ in words))
    assert text(query, 'csv,noheader', sample) == 'Supported, TCC\n'


@pytest.mark.parametrize(('driver', 'memory'), [('570.86.15', '1 MiB'), ('580.65.06', '2 MiB')])
def test_memory_is_rounded_as_by_nvidia_smi(driver: str, memory: str) -> None:
    device = DEVICES[0]._replace(memory_used_bytes=(1 << 20) + 1, power_usage_mw=1)
    sample = SAMPLE._replace(devices=(device,), driver_version=driver)
    query = TableQuery(devices=device_table().find('memory.used, power.draw, index'))
    assert text(query, 'csv,noheader', sample) == f'{memory}, 0.00 W, 0\n'


def test_a_table_for_people() -> None:
    assert text(BOTH, 'table') == (
        'index  name         memory.used  power.draw  temperature.gpu\n'
        '    0  NVIDIA H100     1234 MiB     68.24 W               44\n'
        '    1  NVIDIA A100        0 MiB       [N/A]            [N/A]\n'
        '    2  [N/A]              [N/A]       [N/A]            [N/A]\n'
        '\n'
        'gpu_index  mig_index   pid  user   used_gpu_memory  command\n'
        '        0      [N/A]  4242  ada           1000 MiB  '
        '/usr/bin/python3 -c \'a, b = "x"�\'\n'
        '        0      [N/A]     5  [N/A]            [N/A]  [N/A]\n'
        '        1          2     6  +ada             [N/A]  =HYPERLINK\n'
    )


@pytest.mark.parametrize(
    ('given', 'style'),
    [
        ('nounits, csv', OutputStyle('csv', units=False)),
        ('noheader', OutputStyle('csv', header=False)),
        ('', OutputStyle('csv')),
    ],
)
def test_formats(given: str, style: OutputStyle) -> None:
    assert parse_style(given) == style
