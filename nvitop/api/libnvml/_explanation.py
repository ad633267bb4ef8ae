# SPDX-License-Identifier: Apache-2.0
"""Texts about failures: what happened, why, and what to do."""

from __future__ import annotations

import glob
import os
import platform
import re

from nvitop.api.libnvml import _errors
from nvitop.api.libnvml._binding import NVMLError, NVMLError_LibraryNotFound, explain_binding
from nvitop.platforms import surroundings
from nvitop.platforms.nvidia import nvml_load_error, nvml_name, read_driver_version

_DRIVER_DOWNLOADS = 'https://www.nvidia.com/drivers'
_CONTAINER_TOOLKIT = 'https://docs.nvidia.com/datacenter/cloud-native/container-toolkit'
_WSL_GUIDE = 'https://docs.nvidia.com/cuda/wsl-user-guide'
#: The words of NVML that the binding, or :class:`LibraryNotFound`, replaces by others. People search
#: for them.
_WORDS = {
    _errors.LIB_RM_VERSION_MISMATCH: 'Driver/library version mismatch',
    _errors.LIBRARY_NOT_FOUND: 'NVML Shared Library Not Found',
}
_WSL_RESTART = (
    'WSL uses the driver of Windows: run `wsl --shutdown` in Windows and start WSL again. If that '
    f'does not help, update the driver ({_WSL_GUIDE}).'
)


class LibraryNotFound(NVMLError_LibraryNotFound):
    """The error of the binding, with advice in its text."""

    def __str__(self) -> str:
        explanation = _explain(_errors.LIBRARY_NOT_FOUND).replace('\n', ' ')
        return f'{_WORDS[_errors.LIBRARY_NOT_FOUND]}. {explanation}'


def read_library_version(path: str = '/proc/self/maps') -> str:
    """Return the version of the NVML library in this process, ``''`` if it is unknown."""
    try:
        with open(path, encoding='utf-8', errors='replace') as file:
            match = re.search(r'libnvidia-ml\.so\.(\d+\.\d+(?:\.\d+)?)', file.read())
    except OSError:
        return ''
    return match.group(1) if match else ''


def explain_init_error(error: BaseException, *, command: str = 'nvitop') -> str:
    """Explain a failed initialization of NVML: what happened, why, and what to do.

    Args:
        error: The exception that :func:`nvmlInit` raised: an :class:`NVMLError`, an
            :class:`AttributeError` from a broken binding, or a :class:`ValueError` if ``NVITOP_DEMO``
            is not a scenario. A :class:`TimeoutError` has the text of :func:`explain_silence`.
        command: The command to suggest with ``--demo``.
    """
    if isinstance(error, ValueError):
        return str(error)
    hint = f'To look around without a GPU: {command} --demo'
    if isinstance(error, TimeoutError):
        return f'{error}\n{hint}'
    if not isinstance(error, NVMLError):
        return (
            f'The NVML binding is broken: {error}.\n{explain_binding()}'.rstrip()
            + '\nTo repair it: pip install --force-reinstall nvidia-ml-py'
        )
    words = _WORDS.get(error.value, str(error).rstrip('.'))
    explanation = _explain(error.value)
    return f'Failed to initialize NVML: {words} (code {error.value}).\n{explanation}\n{hint}'


def explain_silence(seconds: float) -> str:
    """Explain that the driver has not responded for a number of seconds, and what to do."""
    return (
        f'The NVIDIA driver has not responded for {seconds:.0f} seconds.\n{advise_on_failure()}'
        ' A GPU may need a reset.'
    )


def advise_on_failure() -> str:
    """Return one sentence about what to do if an installed driver fails."""
    return f'Check whether nvidia-smi works. If it does not, {_kernel_log_advice()}'


def _kernel_log_advice() -> str:
    if surroundings() in ('windows', 'wsl'):
        return 'look for nvlddmkm in the Windows Event Viewer.'
    return 'read the kernel log: `sudo dmesg | grep -iE "nvrm|nvidia|xid"`.'


def _explain(code: int) -> str:
    """Say what a code means and what to do, depending on where this process runs."""
    where, loaded, library = surroundings(), read_driver_version(), read_library_version()
    reason = nvml_load_error() if code == _errors.LIBRARY_NOT_FOUND else ''
    kind: int | str = _CANNOT_BE_LOADED if reason else code
    closed = [
        path
        for path in [*glob.glob('/dev/nvidia[0-9]*'), '/dev/nvidiactl']
        if os.path.exists(path) and not os.access(path, os.R_OK | os.W_OK)
    ]
    advices = _ADVICE.get(kind, {'': '{advice}'})
    if kind == _errors.LIBRARY_NOT_FOUND and loaded and where not in advices:
        where = 'module'
    text = _MEANINGS.get(kind, '') + (advices.get(where) or advices[''])
    return text.format(
        reason=reason,
        library_name=nvml_name(),
        loaded=loaded,
        branch=loaded.partition('.')[0],
        versions=f' (module {loaded or "unknown"}, library {library or "unknown"})'
        if loaded or library
        else '',
        closed=f' ({", ".join(sorted(closed))})' if closed else '',
        release=platform.release(),
        kernel_log=_kernel_log_advice(),
        advice=advise_on_failure(),
    )


_CANNOT_BE_LOADED = 'cannot be loaded'
#: Code → what it means.
_MEANINGS: dict[int | str, str] = {
    _CANNOT_BE_LOADED: 'The NVML library exists but cannot be loaded: {reason}\n',
    _errors.LIBRARY_NOT_FOUND: 'The NVML library was not found ({library_name}): the NVIDIA driver '
    'is not installed or not visible to this process.\n',
    _errors.DRIVER_NOT_LOADED: 'The NVIDIA driver is installed but its kernel module is not '
    'loaded.\n',
    _errors.LIB_RM_VERSION_MISMATCH: 'The NVIDIA libraries and the loaded kernel module '
    'have different versions{versions}: the driver was updated while the old module was in use.\n',
    _errors.NO_PERMISSION: 'This user may not access the NVIDIA driver{closed}.\n',
    _errors.GPU_IS_LOST: 'A GPU is lost: it has fallen off the bus or no longer responds.\n',
    _errors.UNKNOWN: '{advice}',
}
#: Code → advice by surroundings; '' is for all others.
_ADVICE: dict[int | str, dict[str, str]] = {
    _CANNOT_BE_LOADED: {
        'container': 'The image contains an empty or foreign library: remove it there, and start '
        'the container with `--gpus all`.',
        '': f'Reinstall the driver ({_DRIVER_DOWNLOADS}), or remove the file if it is not its own.',
    },
    _errors.LIBRARY_NOT_FOUND: {
        'macos': 'There is no NVIDIA driver for macOS: run nvitop on the machine with the GPUs.',
        'wsl': 'WSL uses the driver of Windows: update it, run `wsl --update`, and check that '
        f'/usr/lib/wsl/lib is in the library path ({_WSL_GUIDE}).',
        'container': 'Start the container with `--gpus all` (and `--pid=host` to see processes). '
        f'The host needs the NVIDIA Container Toolkit ({_CONTAINER_TOOLKIT}).',
        'module': 'The kernel module {loaded} is loaded; only its libraries are missing. Install '
        'version {loaded} of them (on Debian and Ubuntu: libnvidia-compute-{branch}), or run '
        '`ldconfig` if they are installed.',
        '': f'Install the driver ({_DRIVER_DOWNLOADS}) and check that `nvidia-smi` works.',
    },
    _errors.DRIVER_NOT_LOADED: {
        'windows': 'Restart the machine, or reinstall the driver.',
        'wsl': _WSL_RESTART,
        'container': 'Start the container with `--gpus all`. If it was, run `nvidia-smi` on the '
        'host.',
        '': 'Load it: `sudo modprobe nvidia`. If that fails, the module was not built for this '
        'kernel (`dkms status`, {release}), Secure Boot rejects it, or nouveau is loaded: '
        '{kernel_log}',
    },
    _errors.LIB_RM_VERSION_MISMATCH: {
        'wsl': _WSL_RESTART,
        'container': 'Restart the container, so that it gets the current libraries of the host.',
        '': 'Restart the machine, or stop everything that uses the GPUs and load the new module: '
        '`sudo rmmod nvidia_drm nvidia_modeset nvidia_uvm nvidia && sudo modprobe nvidia`.',
    },
    _errors.NO_PERMISSION: {
        '': 'Ask to be added to the group that owns /dev/nvidia* (often `video`), or check whether '
        'a job scheduler or container has assigned a GPU to this session.',
    },
    _errors.GPU_IS_LOST: {
        '': 'Restart the machine. If it happens again, check the power supply, cooling and seating '
        'of the card, and {kernel_log}',
    },
    _errors.OPERATING_SYSTEM: {
        'container': 'The device control group does not allow the GPU: start the container with '
        '`--gpus all`, and restart it after `systemctl daemon-reload`.',
        '': 'Usually the device control group of a batch job or service does not allow the GPU: '
        'ask the job scheduler for one, or add DeviceAllow= to the unit. {advice}',
    },
    _errors.UNKNOWN: {
        'container': '\nA running container can lose its GPUs when systemd rewrites its cgroup '
        'rules (`systemctl daemon-reload`): restart the container.',
        '': '',
    },
}
