# SPDX-License-Identifier: Apache-2.0
"""GpuStatsLogger for Keras: GPU metrics in the training logs."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, MutableMapping, Sequence

from nvitop.api.device import CudaDevice
from nvitop.api.libnvml import NVMLError
from nvitop.basics.lazy import lazy_names
from nvitop.callbacks.utils import StepTimer, get_devices_by_logical_ids, get_gpu_stats

Logs = MutableMapping[str, Any]

__all__ = ['GpuStatsLogger']

#: '0', 'gpu:0', '/gpu:0', '/device:GPU:0', '/job:localhost/replica:0/task:0/device:GPU:0', 'cuda:0'
_NAME = re.compile(r'(?:\A|[/:])(?:gpu:|cuda:|\A)(\d+)\Z', re.IGNORECASE)


class KerasStats:
    """Adds GPU metrics to the ``logs`` that Keras passes from callback to callback.

    List it before the callbacks that use the metrics, such as ``TensorBoard`` and ``CSVLogger``. At
    the end of a batch, the metrics are current values. At the end of an epoch, they are means over
    its batches, which ``History`` contains too.

    >>> model.fit(x, y, callbacks=[GpuStatsLogger(['/gpu:0']), CSVLogger('log.csv')])

    Args:
        gpus: Number of GPUs, or a list of CUDA indices and names such as ``'/gpu:0'``.
        memory_utilization: ``utilization.memory (%)``, ``memory.used (MiB)``,
            ``memory.free (MiB)``.
        gpu_utilization: ``utilization.gpu (%)``.
        intra_step_time: ``batch_time/intra_step (ms)``: the duration of a batch.
        inter_step_time: ``batch_time/inter_step (ms)``: the time between two batches.
        fan_speed: ``fan.speed (%)``.
        temperature: ``temperature.gpu (C)``.

    Raises:
        ValueError: There is no NVIDIA driver, no GPU is given, or a GPU does not exist.
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
        super().__init__()
        self._devices = _find_devices(gpus)
        self._wanted = (memory_utilization, gpu_utilization, fan_speed, temperature)
        self._intra_step_time = intra_step_time
        self._inter_step_time = inter_step_time
        self._timer = StepTimer()
        self._between: dict[str, float] = {}
        #: Metric → sum and number of its values in this epoch.
        self._epoch: dict[str, tuple[float, int]] = {}

    def _implements_train_batch_hooks(self) -> bool:
        # Only legacy Keras calls this, and it would call none of the hooks below with values.
        raise TypeError(
            'GpuStatsLogger needs Keras 3, but the model is one of legacy Keras (tf_keras): unset '
            'TF_USE_LEGACY_KERAS, and import keras instead of tf_keras'
        )

    def on_train_begin(self, logs: Logs | None = None) -> None:
        """Reset the timer when training starts."""
        self._timer.reset()

    def on_epoch_begin(self, epoch: int, logs: Logs | None = None) -> None:
        """Reset the timer and the means when an epoch starts."""
        self._timer.reset()
        self._epoch = {}

    def on_train_batch_begin(self, batch: int, logs: Logs | None = None) -> None:
        """Start the timer of a batch."""
        self._between = self._timer.begin()

    def on_train_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        """Add the current metrics to ``logs`` after a batch."""
        times = self._timer.end()
        stats = get_gpu_stats(self._devices, *self._wanted)
        if self._intra_step_time:
            stats.update(times)
        if self._inter_step_time:
            # The first batch has NaN, because CSVLogger uses the columns of its first row only.
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
        """Add the means over the batches of an epoch to ``logs``."""
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
        return get_devices_by_logical_ids(ids)
    except NVMLError as error:
        raise ValueError(f'GpuStatsLogger cannot use the NVIDIA driver: {error}') from error
    except RuntimeError as error:
        raise ValueError(f'GpuStatsLogger cannot use gpus={gpus!r}: {error}') from error


def _id_of(gpu: object) -> int:
    if isinstance(gpu, int) and gpu >= 0:
        return gpu
    match = _NAME.search(gpu) if isinstance(gpu, str) else None
    if match is None:
        raise ValueError(f"invalid GPU {gpu!r}: expected an index or a name such as '/gpu:0'")
    return int(match[1])


def _make_class() -> type[KerasStats]:
    try:
        from keras.callbacks import Callback
    except ImportError as error:
        if error.name is None or error.name.partition('.')[0] == 'keras':
            advice = 'pip install keras'
        else:  # Keras imports its backend, TensorFlow by default
            advice = 'set KERAS_BACKEND to an installed backend: tensorflow, jax or torch'
        raise ImportError(f'nvitop.callbacks.keras needs Keras ({error}): {advice}') from error
    body = {'__module__': __name__, '__doc__': KerasStats.__doc__}
    return type('GpuStatsLogger', (KerasStats, Callback), body)


if TYPE_CHECKING:
    GpuStatsLogger = KerasStats
else:
    __getattr__, __dir__ = lazy_names(__name__, {}, 'keras', GpuStatsLogger=_make_class)
