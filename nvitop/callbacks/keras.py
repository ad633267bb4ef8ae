# SPDX-License-Identifier: Apache-2.0
"""GpuStatsLogger for Keras: GPU values among the logs of training."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from nvitop.api.device import CudaDevice
from nvitop.api.libnvml import NVMLError
from nvitop.callbacks.utils import StepTimer, devices_by_logical_ids, gpu_stats
from nvitop.lazy import lazy_names

if TYPE_CHECKING:
    from collections.abc import MutableMapping, Sequence

    Logs = MutableMapping[str, Any]

__all__ = ['GpuStatsLogger']

#: '0', 'gpu:0', '/gpu:0', '/device:GPU:0', '/job:localhost/replica:0/task:0/device:GPU:0', 'cuda:0'
_NAME = re.compile(r'(?:\A|[/:])(?:gpu:|cuda:|\A)(\d+)\Z', re.IGNORECASE)


class KerasStats:
    """Puts GPU values into the ``logs`` that Keras hands from callback to callback.

    Callbacks after this one see them, so it comes first: in a list before ``TensorBoard`` and
    ``CSVLogger``. At the end of a batch they are of that moment, at the end of an epoch means over
    its batches; ``History`` has these, too.

    >>> model.fit(x, y, callbacks=[GpuStatsLogger(['/gpu:0']), CSVLogger('log.csv')])

    Args:
        gpus: How many GPUs, or which: numbers and names as ``'/gpu:0'``, as Keras and TensorFlow
            count them (CUDA indices).
        memory_utilization: ``utilization.memory (%)``, ``memory.used (MiB)``,
            ``memory.free (MiB)``.
        gpu_utilization: ``utilization.gpu (%)``.
        intra_step_time: ``batch_time/intra_step (ms)``: how long a batch took.
        inter_step_time: ``batch_time/inter_step (ms)``: the time between a batch and the one before.
        fan_speed: ``fan.speed (%)``.
        temperature: ``temperature.gpu (C)``.

    Raises:
        ValueError: There is no NVIDIA driver, no GPU is given, or one that does not exist.
    """

    def __init__(
        self,
        gpus: int | str | Sequence[int | str],
        *,
        memory_utilization: bool = True,
        gpu_utilization: bool = True,
        intra_step_time: bool = False,
        inter_step_time: bool = False,
        fan_speed: bool = False,
        temperature: bool = False,
    ) -> None:
        """Find the GPUs."""
        super().__init__()
        self._devices = _find_devices(gpus)
        self._wanted = (memory_utilization, gpu_utilization, fan_speed, temperature)
        self._intra_step_time = intra_step_time
        self._inter_step_time = inter_step_time
        self._timer = StepTimer()
        self._between: dict[str, float] = {}
        #: Sum and number of the values of this epoch.
        self._epoch: dict[str, tuple[float, int]] = {}

    def on_train_begin(self, logs: Logs | None = None) -> None:
        """Training begins."""
        self._timer.reset()

    def on_epoch_begin(self, epoch: int, logs: Logs | None = None) -> None:
        """An epoch begins: so do its means."""
        self._timer.reset()
        self._epoch = {}

    def on_train_batch_begin(self, batch: int, logs: Logs | None = None) -> None:
        """A batch begins."""
        self._between = self._timer.begin()

    def on_train_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        """A batch has ended: what the GPUs do goes into ``logs``."""
        times = self._timer.end()
        stats = gpu_stats(self._devices, *self._wanted)
        if self._intra_step_time:
            stats.update(times)
        if self._inter_step_time:
            # Also for the first batch: CSVLogger keeps to the columns of its first line.
            stats.update(self._between or {'batch_time/inter_step (ms)': math.nan})
        for key, value in stats.items():
            if not math.isnan(value):
                total, count = self._epoch.get(key, (0.0, 0))
                self._epoch[key] = total + value, count + 1
            else:
                self._epoch.setdefault(key, (0.0, 0))
        if logs is not None:
            logs.update(stats)

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        """An epoch has ended: the means over its batches go into ``logs``."""
        if logs is not None:
            logs.update(
                (key, total / count if count else math.nan)
                for key, (total, count) in self._epoch.items()
            )


def _find_devices(gpus: int | str | Sequence[int | str]) -> list[CudaDevice]:
    if isinstance(gpus, str):
        gpus = [gpus]
    ids = range(gpus) if isinstance(gpus, int) else [_id_of(gpu) for gpu in gpus]
    if not ids:
        raise ValueError(f'GpuStatsLogger needs at least one GPU, got gpus={gpus!r}')
    try:
        return devices_by_logical_ids(ids)
    except NVMLError as error:
        raise ValueError(f'GpuStatsLogger cannot ask the NVIDIA driver: {error}') from error
    except RuntimeError as error:
        raise ValueError(f'GpuStatsLogger, gpus={gpus!r}: {error}') from error


def _id_of(gpu: object) -> int:
    if isinstance(gpu, int) and gpu >= 0:
        return gpu
    match = _NAME.search(gpu) if isinstance(gpu, str) else None
    if match is None:
        raise ValueError(f"not a GPU: {gpu!r}; a number or a name like '/gpu:0' is one")
    return int(match[1])


def _make_logger() -> type[KerasStats]:
    try:
        from keras.callbacks import Callback
    except ImportError as error:
        message = 'nvitop.callbacks.keras needs Keras: pip install keras'
        raise ImportError(message) from error
    body = {'__module__': __name__, '__doc__': KerasStats.__doc__}
    return type('GpuStatsLogger', (KerasStats, Callback), body)


if TYPE_CHECKING:

    class GpuStatsLogger(KerasStats):
        """See :class:`KerasStats`."""

else:
    __getattr__, __dir__ = lazy_names(__name__, {}, GpuStatsLogger=_make_logger)
