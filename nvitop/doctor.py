# SPDX-License-Identifier: Apache-2.0
"""``nvitop doctor``: what works on this machine and what does not, and captures of its GPUs."""

from __future__ import annotations

import argparse
import functools
import itertools
import os
import pathlib
import platform
import re
import sys
from typing import TYPE_CHECKING, Any, Callable, Iterator, Literal, NamedTuple

from nvitop import api
from nvitop.api import libnvml
from nvitop.api.system import system
from nvitop.basics.metrics import EXTENDED_METRICS, METRICS, Metric
from nvitop.basics.text import printable_lines
from nvitop.basics.units import NA
from nvitop.console import lifecycle
from nvitop.console.arguments import ArgumentParser, add_general
from nvitop.console.driver import simulate
from nvitop.console.lifecycle import CommandFailure, write_output, writing
from nvitop.console.messages import painted, wrapped
from nvitop.health import findings
from nvitop.platforms import stuck_calls, surroundings
from nvitop.platforms.kernel import is_superuser
from nvitop.sampling.threads import Watchdog, call_with_limit
from nvitop.version import __version__

if TYPE_CHECKING:
    from nvitop.api.device import Device, MigDevice
    from nvitop.api.process import GpuProcess

PROGRAM = 'nvitop doctor'
#: Time limit (seconds) of the capture of one GPU.
GPU_SECONDS = 20.0
#: Maximum number of processes of one GPU in a capture.
MAX_PROCESSES = 20
#: Getters whose values identify a board, a chassis or a cluster. Their digits and letters become 0.
MASKED = frozenset({'serial', 'uuid', 'chassis_serial_number', 'gpu_fabric_guid', 'fabric_cluster_uuid'})  # fmt: skip
#: Field of the attributes of a MIG device → name in a capture.
MIG_ATTRIBUTES = {
    'multiprocessorCount': 'multiprocessor',
    'sharedCopyEngineCount': 'copy',
    'sharedDecoderCount': 'decoder',
    'sharedEncoderCount': 'encoder',
    'sharedJpegCount': 'jpeg',
    'sharedOfaCount': 'ofa',
}
_EXAMPLES = """\
nvitop doctor
nvitop doctor --capture gpus.toml
nvitop --demo gpus.toml
"""
_EXIT_STATUS = {
    '0': 'all works, perhaps within limits',
    '1': 'something does not work',
    '2': 'invalid arguments',
}


# Captures


def capture_text() -> str:
    """Return a scenario file of what NVML reports, without names of users, hosts or boards.

    Comments have the reasons for missing values. ``nvitop --demo FILE`` simulates the machine.
    """
    from nvitop.simulation import capture  # it needs a working binding

    comments = [
        'What NVML reports about the GPUs of a machine. Written by nvitop doctor --capture.',
        f'nvitop {__version__}, Python {platform.python_version()}, nvidia-ml-py {_version("nvidia-ml-py")}',
        f'{platform.system()} {platform.machine()}, {surroundings()}',
        f'missing functions: {", ".join(sorted(libnvml.UNKNOWN_FUNCTIONS)) or "none"}',
    ]
    gpus = []
    devices = {device.physical_index: device for device in api.Device.all()}
    readings = {gpu: _Reading() for gpu in devices}
    steps = {gpu: functools.partial(readings[gpu].read, devices[gpu]) for gpu in devices}
    outcomes = Watchdog(PROGRAM).run(steps, limit=GPU_SECONDS)
    for gpu, reading in readings.items():
        if outcomes[gpu].timed_out:
            comments.append(f'GPU {gpu}: no response for {GPU_SECONDS:.0f} s')
        elif outcomes[gpu].error is not None:
            comments.append(f'GPU {gpu}: {outcomes[gpu].error}')
        # What is read later is not part of it.
        texts = dict(reading.texts)
        gpus.append(capture.CapturedGpu(texts, [*reading.migs], [*reading.processes]))
        missing: dict[str, list[str]] = {}
        for name, text in texts.items():
            if capture.is_missing(text):
                missing.setdefault(text or 'empty', []).append(name)
        comments += [f'GPU {gpu}: {why}: {", ".join(missing[why])}' for why in sorted(missing)]
    versions = str(api.Device.driver_version()), str(api.Device.cuda_driver_version())
    machine = capture.Capture(*versions, gpus)
    values = capture.scenario_values(machine, 'from a capture of "nvitop doctor"')
    return capture.toml_text(values, '\n'.join(comments))


class _Reading:
    """What a GPU has reported so far: it may hang at the next query."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.migs: list[dict[str, str]] = []
        self.processes: list[dict[str, str]] = []

    def read(self, device: Device) -> None:
        with stuck_calls.calling(device.physical_index), device.oneshot():
            for metric in (*METRICS, *EXTENDED_METRICS):
                self.texts[metric.name] = _shown(device, metric)
            self.migs += map(_mig_texts, device.mig_devices())
            listed = [*device.processes().values()][:MAX_PROCESSES]
        self.processes += map(_process_texts, listed)


def _mig_texts(mig: MigDevice) -> dict[str, str]:
    attributes = libnvml.nvmlQuery('nvmlDeviceGetAttributes_v2', mig.handle)
    units = {name: getattr(attributes, field, 'N/A') for field, name in MIG_ATTRIBUTES.items()}
    return {
        **{metric.name: _shown(mig, metric) for metric in METRICS if metric.mig},
        **{name: str(count) for name, count in units.items()},
        'index': str(mig.mig_index),
        'gpu_instance_id': str(mig.gpu_instance_id()),
        'compute_instance_id': str(mig.compute_instance_id()),
        'profile': mig.mig_profile(),
    }


def _process_texts(process: GpuProcess) -> dict[str, str]:
    """Values of a process without its name, user and command line."""
    memory = process.gpu_memory()
    return {
        'pid': str(process.pid),
        'type': process.type,
        'used_memory': _size(memory) if isinstance(memory, int) else 'N/A',
        'gpu_instance_id': str(process.gpu_instance_id()),
        'compute_instance_id': str(process.compute_instance_id()),
    }


def _shown(device: Device, metric: Metric) -> str:
    """Return the value of a getter with its unit as in nvidia-smi, or the reason for its absence."""
    from nvitop.api.device import ImpossibleAnswer  # it needs the binding, which may be broken

    value, reason = device.reading(metric.method)
    if isinstance(reason, libnvml.NVMLError):
        return f'error {reason.value}: {reason}'
    if isinstance(reason, ImpossibleAnswer):
        return f'N/A: {reason}'
    if value is NA:
        return 'N/A'
    text = _text_of(metric, value)
    if metric.name not in MASKED:
        return text
    kind, dash, rest = text.rpartition('GPU-') if text.startswith('GPU-') else ('', '', text)
    return kind + dash + re.sub('[0-9A-Za-z]', '0', rest)


def _text_of(metric: Metric, value: Any) -> str:
    if metric.kind == 'bool':
        return 'Yes' if value else 'No'
    if metric.kind == 'list':
        return f'{int(value):#018x}'
    if isinstance(value, tuple):
        return '.'.join(map(str, value))
    if metric.unit == 'B':
        return _size(value)
    if metric.divisor != 1:
        value = value / metric.divisor
    return str(value) if metric.unit in ('', 'count') else f'{value} {metric.unit}'


def _size(count: int) -> str:
    """Return a number of bytes in the largest binary unit without a fraction, up to MiB."""
    for unit, factor in (('MiB', 1 << 20), ('KiB', 1 << 10)):
        if count % factor == 0:
            return f'{count // factor} {unit}'
    return f'{count} B'


# The command


def make_parser() -> ArgumentParser:
    """Make the parser of ``nvitop doctor``."""
    parser = ArgumentParser(
        prog=PROGRAM,
        usage=['nvitop doctor [OPTION ...]'],
        description='Report what works on this machine, what does not, and why.',
        examples=_EXAMPLES,
        exit_status=_EXIT_STATUS,
    )
    add_general(parser)
    parser.add_argument_group('output').add_argument(
        '--capture',
        metavar='FILE',
        help='write what NVML reports about the GPUs to FILE, for a bug report; - is standard '
        'output. It has no names of users, hosts, commands or serial numbers',
    )
    return parser


def main(arguments: list[str]) -> int:
    """Run ``nvitop doctor`` with the arguments after that word; return the exit status."""
    options = make_parser().parse(arguments)
    return lifecycle.run(PROGRAM, lambda: _run(options))


def _run(options: argparse.Namespace) -> int:
    simulate(options.demo)
    out = sys.stderr if options.capture == '-' else sys.stdout
    states = set()
    with writing():
        print(f'nvitop {__version__}', file=out)
        for name, check in run_checks():
            states.add(check.state)
            text = printable_lines(check.text).replace('\n', f'\n{"":24}')
            line = wrapped(f'{check.state:8} {name:14} {text}', out, 24)
            look = {'failed': 'critical', 'limited': 'warning'}.get(check.state, '')
            print(painted(check.state, look) + line[len(check.state) :], file=out, flush=True)
    if options.capture is not None:
        _write_capture(options.capture)
    return int('failed' in states)


def _write_capture(name: str) -> None:
    try:
        call_with_limit(libnvml.nvmlInit)
        text = capture_text()
    except (libnvml.NVMLError, AttributeError, TimeoutError) as error:
        raise CommandFailure(f'no capture: {error}') from error
    if name == '-':
        write_output(text)
        return
    with writing(name):
        pathlib.Path(name).write_text(text, encoding='utf-8')
    print(f'{PROGRAM}: wrote {printable_lines(name)}', file=sys.stderr)


#: Time limit of one check in seconds.
CHECK_SECONDS = 10.0
#: Kinds of findings about GPUs whose name cannot be read.
_NAMELESS = ('lost', 'not_responding', 'failing')


class Check(NamedTuple):
    """Whether something works, works in part, or does not."""

    #: What was found; otherwise the reason and what to do.
    text: str
    state: Literal['ok', 'limited', 'failed'] = 'ok'


def _check_binding() -> Check:
    try:
        problem = libnvml.explain_binding()
    except ImportError as error:
        problem = str(error)
    version = f'nvidia-ml-py {_version("nvidia-ml-py")}'.strip()
    return Check(problem or version, 'failed' if problem else 'ok')


@stuck_calls.calling(stuck_calls.DRIVER)
def _check_driver() -> Check:
    try:
        libnvml.nvmlInit()
        device = api.Device
        version, cuda = device.driver_version(), device.cuda_driver_version()
    except ImportError:
        return Check('not checked: it needs the NVML binding', 'failed')
    except (libnvml.NVMLError, AttributeError, OSError, ValueError) as error:
        text = libnvml.explain_init_error(error, command='nvitop')
        return Check(text, 'failed')
    simulated = f', simulated: {system().scenario}' if system().scenario else ''
    return Check(f'{version}, CUDA {cuda}{simulated}')


@stuck_calls.calling(stuck_calls.DRIVER)
def _check_gpus() -> Check:
    devices, all_findings = api.Device.all(), findings()
    wrong = [finding for finding in all_findings if finding.severity == 'critical']
    denied = [finding for finding in all_findings if finding.kind == 'not_permitted']
    if not devices and not denied:
        return Check('the driver lists none', 'failed')
    lost = {finding.device.label for finding in wrong if finding.kind in _NAMELESS}
    names = sorted(str(device.name()) for device in devices if str(device.index) not in lost)
    counted = [f'{len(list(group))} × {name}' for name, group in itertools.groupby(names)]
    unnamed = f'; no name: GPU {", ".join(sorted(lost))}' if lost else ''
    lines = [', '.join(counted) + unnamed]
    lines += [f'GPU {f.device.label}: {f.words}. {f.action}' for f in wrong + denied]
    text = '\n'.join(filter(None, lines))
    return Check(text, 'failed' if wrong else 'limited' if denied else 'ok')


def _check_place() -> Check:
    names = {'wsl': 'WSL', 'macos': 'macOS', 'container': 'in a container'}
    place = names.get(surroundings(), platform.system())
    versions = f'Python {platform.python_version()}, psutil {_version("psutil")}'
    text = f'{place}, {platform.machine()}, {versions}'
    # Outside of PID namespaces, PID 2 is the kernel's.
    is_hidden = _content('/proc/2/comm').strip() != 'kthreadd'
    if surroundings() == 'container' and is_hidden:
        advice = 'start the container with --pid=host to see their names and users'
        return Check(f'{text}\nProcesses of the host are hidden: {advice}.', 'limited')
    return Check(text)


def _content(path: str) -> str:
    """Return the content of a file, ``''`` if it cannot be read."""
    try:
        return pathlib.Path(path).read_text()
    except OSError:
        return ''


def _check_permissions() -> Check:
    closed = [
        str(path)
        for path in sorted(pathlib.Path('/dev').glob('nvidia*'))
        if path.is_char_device() and not os.access(path, os.R_OK | os.W_OK)
    ]
    if closed:
        advice = 'ask for access to the group of these files, or check the rules of the job'
        return Check(f'no access to {", ".join(closed)}: {advice}', 'failed')
    if stuck_calls.problem:
        return Check(stuck_calls.problem, 'limited')
    if is_superuser():
        return Check('root: all processes can be seen and signaled')
    mounts = _content('/proc/self/mounts').splitlines()
    if any(' /proc ' in mount and 'hidepid=' in mount for mount in mounts):
        return Check("/proc hides other users' processes (hidepid)", 'limited')
    return Check('all processes can be seen, your own can be signaled')


def _check_terminal() -> Check:
    is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    size = os.get_terminal_size(sys.stdout.fileno()) if is_terminal else None
    shape = f'{size.columns} × {size.lines}' if size else 'input or output is redirected'
    encoding = (sys.stdout.encoding or '').lower()
    text = f'{os.environ.get("TERM") or "TERM is not set"}, {shape}, {encoding}'
    if encoding.replace('-', '') != 'utf8':
        return Check(f'{text}\nOnly ASCII is drawn; try LC_ALL=C.UTF-8.', 'limited')
    return Check(text)


def _version(package: str) -> str:
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ''


#: All checks by their names, in the order of the output.
CHECKS: dict[str, Callable[[], Check]] = {
    'system': _check_place,
    'NVML binding': _check_binding,
    'driver': _check_driver,
    'GPUs': _check_gpus,
    'permissions': _check_permissions,
    'terminal': _check_terminal,
}
#: Checks that call the driver.
_OF_DRIVER = ('driver', 'GPUs')


def run_checks() -> Iterator[tuple[str, Check]]:
    """Run the checks. One that raises or does not end in time fails; without a driver, GPUs are left out."""
    has_driver = True
    watchdog = Watchdog(PROGRAM)
    for name, check in CHECKS.items():
        if name == 'GPUs' and not has_driver:
            continue
        outcome = watchdog.run({name: check}, limit=CHECK_SECONDS)[name]
        error, result = outcome.error, outcome.value
        if outcome.timed_out and name in _OF_DRIVER:
            result = Check(libnvml.explain_silence(CHECK_SECONDS), 'failed')
        elif outcome.timed_out:
            text = f'not known after {CHECK_SECONDS:.0f} s; a file system or a device may hang'
            result = Check(text, 'failed')
        elif error:
            text = '' if isinstance(error, TimeoutError) else f'{type(error).__name__}: '
            result = Check(f'{text}{error}', 'failed')
        if name == 'driver':
            has_driver = result.state == 'ok'
        yield name, result
