"""Values of an owner as ``name=value``, placeholders for long IDs, and marks of tests."""

from __future__ import annotations

import os
import pathlib
import sys

import pytest

from nvitop.basics.text import printable
from nvitop.owner.types import Owner

#: Marks of tests with real processes in real control groups.
REAL_OWNERS = (
    pytest.mark.slow,
    pytest.mark.skipif(
        sys.platform != 'linux' or 'NVITOP_REAL_OWNERS' not in os.environ,
        reason='NOT TESTED: needs root and a private mount namespace, see `make test-owners`',
    ),
)
CONTAINER = '4f797c539e6c745de61a93ca3ff892358ecbcaccd8414d5db545c38428142970'
OUTER = '9ec39b91f3d70e1beff50a308f77067065ea6be0d91a3378375056cd4422cf3d'
POD = '5ba385ca-b6e6-4246-bd66-d48d429dbc12'
PLACES = {
    '<C>': CONTAINER,
    '<D>': OUTER,
    '<P>': POD,
    '<Q>': POD.replace('-', '_'),
    '<S>': '712b37831be464ccc2fb1553ef89aa91',
    '<U>': '/user.slice/user-1000.slice/user@1000.service',
}


def filled(text: str) -> str:
    for place, value in PLACES.items():
        text = text.replace(place, value)
    return text


def is_safe(text: str) -> bool:
    return printable(text) == text


def values_of(owner: Owner) -> str:
    """Return the text of an owner and its layers: ``KIND=ID/DETAIL``, claims with ``!``."""
    layers = (
        f'{layer.kind}={layer.id}{"/" * bool(layer.detail)}{layer.detail}{"!" * layer.claim}'
        for layer in owner.layers
    )
    return f'{owner}: {" ".join(layers)}'


def corpus() -> list[tuple[str, str]]:
    """Return texts of ``/proc/PID/cgroup`` and their values."""
    path = pathlib.Path(__file__).parent / 'cgroups.tsv'
    rows = [line.split('\t') for line in path.read_text(encoding='utf-8').splitlines()]
    return [
        (filled(text.replace('\\n', '\n').replace('\\\\', '\\')), filled(values))
        for text, values in (row for row in rows if not row[0].startswith('#'))
    ]
