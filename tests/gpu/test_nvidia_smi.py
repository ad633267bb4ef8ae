"""The comparison with nvidia-smi finds differences, tested without a GPU."""

from __future__ import annotations

from typing import Any

import pytest

from nvitop.api.device import ClockEventReasons
from nvitop.api.metrics import METRICS_BY_NAME
from nvitop.api.utils import NA, GiB, MiB
from tests.gpu.nvidia_smi import difference


@pytest.mark.parametrize(
    ('name', 'value', 'same', 'other'),
    [
        ('name', 'NVIDIA H100 80GB HBM3', 'NVIDIA H100 80GB HBM3', 'NVIDIA H200'),
        ('memory_total', 80 * GiB, '81920', '81559'),
        ('memory_used', 1000 * MiB, '1100', '2000'),
        ('power_limit', 700_000, '700.00', '350.00'),
        ('max_power_limit', 700_000, '700.00', '699.00'),
        ('temperature', 44, '45', '60'),
        ('fan_speed', NA, '[Not Supported]', '30'),
        ('fan_speed', 30, '30', '[N/A]'),
        ('compute_mode', 'Exclusive Process', 'Exclusive_Process', 'Prohibited'),
        ('cuda_compute_capability', (9, 0), '9.0', '8.0'),
        ('clock_event_reasons', ClockEventReasons(0x5), '0x0000000000000004', '0x8'),
        ('remapped_rows_pending', True, 'Yes', 'No'),
    ],
)
def test_differences_are_found(name: str, value: Any, same: str, other: str) -> None:
    texts = [difference(METRICS_BY_NAME[name], value, text, value) for text in (same, other)]
    assert [text == '' for text in texts] == [True, False]
