"""Allocate 64 MiB on the first GPU through the CUDA driver, and wait for the end of standard input."""

from __future__ import annotations

import ctypes
import sys

MIB = 1 << 20


def main() -> None:
    """Allocate the memory, print one line, and wait."""
    cuda = ctypes.CDLL('libcuda.so.1')
    context, pointer = ctypes.c_void_p(), ctypes.c_uint64()
    errors = [
        cuda.cuInit(0),
        cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0),
        cuda.cuCtxSetCurrent(context),
        cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(64 * MIB)),
    ]
    print('ready' if not any(errors) else f'errors {errors}', flush=True)
    sys.stdin.read()


if __name__ == '__main__':
    main()
