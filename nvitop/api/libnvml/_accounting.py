# SPDX-License-Identifier: Apache-2.0
"""Accounts of ended processes, also where the driver does not know their memory."""

from __future__ import annotations

import ctypes
from typing import Any

from nvitop.api.libnvml._binding import BINDING, NVMLError


def nvmlDeviceGetAccountingStats(handle: Any, pid: int) -> Any:
    """The account of a process: ``gpuUtilization``, ``memoryUtilization``, ``time``, and so on.

    ``maxMemoryUsage`` is in bytes. Where the driver does not know it (WDDM) it is the greatest number;
    the binding's own function fails there.

    Raises:
        NVMLError: Accounting is off, or there is no account of that process.
    """
    stats = BINDING.c_nvmlAccountingStats_t()
    function = BINDING._nvmlGetFunctionPointer('nvmlDeviceGetAccountingStats')
    code = function(handle, ctypes.c_uint(pid), ctypes.byref(stats))
    if code:
        raise NVMLError(code)
    return stats
