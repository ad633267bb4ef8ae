"""Log GPU values with the loggers of Lightning.

python examples/lightning_training.py FOLDER     # needs lightning and tensorboard

When training on CUDA devices, ``GpuStatsLogger()`` finds them by itself. This example trains on the CPU,
so it names the GPU.
"""

from __future__ import annotations

import sys
from typing import Any

import lightning.pytorch as lightning
import torch
from lightning.pytorch.loggers import CSVLogger, TensorBoardLogger

from nvitop.callbacks.lightning import GpuStatsLogger


class Model(lightning.LightningModule):  # type: ignore[misc]  # - not installed for type checks
    """Small linear model."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Linear(64, 1))

    def training_step(self, batch: Any, index: int) -> Any:
        """Return the loss."""
        loss = (self.layers(batch[0]) ** 2).mean()
        self.log('loss', loss)
        return loss

    def configure_optimizers(self) -> Any:
        """Return the optimizer."""
        return torch.optim.SGD(self.parameters(), lr=0.01)


def main() -> None:
    """Train a small model."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = sys.argv[1]
    trainer = lightning.Trainer(
        accelerator='cpu',
        max_epochs=2,
        logger=[TensorBoardLogger(folder), CSVLogger(folder)],
        callbacks=[GpuStatsLogger(device_ids=[0], temperature=True, inter_step_time=True)],
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    data = torch.utils.data.TensorDataset(torch.rand(64, 64))
    trainer.fit(Model(), torch.utils.data.DataLoader(data, batch_size=8))
    print(f'wrote {folder}')


if __name__ == '__main__':
    main()
