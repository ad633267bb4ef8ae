"""nvitop on a real GPU, compared with nvidia-smi, CUDA and known work: ``pytest -m gpu``.

The programs that use the GPU need only the CUDA driver. Without a GPU the tests are skipped.
"""

from __future__ import annotations

import contextlib
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import time
from typing import Callable, Iterator, TypeVar

import pytest

from nvitop import simulation
from nvitop.api import libnvml
from nvitop.api.device import CudaDevice, Device, PhysicalDevice
from nvitop.api.process import GpuProcess
from nvitop.basics.units import NA, GiB, KiB, MiB
from nvitop.query.fields import device_table
from nvitop.sampling import parse
from tests.api.contract import check_all
from tests.gpu import program_on_gpu
from tests.gpu.nvidia_smi import NVITOP, different_columns, names_of, rows
from tests.programs import ROOT

T = TypeVar('T')

pytestmark = pytest.mark.gpu
#: Options of nvidia-smi whose columns are compared. --query-retired-pages has rows of N/A on newer
#: GPUs, where nvitop prints none.
KINDS = ('gpu', 'compute-apps', 'remapped-rows', 'supported-clocks', 'accounted-apps')
#: Number of processes that hold memory at once.
HOLDERS = 32
#: nvmlEventTypeXidCriticalError, and the Xids of an illegal address.
XID_EVENT, ILLEGAL_ADDRESS_XIDS = 0x8, (13, 31)


@pytest.fixture
def gpus() -> list[PhysicalDevice]:
    """Return the GPUs of this machine; skip the test without one."""
    if shutil.which('nvidia-smi') is None:
        pytest.skip('NOT RUN ON A REAL GPU: nvidia-smi is not installed')
    libnvml.use_library(None)
    assert simulation.simulated() == ''
    found = PhysicalDevice.all()
    if not found:
        pytest.skip('NOT RUN ON A REAL GPU: the driver lists no GPU')
    return found


@pytest.fixture
def gpu(gpus: list[PhysicalDevice]) -> Device:
    """Return the GPU that programs use: the first one of CUDA."""
    found = CudaDevice.all()
    if not found:
        pytest.skip(f'CUDA sees none of {gpus}')
    if found[0].is_mig_device():
        pytest.skip('CUDA sees a MIG device, whose utilization is unknown')
    return found[0]


@contextlib.contextmanager
def running(mode: str, *arguments: object, count: int = 1) -> Iterator[list[subprocess.Popen[str]]]:
    """Run programs on the GPU inside the block, from when all have begun; kill them afterwards."""
    path = str(pathlib.Path(program_on_gpu.__file__))
    command = [sys.executable, path, mode, *map(str, arguments)]
    pipe = subprocess.PIPE
    with contextlib.ExitStack() as stack:
        programs = []
        for _ in range(count):
            program = subprocess.Popen(command, stdin=pipe, stdout=pipe, encoding='utf-8')
            stack.enter_context(program)
            stack.callback(program.kill)  # the program exits before its context waits for it
            programs.append(program)
        for program in programs:
            assert line_of(program) == 'begun\n', f'"{mode}" failed; the reason is on stderr'
        yield programs


def line_of(program: subprocess.Popen[str]) -> str:
    assert program.stdout is not None
    return program.stdout.readline()


def stop(programs: list[subprocess.Popen[str]]) -> list[str]:
    """Let programs exit; return what they printed last."""
    for program in programs:
        assert program.stdin is not None
        program.stdin.close()
    outputs = [program.stdout.read() for program in programs if program.stdout is not None]
    assert [program.wait(30) for program in programs] == [0] * len(programs)
    return outputs


def wait_for(read: Callable[[], T], is_good: Callable[[T], bool], what: str) -> T:
    """Read until the value is good, and return it; fail with the last value after 10 s."""
    deadline = time.monotonic() + 10.0
    while not is_good(value := read()):
        assert time.monotonic() < deadline, f'{what}: {value!r} after 10 s'
        time.sleep(0.1)
    return value


def process_of(gpu: Device, program: subprocess.Popen[str]) -> GpuProcess:
    processes = gpu.processes()
    if program.pid not in processes and any(each.is_foreign() for each in processes.values()):
        pytest.skip('the driver reports PIDs of another namespace')
    assert program.pid in processes, f'{program.pid} is not among {processes}'
    return processes[program.pid]


@pytest.mark.parametrize('state', ['idle', 'compute'])
def test_columns_equal_those_of_nvidia_smi(gpus: list[PhysicalDevice], state: str) -> None:
    with running('compute') if state == 'compute' else contextlib.nullcontext():
        different = [text for kind in KINDS for text in different_columns(kind)]
    assert not different, '\n'.join(different)


def test_every_name_of_nvidia_smi_is_known(gpus: list[PhysicalDevice]) -> None:
    names = names_of('gpu')
    assert len(names) > 100
    known = device_table().by_name
    assert [name for name in names if name not in known] == []


def test_methods_return_their_documented_types(gpus: list[PhysicalDevice]) -> None:
    for gpu in gpus:
        check_all(gpu)
        for mig in gpu.mig_devices():
            check_all(mig)
    for device in CudaDevice.all():
        check_all(device)


def test_cuda_reports_the_same_gpu_and_memory(gpu: Device) -> None:
    before = gpu.memory_used()
    with running('hold', GiB) as (program,):
        used, process = gpu.memory_used(), process_of(gpu, program)
        cuda = json.loads(stop([program])[0])
    assert (cuda['name'], cuda['uuid']) == (gpu.name(), gpu.uuid())
    # CUDA counts no memory that the driver reserves.
    assert abs(cuda['total_bytes'] - gpu.memory_total()) < GiB
    assert abs(cuda['used_bytes'] - used) < GiB
    # The context of a program needs memory, too.
    assert GiB <= used - before <= 2 * GiB, f'memory used: {before}, with 1 GiB more {used}'
    assert process.gpu_memory() is NA or GiB <= process.gpu_memory() <= used
    wait_for(gpu.memory_used, lambda after: after < before + GiB // 2, f'used, {before} before')


def test_processes_are_those_of_nvidia_smi(gpu: Device) -> None:
    with running('hold', 64 * MiB, count=HOLDERS) as holders, running('compute') as (worker,):
        process_of(gpu, worker)
        pids = {program.pid for program in (*holders, worker)}
        option = '--query-compute-apps=pid,used_memory', '--format=csv,noheader,nounits'
        listed = {int(pid): memory for pid, memory in rows('nvidia-smi', *option)}
        processes = gpu.processes()
        assert pids <= processes.keys() & listed.keys()
        assert {processes[pid].type for pid in pids} == {'C'}
        for pid in pids:
            memory = processes[pid].gpu_memory()
            assert memory is NA or abs(memory / MiB - float(listed[pid])) <= 1, listed[pid]
        assert all(processes[each.pid].gpu_memory() >= 64 * MiB for each in holders)

        wait_for(
            lambda: process_of(gpu, worker).gpu_sm_utilization(), lambda sm: sm >= 80, 'SM % of it'
        )

        holders[0].kill()
        holders[0].wait(30)
        wait_for(gpu.processes, lambda left: holders[0].pid not in left, 'killed, but listed')
        assert pids - gpu.processes().keys() == {holders[0].pid}
        stop([*holders[1:], worker])
        wait_for(lambda: pids & gpu.processes().keys(), lambda left: not left, 'exited, but listed')


def test_busy_gpu_is_reported_as_busy(gpu: Device) -> None:
    wait_for(gpu.gpu_utilization, lambda percent: percent < 5, 'utilization without a program')
    idle_mw = gpu.power_usage()
    with running('compute') as (program,):
        wait_for(gpu.gpu_utilization, lambda percent: percent >= 90, 'utilization')
        wait_for(
            lambda: process_of(gpu, program).gpu_sm_utilization(), lambda sm: sm >= 80, 'its SM %'
        )
        assert gpu.sm_clock() > 0
        if idle_mw is not NA:
            wait_for(gpu.power_usage, lambda mw: mw > 1.2 * idle_mw, f'power (idle: {idle_mw} mW)')
        if gpu.is_gpm_supported():
            wait_for(lambda: gpu.gpm_metrics(0.5), lambda gpm: gpm.sm_active >= 80, 'counters')
    wait_for(gpu.gpu_utilization, lambda percent: percent < 5, 'utilization after the program')


@pytest.mark.parametrize('direction', ['in', 'out'])
def test_pcie_throughput_is_that_of_copies(gpu: Device, direction: str) -> None:
    getter = 'pcie_rx_throughput' if direction == 'in' else 'pcie_tx_throughput'
    readings = []
    with running('copy', direction) as (program,):
        for _ in range(10):
            readings.append(getattr(gpu, getter)())
            time.sleep(0.1)
        size, seconds = map(float, stop([program])[0].split())
    if NA in readings:
        pytest.skip(f'PCIe traffic is unknown: {gpu.unavailable_reason(getter)}')
    # Headers of packets are a part of the traffic.
    measured = statistics.median(readings) * KiB / (size / seconds)
    assert 0.95 <= measured <= 1.15, f'{readings} KiB/s, copied {size / seconds / KiB:.0f} KiB/s'


def test_crash_of_a_program_is_an_event(gpu: Device) -> None:
    types = libnvml.nvmlQuery('nvmlDeviceGetSupportedEventTypes', gpu.handle, default=0)
    if not types & XID_EVENT:
        pytest.skip(f'the driver announces no Xids of this GPU, only events {types:#x}')
    options = ('--format=jsonl', '--output=-', '--interval=500ms')
    command = [*NVITOP, 'record', *options]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, encoding='utf-8') as recorder:
        try:
            for _ in range(4):  # it waits for events after the first sample
                assert line_of(recorder), 'nvitop record ended; the reason is on stderr'
            with running('crash'):
                wait_for(
                    lambda: parse(json.loads(line_of(recorder))).events,
                    lambda events: any(
                        event.kind == 'xid' and event.code in ILLEGAL_ADDRESS_XIDS
                        for event in events
                    ),
                    'events after an illegal address',
                )
        finally:
            recorder.terminate()
