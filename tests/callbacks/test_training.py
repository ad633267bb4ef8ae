"""Real training on the CPU with simulated GPUs; the logs are read with TensorBoard's reader.

These tests need the frameworks: ``make test-callbacks`` runs them in a separate environment.
"""

from __future__ import annotations

import csv
import importlib
import importlib.util
import math
import os
from pathlib import Path
from typing import Any

import pytest

from nvitop import ResourceMetricCollector, simulation
from nvitop.callbacks.tensorboard import add_scalar_dict
from tests.callbacks.frameworks import stats_of

FRAMEWORKS = ('keras', 'lightning', 'pytorch_lightning', 'tensorboard', 'torch')
MISSING = [name for name in FRAMEWORKS if importlib.util.find_spec(name) is None]
# `make test-callbacks` sets the variable, because no framework may be missing there.
if MISSING and not os.environ.get('NVITOP_TEST_FRAMEWORKS'):
    pytest.skip(
        f'NOT RUN, needs {", ".join(MISSING)}: make test-callbacks', allow_module_level=True
    )

os.environ.setdefault('KERAS_BACKEND', 'torch')

#: The frameworks emit warnings of their own.
pytestmark = [pytest.mark.filterwarnings('ignore'), pytest.mark.timeout(300)]

INTRA, INTER = 'batch_time/intra_step (ms)', 'batch_time/inter_step (ms)'
BATCHES, EPOCHS = 4, 2


def read_events(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """Tag → steps and values of all scalars in a directory."""
    module = importlib.import_module('tensorboard.backend.event_processing.event_accumulator')
    found: dict[str, list[tuple[int, float]]] = {}
    for file in sorted(folder.rglob('events.out.tfevents.*')):
        accumulator = module.EventAccumulator(str(file), size_guidance={'scalars': 0})
        accumulator.Reload()
        for tag in accumulator.Tags()['scalars']:
            events = accumulator.Scalars(tag)
            found.setdefault(tag, []).extend((event.step, event.value) for event in events)
    return found


# Keras


def fit_keras(callbacks: list[Any]) -> Any:
    keras = importlib.import_module('keras')
    numpy = importlib.import_module('numpy')
    keras.utils.set_random_seed(0)
    x = numpy.random.rand(BATCHES * 8, 3).astype('float32')
    model = keras.Sequential([keras.layers.Dense(4, activation='relu'), keras.layers.Dense(1)])
    model.compile('sgd', 'mse')
    return model.fit(x, x.sum(1), batch_size=8, epochs=EPOCHS, verbose=0, callbacks=callbacks)


def test_keras_passes_the_metrics_to_other_callbacks(
    machine: simulation.Machine, tmp_path: Path
) -> None:
    keras: Any = importlib.import_module('keras')
    from nvitop.callbacks.keras import GpuStatsLogger

    history = fit_keras(
        [
            GpuStatsLogger(['/gpu:0', '/gpu:1'], intra_step_time=True, inter_step_time=True),
            keras.callbacks.CSVLogger(str(tmp_path / 'log.csv')),
        ]
    ).history
    expected = {**stats_of('0'), **stats_of('1')}

    assert set(history) == {'loss', INTRA, INTER, *expected}
    with open(tmp_path / 'log.csv', encoding='utf-8') as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == EPOCHS
    for key, value in expected.items():
        assert history[key] == [value] * EPOCHS
        assert [float(row[key]) for row in rows] == [value] * EPOCHS
    assert [float(row['loss']) for row in rows] == history['loss']


# Lightning


@pytest.fixture(params=['lightning', 'pytorch_lightning'])
def framework(request: pytest.FixtureRequest) -> tuple[Any, Any]:
    """A framework and the callback for it."""
    name = request.param
    ours = importlib.import_module(f'nvitop.callbacks.{name}')
    package = 'lightning.pytorch' if name == 'lightning' else name
    importlib.import_module(f'{package}.loggers')
    return importlib.import_module(package), ours.GpuStatsLogger


def fit_lightning(package: Any, loggers: Any, callbacks: list[Any], **options: Any) -> None:
    torch = importlib.import_module('torch')

    class Model(package.LightningModule):  # type: ignore[misc]  # - mypy does not see Keras
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(3, 1)

        def training_step(self, batch: Any, index: int) -> Any:
            loss = (self.layer(batch[0]) ** 2).mean()
            self.log('loss', loss)
            return loss

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=0.01)

    data = torch.utils.data.TensorDataset(torch.rand(BATCHES * 8, 3))
    trainer = package.Trainer(
        accelerator='cpu',
        max_epochs=EPOCHS,
        logger=loggers,
        callbacks=callbacks,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        **options,
    )
    trainer.fit(Model(), torch.utils.data.DataLoader(data, batch_size=8))


def test_lightning_logs_every_batch_at_its_start_and_end(
    framework: tuple[Any, Any], machine: simulation.Machine, tmp_path: Path
) -> None:
    package, callback = framework
    loggers = [
        package.loggers.TensorBoardLogger(tmp_path / 'events'),
        package.loggers.CSVLogger(tmp_path / 'csv'),
    ]
    stats = callback(device_ids=[1], intra_step_time=True, inter_step_time=True)
    fit_lightning(package, loggers, [stats])

    events = read_events(tmp_path / 'events')
    steps = range(BATCHES * EPOCHS)
    for key, value in stats_of('1').items():
        assert events[key] == [(step, value) for step in steps for _ in range(2)]
    assert [step for step, _ in events[INTRA]] == list(steps)
    assert [step for step, _ in events[INTER]] == [step for step in steps if step % BATCHES]
    assert all(milliseconds > 0 for _, milliseconds in events[INTRA] + events[INTER])
    (file,) = (tmp_path / 'csv').rglob('metrics.csv')
    with open(file, encoding='utf-8') as lines:
        assert set(stats_of('1')) <= set(next(csv.reader(lines)))


# TensorBoard


def test_collector_metrics_are_written_to_tensorboard(
    machine: simulation.Machine, tmp_path: Path
) -> None:
    writer = importlib.import_module('torch.utils.tensorboard').SummaryWriter(tmp_path)
    collector = ResourceMetricCollector(interval=60.0)
    with collector(tag='train'):
        metrics = collector.collect()
        add_scalar_dict(writer, 'resources', metrics, global_step=3)
    writer.close()
    events = read_events(tmp_path)
    metrics = {key: value for key, value in metrics.items() if not math.isnan(value)}
    assert set(events) == {f'resources/{key}' for key in metrics}
    for key, value in metrics.items():
        ((step, read),) = events[f'resources/{key}']
        assert step == 3
        assert read == pytest.approx(value, rel=1e-6)
