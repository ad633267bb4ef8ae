"""``nvitop query`` and ``nvitop --query-gpu``: output, messages and exit status."""

from __future__ import annotations

import csv
import io
import json
import os
import pathlib
import re
import signal
import subprocess

import pytest

from docs.query_schema import make_schema
from nvitop import simulation
from nvitop.api.device import Device
from nvitop.cli import main as nvitop
from nvitop.console.driver import SAME_SECONDS, find_problems
from nvitop.console.lifecycle import InterruptedByUser
from nvitop.query.command import main
from nvitop.query.fields import device_table
from nvitop.sampling.types import DeviceInfo, DeviceKey, DeviceSample, Problem, Sample
from tests.command_run import CommandRun
from tests.programs import running_nvitop
from tests.schema_check import violations
from tests.waiting import PATIENCE


@pytest.fixture
def machine(machine: simulation.Machine) -> simulation.Machine:
    machine.set(gpu_utilization=50, power_usage=100.5, temperature=40)
    return machine


@pytest.mark.usefixtures('machine')
def test_only_visible_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('CUDA_VISIBLE_DEVICES', '2,0')
    assert CommandRun(main, '-ov', '--query-gpu=index').out.split() == ['index', '0', '2']
    monkeypatch.setenv('CUDA_VISIBLE_DEVICES', '')
    ran = CommandRun(main, '-ov')
    assert (ran.status, ran.out) == (1, '')
    assert 'CUDA_VISIBLE_DEVICES makes no GPU visible' in ran.err


def test_compute_apps(machine: simulation.Machine) -> None:
    ran = CommandRun(nvitop, '--query-compute-apps=pid,used_memory,gpu_uuid', '--format=csv')
    assert ran.out.startswith('pid, used_gpu_memory [MiB], gpu_uuid\n')
    assert re.search(r'^\d+, \d+ MiB, GPU-', ran.out, re.MULTILINE)
    listed = len(ran.out.splitlines()) - 1
    everything = CommandRun(main, '--processes=type', '--format=csv,noheader').out.split()
    assert listed == sum(kind != 'G' for kind in everything) > 0


LISTS = """
[[gpu]]
model = "V100"
retired_pages_single_bit_ecc = 2
retired_pages_double_bit_ecc = 1
accounting = true
max_memory_clock = 877
idle_clock = 1500
[[gpu]]
model = "RTX 4090"
[[process]]
gpus = [0]
command = ["train"]
memory = "3 GiB"
sm = 40
memory_utilization = 20
"""


def run_lists(*arguments: str) -> CommandRun:
    scenario = simulation.parse_scenario(LISTS, name='lists')
    with simulation.machine(scenario, processes='fixed'):
        return CommandRun(nvitop, *arguments)


def test_supported_clocks() -> None:
    ran = run_lists('--query-supported-clocks=gpu_name,memory,gr', '--format=csv', '-i', '0')
    assert ran.out == (
        'gpu_name, memory [MHz], graphics [MHz]\n'
        'Tesla V100-SXM2-32GB, 877 MHz, 1530 MHz\n'
        'Tesla V100-SXM2-32GB, 877 MHz, 1515 MHz\n'
        'Tesla V100-SXM2-32GB, 877 MHz, 1500 MHz\n'
    )
    assert (ran.status, ran.err) == (0, '')


def test_retired_pages() -> None:
    names = 'retired_pages.address,retired_pages.cause'
    ran = run_lists(f'--query-retired-pages={names}', '--format=csv,noheader')
    assert ran.out == (
        '0x0000000000010000, Single Bit ECC\n'
        '0x0000000000020000, Single Bit ECC\n'
        '0x0000000000010000, Double Bit ECC\n'
    )
    ran = run_lists('--query-retired-pages=retired_pages.address', '--format=csv', '-i', '1')
    assert (ran.out, ran.status) == ('retired_pages.address\n', 0)


def test_accounted_apps() -> None:
    names = 'gpu_util,mem_utilization,max_mem_usage,time'
    ran = run_lists(f'--query-accounted-apps={names}', '--format=csv')
    assert ran.out == (
        'gpu_utilization [%], mem_utilization [%], max_memory_usage [MiB], time [ms]\n'
        '40 %, 20 %, 3072 MiB, 0 ms\n'
    )
    made = json.loads(run_lists('--query-accounted-apps=all', '--format=json').out)
    (row,) = made['accounted_processes']
    assert (row['max_memory'], row['is_running']) == (3 << 30, True)
    assert made['units'] == {
        'gpu_utilization': '%', 'memory_utilization': '%', 'max_memory': 'B', 'time': 'ms'
    }  # fmt: skip
    assert [*violations(make_schema(), made)] == []


def test_remapped_rows(machine: simulation.Machine) -> None:
    machine.set(gpu=0, remapped_rows_correctable=3)
    names = (
        'gpu_bus_id,remapped_rows.correctable,remapped_rows.failure,remapped_rows.histogram.high'
    )
    ran = CommandRun(nvitop, f'--query-remapped-rows={names}', '--format=csv', '-i', '0')
    header, row = ran.out.splitlines()
    assert header == names.replace(',', ', ')
    assert row == f'{Device(0).bus_id()}, 3, No, 3'
    aliases = CommandRun(nvitop, '--query-remapped-rows=remapped_rows.sbe', '--format=csv').out
    assert aliases.startswith('remapped_rows.correctable\n3\n')


@pytest.mark.usefixtures('machine')
def test_all() -> None:
    made = json.loads(CommandRun(main, '--all', '--format=json').out)
    assert len(made['processes'][0]) > 20
    assert len(made['devices'][0]) == len(device_table().fields)
    made = json.loads(CommandRun(main, '--all', '--format=jsonl', '--gpu=index').out)
    assert (len(made['processes'][0]) > 20, made['devices'][0]) == (True, {'index': 0})
    # CSV has one table: that of GPUs, unless another is requested.
    header = CommandRun(main, '--all').out.partition('\n')[0]
    assert header.count(', ') == len(device_table().fields) - 1
    assert CommandRun(main, '--all', '--processes=pid').out.startswith('pid\n')


def test_invalid_arguments_query_no_gpu_and_write_no_file(
    machine: simulation.Machine, tmp_path: pathlib.Path
) -> None:
    path = tmp_path / 'rows'
    ran = CommandRun(main, '--gpu=memory.usd', '-f', str(path))
    assert (ran.status, ran.out) == (2, '')
    assert ran.err.startswith(
        "nvitop query: error: --gpu: unknown field 'memory.usd'; did you mean"
    )
    assert not path.exists()
    assert machine.calls == {}


def test_a_lost_gpu_has_a_row_and_a_reason(machine: simulation.Machine) -> None:
    machine.set(gpu=3, lost=True)
    ran = CommandRun(main, '--gpu=index,power.draw,status', '-i', '2', '3', '--format=csv,noheader')
    assert ran.out == '2, 100.50 W, ok\n3, [N/A], lost\n'
    assert ran.err == 'nvitop query: warning: GPU 3: GPU is lost\n'
    assert ran.status == 0
    ran = CommandRun(main, '--gpu=index', '-i', '3', '--format=csv,noheader')
    assert (ran.out, ran.status) == ('3\n', 1)


def test_a_machine_without_gpus_is_status_1() -> None:
    with simulation.machine('empty'):
        ran = CommandRun(main, '--gpu=index', '--format=json')
    assert ran.status == 1
    assert json.loads(ran.out)['devices'] == []
    assert ran.err == 'nvitop query: warning: no GPU found: the driver works but reports none\n'


def test_a_hung_gpu_does_not_block_the_others(machine: simulation.Machine) -> None:
    machine.hang('nvmlDeviceGetPowerUsage', gpu=1)
    ran = CommandRun(main, '--gpu=index,power.draw,status', '-i', '0,1,2', '--format=csv,noheader')
    machine.release()
    assert ran.out == '0, 100.50 W, ok\n1, [N/A], timed out\n2, 100.50 W, ok\n'
    assert ran.err.startswith('nvitop query: warning: GPU 1: no response for ')


# Repeated queries


class Loop:
    """A clock that sleeping and measuring advance, until the user interrupts the loop."""

    def __init__(self, machine: simulation.Machine, cost: list[float]) -> None:
        self.machine = machine
        self.cost = cost
        self.now = 100.0
        self.turns: list[float] = []

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.now += seconds
        self.turns.append(round(self.now - 100.0, 6))
        if not self.cost:
            raise InterruptedByUser(signal.SIGINT)
        self.now += self.cost.pop(0)


def test_a_loop_keeps_its_period(machine: simulation.Machine) -> None:
    loop = Loop(machine, [0.3, 0.999, 1.2, 0.0, 7.5])
    ran = CommandRun(main, '--gpu=index', '-i', '0', '-l', '1', clock=loop.clock, sleep=loop.sleep)
    # A measurement of 1.2 s skips one turn, one of 7.5 s skips seven.
    assert loop.turns == [1, 2, 3, 5, 6, 14]
    assert ran.out == 'index\n' + '0\n' * 6
    assert ran.status == 128 + signal.SIGINT


def test_a_problem_is_reported_once_while_it_lasts(machine: simulation.Machine) -> None:
    loop = Loop(machine, [0.0] * 4)
    turns = iter(['lose', '', 'recover', 'lose'])

    def sleep(seconds: float) -> None:
        turn = next(turns, '')
        if turn:
            machine.set(gpu=0, lost=turn == 'lose')
        loop.now += SAME_SECONDS + 1  # later than that, it is another problem
        loop.sleep(seconds)

    ran = CommandRun(main, '--gpu=status', '-i', '0', '-l', '1', '--format=csv,noheader', clock=loop.clock,
              sleep=sleep)  # fmt: skip
    assert ran.out.split() == ['ok', 'lost', 'lost', 'ok', 'lost']
    assert ran.err == 'nvitop query: warning: GPU 0: GPU is lost\n' * 2


# Lists of fields


def test_list_shows_names_of_nvitop(machine: simulation.Machine) -> None:
    ran = CommandRun(main, '--list')
    assert re.search(r'^ +memory_used +memory\.used +B +memory allocated', ran.out, re.MULTILINE)
    assert re.search(r'^ +gpu_memory +used_gpu_memory +B +device memory', ran.out, re.MULTILINE)
    assert re.search(r'^ +ecc_pending +ecc\.mode\.pending ', ran.out, re.MULTILINE)
    assert re.search(r'^ +max_memory +max_memory_usage +B ', ran.out, re.MULTILINE)
    assert (ran.status, ran.err) == (0, '')
    assert machine.calls == {}


def test_help_query_shows_names_of_nvidia_smi_in_quotes() -> None:
    ran = CommandRun(nvitop, '--help-query-gpu')
    assert '\n\n"clocks.current.sm" or "clocks.sm"\ncurrent SM clock [MHz]\n\n' in ran.out
    assert 'bar1' not in ran.out
    ran = CommandRun(nvitop, '--help-query-compute-apps')
    assert '\n"used_gpu_memory" or "used_memory"\n' in ran.out
    assert '\n"process_name" or "name"\n' in ran.out
    ran = CommandRun(nvitop, '--help-query-supported-clocks', '--help-query-retired-pages')
    assert '\n"graphics" or "gr"\n' in ran.out
    assert 'ields for --query-retired-pages=' in ran.out
    ran = CommandRun(nvitop, '--help-query-remapped-rows')
    assert '\n"remapped_rows.histogram.partial"\n' in ran.out
    assert '\n"gpu_uuid"' in ran.out


def test_gpus_and_mig_devices_are_listed() -> None:
    with simulation.machine('mig', processes='none'):
        lines = CommandRun(nvitop, '-L').out.splitlines()
    assert len(lines) == 9
    assert re.fullmatch(r'GPU 0: NVIDIA A100-SXM4-80GB \(UUID: GPU-[0-9a-f-]{36}\)', lines[0])
    assert re.fullmatch(r'  MIG 3g\.40gb     Device  0: \(UUID: MIG-[0-9a-f-]{36}\)', lines[1])
    assert re.fullmatch(r'  MIG 1c\.4g\.40gb  Device  0: \(UUID: MIG-.*', lines[4])


# The program


@pytest.mark.skipif(os.name != 'posix', reason='POSIX signals')
@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_loop_between_rows(number: int) -> None:
    loop = ('query', '--demo', '--processes=pid,command,gpu_uuid', '-lms', '20')
    with running_nvitop(*loop, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        head = [process.stdout.readline() for _ in range(30)]
        process.send_signal(number)
        text = ''.join(head) + process.stdout.read()
        assert process.wait(timeout=PATIENCE) == 128 + number
        assert 'Traceback' not in process.stderr.read()
    rows = list(csv.reader(io.StringIO(text), skipinitialspace=True))
    assert text.endswith('\n')
    assert {len(row) for row in rows} == {3}
    assert all(row[2].startswith('GPU-') for row in rows[1:])


GPU = DeviceKey(0)


@pytest.mark.parametrize(
    ('problem', 'messages'),
    [
        (
            Problem('host', 'processes', 'not responding', 'timed out'),
            ['host: processes: not responding'],
        ),
        (
            Problem('driver', 'initialization', 'Driver Not Loaded', 'error'),
            ['driver: initialization: Driver Not Loaded'],
        ),
        (Problem('driver', 'cuda_driver_version', 'Not Supported'), []),
        (Problem(GPU, 'processes', 'Not Supported'), ['GPU 0: processes: Not Supported']),
        (
            Problem(GPU, 'memory_used', '7 is implausible', 'impossible'),
            ['GPU 0: memory_used: 7 is implausible'],
        ),
        (Problem(GPU, 'fan_speed', 'Not Supported'), []),
        (Problem(GPU, 'status', 'GPU is lost', 'error'), []),
    ],
)
def test_problems_that_are_reported(problem: Problem, messages: list[str]) -> None:
    device = DeviceSample(GPU, DeviceInfo(GPU, 0, 'Some GPU'))
    found = find_problems(Sample(0.0, devices=(device,), problems=(problem,)))
    assert list(found.values()) == messages
