"""Hostile text: names, commands and users that an attacker could choose."""

from __future__ import annotations

import random

from nvitop.sampling.types import Problem, Sample
from tests.gui.random_samples import RandomSamples
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


class Hostile(RandomSamples):
    """Random samples with hostile text."""

    def text(self) -> str:
        return hostile_text(self.random)

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
