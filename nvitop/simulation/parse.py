# SPDX-License-Identifier: Apache-2.0
"""Scenario files: TOML → :class:`Scenario`, strictly checked."""

from __future__ import annotations

import pathlib
import re
from typing import Any, Iterator, Mapping

from nvitop.api.utils import MiB
from nvitop.simulation.models import MODELS, NO_MODEL
from nvitop.simulation.reader import TomlTable
from nvitop.simulation.scenario import (
    Event,
    Fault,
    Gpu,
    Host,
    Mig,
    ProcessSpec,
    Scenario,
    ScenarioError,
    Value,
)
from nvitop.simulation.schema import (
    DRIVER_KEYS,
    EVENT_KEYS,
    FAULT_KEYS,
    FILE_KEYS,
    GPU_KEYS,
    GPU_KEYS_BY_NAME,
    GPU_TABLE_KEYS,
    HOST_KEYS,
    MIG_KEYS,
    MIG_VALUES,
    PROCESS_KEYS,
    ScenarioKey,
)
from nvitop.simulation.waveforms import Signal
from nvitop.toml import TomlDocument, TomlError

_PROFILE = re.compile(r'^(?:(\d+)c\.)?(\d+)g\.(\d+)gb(?:\+.*)?$')
#: Part of the memory of a profile's name that programs can use.
_USABLE_MEMORY = 0.98
_MIG_VALUE_KEYS = [GPU_KEYS_BY_NAME[name] for name in MIG_VALUES]
_DEFAULTS: Mapping[str, object] = {
    key.name: key.default for key in GPU_KEYS if key.default is not None
}


#: Maximum size of a scenario file.
MAX_BYTES = 4 << 20
#: Values of a GPU without a model. Its other missing values are N/A, except those with an identity.
_NO_MODEL_DEFAULTS = {'present': True, 'lost': False}
_IDENTITY = ('uuid', 'bus_id')


def read_scenario(path: pathlib.Path) -> Scenario:
    """Read and check a scenario file. Its name without ``.toml`` is the name of the scenario.

    Raises:
        ScenarioError: The file cannot be read or has a mistake.
    """
    try:
        with path.open('rb') as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise ScenarioError(f'{path}: larger than {MAX_BYTES >> 20} MiB')
        text = data.decode('utf-8').replace('\r\n', '\n')
    except OSError as error:
        raise ScenarioError(f'{path}: {error.strerror}') from error
    except UnicodeDecodeError as error:
        raise ScenarioError(f'{path}: not UTF-8 text') from error
    return parse_scenario(text, name=path.stem, source=str(path))


def parse_scenario(text: str, *, name: str, source: str = '') -> Scenario:
    """Check the text of a scenario file.

    Raises:
        ScenarioError: The text has a mistake; the message names *source*, line and key.
    """
    source = source or name
    try:
        document = TomlDocument(text)
    except TomlError as error:
        where = f'{source}:{error.line}' if error.line else source
        raise ScenarioError(f'{where}: {error}') from error
    top = TomlTable(document.values, source=source, document=document)
    names = ('driver', 'host', 'gpu', 'process', 'event', 'fault')
    tables = (ScenarioKey(table, 'table') for table in names)
    top.check([*FILE_KEYS, *tables])
    head = top.read(FILE_KEYS)
    top.seed = head['seed']
    gpus = tuple(_gpus(top))
    events = (_event(table, gpus) for table in top.tables('event'))
    return Scenario(
        name=name,
        **head,
        **_driver(top.table('driver')),
        host=_host(top.table('host')) if 'host' in top else None,
        gpus=gpus,
        processes=tuple(
            process for table in top.tables('process') for process in _processes(table, gpus)
        ),
        events=tuple(sorted(events, key=lambda event: event.at)),
        faults=tuple(_fault(table, gpus) for table in top.tables('fault')),
    )


def _driver(table: TomlTable) -> dict[str, Any]:
    table.check(DRIVER_KEYS)
    values = table.read(DRIVER_KEYS)
    major, minor = values['cuda_version'].split('.')[:2]
    return {**values, 'cuda_version': int(major) * 1000 + int(minor) * 10}


def _host(table: TomlTable) -> Host:
    table.check(HOST_KEYS)
    return Host(**table.read(HOST_KEYS))


def _gpus(top: TomlTable) -> Iterator[Gpu]:
    position = 0
    for table in top.tables('gpu'):
        table.check([*GPU_TABLE_KEYS, *GPU_KEYS, ScenarioKey('mig', 'table')])
        settings = table.read(GPU_TABLE_KEYS)
        model = settings['model']
        content = _NO_MODEL_DEFAULTS if model == NO_MODEL else {**_DEFAULTS, **MODELS[model]}
        defaults = TomlTable(content, ('model', model), seed=top.seed)
        for _ in range(settings['count']):
            values: dict[str, Value] = {}
            for key in GPU_KEYS:
                for source in (table, defaults):
                    if key.name in source:
                        values[key.name] = source.gpu_value(key, position)
                        break
                else:
                    if model == NO_MODEL and key.name not in _IDENTITY:
                        values[key.name] = None
            migs = tuple(_mig(mig, n, values) for n, mig in enumerate(table.tables('mig')))
            if migs and 'mig_mode' not in table:
                values['mig_mode'] = True
            yield Gpu(position, values, migs)
            position += 1


def _mig(table: TomlTable, number: int, gpu: Mapping[str, Value]) -> Mig:
    table.check([*MIG_KEYS, *_MIG_VALUE_KEYS])
    settings = {'mig_index': number, 'gpu_instance': number + 1, **table.read(MIG_KEYS)}
    profile = settings['profile']
    match = _PROFILE.match(profile)
    if not match:
        raise table.error('profile', f'expected a profile such as "1g.10gb", got {profile!r}')
    size = round(float(match.group(3)) * 1024 * _USABLE_MEMORY) * MiB
    values: dict[str, Value] = {
        'name': f'{gpu["name"]} MIG {profile}',
        'memory_total': Signal(float(size)),
        'memory_reserved': Signal(16.0 * MiB),
        'memory_base': Signal(12.0 * MiB),
        **{key.name: table.gpu_value(key) for key in _MIG_VALUE_KEYS if key.name in table},
    }
    return Mig(
        **settings,
        gpu_slices=int(match.group(2)),
        compute_slices=int(match.group(1) or match.group(2)),
        values=values,
    )


def _positions(
    table: TomlTable, positions: tuple[int, ...] | None, gpus: tuple[Gpu, ...]
) -> tuple[int, ...]:
    if positions is None:
        return tuple(range(len(gpus)))
    for position in positions:
        if not 0 <= position < len(gpus):
            raise table.error('gpus', _no_gpu(position, gpus))
    return positions


def _no_gpu(position: int, gpus: tuple[Gpu, ...]) -> str:
    return f'there is no GPU {position}; the scenario has {len(gpus)}'


def _processes(table: TomlTable, gpus: tuple[Gpu, ...]) -> Iterator[ProcessSpec]:
    table.check(PROCESS_KEYS)
    settings = table.read(PROCESS_KEYS)
    positions = _positions(table, settings['gpus'], gpus)
    groups = [positions] if settings['shared'] else [(position,) for position in positions]
    groups *= settings['count']
    if not settings['command']:
        raise table.error('command', 'expected at least the name of the program')
    mig = settings.get('mig')
    for position in positions:
        if mig is not None and mig not in {device.mig_index for device in gpus[position].migs}:
            raise table.error('mig', f'GPU {position} has no MIG device {mig}')
    for rank, group in enumerate(groups):
        gpu = next(iter(group), 0)
        values = table.read(PROCESS_KEYS, rank)  # waves have another phase for each rank
        del values['shared'], values['count']
        for name in ('command', 'environ'):
            words = (word.replace('{gpu}', f'{gpu}') for word in values.get(name, ()))
            values[name] = tuple(word.replace('{rank}', f'{rank}') for word in words)
        values['cgroup'] = values['cgroup'].replace('{rank}', f'{rank}')
        values['gpus'] = group
        if 'age' in values:
            if 'start' in values:
                raise table.error('started', 'cannot be combined with "from"')
            values['start'] = -values['age']
        yield ProcessSpec(**values)


def _event(table: TomlTable, gpus: tuple[Gpu, ...]) -> Event:
    table.check([*EVENT_KEYS, ScenarioKey('set', 'table')])
    settings = table.read(EVENT_KEYS)
    settings['gpus'] = _positions(table, settings['gpus'], gpus)
    changes = table.table('set')
    changes.check(GPU_KEYS)
    values = {name: changes.gpu_value(GPU_KEYS_BY_NAME[name]) for name in changes.content}
    event = Event(**settings, values=values)
    if event.until <= event.at:
        raise table.error('until', 'expected a time later than "at"')
    return event


def _fault(table: TomlTable, gpus: tuple[Gpu, ...]) -> Fault:
    table.check(FAULT_KEYS)
    fault = Fault(**table.read(FAULT_KEYS))
    if isinstance(fault.gpu, int) and fault.gpu >= len(gpus):
        raise table.error('gpu', _no_gpu(fault.gpu, gpus))
    if fault.code is None and not fault.delay and not fault.hang:
        raise table.error(None, 'a fault needs error, delay or hang')
    return fault
