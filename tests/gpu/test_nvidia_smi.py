"""The functions that compare nvitop with nvidia-smi, tested without a GPU."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest

from nvitop.api.device import ClockEventReasons
from nvitop.api.metrics import METRICS_BY_NAME
from nvitop.api.utils import NA, GiB, MiB
from tests.gpu.nvidia_smi import COMPARED, difference, names_in_help, query

CASES: list[tuple[str, Any, str, bool]] = [
    ('name', 'NVIDIA H100 80GB HBM3', 'NVIDIA H100 80GB HBM3', True),
    ('name', 'NVIDIA H100 80GB HBM3', 'NVIDIA H200', False),
    ('memory_total', 80 * GiB, '81920', True),
    ('memory_total', 80 * GiB, '81559', False),
    ('memory_used', 1000 * MiB, '1100', True),
    ('memory_used', 1000 * MiB, '2000', False),
    ('power_limit', 700_000, '700.00', True),
    ('power_limit', 700_000, '350.00', False),
    ('max_power_limit', 700_000, '700.00', True),
    ('max_power_limit', 700_000, '699.00', False),
    ('temperature', 44, '45', True),
    ('temperature', 44, '60', False),
    ('fan_speed', NA, '[N/A]', True),
    ('fan_speed', NA, '[Not Supported]', True),
    ('fan_speed', NA, '30', False),
    ('fan_speed', 30, '[N/A]', False),
    ('compute_mode', 'Exclusive Process', 'Exclusive_Process', True),
    ('compute_mode', 'Default', 'Prohibited', False),
    ('display_mode', 'Enabled', 'Yes', True),
    ('cuda_compute_capability', (9, 0), '9.0', True),
    ('clock_event_reasons', ClockEventReasons(0x5), '0x0000000000000004', True),
    ('clock_event_reasons', ClockEventReasons(0x1), '0x0000000000000004', False),
    ('pcie_link_generation', 5, '5', True),
    ('pcie_link_generation', 5, '4', False),
    ('index', 0, '0', True),
    ('remapped_rows_pending', True, 'Yes', True),
    ('remapped_rows_pending', False, 'Yes', False),
]


@pytest.mark.parametrize(('name', 'value', 'text', 'is_same'), CASES)
def test_differences_are_found(name: str, value: Any, text: str, is_same: bool) -> None:
    assert (difference(METRICS_BY_NAME[name], value, text, value) == '') is is_same


def test_changing_value_may_be_between_two_readings() -> None:
    metric = METRICS_BY_NAME['gpu_utilization']
    assert difference(metric, 0, '50', 100) == ''
    assert difference(metric, 0, '50', 5) != ''


def test_names_unknown_to_an_old_nvidia_smi_are_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / 'nvidia-smi'
    program.write_text(
        '#!/bin/sh\n'
        'case "$1" in *new.name*) echo \'Field "new.name" is not a valid field to query.\'; exit 2;;\n'
        'esac\n'
        'echo "NVIDIA H100 80GB HBM3, 44"\n'
    )
    program.chmod(program.stat().st_mode | stat.S_IEXEC)
    monkeypatch.setenv('PATH', f'{tmp_path}:/usr/bin:/bin')
    values = query(['name', 'new.name', 'temperature.gpu'], 0)
    assert values == {'name': 'NVIDIA H100 80GB HBM3', 'temperature.gpu': '44'}


def test_help_of_nvidia_smi_lists_names_and_aliases() -> None:
    text = """List of valid properties to query for the switch "--query-gpu":

"timestamp"
The timestamp of when the query was made in format "YYYY/MM/DD HH:MM:SS.msec".

"name" or "gpu_name"
The official product name of the GPU.

Section about pci properties
"pci.bus_id" or "gpu_bus_id"
PCI bus id as "domain:bus:device.function", in hex.
"""
    assert names_in_help(text) == ['timestamp', 'name', 'gpu_name', 'pci.bus_id', 'gpu_bus_id']


def test_most_metrics_are_compared() -> None:
    assert len(COMPARED) > 160
