# SPDX-License-Identifier: Apache-2.0
"""Scenario files: TOML → :class:`Scenario`, strictly checked."""

from __future__ import annotations

import difflib
import math
import pathlib
import re
import sys
from typing import Any, Iterator, Mapping

from nvitop.simulation import schema
from nvitop.simulation.abi import NVML_ERRORS
from nvitop.simulation.lines import Part, key_lines
from nvitop.simulation.models import MODELS
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
from nvitop.simulation.signals import SHAPES, Signal, phase_of

UNITS = {
    'B': 1,
    'KB': 10**3, 'MB': 10**6, 'GB': 10**9, 'TB': 10**12,
    'KiB': 2**10, 'MiB': 2**20, 'GiB': 2**30, 'TiB': 2**40,
}  # fmt: skip
_SIZE = re.compile(r'^\s*([0-9.]+)\s*([KMGT]?i?B)\s*$')
_PROFILE = re.compile(r'^(?:(\d+)c\.)?(\d+)g\.(\d+)gb(?:\+.*)?$')
#: Kinds of numbers → what a number in the file is multiplied with.
_FACTORS = {'W': 1000.0, 'J': 1000.0}
_NUMBERS = ('count', '%', '°C', 'MHz', 'W', 'B', 'B/s', 'MB/s', 'J')
_WAVE_KEYS = ('mean', 'amplitude', 'period', 'phase', 'shape', 'noise', 'steps')


class Table:
    """One table of the file: reads keys with their types and complains about the others."""

    def __init__(
        self,
        content: Mapping[str, Any],
        path: tuple[Part, ...],
        source: str,
        lines: Mapping[tuple[Part, ...], int],
        seed: int = 0,
    ) -> None:
        self.content = content
        self.path = path
        self.source = source
        self.lines = lines
        self.seed = seed
        self.read: set[str] = set()

    def fail(self, key: str | None, problem: str) -> ScenarioError:
        """An error that names file, line and key."""
        path = self.path if key is None else (*self.path, key)
        number = next(
            (self.lines[path[:n]] for n in range(len(path), 0, -1) if path[:n] in self.lines), None
        )
        where = self.source if number is None else f'{self.source}:{number}'
        name = ''.join(f'[{part}]' if isinstance(part, int) else f'.{part}' for part in path)
        return ScenarioError(
            f'{where}: {name.lstrip(".")}: {problem}' if name else f'{where}: {problem}'
        )

    def __contains__(self, key: str) -> bool:
        return key in self.content

    def take(self, key: str, default: Any, kinds: type | tuple[type, ...], what: str) -> Any:
        """The value of a key, which must be of a type; *default* where it is not given."""
        self.read.add(key)
        value = self.content.get(key, default)
        if value is default:
            return default
        flags = kinds is bool or (isinstance(kinds, tuple) and bool in kinds)
        if not isinstance(value, kinds) or (isinstance(value, bool) and not flags):
            raise self.fail(key, f'{value!r} is not {what}')
        return value

    def text(self, key: str, default: Any = '') -> Any:
        """A string."""
        return self.take(key, default, str, 'a string')

    def flag(self, key: str, default: bool = False) -> bool:
        """``true`` or ``false``."""
        return bool(self.take(key, default, bool, 'true or false'))

    def integer(self, key: str, default: Any = 0, low: int = 0) -> Any:
        """A whole number, not below *low*."""
        value = self.take(key, default, int, 'a whole number')
        if value is not default and value < low:
            raise self.fail(key, f'{value} is below {low}')
        return value

    def seconds(self, key: str, default: float) -> float:
        """A number of seconds, not below zero."""
        value = self.take(key, default, (int, float), 'a number of seconds')
        if value is not default and value < 0:
            raise self.fail(key, f'{value} is below 0')
        return float(value)

    def word(self, key: str, allowed: tuple[str, ...], default: str) -> str:
        """One of the allowed words."""
        value = self.text(key, default)
        if value not in allowed:
            raise self.fail(key, f'{value!r} is none of {", ".join(allowed)}')
        return str(value)

    def list_of(self, key: str, kind: type, what: str) -> tuple[Any, ...]:
        """A list whose items are all of a type."""
        value = self.take(key, [], list, f'a list of {what}')
        for item in value:
            if not isinstance(item, kind) or isinstance(item, bool):
                raise self.fail(key, f'{item!r} is not {what}')
        return tuple(value)

    def table(self, key: str) -> Table:
        """A table within this one, empty where it is not given."""
        value = self.take(key, {}, dict, 'a table')
        return Table(value, (*self.path, key), self.source, self.lines, self.seed)

    def tables(self, key: str) -> Iterator[Table]:
        """An array of tables."""
        value = self.take(key, [], list, f'an array of tables: write [[{key}]]')
        for i, item in enumerate(value):
            if not isinstance(item, dict):
                raise self.fail(key, f'not an array of tables: write [[{key}]]')
            yield Table(item, (*self.path, key, i), self.source, self.lines, self.seed)

    def finish(self) -> None:
        """Complain about the first key nobody read."""
        for key in self.content:
            if key not in self.read:
                close = difflib.get_close_matches(key, self.read, 1)
                hint = f'; did you mean {close[0]}?' if close else ''
                allowed = ', '.join(sorted(self.read))
                raise self.fail(key, f'unknown key{hint} (allowed: {allowed})')

    # Numbers that move

    def signal(
        self, key: str, kind: str, default: Signal | None, *, salt: object = ''
    ) -> Signal | None:
        """A number of a kind, as number, text with a unit, or wave; :data:`None` for ``N/A``."""
        self.read.add(key)
        if key not in self.content:
            return default
        value = self.content[key]
        if value == 'N/A':
            return None
        if isinstance(value, dict):
            result = self._wave(key, kind, value, salt)
        else:
            result = Signal(self._number(key, kind, value))
        high = 100.0 if kind == '%' and isinstance(value, dict) else math.inf
        if result.low < -1e-6 or result.high > high + 1e-6:
            limits = '0 to 100' if high == 100.0 else 'at least 0'
            raise self.fail(
                key, f'moves from {result.low:g} to {result.high:g}, allowed is {limits}'
            )
        return result

    def _number(self, key: str, kind: str, value: object) -> float:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return value * _FACTORS.get(kind, 1.0)
        if isinstance(value, str) and kind in ('B', 'B/s'):
            match = _SIZE.match(value)
            if match:
                return float(match.group(1)) * UNITS[match.group(2)]
            raise self.fail(key, f'{value!r} is not a size such as 80 GiB, 512 MiB or 1.5 GB')
        raise self.fail(
            key,
            f'{value!r} is not a number, a wave such as {{ mean = 50, amplitude = 20 }}, or "N/A"',
        )

    def _wave(self, key: str, kind: str, wave: Mapping[str, Any], salt: object) -> Signal:
        table = Table(wave, (*self.path, key), self.source, self.lines, self.seed)
        steps = []
        for step in table.take('steps', [], list, 'a list of [seconds, value]'):
            if (
                not isinstance(step, list)
                or len(step) != 2
                or not isinstance(step[0], (int, float))
            ):
                raise table.fail('steps', f'{step!r} is not [seconds, value]')
            steps.append((float(step[0]), self._number(key, kind, step[1])))
        if steps != sorted(steps, key=lambda step: step[0]):
            raise table.fail('steps', 'not in order of time')
        if 'mean' not in table and not steps:
            raise table.fail('mean', 'missing; a wave has mean or steps')
        period = table.seconds('period', 60.0)
        if period <= 0:
            raise table.fail('period', 'must be above 0')
        seeds = (self.seed, *self.path, key, salt)
        result = Signal(
            mean=self._number(key, kind, table.take('mean', 0, (int, float, str), 'a number')),
            amplitude=self._number(
                key, kind, table.take('amplitude', 0, (int, float, str), 'a number')
            ),
            period=period,
            phase=float(table.take('phase', phase_of(*seeds, 'wave'), (int, float), 'a number')),
            shape=table.word('shape', SHAPES, 'sine'),
            noise=self._number(key, kind, table.take('noise', 0, (int, float, str), 'a number')),
            noise_phase=phase_of(*seeds, 'noise'),
            steps=tuple(steps),
        )
        table.finish()
        return result

    def value(self, field: schema.Field, *, index: int = 0) -> Value:
        """The value of a GPU's key."""
        raw = self.content.get(field.name)
        self.read.add(field.name)
        if raw == 'N/A':
            return None
        if field.kind in _NUMBERS:
            return self.signal(field.name, field.kind, None, salt=index)
        if field.kind == 'text':
            return (
                str(self.text(field.name))
                .replace('{i:05d}', f'{index:05d}')
                .replace('{i:06d}', f'{index:06d}')
                .replace('{i}', str(index))
            )
        if field.kind == 'flag':
            return self.flag(field.name)
        words = field.words or {}
        if field.kind == 'choice':
            return words[self.word(field.name, tuple(words), '')]
        result = 0
        for word in self.list_of(field.name, str, 'words'):
            if word not in words:
                raise self.fail(field.name, f'{word!r} is none of {", ".join(words)}')
            result |= words[word]
        return result


def read_scenario(path: pathlib.Path) -> Scenario:
    """Read and check a scenario file."""
    try:
        text = path.read_text(encoding='utf-8')
    except OSError as error:
        raise ScenarioError(f'{path}: {error.strerror}') from error
    except UnicodeDecodeError as error:
        raise ScenarioError(f'{path}: not UTF-8 text') from error
    return parse_scenario(text, name=path.stem, source=str(path))


def parse_scenario(text: str, *, name: str, source: str | None = None) -> Scenario:
    """Check a scenario's text. Raises :class:`ScenarioError` with file, line and key."""
    source = name if source is None else source
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(f'{source}: {error}') from error
    top = Table(content, (), source, key_lines(text))
    top.seed = top.integer('seed', 0)
    driver = top.table('driver')
    gpus = tuple(_gpus(top))
    scenario = Scenario(
        name=name,
        description=top.text('description', ''),
        seed=top.seed,
        driver_version=driver.text('version', '580.65.06'),
        cuda_version=_cuda_version(driver),
        hidden=driver.list_of('hide', str, 'names'),
        process_struct=driver.word('process_struct', ('v2', 'v3'), 'v2'),
        process_samples=driver.integer('process_samples', 1, low=1),
        mig_code=_code(driver, 'mig_error', 'INVALID_ARGUMENT'),
        pcie_throughput_seconds=driver.seconds('pcie_throughput_seconds', 0.0),
        gpus=gpus,
        processes=tuple(
            spec for table in top.tables('process') for spec in _processes(table, gpus)
        ),
        events=tuple(
            sorted(
                (_event(table, gpus) for table in top.tables('event')), key=lambda event: event.at
            )
        ),
        faults=tuple(_fault(table, gpus) for table in top.tables('fault')),
    )
    driver.finish()
    top.finish()
    return scenario


def _cuda_version(driver: Table) -> int:
    match = re.match(r'^(\d+)\.(\d+)$', driver.text('cuda', '13.0'))
    if not match:
        raise driver.fail('cuda', 'not a version such as "12.4"')
    return int(match.group(1)) * 1000 + int(match.group(2)) * 10


def _code(table: Table, key: str, default: str) -> int:
    name = str(table.text(key, default))
    if name not in NVML_ERRORS:
        raise table.fail(key, f'{name!r} is none of {", ".join(NVML_ERRORS)}')
    return NVML_ERRORS[name][0]


def _gpus(top: Table) -> Iterator[Gpu]:
    position = 0
    for table in top.tables('gpu'):
        model = table.text('model', 'H100')
        if model not in MODELS:
            raise table.fail('model', f'{model!r} is none of {", ".join(MODELS)}')
        defaults = Table({**_DEFAULTS, **MODELS[model]}, table.path, f'model {model}', {}, top.seed)
        given = [field for field in schema.FIELDS if field.name in table]
        for _ in range(table.integer('count', 1, low=1)):
            values: dict[str, Value] = {
                field.name: defaults.value(field, index=position)
                for field in schema.FIELDS
                if field.name in defaults
            }
            values.update((field.name, table.value(field, index=position)) for field in given)
            migs = tuple(_mig(mig, n, values) for n, mig in enumerate(table.tables('mig')))
            if migs and 'mig_mode' not in table:
                values['mig_mode'] = True
            yield Gpu(position, values, migs)
            position += 1
        table.read.update(schema.FIELDS_BY_NAME)
        table.finish()


def _mig(table: Table, number: int, gpu: Mapping[str, Value]) -> Mig:
    profile = str(table.text('profile', ''))
    match = _PROFILE.match(profile)
    if not match:
        raise table.fail(
            'profile', f'{profile!r} is not a profile such as 1g.10gb, 3g.40gb or 1c.3g.40gb'
        )
    values: dict[str, Value] = {
        'memory_total': Signal(float(match.group(3)) * UNITS['GiB'] * 0.98),
        'memory_reserved': Signal(16.0 * UNITS['MiB']),
        'memory_base': Signal(12.0 * UNITS['MiB']),
        'name': f'{gpu["name"]} MIG {profile}',
    }
    for name in schema.MIG_FIELDS:
        field = schema.FIELDS_BY_NAME[name]
        if name in table:
            values[name] = table.value(field)
        table.read.add(name)
    result = Mig(
        mig_index=table.integer('index', number),
        profile=profile,
        gpu_instance=table.integer('gpu_instance', number + 1),
        compute_instance=table.integer('compute_instance', 0),
        values=values,
        start=table.seconds('from', -math.inf),
        stop=table.seconds('until', math.inf),
    )
    table.finish()
    return result


def _positions(table: Table, gpus: tuple[Gpu, ...]) -> tuple[int, ...]:
    if table.content.get('gpus', 'all') == 'all':
        table.read.add('gpus')
        return tuple(range(len(gpus)))
    positions = table.list_of('gpus', int, 'indices of GPUs (or "all")')
    for position in positions:
        if not 0 <= position < len(gpus):
            raise table.fail('gpus', f'there is no GPU {position}: the scenario has {len(gpus)}')
    return positions


def _processes(table: Table, gpus: tuple[Gpu, ...]) -> Iterator[ProcessSpec]:
    positions = _positions(table, gpus)
    command = table.list_of('command', str, 'strings')
    if not command:
        raise table.fail('command', 'missing: a list of strings')
    groups = [positions] if table.flag('shared') else [(position,) for position in positions]
    mig = table.integer('mig', None)
    for group in groups:
        for position in group:
            if mig is not None and mig not in {device.mig_index for device in gpus[position].migs}:
                raise table.fail('mig', f'GPU {position} has no MIG device {mig}')
    for rank, group in enumerate(groups):
        yield ProcessSpec(
            command=tuple(
                word.replace('{gpu}', str(group[0] if group else 0)).replace('{rank}', str(rank))
                for word in command
            ),
            gpus=group,
            mig=mig,
            user=table.text('user', ''),
            type=table.word('type', ('C', 'G', 'C+G', 'M'), 'C'),
            memory=table.signal('memory', 'B', ZERO, salt=rank),
            sm=table.signal('sm', '%', ZERO, salt=rank) or ZERO,
            memory_utilization=table.signal('memory_utilization', '%', ZERO, salt=rank) or ZERO,
            encoder=table.signal('encoder', '%', ZERO, salt=rank) or ZERO,
            decoder=table.signal('decoder', '%', ZERO, salt=rank) or ZERO,
            start=table.seconds('from', -math.inf),
            stop=table.seconds('until', math.inf),
            state=table.word('state', ('running', 'zombie', 'gone'), 'running'),
            pid=table.integer('pid', None),
        )
    table.finish()


def _event(table: Table, gpus: tuple[Gpu, ...]) -> Event:
    if 'at' not in table:
        raise table.fail('at', 'missing: seconds since the start')
    changes = table.table('set')
    values = {}
    for key in changes.content:
        if key not in schema.FIELDS_BY_NAME:
            close = difflib.get_close_matches(key, schema.FIELDS_BY_NAME, 1)
            raise changes.fail(
                key, 'unknown key' + (f'; did you mean {close[0]}?' if close else '')
            )
        values[key] = changes.value(schema.FIELDS_BY_NAME[key])
    event = Event(table.seconds('at', 0.0), _positions(table, gpus), values)
    table.finish()
    return event


def _fault(table: Table, gpus: tuple[Gpu, ...]) -> Fault:
    call = table.text('call', '')
    if not call:
        raise table.fail('call', 'missing: the name of a function, * and ? allowed')
    gpu = table.integer('gpu', None)
    if gpu is not None and gpu >= len(gpus):
        raise table.fail('gpu', f'there is no GPU {gpu}: the scenario has {len(gpus)}')
    fault = Fault(
        call=call,
        gpu=gpu,
        code=_code(table, 'error', '') if 'error' in table else None,
        delay=table.seconds('delay', 0.0),
        hang=table.flag('hang'),
        after=table.integer('after', 0),
        every=table.integer('every', 1, low=1),
        times=table.integer('times', None, low=1),
        start=table.seconds('from', -math.inf),
        stop=table.seconds('until', math.inf),
    )
    table.read.add('error')
    if fault.code is None and not fault.delay and not fault.hang:
        raise table.fail(None, 'does nothing: give error, delay or hang')
    table.finish()
    return fault


_DEFAULTS: dict[str, object] = {
    field.name: field.default for field in schema.FIELDS if field.default is not None
}


def slices(profile: str) -> tuple[int, int]:
    """Compute and GPU slices of a MIG profile: ``'3g.40gb'`` → (3, 3), ``'1c.3g.40gb'`` → (1, 3)."""
    match = _PROFILE.match(profile)
    if match is None:
        raise ValueError(f'{profile!r} is not a MIG profile')
    gpu = int(match.group(2))
    return int(match.group(1) or gpu), gpu
