"""GpuStatsLogger for Keras and Lightning, called like they do, and its parts."""

from __future__ import annotations

import copy
import importlib
import inspect
import math
import pickle
import sys
from typing import Any

import pytest

from nvitop import Device, simulation
from nvitop.callbacks.tensorboard import add_scalar_dict
from nvitop.callbacks.utils import StepTimer, get_devices_by_logical_ids, get_gpu_stats
from tests.callbacks.frameworks import Callback, MisconfigurationException, Trainer, stats_of
from tests.programs import run_python

INTRA, INTER = 'batch_time/intra_step (ms)', 'batch_time/inter_step (ms)'

pytestmark = pytest.mark.usefixtures('substitutes')


def keras_logger(*arguments: Any, **options: Any) -> Any:
    return importlib.import_module('nvitop.callbacks.keras').GpuStatsLogger(*arguments, **options)


def fit_keras(callback: Any, *, epochs: int = 1, batches: int = 2) -> list[dict[str, float]]:
    """Call the hooks like Keras. Returns the logs that other callbacks would see."""
    seen = []
    callback.on_train_begin()
    for epoch in range(epochs):
        callback.on_epoch_begin(epoch)
        for batch in range(batches):
            callback.on_train_batch_begin(batch)
            seen.append({'loss': 1.0})
            callback.on_train_batch_end(batch, seen[-1])
        seen.append({'loss': 1.0})
        callback.on_epoch_end(epoch, seen[-1])
    return seen


def test_metrics_are_added_to_the_logs_of_batches_and_epochs(machine: simulation.Machine) -> None:
    callback = keras_logger(1)
    assert isinstance(callback, Callback)
    assert callback.is_initialized
    assert type(keras_logger(1)) is type(callback)
    for logs in fit_keras(callback):
        assert logs == {'loss': 1.0, **stats_of('0')}


def test_epochs_have_means_over_their_batches(machine: simulation.Machine) -> None:
    callback = keras_logger([0], memory_utilization=False, temperature=True, gpu_utilization=False)
    callback.on_epoch_begin(0)
    for temperature in (40, 44, 60):
        machine.set(temperature=temperature)
        callback.on_train_batch_end(0, {})
    logs: dict[str, float] = {}
    callback.on_epoch_end(0, logs)
    assert logs == {'gpu_id: 0/temperature.gpu (C)': 48.0}
    callback.on_epoch_begin(1)
    callback.on_train_batch_end(0, {})
    callback.on_epoch_end(1, logs)
    assert logs == {'gpu_id: 0/temperature.gpu (C)': 60.0}


def test_missing_values_are_nan_under_the_same_names(machine: simulation.Machine) -> None:
    callback = keras_logger(1, fan_speed=True, inter_step_time=True)
    machine.fail('nvmlDeviceGetFanSpeed*', 'GPU_IS_LOST')
    first = fit_keras(callback, batches=1)
    machine.heal()
    second = fit_keras(callback)
    assert all(set(logs) == set(first[0]) for logs in (*first, *second))
    assert math.isnan(first[-1]['gpu_id: 0/fan.speed (%)'])
    assert math.isnan(first[-1][INTER])
    assert second[-1]['gpu_id: 0/fan.speed (%)'] == 30.0
    assert second[-1][INTER] >= 0.0


@pytest.mark.parametrize(
    ('gpus', 'expected'),
    [
        (2, [0, 1]),
        ([1], [1]),
        ((1, 0), [1, 0]),
        ('/gpu:1', [1]),
        (['/gpu:0', 'gpu:1', '/device:GPU:1'], [0, 1]),
        (['/job:localhost/replica:0/task:0/device:GPU:1'], [1]),
        (['1', 'cuda:0'], [1, 0]),
    ],
)
def test_gpus_are_selected_by_index_or_name(
    machine: simulation.Machine, gpus: Any, expected: list[int]
) -> None:
    logs: dict[str, float] = {}
    keras_logger(gpus, memory_utilization=False).on_train_batch_end(0, logs)
    assert list(logs) == [f'gpu_id: {index}/utilization.gpu (%)' for index in expected]


@pytest.mark.parametrize(
    ('gpus', 'message'),
    [
        (0, 'at least one GPU'),
        (-1, 'at least one GPU'),
        ([], 'at least one GPU'),
        (3, 'invalid device ordinal: 2'),
        ([2], 'invalid device ordinal: 2'),
        ([-1], 'invalid GPU -1: '),
        (['/cpu:0'], "invalid GPU '/cpu:0': "),
        ([None], 'invalid GPU None: '),
    ],
)
def test_invalid_gpu_raises(machine: simulation.Machine, gpus: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        keras_logger(gpus)


def test_missing_driver_raises_in_keras(no_driver: simulation.Machine) -> None:
    with pytest.raises(ValueError, match='NVML: '):
        keras_logger(1)


def test_legacy_keras_is_refused_with_advice(machine: simulation.Machine) -> None:
    with pytest.raises(TypeError, match='unset TF_USE_LEGACY_KERAS'):
        keras_logger([0])._implements_train_batch_hooks()  # which fit_keras() of legacy Keras calls


def test_missing_keras_raises_import_error_with_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module('nvitop.callbacks.keras')
    monkeypatch.setitem(sys.modules, 'keras.callbacks', None)
    with pytest.raises(ImportError, match=r'pip install keras$'):
        _ = module.GpuStatsLogger
    assert not hasattr(module, 'OtherLogger')
    monkeypatch.setitem(sys.modules, 'keras', None)
    monkeypatch.delitem(vars(module), 'GpuStatsLogger', raising=False)
    assert 'GpuStatsLogger' not in dict(inspect.getmembers(module))


def test_modules_import_no_framework() -> None:
    modules = ('keras', 'lightning', 'pytorch_lightning', 'tensorboard', 'utils')
    code = '\n'.join(f'import nvitop.callbacks.{name}' for name in modules)
    frameworks = ('keras', 'tensorflow', 'torch', 'lightning', 'pytorch_lightning', 'tensorboard')
    code += f'\nimport sys; assert not set({frameworks}) & set(sys.modules), sys.modules.keys()'
    assert run_python(code).returncode == 0


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


INTRA, INTER = 'batch_time/intra_step (ms)', 'batch_time/inter_step (ms)'


@pytest.fixture(params=['lightning', 'pytorch_lightning'])
def logger(request: pytest.FixtureRequest) -> Any:
    return importlib.import_module(f'nvitop.callbacks.{request.param}').GpuStatsLogger


def test_metrics_are_logged_at_the_start_and_the_end_of_every_batch(
    machine: simulation.Machine, logger: Any
) -> None:
    trainer = Trainer(device_ids=(0, 1), loggers=2)
    trainer.fit(logger(), epochs=2, batches=2)
    expected = {**stats_of('0'), **stats_of('1')}
    for one in trainer.loggers:
        assert one.logged == [(step, expected) for step in (0, 0, 1, 1, 2, 2, 3, 3)]


def test_only_rank_zero_logs(machine: simulation.Machine, logger: Any) -> None:
    trainer = Trainer(is_global_zero=False)
    callback = logger()
    machine.reset_calls()
    trainer.fit(callback)
    assert trainer.loggers[0].logged == []
    assert not machine.calls['nvmlDeviceGetUtilizationRates']


def test_trainer_without_a_logger_raises(machine: simulation.Machine, logger: Any) -> None:
    for callback in (logger(), logger(device_ids=[0])):
        with pytest.raises(MisconfigurationException, match='with a logger'):
            Trainer(loggers=0).fit(callback)


def test_trainer_without_cuda_devices_needs_device_ids(
    machine: simulation.Machine, logger: Any
) -> None:
    with pytest.raises(MisconfigurationException, match="runs on 'cpu'"):
        Trainer(kind='cpu').fit(logger())
    trainer = Trainer(kind='cpu', device_ids=())
    trainer.fit(logger(device_ids=[1]))
    assert trainer.loggers[0].logged[0] == (0, stats_of('1'))
    trainer = Trainer()
    del trainer.loop._batches_that_stepped  # as in other releases
    trainer.global_step = 5
    callback = logger(device_ids=[1])
    callback.on_train_start(trainer, None)
    callback.on_train_batch_start(trainer, None, 'batch', 0)
    assert trainer.loggers[0].logged[0] == (5, stats_of('1'))
    trainer = Trainer()
    trainer.fit(logger(device_ids=[]))
    assert trainer.loggers[0].logged[0] == (0, {})


def test_missing_driver_raises_in_lightning(no_driver: simulation.Machine, logger: Any) -> None:
    for options in ({}, {'device_ids': [0]}):
        with pytest.raises(MisconfigurationException):
            logger(**options)


def test_logger_can_be_copied_and_pickled(machine: simulation.Machine, logger: Any) -> None:
    for callback in (
        pickle.loads(pickle.dumps(logger(device_ids=[1]))),
        copy.deepcopy(logger(device_ids=[1])),
    ):
        trainer = Trainer(kind='cpu')
        trainer.fit(callback)
        assert trainer.loggers[0].logged[0] == (0, stats_of('1'))


@pytest.mark.parametrize(
    ('name', 'package', 'advice'),
    [
        ('lightning', 'lightning.pytorch', 'pip install lightning'),
        ('pytorch_lightning', 'pytorch_lightning', 'pip install pytorch-lightning'),
    ],
)
def test_missing_framework_raises_import_error_with_advice(
    monkeypatch: pytest.MonkeyPatch, name: str, package: str, advice: str
) -> None:
    module = importlib.import_module(f'nvitop.callbacks.{name}')
    monkeypatch.setitem(sys.modules, f'{package}.callbacks', None)
    with pytest.raises(ImportError, match=advice):
        _ = module.GpuStatsLogger
    assert not hasattr(module, 'OtherLogger')
