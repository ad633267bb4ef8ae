"""Hostile text in every field of a report with text from outside, in a terminal emulator."""

from __future__ import annotations

import re
import unicodedata

import pytest

from nvitop.console.options import Options
from nvitop.gui.model.columns import COLUMNS
from nvitop.gui.report import report_text
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
from tests.gui.drawing import assert_straight
from tests.gui.screen import shown

TEXTS = {
    'escape sequences': '\x1b]0;owned\x07\x1b[31m\x1b[2J\x1bc\x1b[6n',
    'C1': '\x9b31m\x9d0;owned\x9c\x84\x85\x8d',
    'line ends': 'a\r\nb\nc\rd\u2028e\u2029f\x0bg\x0ch\x85',
    'every control': ''.join(map(chr, [*range(32), 127, *range(128, 160)])),
    'right to left': '\u202eevil\u202c\u2066x\u2069\u200f\u061cשלום',
    'invisible': 'a\u200b\u200c\u200d\u2060\ufeff\u00ad\u180eb',
    'lone surrogates': '\ud800a\udfff\udcff',
    'NUL': '\x00a\x00',
    'wide': '漢字かなグッ한국어ﾊﾝｶｸ',
    'combining': 'e\u0301' + 'o' + '\u0300' * 40 + '\u0301',
    'joined': '👩\u200d🔬🏳\ufe0f\u200d🌈👍🏽🇯🇵1\ufe0f\u20e3',
    'unassigned': '\U000e0001\U0010ffff\ufffe\u0378',
    'private': '\ue000\uf8ff\U000f0000',
    'long': 'x' * (1 << 20),
    'long and wide': '漢' * (1 << 18),
    'long marks': '\u0301' * (1 << 18),
    'empty': '',
    'spaces': '   ',
}


def hostile(text: str) -> Sample:
    """Return a sample with this text in every field from outside."""
    gpu, mig, lost = DeviceKey(0), DeviceKey(0, 0), DeviceKey(1)
    infos = [
        DeviceInfo(key, key[0], name=text, bus_id=text, mig_profile=text)
        for key in (gpu, mig, lost)
    ]
    return Sample(
        0.0,
        sequence=1,
        driver_version=text,
        cuda_driver_version=text,
        simulated=text,
        host=HostSample(hostname=text, username=text),
        devices=(
            DeviceSample(gpu, infos[0], performance_state=text, compute_mode=text, mig_mode=text),
            DeviceSample(mig, infos[1]),
            DeviceSample(lost, infos[2], status='lost', reason=text),
        ),
        processes=tuple(
            ProcessSample(ProcessKey(pid, 1.0, gpu), type=text, username=text, command=text)
            for pid in (1, 2)
        ),
        problems=(Problem('driver', 'initialization', text, 'error'),),
    )


@pytest.mark.parametrize('width', [40, 79, 123])
@pytest.mark.parametrize('name', TEXTS)
def test_hostile_text_neither_controls_the_terminal_nor_moves_a_column(
    name: str, width: int
) -> None:
    sample = hostile(TEXTS[name])
    options = Options(columns=tuple(column.name for column in COLUMNS))
    for machine in (sample, sample._replace(devices=())):
        text = report_text(machine, options, width=width, colors=256)
        assert len(text) < 40_000
        plain = re.sub(r'\x1b\[[0-9;]*m', '', text)
        kinds = {unicodedata.category(char) for char in plain if char != '\n'}
        assert not kinds & {'Cc', 'Cf', 'Cs', 'Cn', 'Zl', 'Zp'}
        text.encode('utf-8')
        rows = shown(text, columns=width + 4, rows=plain.count('\n') + 1)
        assert_straight(rows)
