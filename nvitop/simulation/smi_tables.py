# SPDX-License-Identifier: Apache-2.0
"""Tables of what nvidia-smi printed, idle and under load, as a capture.

``NAME.tsv`` has the columns ``field header idle load`` for ``--query-gpu``; ``NAME.q.tsv`` has
``path idle load`` for ``-q``; ``NAME.apps.csv`` has the output of ``--query-compute-apps`` after
lines ``# idle`` and ``# load``. Only the first file is necessary.
"""

from __future__ import annotations

import csv
import pathlib
import re
from typing import Iterator, Mapping

from nvitop.simulation.capture import Capture, CapturedGpu, CapturedMig, CapturedProcess
from nvitop.simulation.scenario import ScenarioError

STATES = ('idle', 'load')
#: Name in :data:`nvitop.simulation.capture.EXTRA` → path in the output of ``nvidia-smi -q``.
PATHS = {
    'brand': 'GPU / Product Brand',
    'architecture': 'GPU / Product Architecture',
    'minor_number': 'GPU / Minor Number',
    'board_id': 'GPU / Board ID',
    'multi_gpu_board': 'GPU / MultiGPU Board',
    'board_part_number': 'GPU / Board Part Number',
    'bar1.total': 'GPU / BAR1 Memory Usage / Total',
    'bar1.used': 'GPU / BAR1 Memory Usage / Used',
    'pcie.replays': 'GPU / PCI / Replays Since Reset',
    'pcie.tx': 'GPU / PCI / Tx Throughput',
    'pcie.rx': 'GPU / PCI / Rx Throughput',
    'clocks.max.video': 'GPU / Max Clocks / Video',
    'temperature.shutdown': 'GPU / Temperature / GPU Shutdown Temp',
    'temperature.slowdown': 'GPU / Temperature / GPU Slowdown Temp',
    'temperature.gpu_max': 'GPU / Temperature / GPU Max Operating Temp',
    'temperature.memory_max': 'GPU / Temperature / Memory Max Operating Temp',
}
MIG = 'GPU / MIG Device / '
_ENGINES = MIG + 'Device Attributes / Shared / '
_MEMORY, _BAR1 = MIG + 'Shared FB Memory Usage / ', MIG + 'Shared BAR1 Memory / '
_MIG_PATHS = {
    'index': MIG + 'Index',
    'gpu_instance_id': MIG + 'GPU Instance ID',
    'compute_instance_id': MIG + 'Compute Instance ID',
    'multiprocessor': _ENGINES + 'Multiprocessor count',
    'copy': _ENGINES + 'Copy Engine count',
    'decoder': _ENGINES + 'Decoder count',
    'encoder': _ENGINES + 'Encoder count',
    'jpeg': _ENGINES + 'JPG count',
    'ofa': _ENGINES + 'OFA count',
    **{f'memory.{name.lower()}': _MEMORY + name for name in ('Total', 'Reserved', 'Used', 'Free')},
    'bar1.total': _BAR1 + 'Total',
    'bar1.used': _BAR1 + 'Used',
}
PROCESSES = 'GPU / Processes / '


def read_tables(path: pathlib.Path, state: str = 'idle') -> Capture:
    """Read ``NAME.tsv`` and the files next to it, in one of :data:`STATES`.

    Raises:
        ScenarioError: A file cannot be read, or has other columns.
    """
    texts = _read_columns(path, 'field', state)
    details, apps = path.with_suffix('.q.tsv'), path.with_suffix('.apps.csv')
    by_path = _read_columns(details, 'path', state) if details.exists() else {}
    texts.update((name, by_path[place]) for name, place in PATHS.items() if place in by_path)
    if PROCESSES + 'Process ID' in by_path:
        processes = list(_processes(by_path))
    else:
        processes = list(_apps(_read(apps), state)) if apps.exists() else []
    gpu = CapturedGpu(texts, list(_migs(by_path)), processes)
    driver = texts.get('driver_version', '')
    return Capture(driver, by_path.get('CUDA Version', ''), [gpu])


def _read(path: pathlib.Path) -> str:
    try:
        return path.read_text(encoding='utf-8')
    except (OSError, UnicodeDecodeError) as error:
        raise ScenarioError(f'{path}: {getattr(error, "strerror", None) or error}') from error


def _read_columns(path: pathlib.Path, key: str, state: str) -> dict[str, str]:
    header, *lines = [line.split('\t') for line in _read(path).split('\n') if line] or [[]]
    if key not in header or state not in header:
        raise ScenarioError(f'{path}: expected the columns {key!r} and {state!r}')
    name, value = header.index(key), header.index(state)
    rows = [line for line in lines if len(line) > max(name, value)]
    return {line[name]: line[value] for line in rows}


def _numbered(by_path: Mapping[str, str], path: str) -> Iterator[tuple[str, str]]:
    """Suffixes and texts of a path that occurs several times: '', '#2', '#3' …"""
    for place, text in by_path.items():
        match = re.fullmatch(re.escape(path) + r'(#\d+)?', place)
        if match and text:
            yield match[1] or '', text


def _migs(by_path: Mapping[str, str]) -> Iterator[CapturedMig]:
    for suffix, _ in _numbered(by_path, MIG + 'Index'):
        places = {name: place + suffix for name, place in _MIG_PATHS.items()}
        yield CapturedMig({n: by_path[place] for n, place in places.items() if place in by_path})


def _processes(by_path: Mapping[str, str]) -> Iterator[CapturedProcess]:
    for suffix, pid in _numbered(by_path, PROCESSES + 'Process ID'):
        one = f'{PROCESSES}Process ID {pid} / '
        yield CapturedProcess(
            pid,
            by_path.get(f'{one}Name', ''),
            by_path.get(f'{one}Used GPU Memory', ''),
            by_path.get(f'{one}Type', 'C'),
            by_path.get(f'{PROCESSES}GPU instance ID{suffix}', ''),
            by_path.get(f'{PROCESSES}Compute instance ID{suffix}', ''),
        )


def read_apps(text: str, state: str) -> list[dict[str, str]]:
    """Rows of ``--query-compute-apps`` by header, in one state."""
    part = re.search(rf'^# {state}\n(.*?)(?:^# |\Z)', text, re.MULTILINE | re.DOTALL)
    return list(csv.DictReader((part[1] if part else '').splitlines(), skipinitialspace=True))


def _apps(text: str, state: str) -> Iterator[CapturedProcess]:
    for row in read_apps(text, state):
        memory = next((value for name, value in row.items() if 'memory' in (name or '')), '')
        yield CapturedProcess(row.get('pid', ''), row.get('process_name', ''), memory)
