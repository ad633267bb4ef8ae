# SPDX-License-Identifier: Apache-2.0
"""Series: PromQL that selects them, and what they mean in all dialects of the exporter. Pure."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Iterable, NamedTuple

from nvitop.exporter.dialects import DIALECT_NAMES, dialect

if TYPE_CHECKING:
    from nvitop.exporter.dialects import DeviceRow

_ESCAPES = {'\\': '\\\\', '"': '\\"', '\n': '\\n', '\r': '\\r', '\t': '\\t', '\0': '\\x00'}
#: Characters with a meaning in RE2.
_SPECIAL = frozenset('\\.+*?()|[]{}^$')
_MATCHER = re.compile(
    r'\s*(?P<label>[A-Za-z_]\w*)\s*(?P<operator>=~|!~|!=|=)\s*'
    r'(?P<value>"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\')\s*(?:,|$)',
    re.ASCII,
)
_UNESCAPES = {'n': '\n', 'r': '\r', 't': '\t'}
LABEL = re.compile(r'[A-Za-z_][A-Za-z0-9_]*')
#: Label that names the part of a query from which a row comes.
ROW = 'nvitop_row'
#: Dialects in order of preference. If several report the same GPU, the first one counts.
PREFERENCE = ('own', 'dcgm', 'nvitop-exporter')
assert set(PREFERENCE) == set(DIALECT_NAMES)
#: Labels that name the host, the most specific first. ``instance`` has a port and may be an address.
HOST_LABELS = ('Hostname', 'hostname', 'host', 'node', 'kubernetes_node', 'exported_instance')
INSTANCE = 'instance'
#: Dialect → series with the processes of each user on each GPU, and its label with the user.
USER_SERIES = {
    'own': ('nvitop_user_gpu_processes', 'user'),
    'nvitop-exporter': ('process_gpu_memory_MiB', 'username'),
}
#: Series whose value is a number of processes; others have one series per process.
COUNTING_SERIES = frozenset({'nvitop_user_gpu_processes'})
#: Series with the memory of a user on a GPU → bytes per unit.
USER_MEMORY = {'nvitop_user_gpu_memory_bytes': 1.0, 'process_gpu_memory_MiB': float(1 << 20)}
#: The last Xid error of a GPU.
XID = 'DCGM_FI_DEV_XID_ERRORS'
#: Labels of MIG devices in DCGM, which have the same series as their GPU.
MIG_LABELS = ('GPU_I_ID',)
#: The owners of processes on each GPU.
OWNER_SERIES = 'nvitop_gpu_owner_info'
OWNER_LABELS = ('user', 'owner_kind', 'owner_id', 'owner_name')
#: Labels with which dcgm-exporter names the pod or job of a GPU. Prometheus renames those of pods
#: if the target has the same labels.
POD_LABELS = (('namespace', 'pod'), ('exported_namespace', 'exported_pod'))
JOB_LABEL = 'hpc_job'
_IDENTITIES = ('uuid', 'gpu_uuid', 'bare_uuid')
_INDICES = ('index', 'label')


class Matcher(NamedTuple):
    """A condition for a label: ``host=~"gpu.*"``."""

    label: str
    operator: str
    #: The text, not quoted.
    value: str

    def __str__(self) -> str:
        return f'{self.label}{self.operator}{quoted(self.value)}'


def quoted(text: str) -> str:
    """Return a text as a string of PromQL: ``'a"b'`` → ``'"a\\\\"b"'``."""
    return '"' + ''.join(_ESCAPES.get(char, char) for char in text) + '"'


def literal(text: str) -> str:
    """Return a regular expression of RE2 that matches this text only."""
    return ''.join(f'\\{char}' if char in _SPECIAL else char for char in text)


def containing(word: str) -> str:
    """Return a regular expression for texts with a word; case matters if it has an upper-case letter."""
    flag = '(?i)' if word == word.lower() else ''
    return f'{flag}.*{literal(word)}.*'


def vector(names: Iterable[str], matchers: Iterable[Matcher] = ()) -> str:
    """Return the selector of all series with one of these names that match."""
    name = '|'.join(map(literal, sorted(set(names))))
    conditions = [Matcher('__name__', '=~', name), *matchers]
    return '{' + ','.join(map(str, conditions)) + '}'


def marked(expression: str, mark: str) -> str:
    """Return an expression whose rows have the label ``nvitop_row``.

    The operator ``or`` ignores names: without different labels, it would drop rows.
    """
    return f'label_replace({expression}, "{ROW}", "{mark}", "", "")'


def parse_selector(text: str) -> tuple[Matcher, ...]:
    """Parse conditions such as ``{cluster="a", rack=~"r[12]"}``; the braces may be left out.

    Raises:
        ValueError: The text is not a selector.
    """
    rest = text.strip()
    if rest.startswith('{') and rest.endswith('}'):
        rest = rest[1:-1].strip()
    matchers = []
    while rest:
        match = _MATCHER.match(rest)
        if match is None:
            raise ValueError(f'expected {{label="value",...}}, not {text!r}')
        value = re.sub(
            r'\\(.)', lambda found: _UNESCAPES.get(found[1], found[1]), match['value'][1:-1]
        )
        matchers.append(Matcher(match['label'], match['operator'], value))
        rest = rest[match.end() :].strip()
    return tuple(matchers)


def is_reversible(row: DeviceRow) -> bool:
    """Whether the value of the metric can be read from a series of the row."""
    return len(row.metrics) == 1 and row.form in ('number', 'digits', 'reasons')


class Meaning(NamedTuple):
    """Meaning of a series."""

    dialect: str
    #: Name of the metric in :data:`nvitop.basics.metrics.METRICS`.
    metric: str
    #: The value × factor is in the unit of the metric: percent, bytes, watts, degrees Celsius.
    factor: float


@functools.lru_cache(maxsize=None)
def meanings() -> dict[str, Meaning]:
    """Return name of the series → its meaning, for GPU series with a number and no other labels."""
    return {
        row.name: Meaning(name, row.metrics[0], 1.0 / row.scale)
        for name in PREFERENCE
        for row in dialect(name).devices
        if is_reversible(row) and row.form == 'number' and not row.labels
    }


@functools.lru_cache(maxsize=None)
def names_of(metric: str) -> dict[str, tuple[str, ...]]:
    """Return dialect → names of its series of a metric, the oldest first."""
    found: dict[str, tuple[str, ...]] = {}
    for name, meaning in meanings().items():
        if meaning.metric == metric:
            found[meaning.dialect] = (*found.get(meaning.dialect, ()), name)
    return found


def series_of_metrics(metrics: Iterable[str]) -> frozenset[str]:
    """Return the names of the series of some metrics in all dialects."""
    found = (names for metric in metrics for names in names_of(metric).values())
    return frozenset().union(*found)


@functools.lru_cache(maxsize=None)
def identity_labels(name: str = '') -> tuple[str, ...]:
    """Return the labels with the UUID of a GPU: of one dialect, or of all."""
    return _labels_of(_IDENTITIES, name)


@functools.lru_cache(maxsize=None)
def index_labels(name: str = '') -> tuple[str, ...]:
    """Return the labels with the index of a GPU: of one dialect, or of all."""
    return _labels_of(_INDICES, name)


def _labels_of(keys: tuple[str, ...], only: str) -> tuple[str, ...]:
    names = (only,) if only else PREFERENCE
    labels = (label for name in names for label in dialect(name).labels.items())
    return tuple(dict.fromkeys(label for label, key in labels if key in keys))


def label_of(name: str, keys: Iterable[str]) -> tuple[str, str] | None:
    """Return where a dialect has a property of GPUs: the series with the label, and the label.

    The series is ``''`` if all of them have it. ``None``: the dialect does not have the property.
    """
    table, wanted = dialect(name), set(keys)
    for label, key in table.labels.items():
        if key in wanted:
            return '', label
    for info in table.device_info:
        for label, key in info.labels.items():
            if key in wanted:
                return info.name, label
    return None
