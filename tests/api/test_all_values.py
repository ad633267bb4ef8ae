"""The values of all metrics on a machine whose values are known, against a golden file."""

from __future__ import annotations

import enum
from typing import Any

import pynvml
import pytest

from nvitop.api.device import Device
from nvitop.basics.metrics import METRICS_BY_METHOD
from nvitop.basics.units import NA
from tests.api.machines import machine
from tests.gui.goldens import USED, assert_golden_text

#: Values that depend on the time, and long lists.
LEFT_OUT = {'accounted_processes', 'supported_clocks', 'total_energy'}


def test_values_of_all_metrics() -> None:
    if not hasattr(pynvml, 'nvmlDeviceGetAddressingMode'):
        USED.add('device-values')
        pytest.skip('this binding lacks functions')
    lines = []
    with machine(clock=lambda: 0.0):
        for index in (0, (1, 2), 2):
            device = Device(index)
            lines.append(f'# {type(device).__name__} {index}: values that are available')
            for name, metric in METRICS_BY_METHOD.items():
                if name not in LEFT_OUT and name != 'physical_index' and not metric.begin:
                    value: Any = getattr(device, name)()
                    if isinstance(value, enum.Flag):  # its repr depends on the Python version
                        value = value.value
                    lines += [] if value is NA else [f'{name} = {value!r}']
            lines.append('')
    assert_golden_text('device-values', '\n'.join(lines))
