# SPDX-License-Identifier: Apache-2.0
"""Metrics for TensorBoard."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Mapping, Protocol

if TYPE_CHECKING:

    class SummaryWriter(Protocol):
        """A writer, such as those of PyTorch and tensorboardX."""

        def add_scalar(
            self,
            tag: str,
            scalar_value: Any,
            global_step: int | None = None,
            walltime: float | None = None,
        ) -> object: ...


__all__ = ['add_scalar_dict']


def add_scalar_dict(
    writer: SummaryWriter,
    main_tag: str,
    tag_scalar_dict: Mapping[str, float],
    global_step: int | None = None,
    walltime: float | None = None,
) -> None:
    """Add each number as ``<main_tag>/<name>`` to the run of the writer.

    ``SummaryWriter.add_scalars`` would create a run, and therefore a directory, for each number.
    Unavailable values (NaN) are skipped.

    >>> add_scalar_dict(writer, 'resources', collector.collect(), global_step=step)

    Args:
        writer: A ``torch.utils.tensorboard.SummaryWriter`` or a compatible object.
        main_tag: Prefix of all names.
        tag_scalar_dict: Names and numbers.
        global_step: Training step of the numbers.
        walltime: Time of the numbers in seconds since the epoch; now by default.
    """
    for name, value in tag_scalar_dict.items():
        if not math.isnan(value):  # tensorboardX warns about each NaN
            writer.add_scalar(f'{main_tag}/{name}', value, global_step, walltime)
