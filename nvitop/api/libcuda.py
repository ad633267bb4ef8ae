# SPDX-License-Identifier: Apache-2.0
"""A small ctypes binding of the CUDA driver, with its error codes.

The driver is loaded by the first call of a function. Without a driver, every function raises
:class:`CUDAError_NotInitialized`, and so do all functions except those for versions and texts before
:func:`cuInit`. A function that an old driver lacks raises :class:`CUDAError_NotFound`. Other failures
raise the subclass of :class:`CUDAError` for the return code.
"""

from __future__ import annotations

import contextlib
import ctypes
import re
import sys
import threading
from typing import TYPE_CHECKING, Any, Callable, ClassVar, Iterable, Mapping, TypeVar, cast

from nvitop.platforms import nvidia
from nvitop.platforms.kernel import renew_in_child

#: ``CUDA_ERROR_NOT_INITIALIZED``, ``cudaErrorInitializationError``: the library was not found.
NOT_INITIALIZED = 3
#: ``CUDA_ERROR_NOT_FOUND``, ``cudaErrorSymbolNotFound``: the library lacks a function.
SYMBOL_NOT_FOUND = 500

#: Size in bytes of a buffer for ``domain:bus:device.function``.
BUS_ID_SIZE = 64

ErrorT = TypeVar('ErrorT', bound='CodedError')


class CodedError(Exception):
    """An error with the return code of its library.

    Calling the base class of a library with a code creates an instance of the subclass for that code,
    as ``NVMLError`` does. Unknown codes stay with the base class.
    """

    #: Return code of this class, None for the base class of a library.
    code: ClassVar[int | None] = None
    #: Return code → name of the constant, for all codes of the library.
    names: ClassVar[Mapping[int, str]] = {}
    #: Return code → subclass.
    subclasses: ClassVar[dict[int, type[CodedError]]] = {}
    #: The return code.
    value: int
    #: What happened, if it says more than the description of the return code.
    reason = ''

    def __new__(cls: type[ErrorT], value: int | None = None) -> ErrorT:
        """Create an instance of the subclass for ``value``."""
        kind: type[CodedError] = cls
        if cls.code is None:
            if value is None:
                raise TypeError(f'{cls.__name__}() needs a return code')
            kind = cls.subclasses.get(value, cls)
        error = cast('ErrorT', super().__new__(kind))
        error.value = cast(int, value if kind.code is None else kind.code)
        return error

    def __init__(self, value: int | None = None) -> None:
        super().__init__(self.value)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.args == other.args

    def __hash__(self) -> int:
        return hash((type(self), self.args))

    def __str__(self) -> str:
        """Return the library's description if it is loaded, otherwise words from the name."""
        name = self.names.get(self.value)
        if name is None:
            return f'unknown error {self.value}'
        return f'{self.reason or self.describe(self.value) or spoken(name)} ({name})'

    @classmethod
    def describe(cls, value: int) -> str:
        """Return the library's description of a return code, ``''`` if it is not loaded."""
        module = sys.modules[cls.__module__]
        try:
            return str(module.cuGetErrorString(value)) if module.used_library() else ''
        except CodedError:
            return ''


def parse_codes(prefix: str, table: str) -> dict[int, str]:
    """Parse pairs of a return code and the name of a constant without its prefix."""
    words = table.split()
    return {int(code): prefix + name for code, name in zip(words[::2], words[1::2])}


def make_subclasses(base: type[ErrorT]) -> dict[str, type[ErrorT]]:
    """Create the subclasses of the base class of a library, by name."""
    base.subclasses = {}
    created: dict[str, type[ErrorT]] = {}
    for code, constant in base.names.items():
        name = f'{base.__name__}_{pascal(constant)}'
        doc = f'Return code ``{constant}`` ({code}): {spoken(constant)}.'
        body = {'__doc__': doc, '__module__': base.__module__, 'code': code}
        created[name] = cast('type[ErrorT]', type(name, (base,), body))
        base.subclasses[code] = created[name]
    return created


def pascal(constant: str) -> str:
    """Return ``InvalidDevice`` for ``CUDA_ERROR_INVALID_DEVICE`` or ``cudaErrorInvalidDevice``."""
    if constant.startswith('CUDA_ERROR_'):
        return ''.join(word.capitalize() for word in constant.split('_')[2:])
    return constant[len('cudaError') :]


def spoken(constant: str) -> str:
    """Return ``invalid device`` for ``CUDA_ERROR_INVALID_DEVICE`` or ``cudaErrorInvalidDevice``."""
    return ' '.join(re.findall('[A-Z]+(?![a-z])|[A-Z][a-z0-9]+', pascal(constant))).lower()


class LazyLibrary:
    """A shared library that is loaded when one of its functions is first called.

    If it is not found, the next call searches again, so that a driver installed later is found.
    """

    def __init__(self, candidates: Callable[[], Iterable[str]], error: type[CodedError]) -> None:
        self._candidates = candidates
        self._error = error
        self._lock = threading.Lock()
        renew_in_child(self, _lock=threading.Lock)
        self._loaded: object | None = None

    @property
    def loaded(self) -> object | None:
        """The library in use, None if it has not been loaded."""
        return self._loaded

    def use(self, library: object | None) -> None:
        """Replace the library by an object with Python functions; None searches for a real one."""
        with self._lock:
            self._loaded = library

    def call(self, name: str, *args: object) -> None:
        """Call a function and raise the error for its return code."""
        code = self.function(name)(*args)
        if code != 0:
            raise self._error(code)

    def number(self, name: str, *args: object) -> int:
        """Call a function whose first argument receives a number; return that number."""
        number = ctypes.c_int()
        self.call(name, ctypes.byref(number), *args)
        return number.value

    def text(self, name: str, size: int, *args: object) -> str:
        """Call a function that writes text into a buffer of this size; return that text."""
        buffer = ctypes.create_string_buffer(size)
        self.call(name, buffer, ctypes.c_int(size), *args)
        return decoded(buffer.value)

    def function(self, name: str) -> Any:
        """Return a function of the library, or raise the library's error if it does not exist."""
        library = self._loaded
        if library is None:
            with self._lock:
                library = self._loaded
                if library is None:
                    library = self._loaded = self._load()
        try:
            return getattr(library, name)
        except AttributeError:
            raise self._error(SYMBOL_NOT_FOUND) from None

    def _load(self) -> object:
        loader = getattr(ctypes, 'WinDLL', ctypes.CDLL)  # the calling convention of 32-bit Windows
        paths = [*self._candidates()]
        for path in paths:
            with contextlib.suppress(OSError):
                return cast(object, loader(path))
        cause = OSError(f'none of these libraries can be loaded: {", ".join(paths)}')
        error = self._error(NOT_INITIALIZED)
        if paths:
            error.reason = f'{paths[0]} not found'
        raise error from cause


def version_text(version: int) -> str:
    """Format a version number of CUDA: ``'12.4'`` for 12040."""
    return f'{version // 1000}.{version % 1000 // 10}'


def decoded(raw: bytes | None) -> str:
    """Decode text of the driver, replacing invalid UTF-8."""
    return (raw or b'').decode('utf-8', errors='replace')


CUDA_SUCCESS = 0

#: Return code → name of its constant.
ERROR_NAMES: Mapping[int, str] = parse_codes(
    'CUDA_ERROR_',
    """
    1 INVALID_VALUE  2 OUT_OF_MEMORY  3 NOT_INITIALIZED  4 DEINITIALIZED  5 PROFILER_DISABLED
    6 PROFILER_NOT_INITIALIZED  7 PROFILER_ALREADY_STARTED  8 PROFILER_ALREADY_STOPPED
    34 STUB_LIBRARY  36 CALL_REQUIRES_NEWER_DRIVER  46 DEVICE_UNAVAILABLE
    47 MULTICAST_RESOURCE_FULL  100 NO_DEVICE  101 INVALID_DEVICE  102 DEVICE_NOT_LICENSED
    200 INVALID_IMAGE  201 INVALID_CONTEXT  202 CONTEXT_ALREADY_CURRENT  205 MAP_FAILED
    206 UNMAP_FAILED  207 ARRAY_IS_MAPPED  208 ALREADY_MAPPED  209 NO_BINARY_FOR_GPU
    210 ALREADY_ACQUIRED  211 NOT_MAPPED  212 NOT_MAPPED_AS_ARRAY  213 NOT_MAPPED_AS_POINTER
    214 ECC_UNCORRECTABLE  215 UNSUPPORTED_LIMIT  216 CONTEXT_ALREADY_IN_USE
    217 PEER_ACCESS_UNSUPPORTED  218 INVALID_PTX  219 INVALID_GRAPHICS_CONTEXT
    220 NVLINK_UNCORRECTABLE  221 JIT_COMPILER_NOT_FOUND  222 UNSUPPORTED_PTX_VERSION
    223 JIT_COMPILATION_DISABLED  224 UNSUPPORTED_EXEC_AFFINITY  225 UNSUPPORTED_DEVSIDE_SYNC
    226 CONTAINED  227 INSUFFICIENT_LOADER_VERSION  300 INVALID_SOURCE  301 FILE_NOT_FOUND
    302 SHARED_OBJECT_SYMBOL_NOT_FOUND  303 SHARED_OBJECT_INIT_FAILED  304 OPERATING_SYSTEM
    400 INVALID_HANDLE  401 ILLEGAL_STATE  402 LOSSY_QUERY  500 NOT_FOUND  600 NOT_READY
    700 ILLEGAL_ADDRESS  701 LAUNCH_OUT_OF_RESOURCES  702 LAUNCH_TIMEOUT
    703 LAUNCH_INCOMPATIBLE_TEXTURING  704 PEER_ACCESS_ALREADY_ENABLED
    705 PEER_ACCESS_NOT_ENABLED  708 PRIMARY_CONTEXT_ACTIVE  709 CONTEXT_IS_DESTROYED  710 ASSERT
    711 TOO_MANY_PEERS  712 HOST_MEMORY_ALREADY_REGISTERED  713 HOST_MEMORY_NOT_REGISTERED
    714 HARDWARE_STACK_ERROR  715 ILLEGAL_INSTRUCTION  716 MISALIGNED_ADDRESS
    717 INVALID_ADDRESS_SPACE  718 INVALID_PC  719 LAUNCH_FAILED  720 COOPERATIVE_LAUNCH_TOO_LARGE
    721 TENSOR_MEMORY_LEAK  800 NOT_PERMITTED  801 NOT_SUPPORTED  802 SYSTEM_NOT_READY
    803 SYSTEM_DRIVER_MISMATCH  804 COMPAT_NOT_SUPPORTED_ON_DEVICE  805 MPS_CONNECTION_FAILED
    806 MPS_RPC_FAILURE  807 MPS_SERVER_NOT_READY  808 MPS_MAX_CLIENTS_REACHED
    809 MPS_MAX_CONNECTIONS_REACHED  810 MPS_CLIENT_TERMINATED  811 CDP_NOT_SUPPORTED
    812 CDP_VERSION_MISMATCH  900 STREAM_CAPTURE_UNSUPPORTED  901 STREAM_CAPTURE_INVALIDATED
    902 STREAM_CAPTURE_MERGE  903 STREAM_CAPTURE_UNMATCHED  904 STREAM_CAPTURE_UNJOINED
    905 STREAM_CAPTURE_ISOLATION  906 STREAM_CAPTURE_IMPLICIT  907 CAPTURED_EVENT
    908 STREAM_CAPTURE_WRONG_THREAD  909 TIMEOUT  910 GRAPH_EXEC_UPDATE_FAILURE
    911 EXTERNAL_DEVICE  912 INVALID_CLUSTER_SIZE  913 FUNCTION_NOT_LOADED
    914 INVALID_RESOURCE_TYPE  915 INVALID_RESOURCE_CONFIGURATION  916 KEY_ROTATION
    917 STREAM_DETACHED  918 GRAPH_RECAPTURE_FAILURE  919 FABRIC_NOT_READY  999 UNKNOWN
    """,
)


class CUDAError(CodedError):
    """A call of the CUDA driver failed; ``value`` is the return code.

    ``CUDAError(code)`` creates an instance of the subclass for this code:
    ``CUDAError(CUDA_ERROR_INVALID_DEVICE)`` is a ``CUDAError_InvalidDevice``.
    """

    names = ERROR_NAMES


_ERROR_CLASSES = make_subclasses(CUDAError)
# The constants, and an exception class for each of them.
globals().update({name: code for code, name in ERROR_NAMES.items()}, **_ERROR_CLASSES)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Return a constant or an exception class."""


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
    *_ERROR_CLASSES,
]


def cudaExceptionClass(error_code: int, /) -> type[CUDAError]:
    """Return the subclass of :class:`CUDAError` for a return code; ValueError if it is unknown."""
    if error_code not in ERROR_NAMES:
        raise ValueError(f'unknown error code of the CUDA driver: {error_code!r}')
    return cast('type[CUDAError]', CUDAError.subclasses[error_code])


_driver = LazyLibrary(nvidia.cuda_files, CUDAError)


def use_library(library: object | None) -> None:
    """Replace the driver by an object with Python functions; None removes it.

    The functions have the names and arguments of ``cuda.h``, get ctypes values and return a return
    code (``byref(x)._obj`` is the output value). The object may have a function that CUDA does not
    have: ``visible_uuids(value, order)`` returns the UUIDs of the devices that a process sees with
    these values of ``CUDA_VISIBLE_DEVICES`` and ``CUDA_DEVICE_ORDER`` (None if they are not set).
    """
    _driver.use(library)


def used_library() -> object | None:
    """Return the loaded driver or its replacement, None if nothing has been loaded."""
    return _driver.loaded


def cuInit(flags: int = 0) -> None:
    """Initialize the driver in this process.

    Afterwards CUDA ignores changes of ``CUDA_VISIBLE_DEVICES`` in this process, and forked children
    cannot use CUDA.
    """
    _driver.call('cuInit', ctypes.c_uint(flags))


def cuGetErrorName(error: int) -> str:
    """Return the name of a return code, such as ``'CUDA_ERROR_INVALID_DEVICE'``.

    Raises:
        CUDAError_InvalidValue: The driver does not know the code.
    """
    return _error_text('cuGetErrorName', error)


def cuGetErrorString(error: int) -> str:
    """Return the driver's description of a return code, such as ``'invalid device ordinal'``.

    Raises:
        CUDAError_InvalidValue: The driver does not know the code.
    """
    return _error_text('cuGetErrorString', error)


def _error_text(function: str, error: int) -> str:
    text = ctypes.c_char_p()
    _driver.call(function, ctypes.c_int(error), ctypes.byref(text))
    return decoded(text.value)


def cuDriverGetVersion() -> str:
    """Return the newest CUDA version that the driver supports, as ``'major.minor'``."""
    return version_text(_driver.number('cuDriverGetVersion'))


def cuDeviceGetCount() -> int:
    """Return the number of devices that this process sees.

    ``CUDA_VISIBLE_DEVICES`` counts as it was when :func:`cuInit` was called.
    """
    return _driver.number('cuDeviceGetCount')


def cuDeviceGet(ordinal: int) -> int:
    """Return the handle of the device with a CUDA index.

    Raises:
        CUDAError_InvalidDevice: There is no visible device with this index.
    """
    return _driver.number('cuDeviceGet', ctypes.c_int(ordinal))


def cuDeviceGetByPCIBusId(pciBusId: str) -> int:
    """Return the handle of the device with a bus ID: ``domain:bus:device.function`` in hexadecimal.

    Raises:
        CUDAError_InvalidDevice: No visible device has this bus ID.
        CUDAError_InvalidValue: The text is not a bus ID.
    """
    return _driver.number('cuDeviceGetByPCIBusId', ctypes.c_char_p(pciBusId.encode()))


def cuDeviceGetPCIBusId(device: int) -> str:
    """Return the bus ID of a device handle, such as ``'0000:1B:00.0'``."""
    return _driver.text('cuDeviceGetPCIBusId', BUS_ID_SIZE, ctypes.c_int(device))


def cuDeviceGetName(device: int) -> str:
    """Return the product name of a device handle, such as ``'NVIDIA H100 80GB HBM3'``."""
    return _driver.text('cuDeviceGetName', 256, ctypes.c_int(device))


def cuDeviceGetUuid(device: int) -> str:
    """Return the UUID of a device handle, without the ``GPU-`` or ``MIG-`` that NVML puts before it.

    For a MIG device, drivers before R470 return the UUID of its GPU.
    """
    try:
        return cuDeviceGetUuid_v2(device)
    except CUDAError as ex:
        if ex.value != SYMBOL_NOT_FOUND:
            raise
    return _uuid('cuDeviceGetUuid', device)


def cuDeviceGetUuid_v2(device: int) -> str:
    """Return the UUID of a device handle; :class:`CUDAError_NotFound` with drivers before R470."""
    return _uuid('cuDeviceGetUuid_v2', device)


def _uuid(function: str, device: int) -> str:
    raw = (ctypes.c_ubyte * 16)()
    _driver.call(function, ctypes.byref(raw), ctypes.c_int(device))
    digits = bytes(raw).hex()
    return '-'.join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def device_uuids() -> list[str]:
    """Return the UUIDs of all devices that this process sees. This initializes the driver."""
    cuInit()
    return [cuDeviceGetUuid(cuDeviceGet(ordinal)) for ordinal in range(cuDeviceGetCount())]


def cuDeviceTotalMem(device: int) -> int:
    """Return the memory in bytes that CUDA can use on a device handle, less than NVML's total."""
    size = ctypes.c_size_t()
    # The function without _v2 has 32-bit sizes.
    _driver.call('cuDeviceTotalMem_v2', ctypes.byref(size), ctypes.c_int(device))
    return size.value


def is_available() -> bool:
    """Return whether the driver sees a device. This initializes the driver in this process."""
    try:
        cuInit()
        return cuDeviceGetCount() > 0
    except CUDAError:
        return False
