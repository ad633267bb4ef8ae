# SPDX-License-Identifier: Apache-2.0
"""Metrics to TensorBoard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    class SummaryWriter(Protocol):
        """What is asked of a writer: those of PyTorch and tensorboardX can do it."""

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
    """Add each number under ``<main_tag>/<its name>``, all in the run of the writer.

    ``SummaryWriter.add_scalars`` makes a run of its own for each of them, and so a folder each.

    >>> add_scalar_dict(writer, 'resources', collector.collect(), global_step=step)

    Args:
        writer: A ``torch.utils.tensorboard.SummaryWriter`` or the like.
        main_tag: What all names begin with.
        tag_scalar_dict: Names and numbers.
        global_step: The step they belong to.
        walltime: Their time in seconds since the epoch instead of now.
    """
    for name, value in tag_scalar_dict.items():
        writer.add_scalar(f'{main_tag}/{name}', value, global_step, walltime)
