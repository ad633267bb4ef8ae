# SPDX-License-Identifier: Apache-2.0
"""GpuStatsLogger for ``lightning.pytorch``: GPU metrics in the loggers of a trainer.

:mod:`nvitop.callbacks.pytorch_lightning` uses the same class.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, ClassVar, Sequence

from nvitop.api.device import CudaDevice, Device
from nvitop.api.libnvml import NVMLError
from nvitop.basics.lazy import lazy_names
from nvitop.callbacks.utils import StepTimer, get_devices_by_logical_ids, get_gpu_stats

__all__ = ['GpuStatsLogger']


class TrainerStats:
    """Logs GPU metrics at the start and at the end of every training batch.

    The process of rank zero logs the GPUs of its node to all loggers of the trainer.

    >>> trainer = Trainer(accelerator='gpu', devices=2, callbacks=[GpuStatsLogger()])

    Args:
        memory_utilization: ``utilization.memory (%)``, ``memory.used (MiB)``,
            ``memory.free (MiB)``.
        gpu_utilization: ``utilization.gpu (%)``.
        intra_step_time: ``batch_time/intra_step (ms)``: the duration of a batch, logged at its end.
        inter_step_time: ``batch_time/inter_step (ms)``: the time since the previous batch, logged at
            the start.
        fan_speed: ``fan.speed (%)``.
        temperature: ``temperature.gpu (C)``.
        device_ids: CUDA indices or UUIDs of the GPUs to log, on any accelerator. By default, the
            CUDA devices of the trainer.

    Raises:
        MisconfigurationException: There is no NVIDIA driver, or a GPU does not exist. When training
            starts: the trainer has no logger, or it has no CUDA devices and ``device_ids`` is missing.
    """

    #: MisconfigurationException of the framework.
    _misconfiguration: ClassVar[type[Exception]]

    def __init__(
        self,
        *,
        memory_utilization: bool = True,
        gpu_utilization: bool = True,
        intra_step_time: bool = False,
        inter_step_time: bool = False,
        fan_speed: bool = False,
        temperature: bool = False,
        device_ids: Sequence[int | str] | None = None,
    ) -> None:
        super().__init__()
        self._wanted = (memory_utilization, gpu_utilization, fan_speed, temperature)
        self._intra_step_time = intra_step_time
        self._inter_step_time = inter_step_time
        self._timer = StepTimer()
        self._is_given = device_ids is not None
        self._devices: list[CudaDevice] = []
        if device_ids is not None:
            self._devices = self._find(device_ids)
        elif not Device.is_available():
            raise self._misconfiguration('GpuStatsLogger finds no NVIDIA driver or no GPU.')

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Find the devices of the trainer when training starts."""
        if not trainer.loggers:
            raise self._misconfiguration('GpuStatsLogger needs a trainer with a logger.')
        if self._is_given:
            return
        kind = trainer.strategy.root_device.type
        if kind != 'cuda':
            raise self._misconfiguration(
                f'GpuStatsLogger needs a trainer on CUDA devices, but it runs on {kind!r}. '
                'Pass device_ids to log GPUs that the trainer does not use.'
            )
        self._devices = self._find(trainer.device_ids)

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """Reset the timer when an epoch starts."""
        self._timer.reset()

    def on_train_batch_start(self, trainer: Any, pl_module: Any, *batch: Any) -> None:
        """Log the metrics when a batch starts."""
        times = self._timer.begin()
        self._log(trainer, times if self._inter_step_time else {})

    def on_train_batch_end(self, trainer: Any, pl_module: Any, *batch: Any) -> None:
        """Log the metrics when a batch ends."""
        times = self._timer.end()
        self._log(trainer, times if self._intra_step_time else {})

    def _log(self, trainer: Any, times: dict[str, float]) -> None:
        if not trainer.is_global_zero:
            return
        stats = get_gpu_stats(self._devices, *self._wanted)
        stats.update(times)
        # The trainer's own metrics use this step. global_step counts the steps of each optimizer.
        loop = trainer.fit_loop.epoch_loop
        step = getattr(loop, '_batches_that_stepped', trainer.global_step)
        for logger in trainer.loggers:
            logger.log_metrics(stats, step=step)

    def _find(self, device_ids: Sequence[int | str]) -> list[CudaDevice]:
        try:
            return get_devices_by_logical_ids(device_ids)
        except (NVMLError, RuntimeError) as error:
            raise self._misconfiguration(
                f'GpuStatsLogger cannot use {device_ids=}: {error}'
            ) from error


def make_class(module: str, package: str, distribution: str) -> type[TrainerStats]:
    """Create the class ``GpuStatsLogger`` of a module for a framework.

    Raises:
        ImportError: The framework is not installed.
    """
    try:
        callback = importlib.import_module(f'{package}.callbacks').Callback
        exceptions = importlib.import_module(f'{package}.utilities.exceptions')
    except ImportError as error:
        raise ImportError(f'{module} needs {package}: pip install {distribution}') from error
    namespace = {
        '__module__': module,
        '__doc__': TrainerStats.__doc__,
        '_misconfiguration': exceptions.MisconfigurationException,
    }
    return type('GpuStatsLogger', (TrainerStats, callback), namespace)


if TYPE_CHECKING:
    GpuStatsLogger = TrainerStats
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {},
        'lightning',
        GpuStatsLogger=lambda: make_class(__name__, 'lightning.pytorch', 'lightning'),
    )
