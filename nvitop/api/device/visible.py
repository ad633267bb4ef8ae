# SPDX-License-Identifier: Apache-2.0
"""The devices that are visible to CUDA programs (``CUDA_VISIBLE_DEVICES``).

The rules are pure functions of the value and the GPUs. If only the CUDA driver can decide,
it is queried in a helper process, because CUDA reads its environment variables once, when a process
initializes it. Results are remembered as long as the GPUs stay the same; failed queries are repeated.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import itertools
import os
import re
import subprocess
import sys
import threading
import time
from typing import Any, Callable, Hashable, Iterator, NamedTuple, Sequence, Union

from nvitop.api import libcuda, libnvml
from nvitop.api.device.base import DeviceBase
from nvitop.api.device.handles import digits, mig_handles
from nvitop.api.libcuda import NOT_INITIALIZED
from nvitop.basics.log import UNKNOWN_ORDER, warn
from nvitop.basics.units import NA
from nvitop.platforms.kernel import renew_in_child

#: An index, parsed like C's ``strtoul``: ``'1st'`` is 1. More than 9 digits are not an index.
_INDEX = r'\s*\+?0*([0-9]{1,9})(?![0-9])'
#: A MIG device by its GPU and its two instances, the only form before R470.
_INSTANCES = 'MIG-(GPU-[^/]*)/([0-9]+)/([0-9]+)'
_PREFIX = '^(mig-)?(gpu-)?'
#: Queries that may show that CUDA considers one GPU faster than another. The cheapest and most
#: decisive ones come first.
_SPEED_QUERIES: tuple[tuple[Any, ...], ...] = (
    ('nvmlDeviceGetName',),
    ('nvmlDeviceGetCudaComputeCapability',),
    ('nvmlDeviceGetPciInfo',),
    ('nvmlDeviceGetMigMode',),
    ('nvmlDeviceGetMemoryInfo',),
    ('nvmlDeviceGetNumGpuCores',),
    *(('nvmlDeviceGetMaxClockInfo', clock) for clock in (0, 1, 2)),  # graphics, SM, memory
    ('nvmlDeviceGetComputeMode',),
    ('nvmlDeviceGetDisplayActive',),
    ('nvmlDeviceGetDriverModel',),
)


class _FromEnvironment(str):
    """The default argument: the environment variable of this process."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "os.environ.get('CUDA_VISIBLE_DEVICES')"


FROM_ENVIRONMENT = _FromEnvironment()


def parse_cuda_visible_devices(
    cuda_visible_devices: str | None = FROM_ENVIRONMENT,
) -> list[int] | list[tuple[int, int]]:
    """Return the NVML indices of the devices that are visible to CUDA, in the order of CUDA indices.

    A GPU is represented by its index, a MIG device by (GPU index, MIG index). The rules are CUDA's:

    - not set: all GPUs; ``''``: none;
    - a comma-separated list of indices (``'1,0'``), of UUIDs of GPUs (``'GPU-18ef14e9,…'``) or of
      MIG devices (``'MIG-…'`` or ``'MIG-GPU-<uuid>/<gpu instance>/<compute instance>'``). UUIDs
      can be abbreviated if only one device matches;
    - the list ends at the first invalid item: out of range, negative, unknown, ambiguous, or of
      another kind than the first;
    - if a device is listed twice, none is visible;
    - a GPU in MIG mode means its first MIG device; a list with a MIG device makes only that one
      visible.

    Indices count the GPUs in the order of ``CUDA_DEVICE_ORDER``: with ``PCI_BUS_ID`` by bus ID,
    otherwise with the fastest first, as decided by the CUDA driver. GPUs that are equal in NVML
    (name, PCI device, memory, cores, clocks, modes) are taken as equally fast and ordered by bus ID.
    The CUDA driver is queried, once, in a helper process, if the GPUs differ, if a GPU is lost, and
    for lists that NVIDIA's documentation does not cover (``'gpu-18EF14E9'``, a MIG device after a
    GPU). If the CUDA driver does not respond, GPUs are counted by bus ID.

    >>> parse_cuda_visible_devices('2,0')
    [2, 0]

    Args:
        cuda_visible_devices: The value; ``None`` means not set. By default the current value of the
            environment variable.

    Returns:
        The indices; ``[]`` if NVML cannot be initialized.
    """
    indices: list[Any] = [device.nvml_index for device in _visible_devices(cuda_visible_devices)]
    return indices


def normalize_cuda_visible_devices(cuda_visible_devices: str | None = FROM_ENVIRONMENT) -> str:
    """Return the full UUIDs of the devices that are visible to CUDA, separated by commas.

    The selection is the same, but without abbreviations and independent of ``CUDA_DEVICE_ORDER``.
    The rules and the argument are those of :func:`parse_cuda_visible_devices`.

    >>> normalize_cuda_visible_devices('0')
    'GPU-18ef14e9-dec6-1d3e-1284-3010c6ce98b1'
    """
    return ','.join(device.uuid for device in _visible_devices(cuda_visible_devices))


class VisibilityMixin(DeviceBase):
    """Devices as CUDA programs number them."""

    parse_cuda_visible_devices = staticmethod(parse_cuda_visible_devices)
    normalize_cuda_visible_devices = staticmethod(normalize_cuda_visible_devices)

    @property
    def cuda_index(self) -> int:
        """Index in CUDA programs started now, see :func:`parse_cuda_visible_devices`.

        Raises:
            RuntimeError: The device is not visible to CUDA: it is not in ``CUDA_VISIBLE_DEVICES``,
                or not the MIG device that CUDA chooses.
        """
        indices = parse_cuda_visible_devices()
        for cuda_index, nvml_index in enumerate(indices):
            if nvml_index == self._index:
                return cuda_index
        raise RuntimeError(
            f'CUDA error: device {self._index} is not visible, {describe_visible(len(indices))}'
        )


def describe_visible(count: int) -> str:
    """Return how many devices are visible to CUDA, and why, for error messages."""
    try:
        libnvml.nvmlQuery('nvmlDeviceGetCount', ignore_errors=False)
    except libnvml.NVMLError as error:
        reason = f'NVML: {error}'
    else:
        value = os.environ.get('CUDA_VISIBLE_DEVICES')
        is_set = value is not None
        reason = f'CUDA_VISIBLE_DEVICES={value!r}' if is_set else 'CUDA_VISIBLE_DEVICES is not set'
    return f'CUDA sees {count} {"device" if count == 1 else "devices"} ({reason})'


# CUDA's rules


class VisibleMig(NamedTuple):
    """A MIG device: one compute instance."""

    #: (GPU index, MIG index).
    nvml_index: tuple[int, int]
    uuid: str
    gpu_uuid: str
    gpu_instance_id: int
    compute_instance_id: int

    def matches(self, identifier: str) -> bool:
        """Return whether ``identifier`` is a prefix of the UUID or names the instances."""
        instances = re.fullmatch(_INSTANCES, identifier)
        return self.uuid.startswith(identifier) or (
            instances is not None
            and self.gpu_uuid.startswith(instances.group(1))
            and self.gpu_instance_id == int(instances.group(2))
            and self.compute_instance_id == int(instances.group(3))
        )


class VisibleGpu(NamedTuple):
    """A physical GPU."""

    #: NVML index.
    nvml_index: int
    uuid: str
    #: Domain, bus, device.
    bus_id: tuple[int, int, int]
    is_mig_mode_enabled: bool = False
    migs: tuple[VisibleMig, ...] = ()

    def matches(self, identifier: str) -> bool:
        """Return whether ``identifier`` is a prefix of the UUID."""
        return self.uuid.startswith(identifier)


#: A device that CUDA programs see.
CudaVisible = Union[VisibleGpu, VisibleMig]


class OnlyCudaKnowsError(Exception):
    """The result depends on something that only the CUDA driver can decide."""


def select(
    value: str | None,
    gpus: Sequence[VisibleGpu],
    *,
    is_in_cuda_order: Callable[[], bool],
    guess: bool = False,
) -> list[CudaVisible]:
    """Return the devices that CUDA enumerates, in its order.

    Args:
        value: Value of ``CUDA_VISIBLE_DEVICES``, ``None`` if not set.
        gpus: The GPUs in PCI order.
        is_in_cuda_order: Returns whether CUDA has the same order. Called at most once, if needed.
        guess: Return the most likely result instead of raising.

    Raises:
        OnlyCudaKnowsError: The result is not certain.
    """
    if value is None:
        if not guess and not is_in_cuda_order():
            raise OnlyCudaKnowsError('order of the GPUs')
        return _enumerated(gpus)
    identifiers = value.split(',')
    kind = identifiers[0].strip()[:4].upper()
    chosen: list[CudaVisible]
    if kind in ('GPU-', 'MIG-'):
        chosen = list(_by_uuid(identifiers, gpus, guess=guess))
    else:
        indices = list(_indices(identifiers))
        if indices and not guess:
            _require_certain_indices(gpus, is_in_cuda_order)
        chosen = [gpus[i] for i in itertools.takewhile(lambda i: i < len(gpus), indices)]
    if len(set(chosen)) < len(chosen):
        return []
    return _enumerated(list(itertools.takewhile(_is_usable, chosen)))


def _require_certain_indices(
    gpus: Sequence[VisibleGpu], is_in_cuda_order: Callable[[], bool]
) -> None:
    """Raise unless CUDA indices are positions in ``gpus``."""
    if not all(_is_usable(gpu) for gpu in gpus):
        raise OnlyCudaKnowsError('whether a GPU in MIG mode without instances is counted')
    if not is_in_cuda_order():
        raise OnlyCudaKnowsError('order of the GPUs')


def _is_usable(device: CudaVisible) -> bool:
    """Return whether CUDA can use the device: not a GPU in MIG mode without instances."""
    return isinstance(device, VisibleMig) or not device.is_mig_mode_enabled or bool(device.migs)


def _enumerated(devices: Sequence[CudaVisible]) -> list[CudaVisible]:
    """Return the devices that CUDA enumerates: either GPUs or a single MIG device."""
    usable: list[CudaVisible] = [
        device.migs[0] if isinstance(device, VisibleGpu) and device.migs else device
        for device in devices
        if _is_usable(device)
    ]
    migs = [device for device in usable if isinstance(device, VisibleMig)]
    return [migs[0]] if migs else usable


def _indices(identifiers: Sequence[str]) -> Iterator[int]:
    """Yield the leading indices, up to the first identifier that is not an index."""
    for identifier in identifiers:
        match = re.match(_INDEX, identifier)
        if match is None:
            return
        yield int(match.group(1))


def _by_uuid(
    identifiers: Sequence[str], gpus: Sequence[VisibleGpu], *, guess: bool
) -> Iterator[CudaVisible]:
    """Yield the devices of the leading identifiers that match one device each, all of one kind."""
    devices: list[CudaVisible] = [*gpus, *(mig for gpu in gpus for mig in gpu.migs)]
    kind: type[CudaVisible] | None = None
    for identifier in identifiers:
        device = _only_one(identifier, devices)
        is_exact = device is not None
        if device is None:
            device = _only_one(_in_nvidia_smi_form(identifier), devices)
        if device is None:
            return
        # NVIDIA documents neither spaces and capitals nor MIG devices after GPUs.
        if not guess and (not is_exact or (kind is VisibleGpu and isinstance(device, VisibleMig))):
            raise OnlyCudaKnowsError(f'whether {identifier!r} is valid here')
        if kind not in (None, type(device)):
            return
        kind = type(device)
        yield device


def _only_one(identifier: str, devices: Sequence[CudaVisible]) -> CudaVisible | None:
    matching = [device for device in devices if device.matches(identifier)]
    return matching[0] if len(matching) == 1 else None


def _in_nvidia_smi_form(identifier: str) -> str:
    lower = identifier.strip().lower()
    return re.sub(_PREFIX, lambda prefix: prefix.group().upper(), lower)


# The GPUs of this machine


def _visible_devices(value: str | None) -> list[CudaVisible]:
    """Return the devices that are visible to CUDA, in CUDA's order; none without NVML."""
    if isinstance(value, _FromEnvironment):
        value = os.environ.get('CUDA_VISIBLE_DEVICES')
    if value is not None and not value.strip():
        return []
    order = os.environ.get('CUDA_DEVICE_ORDER')
    try:
        machine = _Machine()
    except libnvml.NVMLError:
        return []

    def is_in_cuda_order() -> bool:
        return machine.is_complete and (order == 'PCI_BUS_ID' or machine.is_uniform())

    try:
        return select(value, machine.gpus, is_in_cuda_order=is_in_cuda_order)
    except OnlyCudaKnowsError:
        uuids = enumerated_uuids(value, order, machine.gpus)
    if uuids is not None:
        devices = [machine.find(uuid) for uuid in uuids]
        known = [device for device in devices if device is not None]
        if len(known) == len(devices):
            return known
    return select(value, machine.gpus, is_in_cuda_order=is_in_cuda_order, guess=True)


class _Machine:
    """The current GPUs of this host, in PCI order."""

    def __init__(self) -> None:
        self._handles: dict[int, Any] = {}
        gpus = []
        count = libnvml.nvmlQuery('nvmlDeviceGetCount', ignore_errors=False)
        for index in range(count):
            gpu = self._read(index)
            if gpu is not None:
                gpus.append(gpu)
        self.gpus = tuple(sorted(gpus, key=lambda gpu: gpu.bus_id))
        #: Whether NVML identified all of them.
        self.is_complete = len(gpus) == count

    def _read(self, index: int) -> VisibleGpu | None:
        handle = libnvml.nvmlQuery('nvmlDeviceGetHandleByIndex', index, default=None)
        if handle is None:
            return None
        uuid = libnvml.nvmlQuery('nvmlDeviceGetUUID', handle)
        pci = libnvml.nvmlQuery('nvmlDeviceGetPciInfo', handle)
        if uuid is NA or pci is NA:
            return None
        self._handles[index] = handle
        mode = _query('nvmlDeviceGetMigMode', handle)
        enabled = mode is not NA and bool(mode[0])
        migs = tuple(_migs(handle, index, uuid)) if enabled else ()
        return VisibleGpu(index, uuid, (pci.domain, pci.bus, pci.device), enabled, migs)

    def is_uniform(self) -> bool:
        """Return whether NVML reports no difference that could make one GPU faster."""
        first, *others = self._handles.values() or (None,)
        for question, *args in _SPEED_QUERIES if others else ():
            answer = _comparable(_query(question, first, *args))
            if any(_comparable(_query(question, other, *args)) != answer for other in others):
                return False
        return True

    def find(self, uuid: str) -> CudaVisible | None:
        """Return the device with this UUID of CUDA."""
        for gpu in self.gpus:
            for mig in gpu.migs:
                if digits(mig.uuid) == uuid:
                    return mig
            if digits(gpu.uuid) == uuid:
                # Drivers before R470 return the UUID of the GPU for a MIG device.
                return gpu.migs[0] if gpu.migs else gpu
        return None


def _query(function: str, *args: Any) -> Any:
    return libnvml.nvmlQuery(function, *args, ignore_function_not_found=True)


def _comparable(answer: Any) -> Any:
    """Return the part of an answer that is equal for GPUs of the same model."""
    if hasattr(answer, 'pciDeviceId'):
        return answer.pciDeviceId, answer.pciSubSystemId
    return getattr(answer, 'total', answer)


def _migs(handle: Any, gpu_index: int, gpu_uuid: str) -> Iterator[VisibleMig]:
    count = _query('nvmlDeviceGetMaxMigDeviceCount', handle)
    for index, mig in mig_handles(handle, count or 0):
        uuid = _query('nvmlDeviceGetUUID', mig)
        instances = [
            _query(function, mig)
            for function in ('nvmlDeviceGetGpuInstanceId', 'nvmlDeviceGetComputeInstanceId')
        ]
        if uuid is not NA and NA not in instances:
            yield VisibleMig((gpu_index, index), uuid, gpu_uuid, *instances)


#: Time limit in seconds. CUDA takes tens of seconds without persistence mode on many GPUs.
TIMEOUT_SECONDS = 60.0
#: Time in seconds after which a failed query is repeated.
RETRY_SECONDS = 60.0
#: Maximum number of results to remember; the oldest is dropped first.
MAX_RESULTS = 64


class _ProgramResult(NamedTuple):
    #: ``None`` after a failure.
    uuids: tuple[str, ...] | None
    #: When the query was made.
    time: float


_lock = threading.Lock()
renew_in_child(sys.modules[__name__], _lock=threading.Lock)
_results: dict[Hashable, _ProgramResult] = {}


def enumerated_uuids(
    value: str | None,
    order: str | None,
    machine: Hashable,
    *,
    clock: Callable[[], float] = time.monotonic,
) -> tuple[str, ...] | None:
    """Return the UUIDs of the devices that CUDA enumerates, as 32 hexadecimal digits each.

    A driver that was replaced by :func:`nvitop.api.libcuda.use_library` is queried with
    ``visible_uuids(value, order)``, if it has such a function.

    Args:
        value: Value of ``CUDA_VISIBLE_DEVICES``, ``None`` if not set.
        order: Value of ``CUDA_DEVICE_ORDER``, ``None`` if not set.
        machine: The GPUs; a result is remembered for each combination of the three.
        clock: Time in seconds.

    Returns:
        The UUIDs, ``None`` if CUDA does not respond.
    """
    replacement = libcuda.used_library()
    if replacement is not None and not isinstance(replacement, ctypes.CDLL):
        visible_uuids = getattr(replacement, 'visible_uuids', None)
        return None if visible_uuids is None else tuple(map(digits, visible_uuids(value, order)))
    key = (value, order, machine)
    with _lock:  # held during the query: other threads wait for the same result
        answer = _results.get(key)
        now = clock()
        if answer is None or (answer.uuids is None and now - answer.time >= RETRY_SECONDS):
            _results.pop(key, None)
            answer = _results[key] = _ProgramResult(_list_devices(value, order), now)
            while len(_results) > MAX_RESULTS:
                del _results[next(iter(_results))]
        return answer.uuids


def forget() -> None:
    """Drop all results, so that the driver is queried again."""
    with _lock:
        _results.clear()


def _list_devices(value: str | None, order: str | None) -> tuple[str, ...] | None:
    """Run the helper process and log its failure."""
    if not sys.executable or getattr(sys, 'frozen', False):
        return None  # sys.executable is the frozen program, not Python
    import json  # most machines have equal GPUs, and get here never

    environment = dict(os.environ)
    for name, text in (('CUDA_VISIBLE_DEVICES', value), ('CUDA_DEVICE_ORDER', order)):
        environment.pop(name, None)
        if text is not None:
            environment[name] = text
    try:
        answer: object = json.loads(_run(environment))
    except subprocess.TimeoutExpired:
        warn('The CUDA driver did not list its devices within %g s.', TIMEOUT_SECONDS)
        return None
    except (OSError, ValueError) as ex:
        warn('Cannot query the CUDA driver for its devices: %s', ex)
        return None
    if isinstance(answer, list):
        return tuple(map(digits, answer))
    if answer == libcuda.CUDA_ERROR_NO_DEVICE:
        return ()
    if answer == NOT_INITIALIZED:
        _report_missing_cuda()
    else:
        warn('The CUDA driver did not list its devices: error code %s', answer)
    return None


@functools.lru_cache(maxsize=None)
def _report_missing_cuda() -> None:
    warn(
        'The order of CUDA devices is not known without libcuda: indices in CUDA_VISIBLE_DEVICES are '
        'read in PCI order. Set CUDA_DEVICE_ORDER=PCI_BUS_ID, or use UUIDs.',
        kind=UNKNOWN_ORDER,
    )


#: The program of the helper process. Its arguments are the module path of this one.
_PROGRAM = """
import sys
sys.path[:] = sys.argv[1:]
import json
from nvitop.api import libcuda
try:
    print(json.dumps(libcuda.device_uuids()))
except libcuda.CUDAError as error:
    print(error.value)
"""


def _run(environment: dict[str, str]) -> str:
    # Isolated and without site packages, it starts faster and independent of settings.
    process = subprocess.Popen(
        [sys.executable, '-I', '-S', '-', *sys.path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        universal_newlines=True,
    )
    try:
        return process.communicate(_PROGRAM, timeout=TIMEOUT_SECONDS)[0]
    except BaseException:
        process.kill()
        # A process that hangs inside the driver cannot be killed.
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=1.0)
        raise
