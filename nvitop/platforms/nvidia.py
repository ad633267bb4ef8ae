# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's GPUs on the PCI bus of Linux, and paths of its libraries on each platform.

The GPUs are on the bus even if the driver does not list them or they sleep. Reading these files never
wakes a GPU. ``config`` and ``current_link_speed`` of a sleeping GPU are never read: they would wake it.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
from typing import Callable, Iterator, Mapping, NamedTuple, Sequence

from nvitop.platforms.kernel import read_small

_NVIDIA = '0x10de'
#: Classes of display and 3D controllers.
_CLASSES = ('0x0300', '0x0302')
_BUS_ID = re.compile(r'([0-9a-f]{4,8}):([0-9a-f]{2}:[0-9a-f]{2}\.[0-7])', re.IGNORECASE)
_MINOR = r'(?m)Device Minor:\s*(\d{1,5})\s*$'
#: Before driver 470, excluded GPUs had the other name.
_EXCLUDED = r'(?m)(?:GPU Excluded|Blacklisted):\s*Yes\s*$'
#: Folder with one folder for each GPU that NVIDIA's driver lists.
_GPUS = 'proc/driver/nvidia/gpus'
_READ_WRITE = os.R_OK | os.W_OK
_FIELD = r'(?m)^([^:\n]+):[ \t]*(.*?)[ \t]*$'
#: Values of ``runtime_status`` of a GPU that is off, or about to be.
_ASLEEP = ('suspended', 'suspending')


class PciGpu(NamedTuple):
    #: Such as ``'0000:3d:00.0'``.
    bus_id: str
    #: Kernel driver that is bound to it, ``''`` if none is.
    driver: str
    #: Whether it is a virtual function, which belongs to a virtual machine.
    is_virtual: bool


def short_bus_id(text: str) -> str:
    """Return a PCI bus ID as Linux writes it, with a domain of four digits; ``''`` if it is none."""
    match = _BUS_ID.fullmatch(text)
    return f'{int(match[1], 16):04x}:{match[2]}'.lower() if match else ''


def read_pci_gpus(root: str = '/') -> tuple[PciGpu, ...]:
    """Return the NVIDIA GPUs in ``/sys`` whose files can be read."""
    folder = os.path.join(root, 'sys/bus/pci/devices')
    try:
        names = sorted(os.listdir(folder))
    except OSError:  # not Linux, or hidden
        return ()
    gpus = []
    for name in names:
        path, bus_id = os.path.join(folder, name), short_bus_id(name)
        if (
            bus_id
            and read_small(path, 'vendor') == _NVIDIA
            and read_small(path, 'class')[:6] in _CLASSES
        ):
            virtual = os.path.lexists(os.path.join(path, 'physfn'))
            gpus.append(PciGpu(bus_id, _driver(path), virtual))
    return tuple(gpus)


def why_denied(root: str = '/', access: Callable[[str, int], bool] = os.access) -> str:
    """Return why the driver may not open a GPU: device files without access, or a control group."""
    folder = os.path.join(root, 'dev')
    try:
        names = [name for name in os.listdir(folder) if re.fullmatch(r'nvidia\d+', name)]
    except OSError:
        names = []
    closed = [name for name in names if not access(os.path.join(folder, name), _READ_WRITE)]
    if closed:
        return f'no access to /dev/{", /dev/".join(sorted(closed))}'
    return 'denied by the control group or the container'


def expected_gpus(
    root: str = '/', access: Callable[[str, int], bool] = os.access
) -> tuple[str, ...]:
    """Return the bus IDs of the GPUs that NVIDIA's driver should list for this process.

    These are not expected: GPUs that are bound to another driver, such as vfio-pci for a virtual
    machine; virtual functions; GPUs that the administrator has excluded; and GPUs whose device file
    is missing or not accessible here, because a container or a batch job gets only some. A GPU
    without any driver is expected, except next to such a hidden one: it may be hidden as well.
    """
    gpus = [gpu for gpu in read_pci_gpus(root) if gpu.driver in ('nvidia', '')]
    gpus = [
        gpu for gpu in gpus if not (gpu.is_virtual or re.search(_EXCLUDED, _text(gpu.bus_id, root)))
    ]
    hidden = {gpu for gpu in gpus if gpu.driver and _is_hidden(gpu.bus_id, root, access)}
    return tuple(gpu.bus_id for gpu in gpus if not (hidden and (gpu in hidden or not gpu.driver)))


def listed_gpus(root: str) -> list[str]:
    """Return the bus IDs of the GPUs that NVIDIA's driver lists for this process, in its order.

    GPUs that the administrator has excluded are not listed, and those whose device file is missing
    or not accessible here. Until a program uses a GPU, no device file may exist.
    """
    try:
        bus_ids = sorted(os.listdir(os.path.join(root, _GPUS)))
    except OSError:
        return []
    allowed = [bus_id for bus_id in bus_ids if not re.search(_EXCLUDED, _text(bus_id, root))]
    return [bus_id for bus_id in allowed if not _is_hidden(bus_id, root, os.access)] or allowed


def minor_numbers(root: str = '/') -> dict[str, int]:
    """Return bus ID → number of its device file, of the GPUs that NVIDIA's driver lists."""
    minors = {bus_id: re.search(_MINOR, _text(bus_id, root)) for bus_id in listed_gpus(root)}
    return {bus_id.lower(): int(minor[1]) for bus_id, minor in minors.items() if minor}


def _is_hidden(bus_id: str, root: str, access: Callable[[str, int], bool]) -> bool:
    """Return whether this process is not meant to use a GPU of NVIDIA's driver."""
    folder = os.path.join(root, _GPUS)
    if not os.path.isdir(folder):
        return False
    minor = re.search(_MINOR, _text(bus_id, root))
    if minor is None:
        return not os.path.isdir(os.path.join(folder, bus_id))
    # Unlike opening the file, this does not wake the GPU up. It respects device control groups.
    return not access(os.path.join(root, f'dev/nvidia{minor[1]}'), _READ_WRITE)


def _text(bus_id: str, root: str) -> str:
    """Return what NVIDIA's driver says about a GPU, ``''`` if it does not list it."""
    return read_small(os.path.join(root, _GPUS, bus_id), 'information')


def _driver(path: str) -> str:
    try:
        return os.path.basename(os.readlink(os.path.join(path, 'driver')))
    except OSError:
        return ''


class GpuPower(NamedTuple):
    #: Such as ``'0000:01:00.0'``.
    bus_id: str
    #: ``'active'``, ``'suspended'``, ``'suspending'``, ``'resuming'``, …; ``''`` if unknown.
    status: str
    #: Whether kernel and driver let it sleep when no program uses it.
    may_sleep: bool

    @property
    def is_asleep(self) -> bool:
        return is_asleep(self.status)


class SleepInfo(NamedTuple):
    """What is known of a GPU without waking it; ``''`` for unknown values."""

    name: str = ''
    uuid: str = ''
    #: PCI power state: ``'D3cold'``.
    power_state: str = ''


def read_driver_version(root: str = '/') -> str:
    """Return the version of NVIDIA's kernel driver without calling it, ``''`` if unknown."""
    match = re.search(
        r'NVRM version:.*?\s(\d{3,}(?:\.\d+)+)\s', read_small(root, 'proc/driver/nvidia/version')
    )
    return match[1] if match else ''


def is_asleep(status: str) -> bool:
    return status in _ASLEEP


def read_gpu_powers(root: str = '/') -> tuple[GpuPower, ...]:
    """Return the GPUs of NVIDIA's driver in the order of NVML, which is that of their bus IDs.

    Empty on servers and everywhere else where no GPU sleeps or may sleep, and where the files are
    missing: on Windows, in WSL, and in containers without ``/proc/driver/nvidia``.
    """
    powers = [
        GpuPower(bus_id, read_runtime_status(bus_id, root), _may_sleep(bus_id, root))
        for bus_id in listed_gpus(root)
    ]
    return tuple(powers) if any(gpu.is_asleep or gpu.may_sleep for gpu in powers) else ()


def read_runtime_status(bus_id: str, root: str = '/') -> str:
    """Return ``'active'``, ``'suspended'``, …; ``''`` if unknown. One small read."""
    return read_small(root, 'sys/bus/pci/devices', bus_id, 'power/runtime_status')


def read_sleep_info(bus_id: str, root: str = '/') -> SleepInfo:
    text = _text(bus_id, root)
    fields = {name.strip(): value for name, value in re.findall(_FIELD, text)}
    uuid = fields.get('GPU UUID', '')
    return SleepInfo(
        fields.get('Model', ''),
        '' if '?' in uuid else uuid,  # not initialized yet
        read_small(root, 'sys/bus/pci/devices', bus_id, 'power_state'),
    )


def _may_sleep(bus_id: str, root: str) -> bool:
    if read_small(root, 'sys/bus/pci/devices', bus_id, 'power/control') != 'auto':
        return False
    text = read_small(root, _GPUS, bus_id, 'power')
    fields: dict[str, str] = dict(re.findall(_FIELD, text))
    return fields.get('Runtime D3 status', '').startswith('Enabled')


#: Directories that the loader of Linux may not search: of WSL (missing in the path of services and
#: ``sudo``), Fedora and related distributions, NixOS, Google's Kubernetes Engine in containers and on
#: nodes, its Container-Optimized OS, and Jetson.
DIRECTORIES = (
    '/usr/lib/wsl/lib',
    '/usr/lib64/nvidia',
    '/run/opengl-driver/lib',
    '/usr/local/nvidia/lib64',
    '/home/kubernetes/bin/nvidia/lib64',
    '/var/lib/nvidia/lib64',
    '/usr/lib/aarch64-linux-gnu/nvidia',
    '/usr/lib/aarch64-linux-gnu/tegra',
)


def nvml_name(platform: str = sys.platform) -> str:
    return 'nvml.dll' if platform == 'win32' else 'libnvidia-ml.so.1'


def nvml_elsewhere(platform: str = sys.platform) -> list[str]:
    """Return the files of NVML in directories that the loader may not search."""
    if platform != 'linux':
        return []
    paths = (os.path.join(directory, nvml_name(platform)) for directory in DIRECTORIES)
    return [path for path in paths if os.path.exists(path)]


def nvml_load_error(
    platform: str = sys.platform, load: Callable[[str], object] = ctypes.CDLL
) -> str:
    """Return why the loader refuses an NVML library that exists, ``''`` if it finds none."""
    name = nvml_name(platform)
    for path in (name, *nvml_elsewhere(platform)):
        try:
            load(path)
        except FileNotFoundError:  # Windows
            continue
        except OSError as error:
            if not str(error).startswith(f'{name}: cannot open'):
                return str(error)
    return ''


def cuda_files(platform: str = sys.platform) -> list[str]:
    """Return the files to try for the CUDA driver, in order. The loader searches for bare names."""
    if platform == 'win32':
        return ['nvcuda64.dll', 'nvcuda.dll']
    if platform == 'darwin':
        names = ['libcuda.1.dylib', 'libcuda.dylib']
        directories = ['/usr/local/cuda/lib']
    else:
        names = ['libcuda.so.1', 'libcuda.so']
        directories = ['/usr/lib64/nvidia', '/usr/lib/x86_64-linux-gnu']
        directories += [directory for directory in DIRECTORIES if directory not in directories]
    return names + [f'{directory}/{name}' for directory in directories for name in names]


class _Layout(NamedTuple):
    """Where to search for the CUDA runtime on one platform."""

    #: Names for the loader. Only developer packages have the one without a version.
    names: tuple[str, ...]
    #: File name in a directory.
    pattern: str
    #: Directories below a root.
    parts: tuple[str, ...]
    roots: tuple[str, ...] = ()


_LINUX = _Layout(
    ('libcudart.so', *(f'libcudart.so.{v}' for v in ('13', '12', '11.0', '10.2', '10.1'))),
    'libcudart.so*',
    ('lib64', 'lib'),
    ('/usr/local/cuda',),
)
_MACOS = _Layout(('libcudart.dylib',), 'libcudart*.dylib', ('lib',), ('/usr/local/cuda',))
_WINDOWS = _Layout((), 'cudart64*.dll', ('bin', 'bin/x64'))


def cudart_files(
    platform: str = sys.platform,
    environ: Mapping[str, str] = os.environ,
    python_path: Sequence[str] | None = None,
) -> Iterator[str]:
    """Yield the files to try for the CUDA runtime, in order. The loader searches for bare names.

    After these follow the directories in ``CUDA_PATH``, ``CUDA_HOME`` and ``CUDA_ROOT``,
    ``/usr/local/cuda``, and the packages ``nvidia-cuda-runtime`` that frameworks install. On Windows
    the directories in ``PATH`` come first.
    """
    import glob

    windows = platform == 'win32'
    layout = _WINDOWS if windows else _MACOS if platform == 'darwin' else _LINUX
    yield from layout.names
    homes = [environ.get(name, '') for name in ('CUDA_PATH', 'CUDA_HOME', 'CUDA_ROOT')]
    packages = sys.path if python_path is None else python_path
    roots = [glob.escape(root) for root in (*homes, *layout.roots) if root]
    roots += [os.path.join(glob.escape(entry), 'nvidia', '*') for entry in packages if entry]
    directories = [os.path.join(root, part) for root in roots for part in layout.parts]
    if windows:
        paths = environ.get('PATH', '').split(';')
        directories = [glob.escape(path) for path in paths if path] + directories
    for directory in directories:
        yield from sorted(glob.glob(os.path.join(directory, layout.pattern)))
