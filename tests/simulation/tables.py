"""Reads what nvidia-smi printed on real machines, idle and under load.

``NAME.tsv`` has the columns ``field header idle load`` for ``--query-gpu``; ``NAME.q.tsv`` has
``path idle load`` for ``-q``; ``NAME.apps.csv`` has the output of ``--query-compute-apps`` after
lines ``# idle`` and ``# load``. Only the first file is necessary.
"""

from __future__ import annotations

import csv
import pathlib
import re
from typing import Iterator, Mapping

from nvitop.basics.metrics import EXTENDED_METRICS, METRICS
from nvitop.simulation.capture import Capture, CapturedGpu, is_missing

#: Name of nvidia-smi → metric. The first available value of several names counts.
METRIC_NAMES = {
    **{metric.query: metric.name for metric in (*METRICS, *EXTENDED_METRICS) if metric.query},
    'pcie.link.gen.gpucurrent': 'pcie_link_generation',
    'display_attached': 'display_mode',
}
#: Metric → path in the output of ``nvidia-smi -q``.
TABLE_PATHS = {
    'brand': 'GPU / Product Brand',
    'architecture': 'GPU / Product Architecture',
    'minor_number': 'GPU / Minor Number',
    'board_id': 'GPU / Board ID',
    'multi_gpu_board': 'GPU / MultiGPU Board',
    'board_part_number': 'GPU / Board Part Number',
    'bar1_memory_total': 'GPU / BAR1 Memory Usage / Total',
    'bar1_memory_used': 'GPU / BAR1 Memory Usage / Used',
    'pcie_replays': 'GPU / PCI / Replays Since Reset',
    'pcie_tx_throughput': 'GPU / PCI / Tx Throughput',
    'pcie_rx_throughput': 'GPU / PCI / Rx Throughput',
    'max_video_clock': 'GPU / Max Clocks / Video',
    'temperature_shutdown_threshold': 'GPU / Temperature / GPU Shutdown Temp',
    'temperature_slowdown_threshold': 'GPU / Temperature / GPU Slowdown Temp',
    'max_temperature_threshold': 'GPU / Temperature / GPU Max Operating Temp',
    'max_memory_temperature_threshold': 'GPU / Temperature / Memory Max Operating Temp',
}
MIG = 'GPU / MIG Device / '
PROCESSES = 'GPU / Processes / '
#: Value of a MIG device → path below :data:`MIG`.
MIG_PATHS = {
    'index': 'Index',
    'gpu_instance_id': 'GPU Instance ID',
    'compute_instance_id': 'Compute Instance ID',
    'multiprocessor': 'Device Attributes / Shared / Multiprocessor count',
    'copy': 'Device Attributes / Shared / Copy Engine count',
    'decoder': 'Device Attributes / Shared / Decoder count',
    'encoder': 'Device Attributes / Shared / Encoder count',
    'jpeg': 'Device Attributes / Shared / JPG count',
    'ofa': 'Device Attributes / Shared / OFA count',
    **{
        f'{kind}_{name}': f'Shared {label} / {name.capitalize()}'
        for kind, label in (('memory', 'FB Memory Usage'), ('bar1_memory', 'BAR1 Memory'))
        for name in ('total', 'reserved', 'used', 'free')
    },
}


def read_capture(path: pathlib.Path, state: str = 'idle') -> Capture:
    """Read ``NAME.tsv`` and the files next to it, in the state ``idle`` or ``load``."""
    columns = _read_columns(path, 'field', state)
    texts: dict[str, str] = {}
    for query, text in columns.items():
        name = METRIC_NAMES.get(query)
        if name is not None and is_missing(texts.get(name)):
            texts[name] = text
    details, apps = path.with_suffix('.q.tsv'), path.with_suffix('.apps.csv')
    by_path = _read_columns(details, 'path', state) if details.exists() else {}
    texts.update((name, by_path[place]) for name, place in TABLE_PATHS.items() if place in by_path)
    if PROCESSES + 'Process ID' in by_path:
        processes = list(_processes(by_path))
    else:
        processes = list(_apps(apps.read_text(encoding='utf-8'), state)) if apps.exists() else []
    gpu = CapturedGpu(texts, list(_migs(by_path)), processes)
    driver = columns.get('driver_version', '')
    return Capture(driver, by_path.get('CUDA Version', ''), [gpu])


def _read_columns(path: pathlib.Path, key: str, state: str) -> dict[str, str]:
    text = path.read_text(encoding='utf-8')
    header, *lines = [line.split('\t') for line in text.split('\n') if line]
    name, value = header.index(key), header.index(state)
    rows = [line for line in lines if len(line) > max(name, value)]
    return {line[name]: line[value] for line in rows}


def _numbered(by_path: Mapping[str, str], path: str) -> Iterator[tuple[str, str]]:
    """Suffixes and texts of a path that occurs several times: '', '#2', '#3' …"""
    for place, text in by_path.items():
        match = re.fullmatch(re.escape(path) + r'(#\d+)?', place)
        if match and text:
            yield match[1] or '', text


def _migs(by_path: Mapping[str, str]) -> Iterator[dict[str, str]]:
    for suffix, _ in _numbered(by_path, MIG + 'Index'):
        places = {name: f'{MIG}{place}{suffix}' for name, place in MIG_PATHS.items()}
        yield {n: by_path[place] for n, place in places.items() if place in by_path}


def _processes(by_path: Mapping[str, str]) -> Iterator[dict[str, str]]:
    for suffix, pid in _numbered(by_path, PROCESSES + 'Process ID'):
        one = f'{PROCESSES}Process ID {pid} / '
        yield {
            'pid': pid,
            'process_name': by_path.get(f'{one}Name', ''),
            'used_memory': by_path.get(f'{one}Used GPU Memory', ''),
            'type': by_path.get(f'{one}Type', 'C'),
            'gpu_instance_id': by_path.get(f'{PROCESSES}GPU instance ID{suffix}', ''),
            'compute_instance_id': by_path.get(f'{PROCESSES}Compute instance ID{suffix}', ''),
        }


def read_apps(text: str, state: str) -> list[dict[str, str]]:
    """Rows of ``--query-compute-apps`` by header, in one state."""
    part = re.search(rf'^# {state}\n(.*?)(?:^# |\Z)', text, re.MULTILINE | re.DOTALL)
    return list(csv.DictReader((part[1] if part else '').splitlines(), skipinitialspace=True))


def _apps(text: str, state: str) -> Iterator[dict[str, str]]:
    for row in read_apps(text, state):
        memory = next((value for name, value in row.items() if 'memory' in (name or '')), '')
        yield {**row, 'used_memory': memory}
