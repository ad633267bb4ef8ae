# SPDX-License-Identifier: Apache-2.0
"""Callbacks that log GPU metrics during training: Keras, Lightning, PyTorch Lightning, TensorBoard.

These modules import no framework. ``nvitop.callbacks.keras.GpuStatsLogger`` imports Keras when it is
first used, and the others do the same.
"""
