"""Log the host and GPU usage of a training to TensorBoard, per batch and per epoch.

python examples/collector_to_tensorboard.py FOLDER      # needs torch and tensorboard
tensorboard --logdir FOLDER
"""

from __future__ import annotations

import sys

import torch
from torch.utils.tensorboard import SummaryWriter

from nvitop import Device, ResourceMetricCollector
from nvitop.callbacks.tensorboard import add_scalar_dict


def main() -> None:
    """Train a small model and log its usage."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    writer = SummaryWriter(sys.argv[1])
    collector = ResourceMetricCollector(devices=Device.cuda.all(), interval=0.2)
    model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    step = 0
    for epoch in range(2):
        with collector(tag='epoch'):
            for _ in range(5):
                with collector(tag='batch'):
                    loss = (model(torch.rand(512, 64)) ** 2).mean()
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                    writer.add_scalar('loss', loss.item(), step)
                    add_scalar_dict(writer, 'resources', collector.collect(), step)
                step += 1
            add_scalar_dict(writer, 'resources', collector.collect(), epoch)
    writer.close()
    print(f'wrote {writer.log_dir}')


if __name__ == '__main__':
    main()
