# SPDX-License-Identifier: Apache-2.0
"""Helper program that prints the devices of CUDA. It does not import nvitop.

The arguments are possible paths of the CUDA driver. The output is a JSON list of UUIDs in CUDA's
order, or the error code of the driver.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import sys
from typing import Any

FILE_NOT_FOUND = 301


def load(paths: list[str]) -> Any:
    """Return the first library that loads, or None."""
    loader = getattr(ctypes, 'WinDLL', ctypes.CDLL)
    for path in paths:
        with contextlib.suppress(OSError):
            return loader(path)
    return None


def uuids(cuda: Any) -> int | list[str]:
    """Return the UUIDs of the devices as 32 hexadecimal digits, or the first error code."""
    count, device, uuid = ctypes.c_int(), ctypes.c_int(), (ctypes.c_ubyte * 16)()
    error = cuda.cuInit(ctypes.c_uint(0)) or cuda.cuDeviceGetCount(ctypes.byref(count))
    # For a MIG device the old function returns the UUID of the GPU.
    uuid_of = getattr(cuda, 'cuDeviceGetUuid_v2', None) or cuda.cuDeviceGetUuid
    found = []
    for ordinal in range(0 if error else count.value):
        error = cuda.cuDeviceGet(ctypes.byref(device), ctypes.c_int(ordinal))
        error = error or uuid_of(ctypes.byref(uuid), device)
        if error:
            break
        found.append(bytes(uuid).hex())
    return int(error) or found


def main(paths: list[str]) -> None:
    """Print the devices or the error code."""
    cuda = load(paths)
    print(json.dumps(FILE_NOT_FOUND if cuda is None else uuids(cuda)))


if __name__ == '__main__':
    main(sys.argv[1:])
