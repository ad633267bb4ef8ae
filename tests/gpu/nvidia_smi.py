"""Read values from nvidia-smi and compare them with those of nvitop."""

from __future__ import annotations

import re
import subprocess
from typing import Any

from nvitop.api.device import ClockEventReasons
from nvitop.api.metrics import EXTENDED_METRICS, METRICS, Metric
from nvitop.api.utils import NA, MiB

#: Metrics with an nvidia-smi name.
COMPARED = tuple(m for m in (*METRICS, *EXTENDED_METRICS) if m.query is not None)
#: Texts of nvidia-smi for a missing value.
MISSING = re.compile(r'\[?(N/A|Not Supported|Unknown Error|GPU requires reset|Not Found)\]?', re.I)
#: Text of nvidia-smi for a value that it no longer prints, whatever NVML returns.
DEPRECATED = '[Requested functionality has been deprecated]'
#: Unit → maximum difference of two readings at different times; other values must be equal.
TOLERANCES = {'%': 30.0, '°C': 5.0, 'W': 75.0, 'MHz': 400.0, 'B': 256.0 * MiB}
#: Text of nvidia-smi → name in NVML, both in lower case and without spaces.
_SAME = {
    'exclusive_process': 'exclusiveprocess',
    'yes': 'enabled',
    'no': 'disabled',
    'supported': 'enabled',
}


def query(names: list[str], index: int) -> dict[str, str]:
    """Return values of nvidia-smi by name, without the names that it does not know."""
    names = list(names)
    while names:
        command = ['nvidia-smi', f'--query-gpu={",".join(names)}', f'--id={index}']
        result = subprocess.run(
            [*command, '--format=csv,noheader,nounits'],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=60,
        )
        text = result.stdout.decode('utf-8', 'replace').strip()
        unknown = re.search(r'Field "([^"]+)" is not a valid field', text)
        if unknown is None:
            assert result.returncode == 0, text
            return dict(zip(names, (value.strip() for value in text.split(', '))))
        names.remove(unknown.group(1))
    return {}


def names_in_help(text: str) -> list[str]:
    """Return the names in ``nvidia-smi --help-query-gpu``: quoted, with "or" between aliases."""
    lines = re.findall(r'^("[^"\n]+"(?: or "[^"\n]+")*)', text, re.MULTILINE)
    return [name for line in lines for name in re.findall(r'"([^"]+)"', line)]


def difference(metric: Metric, before: Any, text: str, after: Any) -> str:
    """Return why a text of nvidia-smi contradicts nvitop's values before and after it, or ``''``."""
    if text == DEPRECATED:
        return ''
    if MISSING.fullmatch(text):
        return '' if NA in (before, after) else f'nvidia-smi has no value, nvitop {before!r}'
    if NA in (before, after):
        return f'nvidia-smi has {text}, nvitop no value'
    if metric.kind == 'list':
        allowed = int(before) | int(after)
        return '' if int(text, 16) & ~allowed == 0 else f'{text} is not in {allowed:#x}'
    if metric.kind == 'bool':
        wanted = {'Yes' if value else 'No' for value in (before, after)}
        return '' if text in wanted else f'{text!r} is not {before!r}'
    if metric.kind == 'str':
        wanted = {_plain(before), _plain(after)}
        return '' if _plain(text) in wanted else f'{text!r} is not {before!r}'
    value = float(text) * (MiB if metric.unit == 'B' else metric.divisor)
    tolerance = 0.0 if metric.tier == 'static' else TOLERANCES.get(metric.unit, 0.0)
    if metric.unit == 'B':
        tolerance = max(tolerance, 1.0 * MiB)  # nvidia-smi rounds to MiB
    low, high = sorted((before, after))
    tolerance = max(tolerance * metric.divisor, 0.01 * metric.divisor if metric.divisor > 1 else 0)
    if low - tolerance <= value <= high + tolerance:
        return ''
    return f'nvidia-smi has {text}, nvitop {before!r} and then {after!r}'


def _plain(value: Any) -> str:
    text = '.'.join(map(str, value)) if isinstance(value, tuple) else str(value)
    text = text.lower().replace(' ', '')
    return _SAME.get(text, text).replace('_', '')


def raw_value(device: Any, metric: Metric) -> Any:
    """Return the value of nvitop; clock event reasons as flags."""
    value = getattr(device, metric.method)
    value = value() if callable(value) else value
    assert metric.kind != 'list' or value is NA or isinstance(value, ClockEventReasons)
    return value
