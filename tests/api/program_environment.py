"""A helper program that prints its environment variables instead of devices."""

from __future__ import annotations

import json
import os

NAMES = ('CUDA_VISIBLE_DEVICES', 'CUDA_DEVICE_ORDER')

if __name__ == '__main__':
    print(json.dumps([os.environ.get(name, 'unset') for name in NAMES]))
