"""Substitutes for frameworks: the parts that the callbacks use."""

from __future__ import annotations

import types
from typing import Any


class Callback:
    def __init__(self) -> None:
        self.is_initialized = True


class MisconfigurationException(Exception):
    pass


def module(name: str, **contents: object) -> types.ModuleType:
    made = types.ModuleType(name)
    vars(made).update(contents)
    return made


def modules() -> dict[str, types.ModuleType]:
    """Modules that replace Keras and both packages of Lightning."""
    made: list[types.ModuleType] = [
        module('keras', __path__=[]),
        module('keras.callbacks', Callback=Callback),
        module('lightning', __path__=[]),
    ]
    for package in ('lightning.pytorch', 'pytorch_lightning'):
        exceptions = module(
            f'{package}.utilities.exceptions', MisconfigurationException=MisconfigurationException
        )
        made += [
            module(package, __path__=[]),
            module(f'{package}.callbacks', Callback=Callback),
            module(f'{package}.utilities', __path__=[]),
            exceptions,
        ]
    return {one.__name__: one for one in made}


class Logger:
    def __init__(self) -> None:
        self.logged: list[tuple[int, dict[str, float]]] = []

    def log_metrics(self, metrics: dict[str, float], step: int) -> None:
        self.logged.append((step, dict(metrics)))


class Trainer:
    """The parts of Lightning's trainer that the callback uses."""

    def __init__(
        self,
        *,
        kind: str = 'cuda',
        device_ids: tuple[int, ...] = (0,),
        is_global_zero: bool = True,
        loggers: int = 1,
    ) -> None:
        self.loggers = [Logger() for _ in range(loggers)]
        self.device_ids = device_ids
        self.is_global_zero = is_global_zero
        self.global_step = 0
        device = types.SimpleNamespace(type=kind)
        self.strategy = types.SimpleNamespace(root_device=device)
        self.loop = types.SimpleNamespace(_batches_that_stepped=0)
        self.fit_loop = types.SimpleNamespace(epoch_loop=self.loop)

    def fit(self, callback: Any, *, epochs: int = 1, batches: int = 2) -> None:
        model = object()
        callback.on_train_start(self, model)
        for _ in range(epochs):
            callback.on_train_epoch_start(self, model)
            for batch in range(batches):
                callback.on_train_batch_start(self, model, 'batch', batch)
                callback.on_train_batch_end(self, model, 'outputs', 'batch', batch)
                self.loop._batches_that_stepped += 1
                self.global_step += 1


def stats_of(gpu: str) -> dict[str, float]:
    return {
        f'gpu_id: {gpu}/utilization.memory (%)': 37.0,
        f'gpu_id: {gpu}/utilization.gpu (%)': 61.0,
        f'gpu_id: {gpu}/memory.used (MiB)': 6144.0,
        f'gpu_id: {gpu}/memory.free (MiB)': 18432.0,
    }
