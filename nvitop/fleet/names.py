# SPDX-License-Identifier: Apache-2.0
"""Meanings of the series of all dialects, from the tables of the exporter. Pure."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Iterable, NamedTuple

from nvitop.exporter.dialects import DIALECT_NAMES, dialect

if TYPE_CHECKING:
    from nvitop.exporter.tables import DeviceRow

#: Dialects in order of preference. If several report the same GPU, the first one counts.
PREFERENCE = ('own', 'dcgm', 'nvidia-smi', 'nvitop-exporter')
assert set(PREFERENCE) == set(DIALECT_NAMES)
#: Labels that name the host, the most specific first. ``instance`` has a port and may be an address.
HOST_LABELS = ('Hostname', 'hostname', 'host', 'node', 'kubernetes_node', 'exported_instance')
INSTANCE = 'instance'
#: Dialect → series with the processes of each user on each GPU, and its label with the user.
USER_SERIES = {
    'own': ('nvitop_user_gpu_processes', 'user'),
    'nvitop-exporter': ('process_gpu_memory_MiB', 'username'),
    'nvidia-smi': ('nvidia_smi_compute_app_info', 'user'),
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


def is_reversible(row: DeviceRow) -> bool:
    """Whether the value of the metric can be read from a series of the row."""
    return len(row.metrics) == 1 and row.form in ('number', 'digits', 'switch', 'reasons', 'reason')


class Meaning(NamedTuple):
    """Meaning of a series."""

    dialect: str
    #: Name of the metric in :data:`nvitop.api.metrics.METRICS`.
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
