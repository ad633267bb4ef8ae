from __future__ import annotations

import math

import pytest

from nvitop.api.device.base import ImpossibleAnswer
from nvitop.basics.metrics import METRICS_BY_NAME
from nvitop.sampling.device_reader import value_of


@pytest.mark.parametrize(
    ('name', 'raw', 'words'),
    [
        ('gpu_utilization', 101, '101 %'),
        ('memory_utilization', 4_000_000_000, '4000000000 %'),
        ('fan_speed', 4_000_000_000, '4000000000 %'),
        ('temperature', 4_294_967_294, '°C'),
        ('temperature', 300, '300 °C'),
        ('temperature', -3, '-3 °C'),
        ('power_usage', 4_200_000_000, '4.2 MW is implausible'),
        ('sm_clock', 99_999_999, '100 THz'),
        ('memory_percent', math.nan, 'not a number'),
        ('memory_used', '1 GiB', 'not a number'),
    ],
)
def test_implausible_values_are_refused(name: str, raw: object, words: str) -> None:
    with pytest.raises(ImpossibleAnswer, match=words):
        value_of(METRICS_BY_NAME[name], raw)
