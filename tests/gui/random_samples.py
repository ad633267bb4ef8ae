"""Random samples, the same ones for the same seed, and random text."""

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
    ProcessKey,
    ProcessSample,
    Sample,
)

#: Any text, with more difficult characters than random text has.
HOSTILE = st.text(
    st.one_of(
        st.characters(exclude_categories=()),
        st.sampled_from('\x00\x07\t\n\r\x0b\x1b\x7f\x84\x85\x90\x9b\x9c\x9d\u2028\u2029'),
        st.sampled_from('\u00ad\u061c\u200b\u200c\u200d\u200e\u202a\u202e\u2060\u2066\u2069\ufeff'),
        st.sampled_from(
            '漢字かガ한글ｗ\u3099\u1100\u1161\u11a8a\u0301\u0338\u0e01\u0e31\u0915\u093e'
        ),
        st.sampled_from('🇩🇪👩👩🏽💻❤\ufe0f\ufe0e1\u20e3🏴\U000e0067\U000e007f\ud83d\udc80\ue0b0'),
    ),
    max_size=20,
)
CHARACTERS = [
    *'ab Zz09-./"',
    *'\x00\x1b\n\t\x7f\x9b\xa0\xad\u200b\u200d\u202e\u2066\ud800\U0001f468',
    *'漢字한グッ́̈ﷺ',
]


class RandomSamples:
    """A generator of samples, determined by its seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def text(self) -> str:
        length = self.random.choice([0, 1, 3, 8, 19, 60])
        return ''.join(self.random.choices(CHARACTERS[: self.random.choice([10, 99])], k=length))

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
