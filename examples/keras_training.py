"""Log GPU values with Keras: to a CSV file and in the training history.

KERAS_BACKEND=torch python examples/keras_training.py FOLDER     # needs keras and a backend

GpuStatsLogger comes before the callbacks that read its values.
"""

from __future__ import annotations

import os
import sys

import keras
import numpy as np

from nvitop.callbacks.keras import GpuStatsLogger


def main() -> None:
    """Train a small model."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = sys.argv[1]
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
