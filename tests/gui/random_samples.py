"""Random samples with hostile text: names, commands and users that an attacker could choose."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import strategies as st

from nvitop.owner.types import KINDS, Layer, Owner, make_owner
from nvitop.sampling.types import (
    DeviceInfo,
    DeviceKey,
    DeviceSample,
    HostSample,
    Problem,
    ProcessKey,
    ProcessSample,
    Sample,
)
from tests.gui.samples import with_families

#: Text with a meaning for terminals, spreadsheets and parsers.
SEQUENCES = (
    '\x1b[2J', '\x1b[31m', '\x1b]0;title\x07', '\x1b]52;c;aGk=\x07', '\x1bP+q544e\x1b\\',
    '\x1b[6n', '\x1b[?1049l', '\x1bc', '\x9b31m', '\x9d0;title\x9c', '\x0e\x0f', '\r\n',
    '\u2028', '\u2029', '\x85', '\u202e', '\u2066', '\u2069', '\u200d', '\ufe0f', '\u20e3',
    '=1+1', '=HYPERLINK("https://example.org")', '+1', '-1', '@SUM(1)', "'", '"', '","', "'=",
    '[N/A]', '\\u0000', '</script>', '%s%n', '{0}', '$(id)', '[bold]', '/home/alice/train.py',
    'python3 -m torch.distributed.run', '👩\u200d🔬', '🇯🇵', '漢字', '한국어', 'e\u0301', 'שלום',
    'مرحبا', '﷽',
)  # fmt: skip
#: First and last characters of blocks of single characters.
BLOCKS = (
    (0x20, 0x7E), (0x00, 0x1F), (0x7F, 0x9F), (0xA0, 0x24F), (0x300, 0x36F), (0x590, 0x6FF),
    (0x1100, 0x11FF), (0x200B, 0x206F), (0x20D0, 0x20FF), (0x2500, 0x259F), (0x3040, 0x30FF),
    (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0xD800, 0xDFFF), (0xE000, 0xF8FF), (0xFE00, 0xFE0F),
    (0xFFF0, 0xFFFF), (0x1F1E6, 0x1F1FF), (0x1F300, 0x1FAFF), (0xE0000, 0xE01EF),
    (0x10FF00, 0x10FFFF),
)  # fmt: skip


def hostile_text(source: random.Random) -> str:
    """Generate a text. One in ten thousand is a megabyte long."""
    length = source.choice((0, 1, 2, 5, 12, 30))
    text = ''.join(_piece(source) for _ in range(length))
    if text and source.random() < 0.0001:
        text *= (1 << 20) // len(text) + 1
    return text


def _piece(source: random.Random) -> str:
    if source.random() < 0.4:
        return source.choice(SEQUENCES)
    first, last = source.choice(BLOCKS)
    return chr(source.randint(first, last))


#: Such texts, as examples of Hypothesis.
HOSTILE = st.integers(0, 1 << 32).map(lambda seed: hostile_text(random.Random(seed))[:20])


class RandomSamples:
    """A generator of samples, determined by its seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def text(self) -> str:
        return hostile_text(self.random)

    def number(self, most: float) -> float | int | None:
        value = self.random.choice([None, 0, most, self.random.uniform(0, most)])
        return value if value is None or self.random.random() < 0.5 else int(value)

    def value(self, field: str, kind: str = 'str') -> Any:
        """Return a value for a field of this type; the field's unit limits it."""
        if 'str' in kind:
            return self.random.choice([None, self.text()])
        if 'int' not in kind and 'float' not in kind:
            return None
        if field.endswith('_percent'):
            return self.number(100)
        if field.endswith('_seconds'):
            return self.number(1e10)
        return self.number(self.random.choice([100, 1e6, 1 << 40, 1 << 62]))

    def fill(self, kind: Any, **fields: Any) -> Any:
        """Return a sample of this type with random values in its optional fields."""
        for field, default in kind._field_defaults.items():
            if default is None:
                fields.setdefault(
                    field, self.value(field, kind.__annotations__[field].__forward_arg__)
                )
        return kind(**fields)

    def device(self, key: DeviceKey) -> DeviceSample:
        info = self.fill(DeviceInfo, key=key, physical_index=key[0], name=self.text())
        status = self.random.choice(['ok', 'ok', 'ok', 'lost', 'timed out', 'error'])
        sample: DeviceSample = self.fill(
            DeviceSample, key=key, info=info, status=status, reason=self.text()
        )
        return sample

    def process(self, key: DeviceKey) -> ProcessSample:
        choice = self.random.choice
        sample: ProcessSample = self.fill(
            ProcessSample,
            key=ProcessKey(self.random.randrange(1 << choice([3, 16, 32])), 1.0, key),
            type=choice(['C', 'G', 'C+G', 'M', None]),
            status=choice(['running', 'zombie', 'gone', 'no permission', 'foreign']),
            is_own=choice([True, False]),
            owner=self.owner(),
        )
        return sample

    def owner(self) -> Owner | None:
        """Return an owner as a recording or another host may have it: with any text in it."""
        choice = self.random.choice
        layers = tuple(
            Layer(choice([*KINDS, self.text()]), self.text(), choice([None, self.text()]))
            for _ in range(choice([0, 0, 1, 3]))
        )
        return choice([None, make_owner(layers)])

    def sample(self) -> Sample:
        choice = self.random.choice
        keys = [
            DeviceKey(index * choice([1, 30]), mig)
            for index in range(choice([0, 1, 2, 4]))
            for mig in range(-1, choice([0, 0, 2]))
        ]
        loads = tuple(self.random.uniform(0, 1e6) for _ in range(3))
        return Sample(
            1.0,
            sequence=choice([0, 1]),
            driver_version=self.value('version'),
            cuda_driver_version=self.value('version'),
            simulated=choice(['', 'dgx', 'x' * 90]),
            host=self.fill(
                HostSample,
                hostname=self.text(),
                username=self.text(),
                is_superuser=choice([True, False]),
                load_average=choice([None, loads]),
            ),
            devices=tuple(self.device(key) for key in sorted(set(keys))),
            processes=tuple(self.process(key) for key in keys for _ in range(choice([0, 3]))),
        )

    def machine(self, processes: int) -> Sample:
        """Generate a sample with this number of GPU processes, their relatives, and problems."""
        sample = self.sample()
        # These names come from nvitop, not from outside.
        devices = tuple(device._replace(clock_event_reasons=()) for device in sample.devices)
        sample = sample._replace(devices=devices)
        keys = [device.key for device in sample.devices]
        many = tuple(
            self.process(self.random.choice(keys)) for _ in range(processes if keys else 0)
        )
        sample = with_families(sample._replace(sequence=1, processes=many))
        families = tuple(
            process._replace(command=self.text(), username=self.text())
            for process in sample.host_processes
        )
        problems = (Problem('host', self.text(), self.text(), 'error'),)
        return sample._replace(host_processes=families, problems=problems)

    def environment(self, size: int) -> tuple[tuple[str, str], ...]:
        return tuple((self.text(), self.text()) for _ in range(size))
