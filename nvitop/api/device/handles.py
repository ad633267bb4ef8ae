# SPDX-License-Identifier: Apache-2.0
"""Driver handles of GPUs and MIG devices, and the forms of their UUIDs."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Any, Iterator

from nvitop.api import libnvml
from nvitop.api.libnvml._binding import NVMLError_InvalidArgument, NVMLError_NotFound
from nvitop.api.libnvml._errors import is_unreachable
from nvitop.api.libnvml._session import SESSION
from nvitop.basics.units import NA

if TYPE_CHECKING:
    from typing import TypeGuard

#: ``NVML_INIT_FLAG_NO_ATTACH``, which old bindings lack: attach no GPU before it is queried.
_NO_ATTACH = 2
_UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'


#: UUIDs of GPUs, of MIG devices, and of MIG devices before R470.
UUID_PATTERN = re.compile(
    rf'(?:(?P<gpu>GPU-{_UUID})'
    rf'|(?P<mig>MIG-{_UUID})'
    rf'|MIG-(?P<parent>GPU-{_UUID})/(?P<gpu_instance>\d+)/(?P<compute_instance>\d+))\Z'
)


#: Index of a MIG device as text, such as ``'0:1'``.
_MIG_INDEX = r'([0-9]+):([0-9]+)'


def is_mig_index(text: object) -> bool:
    return isinstance(text, str) and re.fullmatch(_MIG_INDEX, text) is not None


def is_mig_device_uuid(uuid: str | None) -> bool:
    """Return whether a text is the UUID of a MIG device, such as ``'MIG-…'``."""
    if not isinstance(uuid, str):
        return False
    match = UUID_PATTERN.match(uuid)
    return match is not None and match['gpu'] is None


def digits(uuid: str) -> str:
    """Return the hexadecimal digits of a UUID, with or without the prefix of NVML."""
    return uuid.rpartition('GPU-')[2].rpartition('MIG-')[2].replace('-', '').lower()


class _UnknownError(libnvml.NVMLError):
    """An error of NVML with a text of nvitop."""

    def __new__(cls, *_: object) -> Any:
        """Create the error; old bindings accept no arguments for a class of one code."""
        return super().__new__(cls)

    def __init__(self, text: str) -> None:
        self.args = (text,)

    def __str__(self) -> str:
        return str(self.args[0])


class UnknownGpuError(_UnknownError, NVMLError_InvalidArgument):
    """No device can have this index or PCI bus ID."""


class UnknownDeviceError(_UnknownError, NVMLError_NotFound):
    """There is no device with this UUID, PCI bus ID or index."""


def gpu_range(count: int) -> str:
    """Return the indices of this number of GPUs as text, such as ``'GPUs 0 to 7'``."""
    return f'GPUs 0 to {count - 1}' if count > 1 else ('GPU 0' if count else 'no GPU')


def start_nvml(wake: str = 'never') -> None:
    """Initialize NVML; attach no GPU if any of them sleeps or may sleep, unless all are to be woken."""
    from nvitop.api.system import system  # programs with devices only need no host

    is_careful = wake != 'always' and system().gpu_powers()
    libnvml.nvmlInitWithFlags(_NO_ATTACH if is_careful else 0)


def sleeping_gpus(wake: str = 'never') -> int:
    """Return the number of GPUs if all of them sleep and NVML is not initialized, otherwise 0.

    On some machines, initializing NVML is enough to wake them.
    """
    from nvitop.api.system import system

    powers = system().gpu_powers() if wake != 'always' and not SESSION.ready else ()
    is_quiet = bool(powers) and all(power.is_asleep for power in powers)
    return len(powers) if is_quiet and len(system().expected_gpus()) == len(powers) else 0


def is_pair(value: object) -> TypeGuard[tuple[int, int]]:
    return isinstance(value, tuple) and len(value) == 2 and all(isinstance(i, int) for i in value)


def index_or_uuid(
    index: int | tuple[int, int] | str | None, uuid: str | None, bus_id: str | None
) -> tuple[int | tuple[int, int] | None, str | None]:
    """Check the arguments of a device, and return its index and UUID.

    A text index is a UUID, or the index of a MIG device such as ``'0:1'``.

    Raises:
        TypeError: Not exactly one argument, or an argument of the wrong type.
    """
    if sum(argument is not None for argument in (index, uuid, bus_id)) != 1:
        raise TypeError(
            'a device needs exactly one of index, uuid and bus_id, got '
            f'index={index!r}, uuid={uuid!r}, bus_id={bus_id!r}'
        )
    for argument in (uuid, bus_id):
        if argument is not None and not isinstance(argument, str):
            raise TypeError(f'UUIDs and PCI bus IDs must be str, not {argument!r}')
    if not isinstance(index, str):
        return index, uuid
    pair = re.fullmatch(_MIG_INDEX, index)
    if pair is not None:
        return (int(pair.group(1)), int(pair.group(2))), None
    if not index.startswith(('GPU-', 'MIG-')):
        raise TypeError(
            f"a text index must be a UUID such as 'GPU-…', or that of a MIG device such as '0:1', "
            f'not {index!r}'
        )
    return None, index


@contextlib.contextmanager
def naming(identifier: object) -> Iterator[None]:
    """Say in the error about an unknown device which one was asked for."""
    message = (
        f"unknown device {identifier!r}; 'nvitop query --gpu=index,pci.bus_id,uuid' lists all GPUs"
    )
    try:
        yield
    except UnknownGpuError:
        raise
    except NVMLError_InvalidArgument:
        raise UnknownGpuError(message) from None
    except NVMLError_NotFound:
        raise UnknownDeviceError(message) from None


def find_handle(function: str, *args: Any) -> tuple[Any, libnvml.NVMLError | None]:
    """Call a driver function that finds a device; return its result.

    For a device that the driver lists but cannot open, it is ``None`` with the error.

    Raises:
        NVMLError: There is no such device.
    """
    try:
        return _call(function, *args), None
    except libnvml.NVMLError as error:
        if not is_unreachable(error):
            raise
        return None, error.with_traceback(None)


def find_gpu(index: int) -> tuple[Any, libnvml.NVMLError | None]:
    """Find a GPU by its index, as :func:`find_handle`.

    Raises:
        UnknownGpuError: There is no such GPU.
        NVMLError: NVML cannot be initialized, or the GPU cannot be used.
    """
    try:
        return find_handle('nvmlDeviceGetHandleByIndex', index)
    except NVMLError_InvalidArgument:
        count = int(_call('nvmlDeviceGetCount'))
        if 0 <= index < count:
            raise
        text = f'unknown GPU {index}: this machine has {gpu_range(count)}'
        raise UnknownGpuError(text) from None


def mig_handles(handle: Any, count: int) -> Iterator[tuple[int, Any]]:
    """Yield the index and handle of each MIG device of a GPU that can have ``count`` of them."""
    for mig_index in range(count):
        function = 'nvmlDeviceGetMigDeviceHandleByIndex'
        mig = libnvml.nvmlQuery(function, handle, mig_index, default=None)
        if mig is not None:
            yield mig_index, mig


def find_mig_by_uuid(uuid: str) -> tuple[int, int, Any]:
    """Return GPU index, MIG index and handle of a MIG device; NVMLError if there is none."""
    match = UUID_PATTERN.match(uuid)
    if match is not None and match['parent']:
        # Drivers since R470 no longer accept this form.
        gpu = _call('nvmlDeviceGetHandleByUUID', match['parent'].encode())
        wanted: Any = [int(match['gpu_instance']), int(match['compute_instance'])]
        functions = ['nvmlDeviceGetGpuInstanceId', 'nvmlDeviceGetComputeInstanceId']
    else:
        mig = _call('nvmlDeviceGetHandleByUUID', uuid.encode())
        gpu = _call('nvmlDeviceGetDeviceHandleFromMigDeviceHandle', mig)
        wanted = [uuid]
        functions = ['nvmlDeviceGetUUID']
    count = libnvml.nvmlQuery('nvmlDeviceGetMaxMigDeviceCount', gpu)
    for mig_index, mig in mig_handles(gpu, 0 if count is NA else count):
        if [libnvml.nvmlQuery(function, mig) for function in functions] == wanted:
            return int(_call('nvmlDeviceGetIndex', gpu)), mig_index, mig
    raise libnvml.NVMLError(libnvml.NVML_ERROR_NOT_FOUND)


def _call(function: str, *args: Any) -> Any:
    return libnvml.nvmlQuery(function, *args, ignore_errors=False)
