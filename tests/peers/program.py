"""Describe the nvitop of this interpreter as JSON, to compare nvitop 1.7 with this one.

It runs in environments with either of them: ``python program.py ROOT names|statuses|series [SCENARIO]``.
ROOT is this repository: both run on the machines of its simulation.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import json
import sys
from typing import Any, Callable, Iterator

MODULES = [
    'nvitop', 'nvitop.api', 'nvitop.api.caching', 'nvitop.api.collector', 'nvitop.api.device',
    'nvitop.api.host', 'nvitop.api.libcuda', 'nvitop.api.libcudart', 'nvitop.api.libnvml',
    'nvitop.api.process', 'nvitop.api.termcolor', 'nvitop.api.utils', 'nvitop.select',
]  # fmt: skip

#: Command lines without and with mistakes. Each program shows its own output for them.
COMMAND_LINES = {
    'nvitop': [
        '-h', '--help', '-V', '--version', '-1', '--once', '-1 -m full', '-1 -m compact', '-1 -m auto',
        '-1 --monitor', '-1 --colorful', '-1 --force-color', '-1 --light', '-1 -U', '-1 --ascii',
        '-1 --no-unicode', '-1 --gpu-util-thresh 10 75', '-1 --mem-util-thresh 10 80',
        '-1 -o 0', '-1 -o 0 1', '-1 -o 99', '-1 --only 0', '-1 -ov', '-1 --only-visible', '-1 -c',
        '-1 --compute', '-1 -C', '-1 --only-compute', '-1 -g', '-1 -G', '-1 --only-graphics',
        '-1 -u', '-1 --user', '-1 --user root', '-1 -p 1', '-1 --pid 1 2', '-1 --interval 2',
        '-1 --readonly', '--nothing', '-m nonsense', '--interval x', '--interval', '-o x', '-p x',
        '--gpu-util-thresh 10', 'word',
    ],
    'nvitop.select': [
        '-h', '-V', '', '-n 1', '--min-count 1', '-N 2', '--max-count 1', '--min-count 99',
        '-f 1GiB', '--min-free-memory 1GiB', '--min-total-memory 10GiB', '-m 50',
        '--max-gpu-utilization 50', '--max-memory-utilization 50', '--tol 5', '-O index',
        '-O uuid', '-O device', '-S ,', '-0', '--sep -', '-x 0', '--exclude 0 1', '--inherit',
        '--inherit 0', '-c 1', '-C 1', '-a', '--account-as-free', '--sort memory', '-U root',
        '--nothing', '-n x', '--sort nonsense', '-f much', '-O nonsense', 'word',
    ],
}  # fmt: skip


def install(root: str, scenario: str) -> None:
    """Replace the driver library under ``pynvml`` by a simulated machine, then forget this nvitop."""
    sys.path.insert(0, root)
    importlib.import_module('nvitop.simulation').install(scenario, announce=False)
    sys.path.remove(root)
    for name in [name for name in sys.modules if name.partition('.')[0] == 'nvitop']:
        del sys.modules[name]


def parameters(thing: Callable[..., Any]) -> list[tuple[str, str, bool]] | None:
    """Return name, kind and whether it is optional of each parameter that callers can name."""
    try:
        found = inspect.signature(thing).parameters.values()
    except (TypeError, ValueError):
        return None
    empty = inspect.Parameter.empty
    return [(each.name, each.kind.name, each.default is not empty) for each in found]


def describe(module: Any) -> Iterator[tuple[str, Any]]:
    """Yield the dotted names of a module and of its classes, with the parameters."""
    for name in getattr(module, '__all__', [name for name in dir(module) if name[:2] == 'cu']):
        thing = getattr(module, name)
        is_class = inspect.isclass(thing) and thing.__module__.startswith('nvitop')
        yield name, parameters(thing) if is_class or inspect.isroutine(thing) else None
        if is_class and not issubclass(thing, Exception):
            for member in [each for each in dir(thing) if not each.startswith('_')]:
                value = getattr(thing, member)
                is_method = inspect.isroutine(value)
                yield f'{name}.{member}', parameters(value) if is_method else None


def names() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for module_name in MODULES:
        module = importlib.import_module(module_name)
        found.update((f'{module_name}.{name}', value) for name, value in describe(module))
    return found


def run(main: Callable[[], Any], program: str, line: str) -> int:
    sys.argv = [program, *line.split()]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            status = main()
        except SystemExit as error:
            status = error.code
    return int(status or 0)


def statuses() -> dict[str, int]:
    found = {}
    for module_name, lines in COMMAND_LINES.items():
        module = importlib.import_module('nvitop.cli' if module_name == 'nvitop' else module_name)
        for line in lines:
            found[f'{module_name} {line}'] = run(module.main, module_name, line)
    return found


def known_series() -> list[str]:
    """Return the series of the released exporter that have a value."""
    return series(missing=False)


def series(*, missing: bool = True) -> list[str]:
    """Return name and labels of the series of the released exporter."""
    from nvitop_exporter import PrometheusExporter
    from prometheus_client import CollectorRegistry

    from nvitop import Device

    registry = CollectorRegistry()
    devices: list[Any] = []
    for device in Device.all():
        devices += device.to_leaf_devices()
    exporter = PrometheusExporter(devices, 'host', registry=registry, interval=0.1)
    exporter.update_host()
    for device in devices:
        exporter.update_device(device)
    moving = ('pid', 'running_time')  # each program starts the processes again
    return sorted(
        f'{sample.name}{sorted(item for item in sample.labels.items() if item[0] not in moving)}'
        for family in registry.collect()
        for sample in family.samples
        if not sample.name.endswith('_created') and (missing or sample.value == sample.value)
    )


if __name__ == '__main__':
    ROOT, WHAT, *SCENARIOS = sys.argv[1:]
    del sys.path[0]  # the directory of this file
    if SCENARIOS:
        install(ROOT, *SCENARIOS)
    described: dict[str, Callable[[], Any]] = {
        'names': names,
        'statuses': statuses,
        'series': series,
        'known-series': known_series,
    }
    json.dump(described[WHAT](), sys.stdout)
