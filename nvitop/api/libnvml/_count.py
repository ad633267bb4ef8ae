# SPDX-License-Identifier: Apache-2.0
"""How many GPUs there are, where the driver says a number that can be true."""

from __future__ import annotations

import ctypes

from nvitop.api.libnvml._binding import BINDING, NVMLError
from nvitop.api.libnvml._errors import UNKNOWN
from nvitop.api.libnvml._log import LOGGER

#: Far more than any driver can have (32), few enough to ask for one by one.
MOST_GPUS = 1024


def nvmlDeviceGetCount() -> int:
    """Number of GPUs.

    Raises:
        NVMLError_Unknown: The driver says a number that cannot be true.
        NVMLError: The driver cannot be asked.
    """
    count = ctypes.c_uint()
    code = BINDING._nvmlGetFunctionPointer('nvmlDeviceGetCount_v2')(ctypes.byref(count))
    if code:
        raise NVMLError(code)
    if count.value > MOST_GPUS:
        LOGGER.warning('The driver says that it has %d GPUs, which cannot be true.', count.value)
        raise NVMLError(UNKNOWN)
    return count.value
