# SPDX-License-Identifier: Apache-2.0
"""A small ctypes binding of the CUDA runtime, with its error codes.

The runtime is loaded by the first call of a function. Without a runtime, every function raises
:class:`cudaError_InitializationError`; a function that an old runtime lacks raises
:class:`cudaError_SymbolNotFound`. Other failures raise the subclass of :class:`cudaError` for the
return code. The codes are those of CUDA 10.1 and newer.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Mapping, cast

from nvitop.api import libcuda
from nvitop.platforms import nvidia

cudaSuccess = 0

#: Return code → name of its constant.
ERROR_NAMES: Mapping[int, str] = libcuda.parse_codes(
    'cudaError',
    """
    1 InvalidValue  2 MemoryAllocation  3 InitializationError  4 CudartUnloading
    5 ProfilerDisabled  6 ProfilerNotInitialized  7 ProfilerAlreadyStarted
    8 ProfilerAlreadyStopped  9 InvalidConfiguration  10 VersionTranslation  12 InvalidPitchValue
    13 InvalidSymbol  16 InvalidHostPointer  17 InvalidDevicePointer  18 InvalidTexture
    19 InvalidTextureBinding  20 InvalidChannelDescriptor  21 InvalidMemcpyDirection
    22 AddressOfConstant  23 TextureFetchFailed  24 TextureNotBound  25 SynchronizationError
    26 InvalidFilterSetting  27 InvalidNormSetting  28 MixedDeviceExecution  31 NotYetImplemented
    32 MemoryValueTooLarge  34 StubLibrary  35 InsufficientDriver  36 CallRequiresNewerDriver
    37 InvalidSurface  43 DuplicateVariableName  44 DuplicateTextureName  45 DuplicateSurfaceName
    46 DevicesUnavailable  49 IncompatibleDriverContext  52 MissingConfiguration
    53 PriorLaunchFailure  65 LaunchMaxDepthExceeded  66 LaunchFileScopedTex
    67 LaunchFileScopedSurf  68 SyncDepthExceeded  69 LaunchPendingCountExceeded
    98 InvalidDeviceFunction  100 NoDevice  101 InvalidDevice  102 DeviceNotLicensed
    103 SoftwareValidityNotEstablished  127 StartupFailure  200 InvalidKernelImage
    201 DeviceUninitialized  205 MapBufferObjectFailed  206 UnmapBufferObjectFailed
    207 ArrayIsMapped  208 AlreadyMapped  209 NoKernelImageForDevice  210 AlreadyAcquired
    211 NotMapped  212 NotMappedAsArray  213 NotMappedAsPointer  214 ECCUncorrectable
    215 UnsupportedLimit  216 DeviceAlreadyInUse  217 PeerAccessUnsupported  218 InvalidPtx
    219 InvalidGraphicsContext  220 NvlinkUncorrectable  221 JitCompilerNotFound
    222 UnsupportedPtxVersion  223 JitCompilationDisabled  224 UnsupportedExecAffinity
    225 UnsupportedDevSideSync  226 Contained  227 InsufficientLoaderVersion  300 InvalidSource
    301 FileNotFound  302 SharedObjectSymbolNotFound  303 SharedObjectInitFailed
    304 OperatingSystem  400 InvalidResourceHandle  401 IllegalState  402 LossyQuery
    500 SymbolNotFound  600 NotReady  700 IllegalAddress  701 LaunchOutOfResources
    702 LaunchTimeout  703 LaunchIncompatibleTexturing  704 PeerAccessAlreadyEnabled
    705 PeerAccessNotEnabled  708 SetOnActiveProcess  709 ContextIsDestroyed  710 Assert
    711 TooManyPeers  712 HostMemoryAlreadyRegistered  713 HostMemoryNotRegistered
    714 HardwareStackError  715 IllegalInstruction  716 MisalignedAddress  717 InvalidAddressSpace
    718 InvalidPc  719 LaunchFailure  720 CooperativeLaunchTooLarge  721 TensorMemoryLeak
    800 NotPermitted  801 NotSupported  802 SystemNotReady  803 SystemDriverMismatch
    804 CompatNotSupportedOnDevice  805 MpsConnectionFailed  806 MpsRpcFailure
    807 MpsServerNotReady  808 MpsMaxClientsReached  809 MpsMaxConnectionsReached
    810 MpsClientTerminated  811 CdpNotSupported  812 CdpVersionMismatch
    900 StreamCaptureUnsupported  901 StreamCaptureInvalidated  902 StreamCaptureMerge
    903 StreamCaptureUnmatched  904 StreamCaptureUnjoined  905 StreamCaptureIsolation
    906 StreamCaptureImplicit  907 CapturedEvent  908 StreamCaptureWrongThread  909 Timeout
    910 GraphExecUpdateFailure  911 ExternalDevice  912 InvalidClusterSize  913 FunctionNotLoaded
    914 InvalidResourceType  915 InvalidResourceConfiguration  917 StreamDetached
    918 GraphRecaptureFailure  919 FabricNotReady  999 Unknown  10000 ApiFailureBase
    """,
)


class cudaError(libcuda.CodedError):
    """A call of the CUDA runtime failed; ``value`` is the return code.

    ``cudaError(code)`` creates an instance of the subclass for this code:
    ``cudaError(cudaErrorInvalidDevice)`` is a ``cudaError_InvalidDevice``.
    """

    names = ERROR_NAMES


_ERROR_CLASSES = libcuda.make_subclasses(cudaError)
# The constants, and an exception class for each of them.
globals().update({name: code for code, name in ERROR_NAMES.items()}, **_ERROR_CLASSES)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Return a constant or an exception class."""


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
    *_ERROR_CLASSES,
]


def cudaExceptionClass(error_code: int, /) -> type[cudaError]:
    """Return the subclass of :class:`cudaError` for a return code; ValueError if it is unknown."""
    if error_code not in ERROR_NAMES:
        raise ValueError(f'unknown error code of the CUDA runtime: {error_code!r}')
    return cast('type[cudaError]', cudaError.subclasses[error_code])


_runtime = libcuda.LazyLibrary(nvidia.cudart_files, cudaError)


def use_library(library: object | None) -> None:
    """Replace the runtime by an object with Python functions; None removes it.

    The functions have the names and arguments of ``cuda_runtime_api.h`` and get ctypes values
    (``byref(x)._obj`` is the output value). The two functions for texts return bytes.
    """
    _runtime.use(library)


def used_library() -> object | None:
    """Return the loaded runtime or its replacement, None if nothing has been loaded."""
    return _runtime.loaded


def cudaGetErrorName(error: int) -> str:
    """Return the name of a return code, such as ``'cudaErrorInvalidDevice'``.

    For an unknown code it is ``'unrecognized error code'``.
    """
    return _text('cudaGetErrorName', error)


def cudaGetErrorString(error: int) -> str:
    """Return the runtime's description of a return code, such as ``'invalid device ordinal'``."""
    return _text('cudaGetErrorString', error)


#: The name of this function in nvitop 1.x.
cuGetErrorString = cudaGetErrorString


def _text(function: str, error: int) -> str:
    pointer = _runtime.function(function)
    # By default ctypes returns a pointer as an int of 32 bits. Python functions ignore this.
    pointer.restype = ctypes.c_char_p
    return libcuda.decoded(pointer(ctypes.c_int(error)))


def cudaGetLastError() -> int:
    """Return the last error of a runtime call in this thread, and reset it to ``cudaSuccess`` (0)."""
    return int(_runtime.function('cudaGetLastError')())


def cudaPeekAtLastError() -> int:
    """Return the last error of a runtime call in this thread without resetting it."""
    return int(_runtime.function('cudaPeekAtLastError')())


def cudaDriverGetVersion() -> str:
    """Return the newest CUDA version that the driver supports; ``'0.0'`` without a driver."""
    return libcuda.version_text(_runtime.number('cudaDriverGetVersion'))


def cudaRuntimeGetVersion() -> str:
    """Return the version of the runtime, as ``'major.minor'``.

    Raises:
        cudaError_InsufficientDriver: There is no driver, and the runtime is older than CUDA 12.
    """
    return libcuda.version_text(_runtime.number('cudaRuntimeGetVersion'))


def cudaGetDeviceCount() -> int:
    """Return the number of devices that this process sees. This initializes the driver.

    Raises:
        cudaError_NoDevice: There is no device.
        cudaError_InsufficientDriver: There is no driver.
    """
    return _runtime.number('cudaGetDeviceCount')


def cudaDeviceGetByPCIBusId(pciBusId: str) -> int:
    """Return the index of the device with a bus ID: ``domain:bus:device.function`` in hexadecimal.

    Raises:
        cudaError_InvalidDevice: No visible device has this bus ID.
        cudaError_InvalidValue: The text is not a bus ID.
    """
    return _runtime.number('cudaDeviceGetByPCIBusId', ctypes.c_char_p(pciBusId.encode()))


def cudaDeviceGetPCIBusId(device: int) -> str:
    """Return the bus ID of the device with a CUDA index, such as ``'0000:1B:00.0'``."""
    return _runtime.text('cudaDeviceGetPCIBusId', libcuda.BUS_ID_SIZE, ctypes.c_int(device))


def is_available() -> bool:
    """Return whether the runtime sees a device. This initializes the driver in this process."""
    try:
        return cudaGetDeviceCount() > 0
    except cudaError:
        return False
