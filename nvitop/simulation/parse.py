# SPDX-License-Identifier: Apache-2.0
"""Scenario files: TOML → :class:`Scenario`, strictly checked."""

from __future__ import annotations

import math
import pathlib
import re
from typing import Iterator, Mapping

from nvitop.simulation.models import MODELS
from nvitop.simulation.reader import UNITS, TomlTable
from nvitop.simulation.scenario import (
    ZERO,
    Event,
    Fault,
    Gpu,
    Mig,
    ProcessSpec,
    Scenario,
    ScenarioError,
    Value,
)
from nvitop.simulation.schema import FIELDS, FIELDS_BY_NAME, MIG_FIELDS
from nvitop.simulation.waveforms import Signal
from nvitop.toml import TomlDocument, TomlError, suggestion

MAX_PID = 2**32 - 1
_PROFILE = re.compile(r'^(?:(\d+)c\.)?(\d+)g\.(\d+)gb(?:\+.*)?$')
_VERSION = re.compile(r'^(\d+)\.(\d+)$')
_DEFAULTS: Mapping[str, object] = {
    field.name: field.default for field in FIELDS if field.default is not None
}


def read_scenario(path: pathlib.Path) -> Scenario:
    """Read and check a scenario file; its name without ``.toml`` is the scenario's.

    Raises :class:`ScenarioError`.
    """
    try:
        text = path.read_text(encoding='utf-8')
    except OSError as error:
        raise ScenarioError(f'{path}: {error.strerror}') from error
    except UnicodeDecodeError as error:
        raise ScenarioError(f'{path}: not UTF-8 text') from error
    return parse_scenario(text, name=path.stem, source=str(path))


def parse_scenario(text: str, *, name: str, source: str = '') -> Scenario:
    """Check the text of a scenario file. Raises :class:`ScenarioError` with file, line and key."""
    source = source or name
    try:
        document = TomlDocument(text)
    except TomlError as error:
        where = f'{source}:{error.line}' if error.line else source
        raise ScenarioError(f'{where}: {error}') from error
    top = TomlTable(document.values, source=source, document=document)
    description = top.text('description')
    top.seed = seed = top.integer('seed', 0)
    scenario = _driver(top.table('driver'), Scenario(name, description, seed))
    gpus = tuple(_gpus(top))
    processes = (spec for table in top.tables('process') for spec in _processes(table, gpus))
    events = (_event(table, gpus) for table in top.tables('event'))
    scenario = scenario._replace(
        gpus=gpus,
        processes=tuple(processes),
        events=tuple(sorted(events, key=lambda event: event.at)),
        faults=tuple(_fault(table, gpus) for table in top.tables('fault')),
    )
    top.finish()
    return scenario


def _driver(table: TomlTable, scenario: Scenario) -> Scenario:
    match = _VERSION.match(table.text('cuda', '13.0'))
    if not match:
        raise table.fail('cuda', 'is not a version such as "12.4"')
    version = table.text('version', scenario.driver_version)
    if not re.match(r'^\d+\.\d+', version):
        raise table.fail('version', f'{version!r} is not a version such as "580.65.06"')
    scenario = scenario._replace(
        driver_version=version,
        cuda_version=int(match.group(1)) * 1000 + int(match.group(2)) * 10,
        hidden=table.texts('hide'),
        process_struct=table.word('process_struct', ('v2', 'v3'), 'v2'),
        process_samples=table.integer('process_samples', 1, low=1),
        mig_code=table.error_code('mig_error', 'INVALID_ARGUMENT'),
        pcie_throughput_seconds=table.seconds('pcie_throughput_seconds', 0.0),
    )
    table.finish()
    return scenario


def _gpus(top: TomlTable) -> Iterator[Gpu]:
    position = 0
    for table in top.tables('gpu'):
        model = table.word('model', MODELS, 'H100')
        defaults = TomlTable({**_DEFAULTS, **MODELS[model]}, ('model', model), seed=top.seed)
        count = table.integer('count', 1, low=1)
        table.know('mig', *FIELDS_BY_NAME)
        table.finish()
        for _ in range(count):
            values: dict[str, Value] = {}
            for field in FIELDS:
                given = next((source for source in (table, defaults) if field.name in source), None)
                if given is not None:
                    values[field.name] = given.field(field, position)
            migs = tuple(_mig(mig, n, values) for n, mig in enumerate(table.tables('mig')))
            if migs and 'mig_mode' not in table:
                values['mig_mode'] = True
            yield Gpu(position, values, migs)
            position += 1


def _mig(table: TomlTable, number: int, gpu: Mapping[str, Value]) -> Mig:
    profile = table.text('profile')
    match = _PROFILE.match(profile)
    if not match:
        raise table.fail('profile', f'{profile!r} is not one such as "1g.10gb" or "1c.3g.40gb"')
    values: dict[str, Value] = {
        'name': f'{gpu["name"]} MIG {profile}',
        'memory_total': Signal(float(round(float(match.group(3)) * 1024 * 0.98) * UNITS['MiB'])),
        'memory_reserved': Signal(16.0 * UNITS['MiB']),
        'memory_base': Signal(12.0 * UNITS['MiB']),
    }
    for name in MIG_FIELDS:
        if name in table:
            values[name] = table.field(FIELDS_BY_NAME[name])
    result = Mig(
        mig_index=table.integer('index', number),
        profile=profile,
        gpu_slices=int(match.group(2)),
        compute_slices=int(match.group(1) or match.group(2)),
        gpu_instance=table.integer('gpu_instance', number + 1),
        compute_instance=table.integer('compute_instance', 0),
        values=values,
        start=table.seconds('from', -math.inf),
        stop=table.seconds('until', math.inf),
    )
    table.know(*MIG_FIELDS)
    table.finish()
    return result


def _positions(table: TomlTable, gpus: tuple[Gpu, ...]) -> tuple[int, ...]:
    if table.content.get('gpus', 'all') == 'all':
        table.know('gpus')
        return tuple(range(len(gpus)))
    positions = table.integers('gpus')
    for position in positions:
        if not 0 <= position < len(gpus):
            raise table.fail('gpus', f'there is no GPU {position} (there are {len(gpus)})')
    return positions


def _processes(table: TomlTable, gpus: tuple[Gpu, ...]) -> Iterator[ProcessSpec]:
    positions = _positions(table, gpus)
    groups = [positions] if table.flag('shared') else [(position,) for position in positions]
    groups *= table.integer('count', 1)
    command = table.texts('command')
    if not command:
        raise table.fail('command', 'missing: a list of strings, the program first')
    mig = table.optional_integer('mig')
    for position in positions:
        if mig is not None and mig not in {device.mig_index for device in gpus[position].migs}:
            raise table.fail('mig', f'GPU {position} has no MIG device {mig}')
    for rank, group in enumerate(groups):
        gpu = next(iter(group), 0)
        yield ProcessSpec(
            command=tuple(
                word.replace('{gpu}', f'{gpu}').replace('{rank}', f'{rank}') for word in command
            ),
            gpus=group,
            mig=mig,
            user=table.text('user'),
            type=table.word('type', ('C', 'G', 'C+G', 'M'), 'C'),
            memory=table.signal('memory', 'B', ZERO, rank),
            sm=table.signal('sm', '%', ZERO, rank) or ZERO,
            memory_utilization=table.signal('memory_utilization', '%', ZERO, rank) or ZERO,
            encoder=table.signal('encoder', '%', ZERO, rank) or ZERO,
            decoder=table.signal('decoder', '%', ZERO, rank) or ZERO,
            start=table.seconds('from', -math.inf),
            stop=table.seconds('until', math.inf),
            state=table.word('state', ('running', 'zombie', 'gone'), 'running'),
            pid=table.optional_integer('pid', high=MAX_PID),
        )
        table.finish()


def _event(table: TomlTable, gpus: tuple[Gpu, ...]) -> Event:
    if 'at' not in table:
        raise table.fail('at', 'missing: seconds since the start')
    changes = table.table('set')
    for key in changes.content:
        if key not in FIELDS_BY_NAME:
            raise changes.fail(key, f'unknown key{suggestion(key, FIELDS_BY_NAME)}')
    event = Event(
        at=table.seconds('at', 0.0),
        gpus=_positions(table, gpus),
        values={key: changes.field(FIELDS_BY_NAME[key]) for key in changes.content},
        until=table.seconds('until', math.inf),
    )
    if event.until <= event.at:
        raise table.fail('until', 'not after at')
    table.finish()
    return event


def _fault(table: TomlTable, gpus: tuple[Gpu, ...]) -> Fault:
    call = table.text('call')
    if not call:
        raise table.fail('call', 'missing: the name of a function, with * and ?')
    gpu = table.optional_integer('gpu')
    if gpu is not None and gpu >= len(gpus):
        raise table.fail('gpu', f'there is no GPU {gpu} (there are {len(gpus)})')
    table.know('error')
    fault = Fault(
        call=call,
        gpu=gpu,
        code=table.error_code('error', '') if 'error' in table else None,
        delay=table.seconds('delay', 0.0),
        hang=table.flag('hang'),
        after=table.integer('after', 0),
        every=table.integer('every', 1, low=1),
        times=table.optional_integer('times', low=1),
        start=table.seconds('from', -math.inf),
        stop=table.seconds('until', math.inf),
    )
    table.finish()
    if fault.code is None and not fault.delay and not fault.hang:
        raise table.fail(None, 'does nothing: give error, delay or hang')
    return fault
