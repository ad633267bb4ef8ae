# SPDX-License-Identifier: Apache-2.0
"""Messages of NVML's door."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvitop.api.log import Log

if TYPE_CHECKING:
    import logging


class _NvmlLog(Log):
    """The log whose level is that of the environment variable ``LOGLEVEL``."""

    def logger(self) -> logging.Logger:
        from nvitop.api.libnvml._logger import LOGGER

        return LOGGER


LOG = _NvmlLog('nvitop.api.libnvml')
