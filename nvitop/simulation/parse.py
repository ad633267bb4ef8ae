# SPDX-License-Identifier: Apache-2.0
"""Scenario files: TOML → :class:`Scenario`, strictly checked by the rows of :mod:`nvitop.simulation.schema`."""

from __future__ import annotations

import math
import pathlib
import re
from typing import Any, BinaryIO, Callable, Iterable, Iterator, Mapping, Sequence

from nvitop.basics.toml import Part, TomlDocument, TomlError, unknown
from nvitop.basics.units import MiB, human2bytes, parse_duration
from nvitop.simulation.scenario import (
    Event,
    Fault,
    Gpu,
    Host,
    Mig,
    ProcessSpec,
    Pulse,
    Scenario,
    ScenarioError,
    Signal,
    Value,
    phase_of,
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
    MODELS,
    NO_MODEL,
    PROCESS_KEYS,
    REQUIRED,
    WAVE_KEYS,
    ScenarioKey,
)

#: Unit of a number in the file → factor to the unit of the driver.
FACTORS: Mapping[str, float] = {
    'count': 1, '%': 1, 'CPU %': 1, '°C': 1, 'MHz': 1, 'B': 1, 'B/s': 1, 'MB/s': 1, 'W': 1000, 'J': 1000,
}  # fmt: skip
_VERSION = re.compile(r'^\d+(\.\d+)+$')
_INDEX = re.compile(r'\{i(?::0(\d+)d)?\}')


class TomlTable:
    """One table of the file. Every mistake in it raises :class:`ScenarioError`."""

    def __init__(
        self,
        content: Mapping[str, Any],
        path: tuple[Part, ...] = (),
        source: str = '',
        document: TomlDocument | None = None,
        seed: int = 0,
    ) -> None:
        self.content = content
        self.path = path
        self.source = source
        self.document = document
        #: The phases of waves depend on it, and on their place in the file.
        self.seed = seed

    def __contains__(self, name: str) -> bool:
        return name in self.content

    def error(self, name: str | None, problem: str) -> ScenarioError:
        """An error with the file, the line and the key (:data:`None`: the table itself)."""
        path = self.path if name is None else (*self.path, name)
        line = 0 if self.document is None else self.document.line_of(path)
        where = f'{self.source}:{line}' if line else self.source
        key = ''.join(f'[{part}]' if isinstance(part, int) else f'.{part}' for part in path)
        return ScenarioError(': '.join(part for part in (where, key.lstrip('.'), problem) if part))

    # Tables

    def check(self, keys: Iterable[ScenarioKey], *tables: str) -> None:
        """Raise an error about the first key that is neither one of these nor one of the tables."""
        known = [*(key.name for key in keys), *tables]
        for name in self.content:
            if name not in known:
                raise self.error(name, unknown('key', name, known))

    def read(self, keys: Sequence[ScenarioKey], *others: str, salt: object = '') -> dict[str, Any]:
        """Values of the keys by the names of their fields; *others* may be there too.

        Missing keys have their default; those without a default are left out.
        """
        self.check(keys, *others)
        values = {}
        for key in keys:
            if key.name in self.content:
                values[key.field or key.name] = self._convert(key, self.content[key.name], salt)
            elif key.default is REQUIRED:
                raise self.error(key.name, f'required key is missing: {key.help}')
            elif key.default is not None:
                values[key.field or key.name] = self._convert(key, key.default, salt)
        return values

    def table(self, name: str) -> TomlTable:
        """A table within this one; empty if it is missing."""
        content = self.content.get(name, {})
        if not isinstance(content, dict):
            raise self._mismatch(name, content, f'a table: [{name}]')
        return self._inner(content, name)

    def tables(self, name: str) -> Iterator[TomlTable]:
        """The tables of an array; none if it is missing."""
        items = self.content.get(name, [])
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            raise self._mismatch(name, items, f'an array of tables: [[{name}]]')
        for i, item in enumerate(items):
            yield self._inner(item, name, i)

    def _inner(self, content: Mapping[str, Any], *path: Part) -> TomlTable:
        return TomlTable(content, (*self.path, *path), self.source, self.document, self.seed)

    # Values

    def gpu_value(self, key: ScenarioKey, position: int = 0) -> Value:
        """The value of a key of a GPU: ``"N/A"`` is None; ``{i}`` in text is the position."""
        value = self.content[key.name]
        if value == 'N/A':
            return None
        result: Value = self._convert(key, value, position)
        if key.kind != 'text':
            return result
        return _INDEX.sub(lambda match: f'{position:0{match.group(1) or 1}d}', str(result))

    def _convert(self, key: ScenarioKey, value: object, salt: object) -> Any:
        if key.kind in FACTORS:
            return self._signal(key, value, salt)
        return _CONVERTERS[key.kind](self, key, value)

    def _mismatch(self, name: str, value: object, expected: str) -> ScenarioError:
        return self.error(name, f'expected {expected}, got {value!r}')

    def _text(self, key: ScenarioKey, value: object) -> str:
        if not isinstance(value, str):
            raise self._mismatch(key.name, value, 'a string')
        return value

    def _version(self, key: ScenarioKey, value: object) -> str:
        if value == 'N/A':
            return ''
        if not isinstance(value, str) or not _VERSION.match(value):
            raise self._mismatch(key.name, value, f'a version such as "{key.default}"')
        return value

    def _flag(self, key: ScenarioKey, value: object) -> bool:
        if not isinstance(value, bool):
            raise self._mismatch(key.name, value, 'true or false')
        return value

    def _integer(self, key: ScenarioKey, value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise self._mismatch(key.name, value, 'a whole number')
        if value < key.low or (key.high is not None and value > key.high):
            limits = (
                f'of at least {key.low}' if key.high is None else f'from {key.low} to {key.high}'
            )
            raise self._mismatch(key.name, value, f'a number {limits}')
        return value

    def _counts(self, key: ScenarioKey, value: object) -> dict[str, int]:
        if not isinstance(value, dict) or not all(
            type(count) is int and count >= 0 for count in value.values()
        ):
            raise self._mismatch(key.name, value, 'a table of numbers')
        return value

    def _seconds(self, key: ScenarioKey, value: object) -> float:
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not value >= 0:
            raise self._mismatch(key.name, value, 'a number of seconds, at least 0')
        return float(value)

    def _duration(self, key: ScenarioKey, value: object) -> float:
        if not isinstance(value, str):
            return self._seconds(key, value)
        try:
            return parse_duration(value)
        except ValueError as error:
            raise self.error(key.name, str(error)) from error

    def _texts(self, key: ScenarioKey, value: object) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self._mismatch(key.name, value, 'a list of strings')
        return tuple(value)

    def _gpus(self, key: ScenarioKey, value: object) -> tuple[int, ...] | None:
        """Positions of GPUs; :data:`None` means all."""
        if value == 'all':
            return None
        if not isinstance(value, list) or not all(type(item) is int for item in value):
            raise self._mismatch(key.name, value, '"all" or a list of GPU indices')
        return tuple(value)

    def _choice(self, key: ScenarioKey, value: object) -> Any:
        words = key.words or {}
        if not isinstance(value, str) or value not in words:
            raise self.error(key.name, unknown('value', str(value), words))
        return words[value]

    def _names(self, key: ScenarioKey, value: object) -> int:
        """A list of words as a bitmask."""
        return sum({self._choice(key, word) for word in self._texts(key, value)})

    # Numbers that can change with time

    def _signal(self, key: ScenarioKey, value: object, salt: object) -> Signal | None:
        if value == 'N/A' and key.can_be_na:
            return None
        if not isinstance(value, dict):
            result = Signal(self._number(key.name, key.kind, value))
            highest = math.inf  # fixed numbers may be impossible, for tests
        else:
            result = self._wave(key, value, salt)
            highest = 100.0 if key.kind == '%' else math.inf
        if result.low < -1e-6 or result.high > highest + 1e-6:
            allowed = 'of at least 0' if math.isinf(highest) else 'from 0 to 100'
            low, high = result.low / FACTORS[key.kind], result.high / FACTORS[key.kind]
            raise self.error(key.name, f'expected values {allowed}, got {low:g} to {high:g}')
        return result

    def _number(self, name: str, kind: str, value: object) -> float:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return value * FACTORS[kind]
        if kind not in ('B', 'B/s'):
            raise self._mismatch(name, value, 'a number or a wave')
        try:
            if isinstance(value, str):
                return human2bytes(value[:-2] if value.endswith('/s') else value)
        except ValueError:
            pass
        raise self._mismatch(name, value, 'a size such as "80 GiB", "512 MiB" or "1.5 GB"')

    def _wave(self, key: ScenarioKey, content: Mapping[str, Any], salt: object) -> Signal:
        table = self._inner(content, key.name)
        table.check(WAVE_KEYS)
        if 'steps' in table:
            if len(content) > 1:
                raise table.error('steps', 'cannot be combined with other keys of a wave')
            return Signal(0.0, steps=tuple(table._steps(key.kind)))
        if 'mean' not in table:
            raise table.error('mean', 'required key is missing: a wave needs mean or steps')
        values = table.read(WAVE_KEYS)
        if values['period'] <= 0:
            raise table.error('period', 'expected a number above 0')
        place = (self.seed, *self.path, key.name, salt)
        return Signal(
            mean=table._number('mean', key.kind, values['mean']),
            amplitude=table._number('amplitude', key.kind, values['amplitude']),
            period=values['period'],
            phase=values.get('phase', phase_of(*place, 'wave')),
            shape=values['shape'],
            noise=table._number('noise', key.kind, values['noise']),
            noise_phase=phase_of(*place, 'noise'),
            pulses=tuple(table._pulses(key.kind)) if 'pulses' in table else (),
        )

    def _pulses(self, kind: str) -> Iterator[Pulse]:
        pulses, form = self.content['pulses'], '[period, duration, change, start]'
        if not isinstance(pulses, list):
            raise self._mismatch('pulses', pulses, f'[{form}, …]')
        for pulse in pulses:
            if not isinstance(pulse, list) or len(pulse) != 4:
                raise self._mismatch('pulses', pulse, form)
            seconds = [self._number('pulses', 'count', pulse[i]) for i in (0, 1, 3)]
            change = self._number('pulses', kind, pulse[2])
            if not 0 < seconds[1] <= seconds[0]:
                raise self.error('pulses', f'{pulse!r} needs a duration above 0, up to the period')
            yield Pulse(seconds[0], seconds[1], change, seconds[2])

    def _steps(self, kind: str) -> Iterator[tuple[float, float]]:
        steps, last = self.content['steps'], -math.inf
        if not isinstance(steps, list) or not steps:
            raise self._mismatch('steps', steps, '[[seconds, value], …]')
        for step in steps:
            if not isinstance(step, list) or len(step) != 2:
                raise self._mismatch('steps', step, '[seconds, value]')
            seconds, value = step
            if not isinstance(seconds, (int, float)) or seconds < 0:
                raise self._mismatch('steps', step, '[seconds, value]')
            if seconds <= last:
                raise self.error('steps', f'{step!r} is not later than the step before it')
            last = seconds
            yield float(seconds), self._number('steps', kind, value)


_CONVERTERS: Mapping[str, Callable[[TomlTable, ScenarioKey, object], object]] = {
    'text': TomlTable._text,
    'version': TomlTable._version,
    'flag': TomlTable._flag,
    'integer': TomlTable._integer,
    'counts': TomlTable._counts,
    'seconds': TomlTable._seconds,
    'duration': TomlTable._duration,
    'strings': TomlTable._texts,
    'GPUs': TomlTable._gpus,
    'choice': TomlTable._choice,
    'names': TomlTable._names,
    'number': lambda table, key, value: value,
}


_PROFILE = re.compile(r'^(?:(\d+)c\.)?(\d+)g\.(\d+)gb(?:\+.*)?$')
#: Part of the memory of a profile's name that programs can use.
_USABLE_MEMORY = 0.98
_DEFAULTS: Mapping[str, object] = {
    key.name: key.default for key in GPU_KEYS if key.default is not None
}


#: Maximum size of a scenario file.
MAX_BYTES = 4 << 20
#: Values of a GPU without a model. Its other missing values are N/A, except those with an identity.
_NO_MODEL_DEFAULTS = {'present': True, 'lost': False}
_IDENTITY = ('uuid', 'bus_id')


def read_scenario(file: BinaryIO, path: pathlib.Path) -> Scenario:
    """Read and check an open scenario file; a ScenarioError names *path*, line and key."""
    data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ScenarioError(f'{path}: larger than {MAX_BYTES >> 20} MiB')
    try:
        text = data.decode('utf-8').replace('\r\n', '\n')
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
    return scenario_of(document.values, name=name, source=source, document=document)


def scenario_of(
    values: Mapping[str, Any], *, name: str, source: str = '', document: TomlDocument | None = None
) -> Scenario:
    """Check the values of a scenario file; a ScenarioError names *source* and key."""
    top = TomlTable(values, source=source or name, document=document)
    head = top.read(FILE_KEYS, 'driver', 'host', 'gpu', 'process', 'event', 'fault')
    top.seed = head['seed']
    driver = top.table('driver').read(DRIVER_KEYS)
    major, minor = (driver.pop('cuda_version') or '0.0').split('.')[:2]
    gpus = tuple(_gpus(top))
    events = (_event(table, gpus) for table in top.tables('event'))
    return Scenario(
        name=name,
        **head,
        **driver,
        cuda_version=int(major) * 1000 + int(minor) * 10,
        host=Host(**top.table('host').read(HOST_KEYS)) if 'host' in top else None,
        gpus=gpus,
        processes=tuple(
            process for table in top.tables('process') for process in _processes(table, gpus)
        ),
        events=tuple(sorted(events, key=lambda event: event.at)),
        faults=tuple(_fault(table, gpus) for table in top.tables('fault')),
    )


def _gpus(top: TomlTable) -> Iterator[Gpu]:
    position = 0
    for table in top.tables('gpu'):
        settings = table.read(GPU_TABLE_KEYS, *GPU_KEYS_BY_NAME, 'mig')
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
    settings = {
        'mig_index': number,
        'gpu_instance_id': number + 1,
        **table.read(MIG_KEYS, *MIG_VALUES),
    }
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
        **{name: table.gpu_value(GPU_KEYS_BY_NAME[name]) for name in MIG_VALUES if name in table},
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
        values = table.read(PROCESS_KEYS, salt=rank)  # waves have another phase for each rank
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
    settings = table.read(EVENT_KEYS, 'set')
    settings['gpus'] = _positions(table, settings['gpus'], gpus)
    changes = table.table('set')
    changes.check(GPU_KEYS)
    values = {name: changes.gpu_value(GPU_KEYS_BY_NAME[name]) for name in changes.content}
    event = Event(**settings, values=values)
    if event.until <= event.at:
        raise table.error('until', 'expected a time later than "at"')
    return event


def _fault(table: TomlTable, gpus: tuple[Gpu, ...]) -> Fault:
    fault = Fault(**table.read(FAULT_KEYS))
    if isinstance(fault.gpu, int) and fault.gpu >= len(gpus):
        raise table.error('gpu', _no_gpu(fault.gpu, gpus))
    if fault.code is None and not fault.delay and not fault.hang:
        raise table.error(None, 'a fault needs error, delay or hang')
    return fault
