# SPDX-License-Identifier: Apache-2.0
"""Failures in words: what happened, why, and what to do next."""

from __future__ import annotations

import os
import re

from nvitop.api.libnvml import _errors
from nvitop.api.libnvml._binding import NVMLError, explain_binding
from nvitop.platforms import surroundings
from nvitop.platforms.nvidia_files import nvml_name

_DRIVER_DOWNLOADS = 'https://www.nvidia.com/drivers'
_CONTAINER_TOOLKIT = 'https://docs.nvidia.com/datacenter/cloud-native/container-toolkit'
_WSL_GUIDE = 'https://docs.nvidia.com/cuda/wsl-user-guide'
_WSL_RESTART = (
    'WSL uses the driver of Windows: run `wsl --shutdown` there and start WSL again; if that does not '
    f'help, update that driver ({_WSL_GUIDE}).'
)


def read_loaded_driver_version(path: str = '/proc/driver/nvidia/version') -> str:
    """Version of the kernel module that is loaded, ``''`` if none is or it cannot be read."""
    try:
        with open(path, encoding='utf-8', errors='replace') as file:
            match = re.search(r'(\d+\.\d+(?:\.\d+)?)', file.read())
    except OSError:
        return ''
    return match.group(1) if match else ''


def read_library_version(path: str = '/proc/self/maps') -> str:
    """Version of the NVML library in this process, from the name of its file; ``''`` unknown."""
    try:
        with open(path, encoding='utf-8', errors='replace') as file:
            match = re.search(r'libnvidia-ml\.so\.(\d+\.\d+(?:\.\d+)?)', file.read())
    except OSError:
        return ''
    return match.group(1) if match else ''


def explain_init_error(error: BaseException) -> str:
    """What a failed initialisation of NVML means: what happened, why, and what to do next.

    Args:
        error: What :func:`nvmlInit` raised: an :class:`NVMLError`, an :class:`AttributeError` of a
            broken binding, or a :class:`ValueError` where ``NVITOP_DEMO`` names no scenario. A
            :class:`TimeoutError` has the words of :func:`explain_silence`.
    """
    if isinstance(error, (ValueError, TimeoutError)):
        return str(error)
    if not isinstance(error, NVMLError):
        return (
            f'The NVML binding is broken: {error}.\n{explain_binding()}'.rstrip()
            + '\nTo repair it: pip3 install --force-reinstall nvidia-ml-py'
        )
    explain = _EXPLANATIONS.get(error.value)
    if explain is None:
        return (
            f'NVML could not be initialised: {error} (code {error.value}).\n{advise_on_failure()}'
        )
    return explain()


def explain_silence(seconds: float) -> str:
    """What it means that the driver has not answered for so long, and what to do next."""
    return (
        f'The NVIDIA driver has not answered for {seconds:.0f} seconds.\n{advise_on_failure()}'
        ' A GPU may have to be reset.'
    )


def advise_on_failure() -> str:
    """What to do where the driver is there and fails, in one sentence."""
    return f'Run nvidia-smi to see whether it answers there; if not, {_kernel_log_advice()}'


def _explain_library_not_found() -> str:
    where = surroundings()
    text = (
        f'The NVML library was not found ({nvml_name()}): there is no NVIDIA driver here, or it is '
        'not visible to this process.\n'
    )
    if where == 'macos':
        return text + 'NVIDIA has no driver for macOS: run nvitop on the machine with the GPUs.'
    if where == 'wsl':
        return (
            text
            + 'In WSL the driver of Windows is used: update it, run `wsl --update`, and see that '
            f'/usr/lib/wsl/lib is in the library path ({_WSL_GUIDE}).'
        )
    if where == 'container':
        return (
            text
            + 'In a container: start it with `--gpus all` (and `--pid=host` to see processes), with '
            f'the NVIDIA Container Toolkit installed on the host ({_CONTAINER_TOOLKIT}).'
        )
    loaded = read_loaded_driver_version()
    if loaded:
        return (
            text
            + f'The kernel module {loaded} is loaded, so only its libraries are missing: install '
            f'those of version {loaded} (on Debian and Ubuntu: libnvidia-compute-'
            f'{loaded.partition(".")[0]}), or run `ldconfig` if they are there.'
        )
    return (
        text + f'Install the driver ({_DRIVER_DOWNLOADS}) and see that `nvidia-smi` works; '
        'without a GPU, `nvitop --demo` shows a simulated machine.'
    )


def _explain_driver_not_loaded() -> str:
    import platform  # only needed to explain

    text = 'The NVIDIA driver is installed but its kernel module is not loaded.\n'
    where = surroundings()
    if where == 'windows':
        return text + 'Restart the machine, or install the driver again.'
    if where == 'wsl':
        return text + _WSL_RESTART
    if where == 'container':
        return (
            text
            + 'In a container: start it with `--gpus all`; otherwise run `nvidia-smi` on the host.'
        )
    return (
        text
        + 'Load it: `sudo modprobe nvidia`. If that fails, the module was not built for this kernel '
        f'(`dkms status`, {platform.release()}), Secure Boot refuses it, or nouveau is in its way; '
        f'{_kernel_log_advice()}'
    )


def _explain_version_mismatch() -> str:
    loaded, library = read_loaded_driver_version(), read_library_version()
    versions = (
        f' (module {loaded or "unknown"}, library {library or "unknown"})'
        if loaded or library
        else ''
    )
    text = (
        'The NVIDIA libraries and the kernel module that is loaded are of different versions'
        f'{versions}: the driver was updated while the old module was in use.\n'
    )
    where = surroundings()
    if where == 'wsl':
        return text + _WSL_RESTART
    if where == 'container':
        return text + 'In a container: restart it, so that it gets the libraries of the host again.'
    return (
        text + 'Restart the machine, or stop all that uses the GPUs and load the new module: '
        '`sudo rmmod nvidia_drm nvidia_modeset nvidia_uvm nvidia && sudo modprobe nvidia`.'
    )


def _explain_no_permission() -> str:
    import glob  # only needed to explain

    closed = [
        path
        for path in [*glob.glob('/dev/nvidia[0-9]*'), '/dev/nvidiactl']
        if os.path.exists(path) and not os.access(path, os.R_OK | os.W_OK)
    ]
    where = f' ({", ".join(sorted(closed))})' if closed else ''
    return (
        f'This user may not talk to the NVIDIA driver{where}.\n'
        'Ask to be added to the group that owns /dev/nvidia* (often `video`), or look whether a '
        'job scheduler or container gives no GPU to this session.'
    )


def _explain_unknown() -> str:
    text = (
        'NVML could not be initialised: Unknown Error (code '
        f'{_errors.UNKNOWN}).\n{advise_on_failure()}'
    )
    if surroundings() == 'container':
        text += (
            '\nA container may lose its GPUs while it runs, when systemd writes the rules of its cgroup '
            'anew (`systemctl daemon-reload`): restart the container.'
        )
    return text


def _explain_gpu_is_lost() -> str:
    return (
        'A GPU is lost: it has fallen off the bus or stopped answering.\n'
        f'Restart the machine; if it happens again, check power, heat and seating of the card, and '
        f'{_kernel_log_advice()}'
    )


def _kernel_log_advice() -> str:
    if surroundings() in ('windows', 'wsl'):
        return 'look for nvlddmkm in the Event Viewer of Windows.'
    return 'look into the kernel log: `sudo dmesg | grep -iE "nvrm|nvidia|xid"`.'


_EXPLANATIONS = {
    _errors.LIBRARY_NOT_FOUND: _explain_library_not_found,
    _errors.DRIVER_NOT_LOADED: _explain_driver_not_loaded,
    _errors.LIB_RM_VERSION_MISMATCH: _explain_version_mismatch,
    _errors.NO_PERMISSION: _explain_no_permission,
    _errors.GPU_IS_LOST: _explain_gpu_is_lost,
    _errors.UNKNOWN: _explain_unknown,
}
