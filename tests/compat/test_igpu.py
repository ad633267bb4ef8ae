"""igpu: functions and objects, and unavailable values."""

from __future__ import annotations

import math
import os
import pickle
from typing import Iterator

import pytest

from nvitop import simulation
from nvitop.api import libnvml
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


def test_machine_without_gpus_or_driver_has_no_devices() -> None:
    with simulation.machine('empty') as gpus:
        for is_loaded in (True, False):
            if not is_loaded:
                gpus.fail('nvmlInitWithFlags', 'DRIVER_NOT_LOADED')
                libnvml.nvmlShutdown()
            assert igpu.count_devices() == igpu.count_visible_devices() == 0
            assert igpu.devices() == igpu.visible_devices() == []
            assert igpu.devices_index() == igpu.visible_devices_index() == []
            with pytest.raises(ValueError, match='there is no GPU'):
                igpu.get_device(0)
        assert igpu.nvidia_driver_version() == (None, None)


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


def test_unknown_process_is_listed(gpus: simulation.Machine) -> None:
    (gone,) = (process for process in igpu.get_device(0).processes if process.pid == GONE)
    assert [*vars(gone).values()] == [GONE, 'N/A', 'N/A', None, 'N/A', 'N/A', 1, 'C']


def test_unavailable_values_are_nan(gpus: simulation.Machine) -> None:
    for name in ALL_SYMBOLS:
        if name.startswith('nvmlDeviceGet') and 'Handle' not in name:
            gpus.fail(name, 'UNKNOWN', gpu=1)
    gpu = igpu.get_device(1)
    for group in (gpu.memory, gpu.utilization, gpu.pci, gpu.clocks, gpu.power):
        for name, value in vars(group).items():
            if name != 'unit':
                assert value == 'N/A' or math.isnan(value), name
    assert gpu.processes == []
    assert 'nan' not in str(gpu)
    assert str(gpu).count('N/A') > 30
