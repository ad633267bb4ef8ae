# SPDX-License-Identifier: Apache-2.0
"""GpuStatsLogger for ``pytorch_lightning``: GPU metrics in the loggers of a trainer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvitop.basics.lazy import lazy_names
from nvitop.callbacks.lightning import TrainerStats, make_class

__all__ = ['GpuStatsLogger']

if TYPE_CHECKING:
    GpuStatsLogger = TrainerStats
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {},
        'pytorch_lightning',
        GpuStatsLogger=lambda: make_class(__name__, 'pytorch_lightning', 'pytorch-lightning'),
    )
