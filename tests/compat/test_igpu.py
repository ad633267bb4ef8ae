"""igpu: functions and objects, and unavailable values."""

from __future__ import annotations

import math
import os
import pickle
import time
from typing import Any, Iterator

import pytest

from nvitop import simulation
from nvitop.api import libnvml
from nvitop.api.host import PsutilError
from nvitop.api.process import HostProcess
from nvitop.compat import igpu
from nvitop.simulation.driver.nvml import ALL_SYMBOLS
from tests.compat.machines import machine

#: A PID that does not exist.
GONE = 4100000


@pytest.fixture(autouse=True)
def no_cuda_visible_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv('CUDA_VISIBLE_DEVICES', raising=False)


@pytest.fixture
def gpus() -> Iterator[simulation.Machine]:
    with machine(processes=[os.getpid(), os.getppid(), GONE]) as running:
        yield running


# Functions


def test_devices_are_listed(gpus: simulation.Machine) -> None:
    assert igpu.count_devices() == 2
    assert igpu.devices_index() == [0, 1]
    assert [gpu.index for gpu in igpu.devices()] == [0, 1]
    assert [type(gpu) for gpu in igpu.devices()] == [igpu.GPUInfo] * 2


@pytest.mark.parametrize('index', [2, -1, '0', None, 0.0, (0, 0), (0, 'a'), (9, 9)])
def test_wrong_index_raises(gpus: simulation.Machine, index: Any) -> None:
    with pytest.raises(ValueError, match='there is no'):
        igpu.get_device(index)


def test_machine_without_gpus_or_driver_has_no_devices() -> None:
    with simulation.machine('empty') as gpus:
        assert igpu.count_devices() == igpu.count_visible_devices() == 0
        assert igpu.devices() == igpu.visible_devices() == []
        with pytest.raises(ValueError, match='there is no GPU'):
            igpu.get_device(0)
        gpus.fail('nvmlInitWithFlags', 'DRIVER_NOT_LOADED')
        libnvml.nvmlShutdown()
        assert igpu.count_devices() == igpu.count_visible_devices() == 0
        assert igpu.devices_index() == igpu.visible_devices_index() == []
        assert igpu.nvidia_driver_version() == (None, None)
        with pytest.raises(ValueError, match='there is no GPU'):
            igpu.get_device(0)


def test_gpu_that_cannot_be_opened_raises(gpus: simulation.Machine) -> None:
    gpus.fail('nvmlDeviceGetHandleByIndex*', 'NO_PERMISSION')
    with pytest.raises(ValueError, match=r'^cannot open GPU 1: Insufficient Permissions'):
        igpu.get_device(1)
    with pytest.raises(ValueError, match=r'^cannot open GPU 0: '):
        igpu.devices()


@pytest.mark.parametrize(
    ('value', 'indices'),
    [
        (None, [0, 1]),
        ('', []),
        ('1', [1]),
        ('1,0', [1, 0]),
        ('0,7,1', [0]),
        ('-1', []),
        ('nonsense', []),
        ('GPU-', []),
    ],
)
def test_visible_devices_follow_the_rules_of_cuda(
    gpus: simulation.Machine, monkeypatch: pytest.MonkeyPatch, value: str | None, indices: list[int]
) -> None:
    monkeypatch.setenv('CUDA_DEVICE_ORDER', 'PCI_BUS_ID')
    if value is not None:
        monkeypatch.setenv('CUDA_VISIBLE_DEVICES', value)
    assert igpu.visible_devices_index() == indices
    assert igpu.count_visible_devices() == len(indices)
    assert [gpu.index for gpu in igpu.visible_devices()] == indices


def test_mig_devices_are_visible_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    with simulation.machine('mig', processes='fixed', clock=lambda: 0.0):
        uuid = igpu.get_device((1, 0)).uuid
        assert uuid.startswith('MIG-')
        monkeypatch.setenv('CUDA_VISIBLE_DEVICES', uuid)
        assert igpu.visible_devices_index() == [(1, 0)]
        (gpu,) = igpu.visible_devices()
        assert (gpu.index, gpu.uuid) == ((1, 0), uuid)
        assert 0 < gpu.memory.total < igpu.get_device(1).memory.total
        assert math.isnan(gpu.utilization.gpu)
        assert gpu.power == igpu.get_device(1).power


def test_driver_version_is_a_pair_with_all_parts(gpus: simulation.Machine) -> None:
    version = igpu.nvidia_driver_version()
    assert (version.parts, version.text) == ((580, 65, 6), '580.65.06')
    copied = pickle.loads(pickle.dumps(version))
    assert (copied, copied.parts, copied.text) == (version, version.parts, version.text)
    major, minor = version
    assert (major, minor) == version == (580, 65)
    assert version >= (535, 129)


@pytest.mark.parametrize(
    ('text', 'pair', 'parts'),
    [
        ('430.64', (430, 64), (430, 64)),
        ('535', (535, None), (535,)),
        ('', (None, None), ()),
        ('1.2.3.4', (1, 2), (1, 2, 3, 4)),
    ],
)
def test_version_of_any_length_is_a_pair(
    text: str, pair: tuple[int | None, int | None], parts: tuple[int, ...]
) -> None:
    version = igpu.DriverVersion(text)
    assert (version, version.parts) == (pair, parts)
    assert len(version) == 2


# Objects


def test_gpu_has_an_identity(gpus: simulation.Machine) -> None:
    gpu = igpu.get_device(0)
    assert (gpu.index, gpu.name, gpu.serial, gpu.bios) == (
        0,
        'Tesla V100-SXM2-32GB',
        '0324118000000',
        '88.00.4F.00.09',
    )
    assert gpu.uuid.startswith('GPU-')
    assert repr(gpu) == "GPUInfo(index=0, name='Tesla V100-SXM2-32GB')"
    assert igpu.get_device(1).serial == 'N/A'


def test_groups_have_the_units_of_igpu(gpus: simulation.Machine) -> None:
    gpu = igpu.get_device(0)
    total = 34089730048 / (1 << 20)
    assert gpu.memory.total == total
    assert gpu.memory.used + gpu.memory.free == total
    assert gpu.memory.unit == 'MiB'
    assert vars(gpu.utilization) == {
        'gpu': 80.0,
        'memory': 44.0,
        'fan': 46.0,
        'temperature': 58.0,
        'performance': 'P0',
    }
    assert isinstance(gpu.utilization.gpu, float)
    pci = ['1B', '00000000:1B:00.0', '00', '1DB510DE', '124910DE', '3', '3', '16x', '16x']
    assert [*vars(gpu.pci).values()] == pci
    clocks = [1380.0, 1380.0, 877.0, 1530.0, 1530.0, 877.0, 1230.0, 1372.0, 'MHz']
    assert [*vars(gpu.clocks).values()] == clocks
    power = ['Supported', 238.456, 300.0, 150.0, 300.0, 300.0, 300.0, 'W']
    assert [*vars(gpu.power).values()] == power


def test_unified_memory_is_that_of_the_host() -> None:
    with simulation.machine('spark', processes='none'):
        memory = igpu.get_device(0).memory
    assert memory.total == 128 * 1024
    assert 0 < memory.used < memory.total


def test_values_change_with_update(gpus: simulation.Machine) -> None:
    gpu = igpu.get_device(0)
    memory = gpu.memory
    gpus.set(gpu=0, temperature=77, memory_used='10 GiB')
    assert (gpu.utilization.temperature, gpu.memory) == (58.0, memory)
    gpu.update()
    assert gpu.utilization.temperature == 77.0
    assert gpu.memory.used == 10240.0 + 300.0
    assert gpu.memory is not memory


def test_processes_are_listed_with_their_parents(gpus: simulation.Machine) -> None:
    processes = igpu.get_device(0).processes
    assert isinstance(processes, list)
    by_pid = {process.pid: process for process in processes}
    assert set(by_pid) == {os.getpid(), os.getppid(), GONE}
    me = by_pid[os.getpid()]
    myself = HostProcess()
    assert (me.name, me.user, me.type) == (myself.name(), myself.username(), 'C')
    parent = myself.parent()
    assert parent is not None
    assert (me.parent_pid, me.parent_name) == (parent.pid, parent.name())
    assert me.create_time == time.strftime(
        '%Y-%m-%d %H:%M:%S', time.localtime(myself.create_time())
    )
    assert me.gpu_memory == 29696
    assert by_pid[os.getppid()].type == 'G'


def test_unknown_process_is_listed(gpus: simulation.Machine) -> None:
    (gone,) = (process for process in igpu.get_device(0).processes if process.pid == GONE)
    assert [*vars(gone).values()] == [GONE, 'N/A', 'N/A', None, 'N/A', 'N/A', 1, 'C']


def test_process_that_exits_during_the_query_is_listed(
    gpus: simulation.Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(process: object) -> int:
        raise PsutilError

    monkeypatch.setattr(HostProcess, 'ppid', ended)
    processes = igpu.get_device(0).processes
    assert len(processes) == 3
    assert {process.parent_pid for process in processes} == {None}


def test_process_without_a_parent_is_listed() -> None:
    with machine(processes=[1, os.getpid(), GONE]):
        (first,) = (process for process in igpu.get_device(0).processes if process.pid == 1)
    assert (first.parent_pid, first.parent_name) == (0, 'N/A')


def test_unknown_memory_of_a_process_is_nan() -> None:
    process = '[[process]]\ngpus = [0]\ncommand = ["x"]\nmemory = "N/A"\n'
    with machine('[[gpu]]\n' + process):
        (row,) = igpu.get_device(0).processes
    assert math.isnan(row.gpu_memory)
    assert str(row).endswith('| N/A')


def test_processes_on_mig_devices_are_processes_of_the_gpu() -> None:
    with simulation.machine('mig', processes='fixed', clock=lambda: 0.0):
        whole = igpu.get_device(1).processes
        slices = igpu.get_device((1, 0)).processes
        assert slices
        assert {process.pid for process in slices} < {process.pid for process in whole}


def test_unavailable_values_are_nan(gpus: simulation.Machine) -> None:
    for name in ALL_SYMBOLS:
        if name.startswith('nvmlDeviceGet') and 'Handle' not in name:
            gpus.fail(name, 'UNKNOWN', gpu=1)
    gpu = igpu.get_device(1)
    groups = (gpu.memory, gpu.utilization, gpu.pci, gpu.clocks, gpu.power)
    for group in groups:
        for name, value in vars(group).items():
            if name != 'unit':
                assert value == 'N/A' or math.isnan(value), name
    assert gpu.processes == []
    text = str(gpu)
    assert 'nan' not in text
    assert text.count('N/A') > 30


def test_lost_gpu_is_listed(gpus: simulation.Machine) -> None:
    gpus.set(gpu=0, lost=True)
    lost, other = igpu.devices()
    assert lost.name == 'ERROR: GPU is Lost'
    assert math.isnan(lost.memory.used)
    assert 'nan' not in str(lost)
    assert other.memory.total > 0


# Texts


def test_gpu_prints_all_groups(gpus: simulation.Machine) -> None:
    gpu = igpu.get_device(0)
    text = str(gpu)
    for group in (gpu.memory, gpu.utilization, gpu.pci, gpu.clocks, gpu.power, gpu.processes):
        assert str(group) in text
    assert text.startswith('INDEX        : 0\nBOARD NAME   : Tesla V100-SXM2-32GB\n')


def test_groups_print_like_igpu() -> None:
    memory = igpu.GPUMemoryInfo(total=1000.0, used=250.0, free=750.0, unit='MiB')
    assert str(memory).splitlines() == [
        'GPU MEMORY:',
        '    Total :    1000.00 MiB (100.00%)',
        '    Used  :     250.00 MiB ( 25.00%)',
        '    Free  :     750.00 MiB ( 75.00%)',
    ]
    memory = igpu.GPUMemoryInfo(total=math.nan, used=math.nan, free=math.nan, unit='MiB')
    assert '    Used  :        N/A MiB (N/A)' in str(memory).splitlines()
    utilization = igpu.GPUUtilizationInfo(
        gpu=0.0, memory=math.nan, fan=130.0, temperature=45.0, performance='P8'
    )
    assert str(utilization).splitlines() == [
        'GPU UTILIZATION:',
        '    Performance : P8',
        '    Temperature : 45.00C',
        '    Graphics    : [                         ] 0.00%',
        '    Memory      : N/A',
        '    Fan         : [|||||||||||||||||||||||||] 130.00%',
    ]


def test_processes_print_as_a_table() -> None:
    heading = (
        '    PID    | NAME                 | USER                 | PARENT   | '
        'CREATION TIME        | GPU MEM'
    )
    assert str(igpu.GPUProcessesInfo()).splitlines() == ['PROCESSES', heading]
    row = igpu.GPUProcessInfo(
        pid=7,
        name='a\x1b[31m\n',
        user='ada',
        parent_pid=None,
        parent_name='N/A',
        create_time='N/A',
        gpu_memory=12.0,
        type='C',
    )
    assert str(igpu.GPUProcessesInfo([row])).splitlines()[2] == (
        '    7      | a�[31m�              | ada                  | N/A      | '
        'N/A                  | 12'
    )
