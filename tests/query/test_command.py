"""nvitop query, and nvitop --query-gpu: what they print, where, when, and their exit statuses."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
from typing import Any, Iterator

import pytest

from nvitop import simulation
from nvitop.api.device import Device
from nvitop.cli import main as nvitop
from nvitop.query.columns import device_table
from nvitop.query.command import find_troubles, main
from nvitop.query.output import InterruptedByUser
from nvitop.sampling.types import DeviceInfo, DeviceKey, DeviceSample, Problem, Sample
from tests.patience import PATIENCE
from tests.query.make_schema import make_schema
from tests.query.schema_check import violations


@pytest.fixture
def machine() -> Iterator[simulation.Machine]:
    with simulation.machine('dgx-h100', processes='fixed', clock=lambda: 0.0) as running:
        running.set(gpu_utilization=50, power_usage=100.5, temperature=40)
        yield running


class Ran:
    """What a run of the command gave."""

    def __init__(self, *arguments: str, run: Any = main, **options: Any) -> None:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                self.status = run(list(arguments), **options)
            except SystemExit as leave:
                self.status = leave.code
        self.out, self.err = out.getvalue(), err.getvalue()


def test_csv(machine: simulation.Machine) -> None:
    ran = Ran('--gpu=index,power.draw,temperature.gpu', '-i', '0', '2')
    assert ran.out == ('index, power.draw [W], temperature.gpu\n0, 100.50 W, 40\n2, 100.50 W, 40\n')
    assert (ran.status, ran.err) == (0, '')


def test_nothing_said_is_what_people_look_at(machine: simulation.Machine) -> None:
    ran = Ran()
    assert ran.out.splitlines()[0] == (
        'index, name, utilization.gpu [%], memory.used [MiB], memory.total [MiB], '
        'temperature.gpu, power.draw [W]'
    )
    assert len(ran.out.splitlines()) == 9
    assert Ran('--gpu').out == ran.out


@pytest.mark.parametrize(
    'arguments',
    [
        ['--query-gpu=index,utilization.gpu', '--format=csv,noheader,nounits', '--id=1'],
        ['--format=noheader,nounits,csv', '--query-gpu', 'index,utilization.gpu', '-i', '1'],
        ['-i', '1', '--query-gpu=index,utilization.gpu', '--format=csv,nounits,noheader'],
        ['query', '--gpu=index,utilization.gpu', '--format=csv,noheader,nounits', '-i', '1'],
    ],
)
def test_nvitop_takes_the_words_of_nvidia_smi(
    machine: simulation.Machine, arguments: list[str]
) -> None:
    ran = Ran(*arguments, run=nvitop)
    assert (ran.out, ran.status, ran.err) == ('1, 50\n', 0, '')


def test_compute_apps(machine: simulation.Machine) -> None:
    ran = Ran('--query-compute-apps=pid,used_memory,gpu_uuid', '--format=csv', run=nvitop)
    assert ran.out.startswith('pid, used_gpu_memory [MiB], gpu_uuid\n')
    assert re.search(r'^\d+, \d+ MiB, GPU-', ran.out, re.MULTILINE)
    listed = len(ran.out.splitlines()) - 1
    everything = Ran('--processes=type', '--format=csv,noheader').out.split()
    assert listed == sum(kind != 'G' for kind in everything) > 0


LISTS = """
[[gpu]]
model = "V100"
retired_single_bit = 2
retired_double_bit = 1
accounting_mode = true
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


def run_lists(*arguments: str) -> Ran:
    scenario = simulation.parse_scenario(LISTS, name='lists')
    with simulation.machine(scenario, processes='fixed'):
        return Ran(*arguments, run=nvitop)


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
    machine.set(gpu=0, remapped_correctable=3)
    names = (
        'gpu_bus_id,remapped_rows.correctable,remapped_rows.failure,remapped_rows.histogram.high'
    )
    ran = Ran(f'--query-remapped-rows={names}', '--format=csv', '-i', '0', run=nvitop)
    header, row = ran.out.splitlines()
    assert header == names.replace(',', ', ')
    assert row == f'{Device(0).bus_id()}, 3, No, 3'


def test_several_tables_in_one_document(machine: simulation.Machine) -> None:
    ran = Ran('--gpu=index', '--query-supported-clocks=memory', '--format=json', '-i', '0')
    assert {'devices', 'supported_clocks'} < set(json.loads(ran.out))
    ran = Ran('--gpu=index', '--query-supported-clocks=memory', '--format=table', '-i', '0')
    first, second = ran.out.split('\n\n')
    assert (first.split(), second.split()[0]) == (['index', '0'], 'memory')


def test_json(machine: simulation.Machine) -> None:
    ran = Ran('--gpu=index,power.draw', '--processes=pid', '--format=json', '-i', '7')
    made = json.loads(ran.out)
    assert made['simulated'] == 'dgx-h100'
    assert made['devices'] == [{'index': 7, 'power_usage': 100.5}]
    assert made['processes'] == []


@pytest.mark.parametrize(
    ('arguments', 'tables'),
    [
        (['--all', '--format=json'], {'devices', 'processes'}),
        (['--all', '--format=jsonl', '--gpu=index'], {'devices', 'processes'}),
    ],
)
def test_all(machine: simulation.Machine, arguments: list[str], tables: set[str]) -> None:
    made = json.loads(Ran(*arguments).out)
    assert tables <= set(made)
    assert len(made['processes'][0]) > 20
    assert len(made['devices'][0]) == (
        1 if '--gpu=index' in arguments else len(device_table().columns)
    )


def test_all_of_csv_is_one_table(machine: simulation.Machine) -> None:
    for arguments in (['--all'], ['--gpu=all']):
        header, *rows = Ran(*arguments).out.splitlines()
        assert header.startswith('timestamp, driver_version, ')
        assert len(rows) == 8
    assert Ran('--all', '--processes=pid').out.startswith('pid\n')


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (['--gpu=memory.usd'], "--gpu: there is no 'memory.usd'; did you mean memory.used"),
        (['--processes=pids'], "--processes: there is no 'pids'; did you mean pid"),
        (['--query-gpu='], '--query-gpu: no name is given'),
        (['--query-compute-apps=pidd'], "--query-compute-apps: there is no 'pidd'"),
        (['--gpu=index', '--query-gpu=index'], 'the same is asked for twice'),
        (['--gpu=index', '--processes=pid'], 'csv holds one table'),
        (['--format=xml'], "--format: there is no 'xml': use csv, json, jsonl, table"),
        (['--format=json,nounits'], 'nounits does not go with json'),
        (['-l', '0'], "--loop: not a time of a millisecond or more: '0'"),
        (['-l', 'nan'], "--loop: not a time of a millisecond or more: 'nan'"),
        (['-lms', 'x'], "--loop-ms: not a time of a millisecond or more: 'x'"),
        (['-l', '1', '-lms', '5'], 'two periods'),
        (['--query-retired-pages=x'], "--query-retired-pages: there is no 'x'"),
        (['--query-retired-page=address'], 'unrecognized arguments'),
        (
            ['--query-supported-clocks=memory', '--query-retired-pages=cause'],
            '--query-supported-clocks and --query-retired-pages are two questions',
        ),
        (['--query-supported-clocks=memory', '--gpu=index'], 'csv holds one table'),
        (['--query-remapped-rows=uuid', '--query-gpu=uuid'], 'the same is asked for twice'),
        (['gpu'], 'unrecognized arguments: gpu'),
        (['--form=json'], 'unrecognized arguments'),
    ],
)
def test_wrong_arguments_are_status_2(
    machine: simulation.Machine, arguments: list[str], message: str, tmp_path: pathlib.Path
) -> None:
    path = tmp_path / 'rows'
    ran = Ran(*arguments, '-f', str(path))
    assert (ran.status, ran.out) == (2, '')
    (line,) = ran.err.splitlines()
    assert line.startswith('nvitop query: error: ')
    assert message in line
    assert not path.exists()
    assert machine.calls == {}


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (['-i', '8'], "there is no device '8': the driver has GPUs 0 to 7"),
        (['-i', 'GPU-0000'], "there is no device 'GPU-0000'"),
        (['--demo', 'nonsense'], "there is no scenario 'nonsense'"),
    ],
)
def test_devices_that_there_are_not_are_status_2(
    machine: simulation.Machine, arguments: list[str], message: str
) -> None:
    ran = Ran(*arguments)
    assert (ran.status, ran.out) == (2, '')
    assert ran.err.startswith(f'nvitop query: {message}')


@pytest.mark.parametrize('call', ['nvmlInit*', 'nvmlDeviceGetCount*'])
@pytest.mark.parametrize('arguments', [[], ['-l', '1'], ['-i', '0'], ['--processes']])
def test_a_driver_that_does_not_start_is_status_1(
    machine: simulation.Machine, call: str, arguments: list[str], tmp_path: pathlib.Path
) -> None:
    machine.fail(call, 'DRIVER_NOT_LOADED')
    path = tmp_path / 'rows'
    path.write_text('what was there before', encoding='utf-8')
    ran = Ran(*arguments, '-f', str(path))
    assert (ran.status, ran.out) == (1, '')
    assert 'kernel module is not loaded' in ran.err
    assert path.read_text(encoding='utf-8') == 'what was there before'


def test_a_lost_gpu_has_a_row_and_a_reason(machine: simulation.Machine) -> None:
    machine.set(gpu=3, lost=True)
    ran = Ran('--gpu=index,power.draw,status', '-i', '2', '3', '--format=csv,noheader')
    assert ran.out == '2, 100.50 W, ok\n3, [N/A], lost\n'
    assert ran.err == 'nvitop query: GPU 3: GPU is lost\n'
    assert ran.status == 0
    ran = Ran('--gpu=index', '-i', '3', '--format=csv,noheader')
    assert (ran.out, ran.status) == ('3\n', 1)


def test_a_machine_without_gpus_is_status_1() -> None:
    with simulation.machine('empty'):
        ran = Ran('--gpu=index', '--format=json')
    assert ran.status == 1
    assert json.loads(ran.out)['devices'] == []
    assert ran.err == 'nvitop query: no GPU is visible: the driver answers and has none\n'


def test_processes_that_are_not_told_are_no_empty_list(machine: simulation.Machine) -> None:
    machine.fail('nvmlDeviceGetComputeRunningProcesses*', 'NO_PERMISSION', gpu=0)
    ran = Ran('--processes=pid', '-i', '0')
    assert ran.err == 'nvitop query: device 0: processes: Insufficient Permissions\n'


def test_a_hung_gpu_does_not_hold_up_the_others(machine: simulation.Machine) -> None:
    machine.hang('nvmlDeviceGetPowerUsage', gpu=1)
    ran = Ran('--gpu=index,power.draw,status', '-i', '0,1,2', '--format=csv,noheader')
    machine.release()
    assert ran.out == '0, 100.50 W, ok\n1, [N/A], timed out\n2, 100.50 W, ok\n'
    assert ran.err.startswith('nvitop query: GPU 1: no answer for ')


# Again and again


class Loop:
    """A clock that is turned by sleeping and by measuring, until the user has seen enough."""

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
    ran = Ran('--gpu=index', '-i', '0', '-l', '1', clock=loop.clock, sleep=loop.sleep)
    # Measuring for 1.2 s leaves out one turn, for 7.5 s seven.
    assert loop.turns == [1, 2, 3, 5, 6, 14]
    assert ran.out == 'index\n' + '0\n' * 6
    assert ran.status == 128 + signal.SIGINT


def test_a_loop_of_milliseconds(machine: simulation.Machine) -> None:
    for arguments in (['-lms', '250'], ['-lms=250'], ['--loop-ms=250'], ['-l', '.25'], ['-l=0.25']):
        loop = Loop(machine, [0.0])
        Ran('-i', '0', *arguments, clock=loop.clock, sleep=loop.sleep)
        assert loop.turns == [0.25, 0.5]
    loop = Loop(machine, [])
    Ran('-i', '0', '-l', clock=loop.clock, sleep=loop.sleep)
    assert loop.turns == [5.0]


def test_troubles_are_said_once_for_as_long_as_they_last(machine: simulation.Machine) -> None:
    loop = Loop(machine, [0.0] * 4)
    turns = iter(['lose', '', 'heal', 'lose'])

    def sleep(seconds: float) -> None:
        turn = next(turns, '')
        if turn:
            machine.set(gpu=0, lost=turn == 'lose')
        loop.now += 70.0  # lost GPUs are looked for seldom
        loop.sleep(seconds)

    ran = Ran('--gpu=status', '-i', '0', '-l', '1', '--format=csv,noheader', clock=loop.clock,
              sleep=sleep)  # fmt: skip
    assert ran.out.split() == ['ok', 'lost', 'lost', 'ok', 'lost']
    assert ran.err == 'nvitop query: GPU 0: GPU is lost\n' * 2


def test_json_lines_in_a_file(machine: simulation.Machine, tmp_path: pathlib.Path) -> None:
    loop = Loop(machine, [0.0] * 2)
    path = tmp_path / 'rows.jsonl'
    ran = Ran('--gpu=index', '--format=jsonl', '-l', '1', '-f', str(path), clock=loop.clock,
              sleep=loop.sleep)  # fmt: skip
    assert ran.out == ''
    lines = [json.loads(line) for line in path.read_text(encoding='utf-8').splitlines()]
    assert [len(line) for line in lines] == [7, 2, 2]


# Names


def test_the_list_has_every_name(machine: simulation.Machine) -> None:
    ran = Ran('--list')
    assert re.search(r'^ +memory_used +memory\.used +B +memory allocated', ran.out, re.MULTILINE)
    assert re.search(r'^ +gpu_memory +used_gpu_memory +B +device memory', ran.out, re.MULTILINE)
    assert re.search(r'^ +ecc_pending +ecc\.mode\.pending ', ran.out, re.MULTILINE)
    assert re.search(r'^ +max_memory +max_memory_usage +B ', ran.out, re.MULTILINE)
    assert (ran.status, ran.err) == (0, '')
    assert machine.calls == {}


def test_help_on_names_of_nvidia_smi() -> None:
    ran = Ran('--help-query-gpu', run=nvitop)
    assert re.search(r'^ +clocks\.current\.sm or clocks\.sm +MHz ', ran.out, re.MULTILINE)
    assert 'bar1' not in ran.out
    ran = Ran('--help-query-compute-apps', run=nvitop)
    assert re.search(r'^ +used_gpu_memory or used_memory +MiB ', ran.out, re.MULTILINE)
    assert 'process_name or name' in ran.out
    ran = Ran('--help-query-supported-clocks', '--help-query-retired-pages', run=nvitop)
    assert re.search(r'^ +graphics or gr +MHz ', ran.out, re.MULTILINE)
    assert 'names for --query-retired-pages=' in ran.out
    ran = Ran('--help-query-remapped-rows', run=nvitop)
    assert 'remapped_rows.histogram.partial' in ran.out
    assert 'gpu_uuid' in ran.out


# The program


def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, '-m', 'nvitop', *arguments],
        **{'stdout': subprocess.PIPE, 'stderr': subprocess.PIPE, **options},
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def test_the_program_simulates_a_machine(tmp_path: pathlib.Path) -> None:
    done = run('query', '--demo', '--processes=pid,process_name', '-i', '4')
    assert done.returncode == 0
    assert done.stderr == "nvitop: simulated machine 'dgx-h100': not the GPUs of this computer\n"
    assert re.fullmatch(r'pid, process_name\n\d+, /opt/vllm/bin/python3\n', done.stdout)


def test_it_loads_nothing_of_the_screens_nor_of_wide_characters() -> None:
    code = """\
import sys
from nvitop.cli import main
status = main(['query', '--demo', '--gpu=index,power.draw', '--format=csv'])
loaded = [name for name in sys.modules if name.startswith(('nvitop.gui', 'curses', 'wcwidth'))]
sys.exit(status or (f'loaded: {loaded}' if loaded else 0))
"""
    done = subprocess.run(
        [sys.executable, '-c', code],
        stderr=subprocess.PIPE,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not os.path.exists('/dev/full'), reason='this system has no /dev/full')
@pytest.mark.parametrize('argument', ['--demo', '--list', '--help-query-gpu'])
def test_a_full_disk_is_status_1(argument: str) -> None:
    with open('/dev/full', 'w', encoding='utf-8') as full:
        done = run('query', argument, stdout=full)
    assert done.returncode == 1
    message = 'nvitop query: cannot write to standard output: No space left on device\n'
    assert done.stderr.endswith(message)


def test_a_file_that_cannot_be_made_is_status_1(machine: simulation.Machine) -> None:
    ran = Ran('-f', '/nonexistent/rows')
    assert ran.status == 1
    message = 'nvitop query: cannot write to /nonexistent/rows: No such file or directory\n'
    assert ran.err == message


@contextlib.contextmanager
def program(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """The program as it runs, which does not survive a test that fails."""
    with subprocess.Popen(
        [sys.executable, '-m', 'nvitop', 'query', *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.skipif(os.name != 'posix', reason='POSIX signals')
@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_loop_between_rows(number: int) -> None:
    with program('--demo', '--processes=pid,command,gpu_uuid', '-lms', '20') as process:
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


def test_a_reader_that_went_away_is_no_error() -> None:
    with program('--demo', '-lms', '20') as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith('index, ')
        process.stdout.close()
        assert process.wait(timeout=PATIENCE) == 0
        assert len(process.stderr.read().splitlines()) == 1


@pytest.mark.parametrize(
    ('problem', 'said'),
    [
        (
            Problem('host', 'processes', 'the system does not answer', 'timed out'),
            ['host: processes: the system does not answer'],
        ),
        (
            Problem('driver', 'nvmlInit', 'Driver Not Loaded', 'error'),
            ['driver: nvmlInit: Driver Not Loaded'],
        ),
        (Problem('driver', 'cuda_driver_version', 'Not Supported'), []),
        (
            Problem('device 0', 'nvmlDeviceGetComputeRunningProcesses', 'Not Supported'),
            ['device 0: processes: Not Supported'],
        ),
        (
            Problem('device 0', 'memory_used', '7 cannot be true', 'impossible'),
            ['device 0: memory_used: 7 cannot be true'],
        ),
        (Problem('device 0', 'fan_speed', 'Not Supported'), []),
        (Problem('device 0', 'status', 'GPU is lost', 'error'), []),
    ],
)
def test_what_is_said_of_problems(problem: Problem, said: list[str]) -> None:
    key = DeviceKey(0)
    device = DeviceSample(key, DeviceInfo(key, 0, 'Some GPU'))
    found = find_troubles(Sample(0.0, devices=(device,), problems=(problem,)))
    assert list(found.values()) == said


def test_no_gpu_is_said_only_where_nothing_says_why() -> None:
    problem = Problem('driver', 'nvmlInit', 'Driver Not Loaded', 'error')
    assert list(find_troubles(Sample(0.0))) == ['none']
    assert list(find_troubles(Sample(0.0, problems=(problem,)))) == ['driver nvmlInit']
