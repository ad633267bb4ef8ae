"""Life of a simulated machine: its processes, MIG devices, which drivers are active, and faults."""

from __future__ import annotations

import os
import pathlib
import signal
import sys
from typing import Any, Callable

import psutil
import pynvml
import pytest

from nvitop import Device, simulation
from nvitop.api import libcuda
from nvitop.api.process.observed import start_time_of
from nvitop.api.system import system
from nvitop.sampling.source import LiveSource
from nvitop.sampling.types import Demand
from tests.programs import run_python
from tests.simulation.conftest import handle, text
from tests.waiting import PATIENCE, wait_until

Start = Callable[..., simulation.Machine]

ONE_PROCESS = """
[[gpu]]
[[process]]
command = ["/opt/conda/bin/python3", "a script.py", "--größe", "-x"]
memory = "1 GiB"
sm = 80
{more}
"""
posix_only = pytest.mark.skipif(os.name != 'posix', reason='children are shells')
linux_only = pytest.mark.skipif(sys.platform != 'linux', reason='reads /proc')


def listed_pids() -> list[int]:
    return [process.pid for process in pynvml.nvmlDeviceGetComputeRunningProcesses(handle())]


#: Children of this process that other tests have started.
_others: set[psutil.Process] = set()


@pytest.fixture(autouse=True)
def leave_out_other_children() -> None:
    _others.clear()
    _others.update(psutil.Process().children())


def children() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if child not in _others]


@posix_only
def test_process_is_shown_with_the_values_of_the_scenario_and_runs_as_this_user(
    start: Start,
) -> None:
    text = ONE_PROCESS.format(
        more='user = "nobody"\ncpu = 3200\nhost_memory = "64 GiB"\nstarted = "2d12h"\nthreads = 130'
    )
    machine = start(
        f'[host]\nname = "node01"\nuser = "ann"\nmemory = "256 GiB"\n{text}', processes='real'
    )
    machine.advance(60.0)
    (child,) = children()
    source = LiveSource()
    (process,) = source.complete_sample(Demand()).processes
    source.refresh()
    in_tree = source.sample(Demand(host_processes=True)).host_processes
    assert (process.key.pid, process.username, process.is_own) == (child.pid, 'nobody', False)
    assert (process.cpu_percent, process.memory_percent) == (3200.0, 25.0)
    assert process.host_memory_bytes == 64 << 30
    assert process.running_time_seconds == pytest.approx(60 * 3600 + 60)
    assert [each.thread_count for each in in_tree if each.pid == child.pid] == [130]
    assert start_time_of(child.pid) == process.key.start_time
    assert process.key.start_time == pytest.approx(machine.world.began - 60 * 3600)
    assert child.username() == psutil.Process().username()


def test_host_panel_shows_the_host_of_the_scenario(start: Start) -> None:
    machine = start(
        '[host]\nname = "node01"\nuser = "ann"\ncpus = 100\ncpu = 20\nuptime = "90d"\n'
        'memory = "256 GiB"\nmemory_base = "32 GiB"\nswap = "8 GiB"\nswap_used = "2 GiB"\n'
        '[[gpu]]\n[[process]]\ncommand = ["a"]\ncpu = 1000\nhost_memory = "32 GiB"\n'
        'started = "1h"\n'
    )
    source = LiveSource()
    source.complete_sample(Demand())
    machine.advance(10.0)
    host = source.complete_sample(Demand()).host
    assert (host.hostname, host.username, host.is_superuser) == ('node01', 'ann', False)
    assert (host.cpu_count, host.cpu_percent) == (100, 30.0)
    assert host.load_average == (30.0, 30.0, 30.0)
    assert (host.memory_percent, host.swap_percent) == (25.0, 25.0)
    assert host.uptime_seconds == 90 * 86400 + 10


def test_gpu_sleeps_after_a_while_without_queries_and_processes(start: Start) -> None:
    machine = start(
        '[[gpu]]\ncount = 2\nmay_sleep = true\n[[process]]\ngpus = [1]\ncommand = ["a"]\n'
        'directory = "/data"\n'
    )
    machine.advance(10.0)
    assert [gpu.status for gpu in system().gpu_powers()] == ['suspended', 'active']
    (process,) = pynvml.nvmlDeviceGetComputeRunningProcesses(handle(1))
    assert system().process_details(process.pid) == {'thread_count': 1, 'directory': '/data'}
    pynvml.nvmlDeviceGetPowerUsage(handle())
    assert Device(0).power_management_state() == 'active'


def test_children_are_python_processes_without_cat(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr('nvitop.simulation.simulated_system.PROGRAM', '/no/such/program')
    machine = start(ONE_PROCESS.format(more=''), processes='real')
    (child,) = children()
    assert listed_pids() == [child.pid]
    machine.stop()
    assert not child.is_running()


@posix_only
def test_killed_process_disappears_with_its_utilization(start: Start) -> None:
    machine = start(ONE_PROCESS.format(more=''), processes='real')
    (child,) = children()
    assert pynvml.nvmlDeviceGetUtilizationRates(handle()).gpu == 80
    child.send_signal(signal.SIGKILL)
    psutil.wait_procs([child], timeout=PATIENCE)
    assert listed_pids() == []
    machine.advance(1.0)
    assert pynvml.nvmlDeviceGetUtilizationRates(handle()).gpu == 0


@posix_only
def test_children_exit_when_their_parent_is_killed() -> None:
    code = (
        'import os, signal, psutil\n'
        'from nvitop import simulation\n'
        'simulation.machine("workstation").start()\n'
        'print(*[p.pid for p in psutil.Process().children()], flush=True)\n'
        'os.kill(os.getpid(), signal.SIGKILL)\n'
    )
    result = run_python(code)
    pids = [int(pid) for pid in result.stdout.split()]
    assert len(pids) == 5
    wait_until(lambda: not any(_is_alive(pid) for pid in pids), 'the end of the children')


def _is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_processes_option_selects_pids(start: Start) -> None:
    start(ONE_PROCESS.format(more=''), processes='fixed')
    (pid,) = listed_pids()
    assert not psutil.pid_exists(pid)
    start(ONE_PROCESS.format(more=''), processes='none')
    assert listed_pids() == []
    start(ONE_PROCESS.format(more=''), processes=[os.getpid()])
    assert listed_pids() == [os.getpid()]
    with pytest.raises(ValueError, match="processes='some': real, fixed, none or PIDs"):
        start(ONE_PROCESS.format(more=''), processes='some')


def test_newest_machine_is_active_until_it_stops() -> None:
    assert simulation.simulated() == ''
    with simulation.machine('dgx-h100', processes='none'):
        with simulation.machine('spark', processes='none'):
            pynvml.nvmlInit()
            assert simulation.simulated() == 'spark'
            assert pynvml.nvmlDeviceGetCount() == 1
        assert simulation.simulated() == 'dgx-h100'
        pynvml.nvmlInit()
        assert pynvml.nvmlDeviceGetCount() == 8
    assert simulation.simulated() == ''
    assert not hasattr(pynvml.nvmlLib, 'hide')


def test_machine_stops_when_its_block_raises() -> None:
    with pytest.raises(KeyError), simulation.machine('empty'):
        raise KeyError
    assert simulation.simulated() == ''


ASK = (
    'import nvitop.api.libnvml as nvml\n'
    'print(nvml.nvmlQuery("nvmlDeviceGetCount"))\n'
    'from nvitop import simulation\n'
    'print(simulation.simulated())\n'
)


@pytest.mark.parametrize(
    ('value', 'lines', 'name'),
    [('1', ['8', 'dgx-h100'], 'dgx-h100'), ('{path}', ['2', 'mine'], 'mine')],
)
def test_nvitop_demo_simulates_a_machine_in_any_program(
    tmp_path: pathlib.Path, value: str, lines: list[str], name: str
) -> None:
    path = tmp_path / 'mine.toml'
    path.write_text('[[gpu]]\ncount = 2\n')
    result = run_python(ASK, NVITOP_DEMO=value.format(path=path))
    assert result.stdout.split() == lines
    assert result.stderr == f'nvitop: simulating {name!r}; these are not your GPUs\n'
    assert result.returncode == 0


def codes(count: int, gpu: int = 0) -> list[int]:
    result = []
    for _ in range(count):
        try:
            pynvml.nvmlDeviceGetPowerUsage(handle(gpu))
            result.append(0)
        except pynvml.NVMLError as error:
            result.append(error.value)
    return result


def test_fault_has_a_start_an_interval_and_a_maximum(start: Start) -> None:
    machine = start()
    machine.fail('nvmlDeviceGetPowerUsage', 'TIMEOUT', after=2, every=2, times=2)
    assert codes(8) == [0, 0, 0, 10, 0, 10, 0, 0]


def test_unknown_functions_codes_and_gpus_are_explained() -> None:
    mig = simulation.machine('mig', processes='none')
    name = 'nvmlDeviceGetUtilizationRates'
    calls: tuple[tuple[Callable[[], object], str], ...] = (
        (lambda: mig.fail('nvmlDeviceGetUtilizationRate', 1), f"did you mean '{name}'"),
        (lambda: mig.fail(name, 'GPU_LOST'), "code 'GPU_LOST'; did you mean 'GPU_IS_LOST'"),
        (lambda: mig.fail(name, 'LOST'), 'use .*, GPU_IS_LOST,'),
        (lambda: mig.fail(name, 'NVML_ERROR_UNKNOWN', gpu=4), 'no GPU 4; the machine has 4, from'),
        (lambda: mig.delay(name, 1, gpu=-1), 'no GPU -1'),
        (lambda: mig.hang(name, gpu=(0, 9)), r'no MIG device \(0, 9\); GPU 0 has \(0, 0\), '),
        (lambda: mig.set(gpu=12, lost=True), 'no GPU 12'),
        (lambda: mig.set(gpu=(2, 0), lost=True), 'GPU 2 has none'),
        (lambda: mig.grow(3, gpu=12), 'no GPU 12'),
        (
            lambda: mig.set(temprature=1),
            "^Machine.set: temprature: unknown key 'temprature'; did you mean 'temp",
        ),
        (lambda: mig.hide('nvmlNo*'), 'no function'),
    )
    for call, message in calls:
        with pytest.raises(ValueError, match=message):
            call()


def test_cuda_driver_has_the_devices_of_the_environment_and_fails(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('CUDA_VISIBLE_DEVICES', '0')
    machine = start()
    for call in (libcuda.cuDeviceGetCount, lambda: libcuda.cuDeviceGet(0)):
        with pytest.raises(libcuda.CUDAError_NotInitialized):
            call()
    machine.fail('cuInit', 999)
    with pytest.raises(libcuda.CUDAError_Unknown):
        libcuda.cuInit()
    machine.heal()
    machine.hide('cuDeviceGetUuid_v2')
    libcuda.cuInit()
    assert libcuda.cuDriverGetVersion() == '13.0'
    assert libcuda.cuDeviceGetCount() == 1
    assert libcuda.cuDeviceGetUuid(0).startswith('687e4c4b')
    for unknown in (1, -1):
        with pytest.raises(libcuda.CUDAError_InvalidDevice):
            libcuda.cuDeviceGet(unknown)


# MIG


def mig(gpu: int, index: int) -> Any:
    return pynvml.nvmlDeviceGetMigDeviceHandleByIndex(handle(gpu), index)


def mig_indices(gpu: int) -> list[int]:
    found = []
    for index in range(pynvml.nvmlDeviceGetMaxMigDeviceCount(handle(gpu))):
        try:
            mig(gpu, index)
        except pynvml.NVMLError_NotFound:
            continue
        found.append(index)
    return found


def test_mig_devices_have_gaps_and_change_with_time(start: Start) -> None:
    machine = start('mig')
    assert pynvml.nvmlDeviceGetMigMode(handle(0)) == [1, 1]
    assert mig_indices(0) == [0, 2]
    machine.advance(60.0)
    assert mig_indices(0) == [0, 1, 2]
    middle = mig(0, 1)
    assert text(pynvml.nvmlDeviceGetName(middle)) == 'NVIDIA A100-SXM4-80GB MIG 2g.20gb'
    machine.advance(240.0)
    assert mig_indices(0) == [0, 2]
    with pytest.raises(pynvml.NVMLError_InvalidArgument):
        pynvml.nvmlDeviceGetName(middle)
    machine.set(gpu=0, mig_mode=False)
    assert mig_indices(0) == []
    assert mig_indices(2) == []


def test_list_grows_between_two_calls(start: Start) -> None:
    machine = start('[[gpu]]\n' + '[[process]]\ncommand = ["a"]\n' * 12)
    machine.grow(10)
    assert len(Device(0).processes()) == 12
    assert machine.calls['nvmlDeviceGetComputeRunningProcesses_v3'] >= 2


def test_energy_is_the_integral_of_power(start: Start) -> None:
    machine = start('[[gpu]]\n[[process]]\ncommand = ["a"]\nsm = { mean = 50, amplitude = 40 }\n')
    begin, millijoules = pynvml.nvmlDeviceGetTotalEnergyConsumption(handle()), 0.0
    for _ in range(600):
        machine.advance(0.1)
        millijoules += 0.1 * pynvml.nvmlDeviceGetPowerUsage(handle())
    spent = pynvml.nvmlDeviceGetTotalEnergyConsumption(handle()) - begin
    assert spent == pytest.approx(millijoules, rel=0.005)


def test_previous_value_returns_after_an_event(start: Start) -> None:
    event = '[[event]]\nat = 10\nuntil = 20\nset = { temperature = 90 }\n'
    machine = start(f'[[gpu]]\ntemperature = 40\n{event}')
    course = []
    for _ in range(3):
        machine.advance(8.0)
        course.append(pynvml.nvmlDeviceGetTemperature(handle(), 0))
    assert course == [40, 90, 40]


@pytest.mark.parametrize('scenario', ['half-busy', 'spark'])  # processes with an age, and without
def test_graphs_of_every_machine_begin_with_a_past(scenario: str) -> None:
    with simulation.machine(scenario, processes='none', clock=lambda: 0.0):
        past = system().past(1800.0)
    assert past is not None
    assert past.devices[0]['gpu_utilization_percent']
