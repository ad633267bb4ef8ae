"""Real training with Lightning on the CPU and simulated GPUs, see ``make test-callbacks``."""

from __future__ import annotations

import csv
import importlib
import importlib.util
import os
from pathlib import Path
from typing import Any

import pytest

from nvitop import simulation
from tests.callbacks.frameworks import stats_of

FRAMEWORKS = ('lightning', 'pytorch_lightning', 'tensorboard', 'torch')
MISSING = [name for name in FRAMEWORKS if importlib.util.find_spec(name) is None]
if MISSING and not os.environ.get('NVITOP_TEST_FRAMEWORKS'):
    pytest.skip(
        f'NOT RUN, needs {", ".join(MISSING)}: make test-callbacks', allow_module_level=True
    )

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


@pytest.fixture(params=['lightning', 'pytorch_lightning'])
def framework(request: pytest.FixtureRequest) -> tuple[Any, Any]:
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
