"""Stands for the program of the helper process: tells which variables it was started with."""

from __future__ import annotations

import json
import os

NAMES = ('CUDA_VISIBLE_DEVICES', 'CUDA_DEVICE_ORDER')

if __name__ == '__main__':
    print(json.dumps([os.environ.get(name, 'unset') for name in NAMES]))
