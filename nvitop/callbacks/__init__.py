# SPDX-License-Identifier: Apache-2.0
"""Callbacks that log GPUs while a model is trained: Keras, Lightning, PyTorch Lightning, TensorBoard.

Importing these modules imports no framework: ``nvitop.callbacks.keras.GpuStatsLogger`` imports Keras
when it is first used, and so the others.
"""
