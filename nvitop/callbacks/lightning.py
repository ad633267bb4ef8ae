# SPDX-License-Identifier: Apache-2.0
"""GpuStatsLogger for ``lightning.pytorch``: GPU values to the loggers of a trainer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvitop.callbacks.trainer import TrainerStats, make_logger

__all__ = ['GpuStatsLogger']

if TYPE_CHECKING:

    class GpuStatsLogger(TrainerStats):
        """See :class:`TrainerStats`."""

else:

    def __getattr__(name):
        if name != 'GpuStatsLogger':
            raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
        logger = make_logger(__name__, 'lightning.pytorch', 'lightning')
        return globals().setdefault(name, logger)
