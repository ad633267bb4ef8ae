# SPDX-License-Identifier: Apache-2.0
"""One table of a TOML file, read key by key: types, units, waves, and errors that say where."""

from __future__ import annotations

import math
import re
from typing import Any, Iterable, Iterator, Mapping

from nvitop.simulation.abi import NVML_ERRORS
from nvitop.simulation.scenario import ScenarioError, Value
from nvitop.simulation.schema import ScenarioKey
from nvitop.simulation.waveforms import SHAPES, Signal, phase_of
from nvitop.toml import Part, TomlDocument, suggestion

UNITS = {
    'B': 1,
    'KB': 10**3, 'MB': 10**6, 'GB': 10**9, 'TB': 10**12,
    'KiB': 2**10, 'MiB': 2**20, 'GiB': 2**30, 'TiB': 2**40,
}  # fmt: skip
#: Kinds of numbers → what a number in the file is multiplied with.
FACTORS: Mapping[str, float] = {
    'count': 1, '%': 1, '°C': 1, 'MHz': 1, 'B': 1, 'B/s': 1, 'MB/s': 1, 'W': 1000, 'J': 1000,
}  # fmt: skip
_SIZE = re.compile(r'^\s*(\d+(?:\.\d+)?)\s*([KMGT]B|[KMGT]iB|B)(?:/s)?\s*$')
_INDEX = re.compile(r'\{i(?::0(\d+)d)?\}')
_NAN = math.nan


class TomlTable:
    """One table of the file. Each key has to be read; :meth:`finish` complains about the others."""

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
        #: What phases of waves depend on, beside their place in the file.
        self.seed = seed
        self._known: dict[str, None] = {}

    def __contains__(self, key: str) -> bool:
        return key in self.content

    def fail(self, key: str | None, problem: str) -> ScenarioError:
        """An error that names file, line and key."""
        path = self.path if key is None else (*self.path, key)
        line = 0 if self.document is None else self.document.line_of(path)
        where = f'{self.source}:{line}' if line else self.source
        name = ''.join(f'[{part}]' if isinstance(part, int) else f'.{part}' for part in path)
        return ScenarioError(': '.join(part for part in (where, name.lstrip('.'), problem) if part))

    def know(self, *keys: str) -> None:
        """These keys may stand in the table, whoever reads them."""
        self._known.update(dict.fromkeys(keys))

    def finish(self) -> None:
        """Complain about the first key that is not known."""
        for key in self.content:
            if key not in self._known:
                allowed = ', '.join(self._known)
                hint = suggestion(key, self._known)
                raise self.fail(key, f'unknown key{hint} (allowed: {allowed})')

    def _take(self, key: str, kinds: tuple[type, ...], what: str) -> Any:
        self.know(key)
        value = self.content[key]
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise self.fail(key, f'{value!r} is not {what}')
        return value

    # Plain values

    def text(self, key: str, default: str = '') -> str:
        """A string."""
        self.know(key)
        return str(self._take(key, (str,), 'a string')) if key in self else default

    def flag(self, key: str, default: bool = False) -> bool:
        """``true`` or ``false``."""
        self.know(key)
        return bool(self._take(key, (bool,), 'true or false')) if key in self else default

    def optional_integer(self, key: str, low: int = 0, high: int = 2**63) -> int | None:
        """A whole number between two, or :data:`None` where it is not given."""
        self.know(key)
        if key not in self:
            return None
        value = int(self._take(key, (int,), 'a whole number'))
        if not low <= value <= high:
            raise self.fail(key, f'{value} is not between {low} and {high}')
        return value

    def integer(self, key: str, default: int, low: int = 0) -> int:
        """A whole number, not below another."""
        value = self.optional_integer(key, low)
        return default if value is None else value

    def seconds(self, key: str, default: float) -> float:
        """A number of seconds, not below zero."""
        self.know(key)
        if key not in self:
            return default
        value = float(self._take(key, (int, float), 'a number of seconds'))
        if value < 0:
            raise self.fail(key, f'{value:g} is below 0')
        return value

    def word(self, key: str, allowed: Iterable[str], default: str) -> str:
        """One of the allowed words."""
        value = self.text(key, default)
        allowed = tuple(allowed)
        if value not in allowed:
            hint = suggestion(value, allowed)
            raise self.fail(key, f'{value!r} is none of {", ".join(allowed)}{hint}')
        return value

    def error_code(self, key: str, default: str) -> int:
        """A return code of NVML, by its name without ``NVML_ERROR_``."""
        return NVML_ERRORS[self.word(key, NVML_ERRORS, default)][0]

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings, empty where it is not given."""
        return tuple(self._list(key, str, 'a string'))

    def integers(self, key: str) -> tuple[int, ...]:
        """A list of whole numbers, empty where it is not given."""
        return tuple(self._list(key, int, 'a whole number'))

    def _list(self, key: str, kind: type, what: str) -> list[Any]:
        self.know(key)
        if key not in self:
            return []
        items: list[Any] = self._take(key, (list,), f'a list, each item {what}')
        for item in items:
            if not isinstance(item, kind) or isinstance(item, bool):
                raise self.fail(key, f'{item!r} is not {what}')
        return items

    # Tables

    def _inner(self, content: Mapping[str, Any], *path: Part) -> TomlTable:
        return TomlTable(content, (*self.path, *path), self.source, self.document, self.seed)

    def table(self, key: str) -> TomlTable:
        """A table within this one, empty where it is not given."""
        self.know(key)
        return self._inner(self._take(key, (dict,), 'a table') if key in self else {}, key)

    def tables(self, key: str) -> Iterator[TomlTable]:
        """An array of tables, empty where it is not given."""
        self.know(key)
        items = (
            self._take(key, (list,), f'an array of tables: write [[{key}]]') if key in self else []
        )
        for i, item in enumerate(items):
            if not isinstance(item, dict):
                raise self.fail(key, f'is not an array of tables: write [[{key}]]')
            yield self._inner(item, key, i)

    # Numbers that move

    def signal(
        self, key: str, kind: str, default: Signal | None, salt: object = ''
    ) -> Signal | None:
        """A number of a kind, as number, text with a unit, or wave; :data:`None` for ``N/A``."""
        self.know(key)
        if key not in self:
            return default
        value = self.content[key]
        if value == 'N/A':
            return None
        if not isinstance(value, dict):
            result = Signal(self._number(key, kind, value))
            high = math.inf  # a driver can answer anything, and a test can want that
        else:
            result = self._wave(key, kind, value, salt)
            high = 100.0 if kind == '%' else math.inf
        if result.low < -1e-6 or result.high > high + 1e-6:
            allowed = 'at least 0' if math.isinf(high) else '0 to 100'
            span = f'{result.low / FACTORS[kind]:g} to {result.high / FACTORS[kind]:g}'
            raise self.fail(key, f'goes from {span}, allowed is {allowed}')
        return result

    def _number(self, key: str, kind: str, value: object) -> float:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return value * FACTORS[kind]
        if not isinstance(value, str):
            raise self.fail(key, f'{value!r} is not a number')
        if kind not in ('B', 'B/s'):
            raise self.fail(key, f'{value!r} is not a number, a wave or "N/A"')
        match = _SIZE.match(value)
        if not match:
            raise self.fail(key, f'{value!r} is not a size such as "80 GiB", "512 MiB" or "1.5 GB"')
        return float(match.group(1)) * UNITS[match.group(2)]

    def _wave(self, key: str, kind: str, wave: Mapping[str, Any], salt: object) -> Signal:
        table = self._inner(wave, key)
        table.know('mean', 'amplitude', 'period', 'phase', 'shape', 'noise', 'steps')
        table.finish()
        steps = tuple(table._steps(kind))
        if steps and len(wave) > 1:
            raise table.fail('steps', 'does not go with other keys of a wave')
        if not steps and 'mean' not in wave:
            raise table.fail('mean', 'missing: a wave has a mean, or steps')
        period = table.seconds('period', 60.0)
        if period <= 0:
            raise table.fail('period', 'must be above 0')
        place = (self.seed, *self.path, key, salt)
        phase = table.seconds('phase', _NAN)
        return Signal(
            mean=table._number('mean', kind, wave.get('mean', 0)),
            amplitude=table._number('amplitude', kind, wave.get('amplitude', 0)),
            period=period,
            phase=phase_of(*place, 'wave') if math.isnan(phase) else phase,
            shape=table.word('shape', SHAPES, 'sine'),
            noise=table._number('noise', kind, wave.get('noise', 0)),
            noise_phase=phase_of(*place, 'noise'),
            steps=steps,
        )

    def _steps(self, kind: str) -> Iterator[tuple[float, float]]:
        last = -math.inf
        for step in self._list('steps', list, '[seconds, value]'):
            if len(step) != 2 or not isinstance(step[0], (int, float)) or step[0] < 0:
                raise self.fail('steps', f'{step!r} is not [seconds, value]')
            if step[0] <= last:
                raise self.fail('steps', f'{step!r} does not come after the step before it')
            last = step[0]
            yield float(step[0]), self._number('steps', kind, step[1])

    # Keys of a GPU

    def field(self, field: ScenarioKey, index: int = 0) -> Value:
        """The value of a key of a GPU; ``{i}`` in text is the GPU's place."""
        name = field.name
        self.know(name)
        if self.content[name] == 'N/A':
            return None
        if field.kind in FACTORS:
            return self.signal(name, field.kind, None, index)
        if field.kind == 'text':
            return _INDEX.sub(lambda match: f'{index:0{match.group(1) or 1}d}', self.text(name))
        if field.kind == 'flag':
            return self.flag(name)
        words = field.words or {}
        if field.kind == 'choice':
            return words[self.word(name, words, '')]
        bits = 0
        for word in self.texts(name):
            if word not in words:
                raise self.fail(name, f'{word!r} is none of {", ".join(words)}')
            bits |= words[word]
        return bits
