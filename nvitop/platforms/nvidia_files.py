# SPDX-License-Identifier: Apache-2.0
"""Paths of NVIDIA's libraries on each platform: NVML, the CUDA driver and the CUDA runtime."""

from __future__ import annotations

import ctypes
import glob
import os
import sys
from typing import Callable, Iterator, Mapping, NamedTuple, Sequence

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
    """Return the file name of NVML."""
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
        directories += [each for each in DIRECTORIES if each not in directories]
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
