"""GpuStatsLogger for Lightning and PyTorch Lightning, called like they do."""

from __future__ import annotations

import copy
import importlib
import pickle
import sys
from typing import Any

import pytest

from nvitop import simulation
from tests.callbacks.frameworks import MisconfigurationException, Trainer, stats_of

INTRA, INTER = 'batch_time/intra_step (ms)', 'batch_time/inter_step (ms)'

pytestmark = pytest.mark.usefixtures('substitutes')


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


def test_missing_driver_raises(no_driver: simulation.Machine, logger: Any) -> None:
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
