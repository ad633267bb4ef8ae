"""Use the first GPU through the CUDA driver until standard input ends, see MODES.

The first line of output is "begun".
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import threading
import time
import uuid
from typing import Any, Callable

#: Bytes of each copy between host and GPU, and number of copies that are queued at once.
COPY_BYTES, COPIES = 256 << 20, 8
#: Blocks of 256 threads, and iterations of each thread: some milliseconds on a large GPU.
BLOCKS, ITERATIONS = 4096, 1 << 15
#: Kernels in NVIDIA's assembly language, which the driver compiles.
PTX = """\
.version {version}
.target sm_{architecture}
.address_size 64

.visible .entry multiply(.param .u64 multiply_result, .param .u32 multiply_iterations)
{{
 .reg .pred %p<2>;
 .reg .u32 %r<3>;
 .reg .u64 %rd<3>;
 .reg .f32 %f<3>;
 ld.param.u64 %rd1, [multiply_result];
 ld.param.u32 %r1, [multiply_iterations];
 cvta.to.global.u64 %rd2, %rd1;
 mov.u32 %r2, %tid.x;
 cvt.rn.f32.u32 %f1, %r2;
 mov.f32 %f2, 0f3F7FFFFF;
again:
 fma.rn.f32 %f1, %f1, %f2, %f2;
 fma.rn.f32 %f1, %f1, %f2, %f2;
 fma.rn.f32 %f1, %f1, %f2, %f2;
 fma.rn.f32 %f1, %f1, %f2, %f2;
 fma.rn.f32 %f1, %f1, %f2, %f2;
 fma.rn.f32 %f1, %f1, %f2, %f2;
 fma.rn.f32 %f1, %f1, %f2, %f2;
 fma.rn.f32 %f1, %f1, %f2, %f2;
 sub.u32 %r1, %r1, 1;
 setp.ne.u32 %p1, %r1, 0;
 @%p1 bra again;
 st.global.f32 [%rd2], %f1;
 ret;
}}

.visible .entry write_illegal()
{{
 .reg .u32 %r<2>;
 .reg .u64 %rd<2>;
 mov.u64 %rd1, 3735928576;
 mov.u32 %r1, 1;
 st.global.u32 [%rd1], %r1;
 ret;
}}
"""
#: CUDA_ERROR_ILLEGAL_ADDRESS.
ILLEGAL_ADDRESS = 700
#: CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, …_MINOR.
_CAPABILITY = 75, 76


class Cuda:
    """The CUDA driver with a context on the first GPU. A function that fails ends the program."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL('nvcuda.dll' if sys.platform == 'win32' else 'libcuda.so.1')
        self._device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call('cuInit', 0)
        self.call('cuDeviceGet', ctypes.byref(self._device), 0)
        self.call('cuDevicePrimaryCtxRetain', ctypes.byref(context), self._device)
        self.call('cuCtxSetCurrent', context)

    def call(self, function: str, *arguments: Any, expected: int = 0) -> None:
        code = getattr(self._library, function)(*arguments)
        if code != expected:
            name = ctypes.c_char_p()
            self._library.cuGetErrorName(code, ctypes.byref(name))
            sys.exit(f'{function}: CUDA error {code} ({(name.value or b"unknown").decode()})')

    def allocate(self, size: int) -> ctypes.c_uint64:
        pointer = ctypes.c_uint64()
        self.call('cuMemAlloc_v2', ctypes.byref(pointer), ctypes.c_size_t(size))
        return pointer

    def kernel(self, name: str) -> ctypes.c_void_p:
        major, minor = (self._attribute(number) for number in _CAPABILITY)
        version, architecture = ('7.0', 80) if major >= 8 else ('6.3', 10 * major + minor)
        text = PTX.format(version=version, architecture=architecture)
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call('cuModuleLoadData', ctypes.byref(module), text.encode())
        self.call('cuModuleGetFunction', ctypes.byref(function), module, name.encode())
        return function

    def _attribute(self, number: int) -> int:
        value = ctypes.c_int()
        self.call('cuDeviceGetAttribute', ctypes.byref(value), number, self._device)
        return value.value

    def describe(self) -> None:
        name, identifier = ctypes.create_string_buffer(256), (ctypes.c_ubyte * 16)()
        size, free, total = ctypes.c_size_t(), ctypes.c_size_t(), ctypes.c_size_t()
        self.call('cuDeviceGetName', name, 256, self._device)
        self.call('cuDeviceGetUuid', identifier, self._device)
        self.call('cuDeviceTotalMem_v2', ctypes.byref(size), self._device)
        self.call('cuMemGetInfo_v2', ctypes.byref(free), ctypes.byref(total))
        values = {
            'name': name.value.decode(),
            'uuid': f'GPU-{uuid.UUID(bytes=bytes(identifier))}',
            'total_bytes': size.value,
            'used_bytes': total.value - free.value,
        }
        print(json.dumps(values))


def print_begun() -> None:
    print('begun', flush=True)


def hold(cuda: Cuda, end: threading.Event, size: str) -> None:
    """Hold memory of this size; print what CUDA reports about the GPU."""
    cuda.allocate(int(size))
    print_begun()
    cuda.describe()
    end.wait()


def compute(cuda: Cuda, end: threading.Event) -> None:
    """Keep all multiprocessors busy."""
    kernel = cuda.kernel('multiply')
    result, iterations = cuda.allocate(4), ctypes.c_uint32(ITERATIONS)
    addresses = map(ctypes.addressof, (result, iterations))
    arguments = (ctypes.c_void_p * 2)(*addresses)

    def launch() -> None:
        sizes = BLOCKS, 1, 1, 256, 1, 1
        cuda.call('cuLaunchKernel', kernel, *sizes, 0, None, arguments, None)
        cuda.call('cuCtxSynchronize')

    launch()
    print_begun()
    while not end.is_set():
        launch()


def copy(cuda: Cuda, end: threading.Event, direction: str) -> None:
    """Copy pinned memory ``in`` to the GPU or ``out`` of it; finally print bytes and seconds."""
    host, size = ctypes.c_void_p(), ctypes.c_size_t(COPY_BYTES)
    cuda.call('cuMemAllocHost_v2', ctypes.byref(host), size)
    device = cuda.allocate(COPY_BYTES)

    def copy_some() -> None:
        for _ in range(COPIES):
            if direction == 'in':
                cuda.call('cuMemcpyHtoDAsync_v2', device, host, size, None)
            else:
                cuda.call('cuMemcpyDtoHAsync_v2', host, device, size, None)
        cuda.call('cuCtxSynchronize')

    copy_some()
    print_begun()
    count, started = 0, time.perf_counter()
    while not end.is_set():
        copy_some()
        count += COPIES
    print(count * COPY_BYTES, time.perf_counter() - started)


def crash(cuda: Cuda, end: threading.Event) -> None:
    kernel = cuda.kernel('write_illegal')
    print_begun()
    cuda.call('cuLaunchKernel', kernel, 1, 1, 1, 1, 1, 1, 0, None, None, None)
    cuda.call('cuCtxSynchronize', expected=ILLEGAL_ADDRESS)
    end.wait()


MODES: dict[str, Callable[..., None]] = {
    'hold': hold,
    'compute': compute,
    'copy': copy,
    'crash': crash,
}


def main() -> None:
    end = threading.Event()

    def wait_for_end() -> None:
        os.read(0, 1)
        end.set()

    threading.Thread(target=wait_for_end, daemon=True).start()
    mode, *arguments = sys.argv[1:]
    MODES[mode](Cuda(), end, *arguments)


if __name__ == '__main__':
    main()
