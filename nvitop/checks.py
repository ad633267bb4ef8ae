# SPDX-License-Identifier: Apache-2.0
"""What works on this machine and what does not, for ``nvitop doctor``.

A new check is a function that returns a :class:`Check`, listed in :data:`CHECKS`.
"""

from __future__ import annotations

import itertools
import os
import pathlib
import platform
import sys
from typing import Callable, Iterator, Literal, NamedTuple, Tuple

from nvitop.api import libcuda, libnvml
from nvitop.api.device import Device
from nvitop.api.libnvml._binding import binding_version, explain_binding
from nvitop.api.system import system
from nvitop.console.config import read_config
from nvitop.health import findings
from nvitop.platforms import config_file, surroundings
from nvitop.platforms.users import is_superuser
from nvitop.sampling.watchdog import call_with_limit

#: Time limit of one check in seconds.
CHECK_SECONDS = 10.0
#: Package → what it is for, if nvitop works without it.
PACKAGES = {
    'nvidia-ml-py': 'required',
    'psutil': 'required',
    'bcrypt': 'passwords of the exporter',
    'PyYAML': '--web.config.file of the exporter',
}
#: Kinds of findings about GPUs whose name cannot be read.
_NAMELESS = ('lost', 'not_responding', 'failing')


class Check(NamedTuple):
    """One thing that works, works in part, or does not."""

    name: str
    #: What was found; otherwise the reason and what to do.
    text: str
    state: Literal['ok', 'limited', 'failed'] = 'ok'


def check_binding() -> Check:
    """The Python package that calls NVML."""
    problem = explain_binding()
    version = f'nvidia-ml-py {binding_version()}'.strip()
    return Check('NVML binding', problem or version, 'failed' if problem else 'ok')


def check_driver() -> Check:
    """The NVML library and the driver behind it."""
    try:
        libnvml.nvmlInit()
        version, cuda = Device.driver_version(), Device.cuda_driver_version()
    except (libnvml.NVMLError, AttributeError, OSError, ValueError) as error:
        text = libnvml.explain_init_error(error, command='nvitop')
        return Check('driver', text, 'failed')
    simulated = f', simulated: {system().scenario}' if system().scenario else ''
    return Check('driver', f'{version}, CUDA {cuda}{simulated}')


def check_gpus() -> Check:
    """Whether the driver lists GPUs and all of them respond."""
    devices = Device.all()
    if not devices:
        return Check('GPUs', 'the driver lists none', 'failed')
    wrong = [finding for finding in findings() if finding.severity == 'critical']
    lost = {finding.device.label for finding in wrong if finding.kind in _NAMELESS}
    names = sorted(str(device.name()) for device in devices if str(device.index) not in lost)
    counted = [f'{len(list(group))} × {name}' for name, group in itertools.groupby(names)]
    unnamed = ', '.join(sorted(lost))
    lines = [', '.join(counted) + (f'; no name: GPU {unnamed}' if unnamed else '')]
    lines += [f'GPU {each.device.label}: {each.words}. {each.action}' for each in wrong]
    return Check('GPUs', '\n'.join(lines), 'failed' if wrong else 'ok')


def check_place() -> Check:
    """Where this runs, and whether the processes of the host can be seen from here."""
    place = {'linux': 'Linux', 'wsl': 'WSL', 'windows': 'Windows', 'macos': 'macOS'}.get(
        surroundings(), 'in a container'
    )
    text = f'{place}, {platform.machine()}, Python {platform.python_version()}'
    if surroundings() == 'container' and not _sees_host_processes():
        advice = 'start the container with --pid=host to see their names and users'
        return Check('system', f'{text}\nProcesses of the host are hidden: {advice}.', 'limited')
    return Check('system', text)


def _sees_host_processes() -> bool:
    """Whether PID 2 is the kernel's, as outside of PID namespaces."""
    try:
        return pathlib.Path('/proc/2/comm').read_text().strip() == 'kthreadd'
    except OSError:
        return False


def check_cuda() -> Check:
    """The CUDA driver, which nvitop needs only for some values of CUDA_VISIBLE_DEVICES."""
    visible = os.environ.get('CUDA_VISIBLE_DEVICES')
    shown = '' if visible is None else f', CUDA_VISIBLE_DEVICES={visible!r}'
    try:
        libcuda.cuInit()
        version = libcuda.cuDriverGetVersion()
    except libcuda.CUDAError as error:
        advice = 'nvitop needs it only for some values of CUDA_VISIBLE_DEVICES'
        return Check('CUDA', f'not usable: {error}; {advice}{shown}', 'limited')
    return Check('CUDA', f'driver {version}{shown}')


def check_permissions() -> Check:
    """The device files, and the processes that this user may see and signal."""
    closed = [
        str(path)
        for path in sorted(pathlib.Path('/dev').glob('nvidia*'))
        if path.is_char_device() and not os.access(path, os.R_OK | os.W_OK)
    ]
    if closed:
        advice = 'ask for access to the group of these files, or check the rules of the job'
        return Check('permissions', f'no access to {", ".join(closed)}: {advice}', 'failed')
    if is_superuser():
        return Check('permissions', 'root: all processes can be seen and signaled')
    if 'hidepid=' in _mount_options('/proc'):
        return Check('permissions', "/proc hides other users' processes (hidepid)", 'limited')
    return Check('permissions', 'all processes can be seen, your own can be signaled')


def _mount_options(place: str) -> str:
    try:
        lines = pathlib.Path('/proc/self/mounts').read_text().splitlines()
    except OSError:
        return ''
    return next((line for line in lines if line.split(' ')[1:2] == [place]), '')


def check_terminal() -> Check:
    """The terminal, its size, colors and characters."""
    term = os.environ.get('TERM', '')
    encoding = (sys.stdout.encoding or '').lower()
    is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    size = os.get_terminal_size(sys.stdout.fileno()) if is_terminal else None
    shape = f'{size.columns} × {size.lines}' if size else 'input or output is redirected'
    text = ', '.join([term or 'TERM is not set', shape, encoding, *_colors(term)])
    if is_terminal and term in ('', 'dumb', 'unknown'):
        return Check('terminal', f'{text}\nTry: TERM=xterm-256color nvitop', 'failed')
    if size and (size.columns < 40 or size.lines < 6):
        return Check('terminal', f'{text}\nThe monitor needs 40 × 6 characters.', 'failed')
    if encoding.replace('-', '') != 'utf8':
        return Check('terminal', f'{text}\nOnly ASCII is drawn; try LC_ALL=C.UTF-8.', 'limited')
    return Check('terminal', text)


def _colors(term: str) -> list[str]:
    """Return what the environment says about colors, nothing if it says nothing."""
    if os.environ.get('NO_COLOR'):
        return ['no colors (NO_COLOR is set)']
    if os.environ.get('COLORTERM') in ('truecolor', '24bit'):
        return ['24-bit colors']
    return ['256 colors'] if '256color' in term else []


class _Anything(Tuple[str, ...]):
    """Contains every word: the names of columns and actions are checked by the monitor."""

    def __contains__(self, word: object) -> bool:
        return True


def check_config() -> Check:
    """The configuration file."""
    path = config_file()
    if not os.path.exists(path):
        return Check('configuration', f'no file ({path})')
    problems = read_config(path, {'columns': _Anything(), 'keys': _Anything()}).problems
    if problems:
        return Check('configuration', '\n'.join(map(str, problems)), 'failed')
    return Check('configuration', path)


def check_packages() -> Check:
    """The versions of packages that nvitop needs, or that extend it."""
    found = {name: _version(name) for name in PACKAGES}
    missing = [f'{name} ({purpose})' for name, purpose in PACKAGES.items() if not found[name]]
    text = ', '.join(f'{name} {version}' for name, version in found.items() if version)
    return Check('packages', f'{text}; not installed: {", ".join(missing)}' if missing else text)


def _version(package: str) -> str:
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ''


#: All checks, in the order of the output.
CHECKS: tuple[Callable[[], Check], ...] = (
    check_place,
    check_binding,
    check_driver,
    check_gpus,
    check_cuda,
    check_permissions,
    check_terminal,
    check_config,
    check_packages,
)


def run_checks() -> Iterator[Check]:
    """Run the checks. One that does not end in time fails; without a driver, GPUs are left out."""
    failed: set[str] = set()
    for check in CHECKS:
        if check is check_gpus and failed & {'NVML binding', 'driver'}:
            continue
        try:
            result = call_with_limit(check, CHECK_SECONDS)
        except TimeoutError as error:
            result = Check(check.__name__[len('check_') :], str(error), 'failed')
        if result.state == 'failed':
            failed.add(result.name)
        yield result
