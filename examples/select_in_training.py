"""Choose the two GPUs with the most free memory in a training script.

python examples/select_in_training.py

Set the variable before importing the framework, because CUDA reads it only once.
"""

from __future__ import annotations

import os
import sys

from nvitop.select import select_devices

uuids = select_devices(format='uuid', max_count=2, min_free_memory='2GiB', max_gpu_utilization=95)
if not uuids:
    sys.exit('no GPU is free enough')
os.environ['CUDA_VISIBLE_DEVICES'] = ','.join(uuids)

# import torch, tensorflow, jax, … here


def main() -> None:
    """Print the devices that the framework will see."""
    from nvitop import Device

    for device in Device.cuda.all():
        print(f'cuda:{device.cuda_index} is GPU {device.index}: {device.memory_free_human()} free')


if __name__ == '__main__':
    main()
