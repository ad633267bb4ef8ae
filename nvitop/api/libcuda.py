# SPDX-License-Identifier: Apache-2.0
"""The CUDA driver: a lazy ctypes binding of what nvitop asks of it, with its error codes.

Importing this module loads nothing. The driver is looked for when a function is first called;
without one every function raises :class:`CUDAError_FileNotFound`, and one that an old driver lacks
raises :class:`CUDAError_NotFound`. Other failures raise the subclass of :class:`CUDAError` that
belongs to the return code. Apart from the versions and the texts, a function must be preceded by
:func:`cuInit` or it raises :class:`CUDAError_NotInitialized`.
"""

from __future__ import annotations

import ctypes
from typing import Mapping, cast

from nvitop.api import _cuda_binding
from nvitop.platforms import nvidia_files

CUDA_SUCCESS = 0
CUDA_ERROR_INVALID_VALUE = 1
CUDA_ERROR_OUT_OF_MEMORY = 2
CUDA_ERROR_NOT_INITIALIZED = 3
CUDA_ERROR_DEINITIALIZED = 4
CUDA_ERROR_PROFILER_DISABLED = 5
CUDA_ERROR_PROFILER_NOT_INITIALIZED = 6
CUDA_ERROR_PROFILER_ALREADY_STARTED = 7
CUDA_ERROR_PROFILER_ALREADY_STOPPED = 8
CUDA_ERROR_STUB_LIBRARY = 34
CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER = 36
CUDA_ERROR_DEVICE_UNAVAILABLE = 46
CUDA_ERROR_MULTICAST_RESOURCE_FULL = 47
CUDA_ERROR_NO_DEVICE = 100
CUDA_ERROR_INVALID_DEVICE = 101
CUDA_ERROR_DEVICE_NOT_LICENSED = 102
CUDA_ERROR_INVALID_IMAGE = 200
CUDA_ERROR_INVALID_CONTEXT = 201
CUDA_ERROR_CONTEXT_ALREADY_CURRENT = 202
CUDA_ERROR_MAP_FAILED = 205
CUDA_ERROR_UNMAP_FAILED = 206
CUDA_ERROR_ARRAY_IS_MAPPED = 207
CUDA_ERROR_ALREADY_MAPPED = 208
CUDA_ERROR_NO_BINARY_FOR_GPU = 209
CUDA_ERROR_ALREADY_ACQUIRED = 210
CUDA_ERROR_NOT_MAPPED = 211
CUDA_ERROR_NOT_MAPPED_AS_ARRAY = 212
CUDA_ERROR_NOT_MAPPED_AS_POINTER = 213
CUDA_ERROR_ECC_UNCORRECTABLE = 214
CUDA_ERROR_UNSUPPORTED_LIMIT = 215
CUDA_ERROR_CONTEXT_ALREADY_IN_USE = 216
CUDA_ERROR_PEER_ACCESS_UNSUPPORTED = 217
CUDA_ERROR_INVALID_PTX = 218
CUDA_ERROR_INVALID_GRAPHICS_CONTEXT = 219
CUDA_ERROR_NVLINK_UNCORRECTABLE = 220
CUDA_ERROR_JIT_COMPILER_NOT_FOUND = 221
CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222
CUDA_ERROR_JIT_COMPILATION_DISABLED = 223
CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY = 224
CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC = 225
CUDA_ERROR_CONTAINED = 226
CUDA_ERROR_INSUFFICIENT_LOADER_VERSION = 227
CUDA_ERROR_INVALID_SOURCE = 300
CUDA_ERROR_FILE_NOT_FOUND = 301
CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND = 302
CUDA_ERROR_SHARED_OBJECT_INIT_FAILED = 303
CUDA_ERROR_OPERATING_SYSTEM = 304
CUDA_ERROR_INVALID_HANDLE = 400
CUDA_ERROR_ILLEGAL_STATE = 401
CUDA_ERROR_LOSSY_QUERY = 402
CUDA_ERROR_NOT_FOUND = 500
CUDA_ERROR_NOT_READY = 600
CUDA_ERROR_ILLEGAL_ADDRESS = 700
CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701
CUDA_ERROR_LAUNCH_TIMEOUT = 702
CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING = 703
CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED = 704
CUDA_ERROR_PEER_ACCESS_NOT_ENABLED = 705
CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE = 708
CUDA_ERROR_CONTEXT_IS_DESTROYED = 709
CUDA_ERROR_ASSERT = 710
CUDA_ERROR_TOO_MANY_PEERS = 711
CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712
CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED = 713
CUDA_ERROR_HARDWARE_STACK_ERROR = 714
CUDA_ERROR_ILLEGAL_INSTRUCTION = 715
CUDA_ERROR_MISALIGNED_ADDRESS = 716
CUDA_ERROR_INVALID_ADDRESS_SPACE = 717
CUDA_ERROR_INVALID_PC = 718
CUDA_ERROR_LAUNCH_FAILED = 719
CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE = 720
CUDA_ERROR_TENSOR_MEMORY_LEAK = 721
CUDA_ERROR_NOT_PERMITTED = 800
CUDA_ERROR_NOT_SUPPORTED = 801
CUDA_ERROR_SYSTEM_NOT_READY = 802
CUDA_ERROR_SYSTEM_DRIVER_MISMATCH = 803
CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE = 804
CUDA_ERROR_MPS_CONNECTION_FAILED = 805
CUDA_ERROR_MPS_RPC_FAILURE = 806
CUDA_ERROR_MPS_SERVER_NOT_READY = 807
CUDA_ERROR_MPS_MAX_CLIENTS_REACHED = 808
CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED = 809
CUDA_ERROR_MPS_CLIENT_TERMINATED = 810
CUDA_ERROR_CDP_NOT_SUPPORTED = 811
CUDA_ERROR_CDP_VERSION_MISMATCH = 812
CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900
CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901
CUDA_ERROR_STREAM_CAPTURE_MERGE = 902
CUDA_ERROR_STREAM_CAPTURE_UNMATCHED = 903
CUDA_ERROR_STREAM_CAPTURE_UNJOINED = 904
CUDA_ERROR_STREAM_CAPTURE_ISOLATION = 905
CUDA_ERROR_STREAM_CAPTURE_IMPLICIT = 906
CUDA_ERROR_CAPTURED_EVENT = 907
CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD = 908
CUDA_ERROR_TIMEOUT = 909
CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE = 910
CUDA_ERROR_EXTERNAL_DEVICE = 911
CUDA_ERROR_INVALID_CLUSTER_SIZE = 912
CUDA_ERROR_FUNCTION_NOT_LOADED = 913
CUDA_ERROR_INVALID_RESOURCE_TYPE = 914
CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION = 915
CUDA_ERROR_KEY_ROTATION = 916
CUDA_ERROR_STREAM_DETACHED = 917
CUDA_ERROR_GRAPH_RECAPTURE_FAILURE = 918
CUDA_ERROR_FABRIC_NOT_READY = 919
CUDA_ERROR_UNKNOWN = 999

#: Return code → name of its constant.
ERROR_NAMES: Mapping[int, str] = {
    value: name for name, value in tuple(globals().items()) if name.startswith('CUDA_ERROR_')
}


class CUDAError(_cuda_binding.CodedError):
    """A call of the CUDA driver failed; ``value`` is the return code.

    ``CUDAError(code)`` makes an instance of the subclass of that code, e.g.
    ``CUDAError(CUDA_ERROR_INVALID_DEVICE)`` a ``CUDAError_InvalidDevice``.
    """

    names = ERROR_NAMES

    @classmethod
    def describe(cls, value: int) -> str:
        """The driver's text for a return code, ``''`` while no driver is loaded."""
        if _driver.loaded is None:
            return ''
        try:
            return cuGetErrorString(value)
        except CUDAError:
            return ''


__all__ = [
    'CUDA_SUCCESS',
    'CUDAError',
    'cudaExceptionClass',
    'cuInit',
    'cuGetErrorName',
    'cuGetErrorString',
    'cuDriverGetVersion',
    'cuDeviceGetCount',
    'cuDeviceGet',
    'cuDeviceGetByPCIBusId',
    'cuDeviceGetPCIBusId',
    'cuDeviceGetName',
    'cuDeviceGetUuid',
    'cuDeviceGetUuid_v2',
    'cuDeviceTotalMem',
    'is_available',
    *ERROR_NAMES.values(),
    *map(CUDAError.class_name, ERROR_NAMES.values()),
]


def __getattr__(name: str) -> type[CUDAError]:
    """Make ``CUDAError_<Name>`` when it is first asked for: a hundred classes nobody pays for."""
    if not name.startswith('CUDAError_'):
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    # setdefault: of two threads that make a class at once, both get the same one.
    return cast(
        'type[CUDAError]',
        globals().setdefault(name, _cuda_binding.make_subclass(CUDAError, name)),
    )


def __dir__() -> list[str]:
    """All names, those not made yet too."""
    return sorted({*globals(), *__all__})


def cudaExceptionClass(error_code: int) -> type[CUDAError]:
    """The subclass of :class:`CUDAError` for a return code; ValueError for an unknown one."""
    if error_code not in ERROR_NAMES:
        raise ValueError(f'{error_code!r} is no error code of the CUDA driver')
    return CUDAError.subclass(error_code)


_driver = _cuda_binding.LazyLibrary(nvidia_files.cuda_files, CUDAError)


def use_library(library: object | None) -> None:
    """Put an object of plain Python functions in the driver's place; :data:`None` removes it.

    Its functions have the names and arguments of ``cuda.h``, are called with ctypes values and
    return a return code (``byref(x)._obj`` is the value to fill). It may have one that CUDA has not,
    ``visible_uuids(value, order)``: the UUIDs of the devices that a process sees whose
    ``CUDA_VISIBLE_DEVICES`` and ``CUDA_DEVICE_ORDER`` are these (``None``: not set).
    """
    _driver.use(library)


def used_library() -> object | None:
    """The loaded driver or its replacement, :data:`None` while nothing was loaded."""
    return _driver.loaded


def cuInit(flags: int = 0) -> None:
    """Initialise the driver in this process; must come before the calls for devices.

    From here on CUDA ignores changes of ``CUDA_VISIBLE_DEVICES`` in this process, and a child made
    by ``fork`` cannot use CUDA.
    """
    _driver.call('cuInit', ctypes.c_uint(flags))


def cuGetErrorName(error: int) -> str:
    """The name of a return code, e.g. ``'CUDA_ERROR_INVALID_DEVICE'``.

    Raises :class:`CUDAError_InvalidValue` for a code that the driver does not know.
    """
    text = ctypes.c_char_p()
    _driver.call('cuGetErrorName', ctypes.c_int(error), ctypes.byref(text))
    return _cuda_binding.decoded(text.value)


def cuGetErrorString(error: int) -> str:
    """The driver's description of a return code, e.g. ``'invalid device ordinal'``.

    Raises :class:`CUDAError_InvalidValue` for a code that the driver does not know.
    """
    text = ctypes.c_char_p()
    _driver.call('cuGetErrorString', ctypes.c_int(error), ctypes.byref(text))
    return _cuda_binding.decoded(text.value)


def cuDriverGetVersion() -> str:
    """The newest CUDA version the driver supports, ``'major.minor'``; needs no :func:`cuInit`."""
    version = ctypes.c_int()
    _driver.call('cuDriverGetVersion', ctypes.byref(version))
    return _cuda_binding.version_text(version.value)


def cuDeviceGetCount() -> int:
    """How many devices this process sees: ``CUDA_VISIBLE_DEVICES`` at :func:`cuInit` applies."""
    count = ctypes.c_int()
    _driver.call('cuDeviceGetCount', ctypes.byref(count))
    return count.value


def cuDeviceGet(ordinal: int) -> int:
    """The handle of the device with that CUDA index.

    Raises :class:`CUDAError_InvalidDevice` if there are not that many visible devices.
    """
    device = ctypes.c_int()
    _driver.call('cuDeviceGet', ctypes.byref(device), ctypes.c_int(ordinal))
    return device.value


def cuDeviceGetByPCIBusId(pciBusId: str) -> int:
    """The handle of the device with a bus ID: ``domain:bus:device.function``, hexadecimal.

    Raises :class:`CUDAError_InvalidDevice` if no visible device has it,
    :class:`CUDAError_InvalidValue` if it is none.
    """
    device = ctypes.c_int()
    bus_id = ctypes.c_char_p(pciBusId.encode())
    _driver.call('cuDeviceGetByPCIBusId', ctypes.byref(device), bus_id)
    return device.value


def cuDeviceGetPCIBusId(device: int) -> str:
    """The bus ID of a device handle, e.g. ``'0000:1B:00.0'``."""
    size = _cuda_binding.BUS_ID_SIZE
    text = ctypes.create_string_buffer(size)
    _driver.call('cuDeviceGetPCIBusId', text, ctypes.c_int(size), ctypes.c_int(device))
    return _cuda_binding.decoded(text.value)


def cuDeviceGetName(device: int) -> str:
    """The product name of a device handle, e.g. ``'NVIDIA H100 80GB HBM3'``."""
    size = 256
    text = ctypes.create_string_buffer(size)
    _driver.call('cuDeviceGetName', text, ctypes.c_int(size), ctypes.c_int(device))
    return _cuda_binding.decoded(text.value)


def cuDeviceGetUuid(device: int) -> str:
    """The UUID of a device handle: hexadecimal, without the ``GPU-`` or ``MIG-`` of NVML.

    Of a MIG device the driver gives its own UUID since R470, that of its GPU before.
    """
    try:
        return cuDeviceGetUuid_v2(device)
    except CUDAError as ex:
        if ex.value != CUDA_ERROR_NOT_FOUND:
            raise
    return _uuid('cuDeviceGetUuid', device)


def cuDeviceGetUuid_v2(device: int) -> str:
    """Like :func:`cuDeviceGetUuid`, but :class:`CUDAError_NotFound` with a driver before R470."""
    return _uuid('cuDeviceGetUuid_v2', device)


def _uuid(function: str, device: int) -> str:
    raw = (ctypes.c_ubyte * 16)()
    _driver.call(function, ctypes.byref(raw), ctypes.c_int(device))
    digits = bytes(raw).hex()
    return '-'.join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def cuDeviceTotalMem(device: int) -> int:
    """The memory of a device handle in bytes (what CUDA may use: less than NVML's total)."""
    size = ctypes.c_size_t()
    # The function without _v2 has 32-bit sizes.
    _driver.call('cuDeviceTotalMem_v2', ctypes.byref(size), ctypes.c_int(device))
    return size.value


def is_available() -> bool:
    """Whether there is a driver that sees a device; initialises it in this process."""
    try:
        cuInit()
        return cuDeviceGetCount() > 0
    except CUDAError:
        return False
