# SPDX-License-Identifier: Apache-2.0
"""``nvitop doctor``: what works on this machine and what does not, and captures of its GPUs."""

from __future__ import annotations

import argparse
import functools
import json
import pathlib
import platform
import re
import sys
from typing import Any, Iterator

from nvitop.api import libnvml
from nvitop.api.device import Device, MigDevice
from nvitop.api.libnvml._binding import binding_version
from nvitop.api.metrics import EXTENDED_METRICS, METRICS, Metric
from nvitop.api.process import GpuProcess
from nvitop.api.utils import NA
from nvitop.checks import run_checks
from nvitop.console import outcome
from nvitop.console.arguments import ArgumentParser, add_general
from nvitop.console.driver import simulate
from nvitop.console.outcome import CommandFailure, writing
from nvitop.platforms import surroundings
from nvitop.printable import printable_lines
from nvitop.sampling.watchdog import call_with_limit
from nvitop.version import __version__

PROGRAM = 'nvitop doctor'
#: Time limit of a capture in seconds.
CAPTURE_SECONDS = 60.0
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
    'gpuInstanceSliceCount': 'gpu_instance_slices',
    'computeInstanceSliceCount': 'compute_instance_slices',
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
    """Return what NVML reports about all GPUs, as TOML without names of users, hosts or boards.

    For each getter it has the value or the reason why there is none. The scenario of a simulated
    machine can be made of it: ``nvitop --demo FILE``.
    """
    devices = Device.all()
    gpus = [line for device in devices for line in _gpu_lines(device)]
    head = {
        'capture': 1,
        'nvitop': __version__,
        'python': platform.python_version(),
        'system': f'{platform.system()} {platform.machine()}, {surroundings()}',
        'binding': f'nvidia-ml-py {binding_version()}',
        'driver_version': str(Device.driver_version()),
        'cuda_version': str(Device.cuda_driver_version()),
        'missing_functions': sorted(libnvml.UNKNOWN_FUNCTIONS),
    }
    lines = ['# What NVML reports about the GPUs of a machine. Written by nvitop doctor --capture.']
    return '\n'.join([*lines, *_settings(head), *gpus]) + '\n'


def _settings(values: dict[str, Any], indent: str = '') -> Iterator[str]:
    for name, value in values.items():
        yield f'{indent}{name} = {json.dumps(value, ensure_ascii=True)}'


def _gpu_lines(device: Device) -> Iterator[str]:
    yield from ('', '[[gpu]]')
    with device.oneshot():
        yield from _settings({m.name: _shown(device, m) for m in (*METRICS, *EXTENDED_METRICS)})
        for mig in device.mig_devices():
            yield from ('', '  [[gpu.mig]]')
            yield from _settings(_mig_values(mig), '  ')
        for process in [*device.processes().values()][:MAX_PROCESSES]:
            yield from ('', '  [[gpu.process]]')
            yield from _settings(_process_values(process), '  ')


def _mig_values(mig: MigDevice) -> dict[str, Any]:
    attributes = libnvml.nvmlQuery('nvmlDeviceGetAttributes_v2', mig.handle)
    found = {
        name: getattr(attributes, field)
        for field, name in MIG_ATTRIBUTES.items()
        if hasattr(attributes, field)
    }
    ids = {
        'index': mig.mig_index,
        'gpu_instance_id': mig.gpu_instance_id(),
        'compute_instance_id': mig.compute_instance_id(),
        'profile': mig.mig_profile(),
    }
    return {**{m.name: _shown(mig, m) for m in METRICS if m.mig}, **ids, **found}


def _process_values(process: GpuProcess) -> dict[str, Any]:
    """Values of a process without its name, user and command line."""
    memory = process.gpu_memory()
    return {
        'pid': process.pid,
        'type': process.type,
        'gpu_memory': _size(memory) if isinstance(memory, int) else 'N/A',
        'gpu_instance_id': process.gpu_instance_id(),
        'compute_instance_id': process.compute_instance_id(),
        'gpu_sm_utilization': process.gpu_sm_utilization(),
    }


def _shown(device: Device, metric: Metric) -> str:
    """Return the value of a getter with its unit as in nvidia-smi, or the reason for its absence."""
    value, reason = device.reading(metric.method)
    if isinstance(reason, libnvml.NVMLError):
        return f'error {reason.value}: {reason}'
    if value is NA or reason is not None:
        return f'N/A: {reason}' if reason is not None else 'N/A'
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
        description='Report what works on this machine, and what does not and why.',
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
    return outcome.run(PROGRAM, functools.partial(_run, options))


def _run(options: argparse.Namespace) -> int:
    if options.demo is not None:
        simulate(options.demo)
    out = sys.stderr if options.capture == '-' else sys.stdout
    states = set()
    with writing():
        print(f'nvitop {__version__}', file=out)
        for check in run_checks():
            states.add(check.state)
            text = printable_lines(check.text).replace('\n', f'\n{"":24}')
            print(f'{check.state:8} {check.name:14} {text}', file=out, flush=True)
    if options.capture is not None:
        _write_capture(options.capture)
    return int('failed' in states)


def _write_capture(name: str) -> None:
    try:
        text = call_with_limit(capture_text, CAPTURE_SECONDS)
    except (libnvml.NVMLError, AttributeError, TimeoutError) as error:
        raise CommandFailure(f'no capture: {error}') from error
    if name == '-':
        with writing():
            sys.stdout.write(text)
        return
    with writing(name):
        pathlib.Path(name).write_text(text, encoding='utf-8')
