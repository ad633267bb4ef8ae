"""GPU values among the logs of Keras: in a CSV file, in the history, and in TensorBoard.

KERAS_BACKEND=torch python examples/keras_training.py [FOLDER]     # needs keras and a backend

GpuStatsLogger stands before the callbacks that read what it writes.
"""

from __future__ import annotations

import os
import sys

import keras
import numpy as np

from nvitop.callbacks.keras import GpuStatsLogger


def main() -> None:
    """Train a small model."""
    folder = sys.argv[1] if len(sys.argv) > 1 else 'keras-logs'
    os.makedirs(folder, exist_ok=True)
    x = np.random.rand(256, 16).astype('float32')
    model = keras.Sequential([keras.layers.Dense(32, activation='relu'), keras.layers.Dense(1)])
    model.compile('sgd', 'mse')
    history = model.fit(
        x,
        x.sum(axis=1),
        epochs=2,
        verbose=0,
        callbacks=[
            GpuStatsLogger(['/gpu:0'], temperature=True, intra_step_time=True),
            keras.callbacks.CSVLogger(os.path.join(folder, 'log.csv')),
        ],
    )
    for name, values in history.history.items():
        print(f'{name:45}', *(f'{value:10.2f}' for value in values))


if __name__ == '__main__':
    main()
