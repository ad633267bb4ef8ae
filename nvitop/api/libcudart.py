# SPDX-License-Identifier: Apache-2.0
"""The CUDA runtime: a lazy ctypes binding of what nvitop asks of it, with its error codes.

Importing this module loads nothing. The runtime is looked for when a function is first called;
without one every function raises :class:`cudaError_FileNotFound`, and one that an old runtime lacks
raises :class:`cudaError_SymbolNotFound`. Other failures raise the subclass of :class:`cudaError`
that belongs to the return code. The numbers are those of CUDA 10.1 and newer.
"""

from __future__ import annotations

import ctypes
from typing import Mapping, cast

from nvitop.api import _cuda_binding
from nvitop.platforms import nvidia_files

cudaSuccess = 0
cudaErrorInvalidValue = 1
cudaErrorMemoryAllocation = 2
cudaErrorInitializationError = 3
cudaErrorCudartUnloading = 4
cudaErrorProfilerDisabled = 5
cudaErrorProfilerNotInitialized = 6
cudaErrorProfilerAlreadyStarted = 7
cudaErrorProfilerAlreadyStopped = 8
cudaErrorInvalidConfiguration = 9
cudaErrorVersionTranslation = 10
cudaErrorInvalidPitchValue = 12
cudaErrorInvalidSymbol = 13
cudaErrorInvalidHostPointer = 16
cudaErrorInvalidDevicePointer = 17
cudaErrorInvalidTexture = 18
cudaErrorInvalidTextureBinding = 19
cudaErrorInvalidChannelDescriptor = 20
cudaErrorInvalidMemcpyDirection = 21
cudaErrorAddressOfConstant = 22
cudaErrorTextureFetchFailed = 23
cudaErrorTextureNotBound = 24
cudaErrorSynchronizationError = 25
cudaErrorInvalidFilterSetting = 26
cudaErrorInvalidNormSetting = 27
cudaErrorMixedDeviceExecution = 28
cudaErrorNotYetImplemented = 31
cudaErrorMemoryValueTooLarge = 32
cudaErrorStubLibrary = 34
cudaErrorInsufficientDriver = 35
cudaErrorCallRequiresNewerDriver = 36
cudaErrorInvalidSurface = 37
cudaErrorDuplicateVariableName = 43
cudaErrorDuplicateTextureName = 44
cudaErrorDuplicateSurfaceName = 45
cudaErrorDevicesUnavailable = 46
cudaErrorIncompatibleDriverContext = 49
cudaErrorMissingConfiguration = 52
cudaErrorPriorLaunchFailure = 53
cudaErrorLaunchMaxDepthExceeded = 65
cudaErrorLaunchFileScopedTex = 66
cudaErrorLaunchFileScopedSurf = 67
cudaErrorSyncDepthExceeded = 68
cudaErrorLaunchPendingCountExceeded = 69
cudaErrorInvalidDeviceFunction = 98
cudaErrorNoDevice = 100
cudaErrorInvalidDevice = 101
cudaErrorDeviceNotLicensed = 102
cudaErrorSoftwareValidityNotEstablished = 103
cudaErrorStartupFailure = 127
cudaErrorInvalidKernelImage = 200
cudaErrorDeviceUninitialized = 201
cudaErrorMapBufferObjectFailed = 205
cudaErrorUnmapBufferObjectFailed = 206
cudaErrorArrayIsMapped = 207
cudaErrorAlreadyMapped = 208
cudaErrorNoKernelImageForDevice = 209
cudaErrorAlreadyAcquired = 210
cudaErrorNotMapped = 211
cudaErrorNotMappedAsArray = 212
cudaErrorNotMappedAsPointer = 213
cudaErrorECCUncorrectable = 214
cudaErrorUnsupportedLimit = 215
cudaErrorDeviceAlreadyInUse = 216
cudaErrorPeerAccessUnsupported = 217
cudaErrorInvalidPtx = 218
cudaErrorInvalidGraphicsContext = 219
cudaErrorNvlinkUncorrectable = 220
cudaErrorJitCompilerNotFound = 221
cudaErrorUnsupportedPtxVersion = 222
cudaErrorJitCompilationDisabled = 223
cudaErrorUnsupportedExecAffinity = 224
cudaErrorUnsupportedDevSideSync = 225
cudaErrorContained = 226
cudaErrorInsufficientLoaderVersion = 227
cudaErrorInvalidSource = 300
cudaErrorFileNotFound = 301
cudaErrorSharedObjectSymbolNotFound = 302
cudaErrorSharedObjectInitFailed = 303
cudaErrorOperatingSystem = 304
cudaErrorInvalidResourceHandle = 400
cudaErrorIllegalState = 401
cudaErrorLossyQuery = 402
cudaErrorSymbolNotFound = 500
cudaErrorNotReady = 600
cudaErrorIllegalAddress = 700
cudaErrorLaunchOutOfResources = 701
cudaErrorLaunchTimeout = 702
cudaErrorLaunchIncompatibleTexturing = 703
cudaErrorPeerAccessAlreadyEnabled = 704
cudaErrorPeerAccessNotEnabled = 705
cudaErrorSetOnActiveProcess = 708
cudaErrorContextIsDestroyed = 709
cudaErrorAssert = 710
cudaErrorTooManyPeers = 711
cudaErrorHostMemoryAlreadyRegistered = 712
cudaErrorHostMemoryNotRegistered = 713
cudaErrorHardwareStackError = 714
cudaErrorIllegalInstruction = 715
cudaErrorMisalignedAddress = 716
cudaErrorInvalidAddressSpace = 717
cudaErrorInvalidPc = 718
cudaErrorLaunchFailure = 719
cudaErrorCooperativeLaunchTooLarge = 720
cudaErrorTensorMemoryLeak = 721
cudaErrorNotPermitted = 800
cudaErrorNotSupported = 801
cudaErrorSystemNotReady = 802
cudaErrorSystemDriverMismatch = 803
cudaErrorCompatNotSupportedOnDevice = 804
cudaErrorMpsConnectionFailed = 805
cudaErrorMpsRpcFailure = 806
cudaErrorMpsServerNotReady = 807
cudaErrorMpsMaxClientsReached = 808
cudaErrorMpsMaxConnectionsReached = 809
cudaErrorMpsClientTerminated = 810
cudaErrorCdpNotSupported = 811
cudaErrorCdpVersionMismatch = 812
cudaErrorStreamCaptureUnsupported = 900
cudaErrorStreamCaptureInvalidated = 901
cudaErrorStreamCaptureMerge = 902
cudaErrorStreamCaptureUnmatched = 903
cudaErrorStreamCaptureUnjoined = 904
cudaErrorStreamCaptureIsolation = 905
cudaErrorStreamCaptureImplicit = 906
cudaErrorCapturedEvent = 907
cudaErrorStreamCaptureWrongThread = 908
cudaErrorTimeout = 909
cudaErrorGraphExecUpdateFailure = 910
cudaErrorExternalDevice = 911
cudaErrorInvalidClusterSize = 912
cudaErrorFunctionNotLoaded = 913
cudaErrorInvalidResourceType = 914
cudaErrorInvalidResourceConfiguration = 915
cudaErrorStreamDetached = 917
cudaErrorGraphRecaptureFailure = 918
cudaErrorFabricNotReady = 919
cudaErrorUnknown = 999
cudaErrorApiFailureBase = 10000

#: Return code → name of its constant.
ERROR_NAMES: Mapping[int, str] = {
    value: name for name, value in tuple(globals().items()) if name.startswith('cudaError')
}


class cudaError(_cuda_binding.CodedError):
    """A call of the CUDA runtime failed; ``value`` is the return code.

    ``cudaError(code)`` makes an instance of the subclass of that code, e.g.
    ``cudaError(cudaErrorInvalidDevice)`` a ``cudaError_InvalidDevice``.
    """

    names = ERROR_NAMES

    @classmethod
    def describe(cls, value: int) -> str:
        """The runtime's text for a return code, ``''`` while no runtime is loaded."""
        if _runtime.loaded is None:
            return ''
        try:
            return cudaGetErrorString(value)
        except cudaError:
            return ''


__all__ = [
    'cudaSuccess',
    'cudaError',
    'cudaExceptionClass',
    'cudaGetErrorName',
    'cudaGetErrorString',
    'cuGetErrorString',
    'cudaGetLastError',
    'cudaPeekAtLastError',
    'cudaDriverGetVersion',
    'cudaRuntimeGetVersion',
    'cudaGetDeviceCount',
    'cudaDeviceGetByPCIBusId',
    'cudaDeviceGetPCIBusId',
    'is_available',
    *ERROR_NAMES.values(),
    *map(cudaError.class_name, ERROR_NAMES.values()),
]


def __getattr__(name: str) -> type[cudaError]:
    """Make ``cudaError_<Name>`` when it is first asked for: a hundred classes nobody pays for."""
    if not name.startswith('cudaError_'):
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    # setdefault: of two threads that make a class at once, both get the same one.
    return cast(
        'type[cudaError]',
        globals().setdefault(name, _cuda_binding.make_subclass(cudaError, name)),
    )


def __dir__() -> list[str]:
    """All names, those not made yet too."""
    return sorted({*globals(), *__all__})


def cudaExceptionClass(error_code: int) -> type[cudaError]:
    """The subclass of :class:`cudaError` for a return code; ValueError for an unknown one."""
    if error_code not in ERROR_NAMES:
        raise ValueError(f'{error_code!r} is no error code of the CUDA runtime')
    return cudaError.subclass(error_code)


_runtime = _cuda_binding.LazyLibrary(nvidia_files.cudart_files, cudaError)


def use_library(library: object | None) -> None:
    """Put an object of plain Python functions in the runtime's place; :data:`None` removes it.

    Its functions have the names and arguments of ``cuda_runtime_api.h`` and are called with ctypes
    values (``byref(x)._obj`` is the value to fill); the two that return text return bytes.
    """
    _runtime.use(library)


def used_library() -> object | None:
    """The loaded runtime or its replacement, :data:`None` while nothing was loaded."""
    return _runtime.loaded


def cudaGetErrorName(error: int) -> str:
    """The name of a return code, e.g. ``'cudaErrorInvalidDevice'``; ``'unrecognized error code'``."""
    return _text('cudaGetErrorName', error)


def cudaGetErrorString(error: int) -> str:
    """The runtime's description of a return code, e.g. ``'invalid device ordinal'``."""
    return _text('cudaGetErrorString', error)


#: The name this function has had in nvitop for long.
cuGetErrorString = cudaGetErrorString


def _text(function: str, error: int) -> str:
    pointer = _runtime.function(function)
    # A char * would come back as an int, cut to 32 bits. Harmless for a plain Python function.
    pointer.restype = ctypes.c_char_p
    return _cuda_binding.decoded(pointer(ctypes.c_int(error)))


def cudaGetLastError() -> int:
    """The last error of a runtime call in this thread, which is reset to ``cudaSuccess`` (0)."""
    return int(_runtime.function('cudaGetLastError')())


def cudaPeekAtLastError() -> int:
    """The last error of a runtime call in this thread, which is left as it is."""
    return int(_runtime.function('cudaPeekAtLastError')())


def cudaDriverGetVersion() -> str:
    """The newest CUDA version the driver supports, ``'major.minor'``; ``'0.0'`` without driver."""
    version = ctypes.c_int()
    _runtime.call('cudaDriverGetVersion', ctypes.byref(version))
    return _cuda_binding.version_text(version.value)


def cudaRuntimeGetVersion() -> str:
    """The version of the runtime, ``'major.minor'``.

    Needs no driver since CUDA 12; before, :class:`cudaError_InsufficientDriver` without one.
    """
    version = ctypes.c_int()
    _runtime.call('cudaRuntimeGetVersion', ctypes.byref(version))
    return _cuda_binding.version_text(version.value)


def cudaGetDeviceCount() -> int:
    """How many devices this process sees; initialises the driver in this process.

    Raises :class:`cudaError_NoDevice` for none and :class:`cudaError_InsufficientDriver` without
    driver.
    """
    count = ctypes.c_int()
    _runtime.call('cudaGetDeviceCount', ctypes.byref(count))
    return count.value


def cudaDeviceGetByPCIBusId(pciBusId: str) -> int:
    """The CUDA index of the device with a bus ID: ``domain:bus:device.function``, hexadecimal.

    Raises :class:`cudaError_InvalidDevice` if no visible device has it,
    :class:`cudaError_InvalidValue` if it is none.
    """
    device = ctypes.c_int()
    bus_id = ctypes.c_char_p(pciBusId.encode())
    _runtime.call('cudaDeviceGetByPCIBusId', ctypes.byref(device), bus_id)
    return device.value


def cudaDeviceGetPCIBusId(device: int) -> str:
    """The bus ID of the device with a CUDA index, e.g. ``'0000:1B:00.0'``."""
    size = _cuda_binding.BUS_ID_SIZE
    text = ctypes.create_string_buffer(size)
    _runtime.call('cudaDeviceGetPCIBusId', text, ctypes.c_int(size), ctypes.c_int(device))
    return _cuda_binding.decoded(text.value)


def is_available() -> bool:
    """Whether there is a runtime whose driver sees a device; initialises it in this process."""
    try:
        return cudaGetDeviceCount() > 0
    except cudaError:
        return False
