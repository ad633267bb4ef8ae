"""Devices of frameworks, their metrics, timing of steps, and scalars for TensorBoard."""

from __future__ import annotations

import math

import pytest

from nvitop import Device, simulation
from nvitop.api.device import CudaDevice
from nvitop.callbacks.tensorboard import add_scalar_dict
from nvitop.callbacks.utils import StepTimer, get_devices_by_logical_ids, get_gpu_stats
from tests.callbacks.frameworks import stats_of
from tests.programs import run_python


def test_modules_import_no_framework() -> None:
    modules = ('keras', 'lightning', 'pytorch_lightning', 'tensorboard', 'utils')
    code = '\n'.join(f'import nvitop.callbacks.{name}' for name in modules)
    frameworks = ('keras', 'tensorflow', 'torch', 'lightning', 'pytorch_lightning', 'tensorboard')
    code += f'\nimport sys; assert not set({frameworks}) & set(sys.modules), sys.modules.keys()'
    assert run_python(code).returncode == 0


def test_devices_are_found_by_their_cuda_indices(
    machine: simulation.Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('CUDA_VISIBLE_DEVICES', '1,0')
    devices = get_devices_by_logical_ids([0, 1, 0])
    assert [(device.cuda_index, device.nvml_index) for device in devices] == [(0, 1), (1, 0)]
    assert all(isinstance(device, CudaDevice) for device in devices)
    assert len(get_devices_by_logical_ids([0, 1, 0], unique=False)) == 3
    assert get_devices_by_logical_ids([Device(0).uuid()])[0].cuda_index == 1
    with pytest.raises(RuntimeError, match='invalid device ordinal'):
        get_devices_by_logical_ids([2])


def test_metrics_have_the_names_of_nvidia_smi(machine: simulation.Machine) -> None:
    devices = get_devices_by_logical_ids([0])
    assert get_gpu_stats(devices) == stats_of('0')
    machine.reset_calls()
    assert all(type(value) is float for value in get_gpu_stats(devices).values())
    assert machine.calls == {'nvmlDeviceGetMemoryInfo_v2': 1, 'nvmlDeviceGetUtilizationRates': 1}
    assert list(get_gpu_stats(devices, False, True, True, True).items()) == [
        ('gpu_id: 0/utilization.gpu (%)', 61.0),
        ('gpu_id: 0/fan.speed (%)', 30.0),
        ('gpu_id: 0/temperature.gpu (C)', 44.0),
    ]
    assert get_gpu_stats(devices, memory_utilization=False, gpu_utilization=False) == {}


def test_name_has_the_physical_index_if_it_differs(
    machine: simulation.Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('CUDA_VISIBLE_DEVICES', '1')
    stats = get_gpu_stats(get_devices_by_logical_ids([0]))
    assert stats == stats_of('0 (physical index: 1)')
    assert get_gpu_stats([Device(0)]) == stats_of('0')  # CUDA programs do not see it


def test_unavailable_metrics_are_nan(machine: simulation.Machine) -> None:
    devices = get_devices_by_logical_ids([0, 1])
    machine.set(gpu=0, lost=True)
    machine.fail('nvmlDeviceGetFanSpeed*', 'NOT_SUPPORTED')
    stats = get_gpu_stats(devices, fan_speed=True)
    assert all(math.isnan(value) for key, value in stats.items() if 'gpu_id: 0/' in key)
    assert math.isnan(stats['gpu_id: 1/fan.speed (%)'])
    assert stats['gpu_id: 1/memory.used (MiB)'] == 6144.0


def test_timer_returns_milliseconds() -> None:
    moments = iter([1.0, 1.5, 1.75, 2.0, 9.0, 9.5])
    timer = StepTimer(lambda: next(moments))
    assert timer.begin() == {}
    assert timer.end() == {'batch_time/intra_step (ms)': 500.0}
    assert timer.begin() == {'batch_time/inter_step (ms)': 250.0}
    assert timer.end() == {'batch_time/intra_step (ms)': 250.0}
    timer.reset()
    assert timer.end() == {}
    assert timer.begin() == {'batch_time/inter_step (ms)': 500.0}


def test_scalars_have_the_tag_as_a_prefix() -> None:
    added = []

    class Writer:
        def add_scalar(self, *arguments: object) -> None:
            added.append(arguments)

    add_scalar_dict(Writer(), 'main', {'a/b (%)': 1.5, 'c': 2}, 7, walltime=9.0)
    add_scalar_dict(Writer(), 'm', {'d': 3, 'unavailable': math.nan})
    assert added == [('main/a/b (%)', 1.5, 7, 9.0), ('main/c', 2, 7, 9.0), ('m/d', 3, None, None)]
