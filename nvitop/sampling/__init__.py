# SPDX-License-Identifier: Apache-2.0
"""What is measured now, as plain immutable values."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from nvitop.sampling.types import (
    EMPTY_SAMPLE,
    Cost,
    Demand,
    DeviceInfo,
    DeviceKey,
    DeviceSample,
    HostProcessSample,
    HostSample,
    Problem,
    ProcessKey,
    ProcessSample,
    Sample,
)

if TYPE_CHECKING:
    from nvitop.sampling.history import History
    from nvitop.sampling.plan import REPORT_METRICS, Intervals, intervals
    from nvitop.sampling.sampler import Sampler
    from nvitop.sampling.source import LiveSource, Source
    from nvitop.sampling.stored import StoredSampleError, parse, serialise

__all__ = [
    'EMPTY_SAMPLE',
    'REPORT_METRICS',
    'Cost',
    'Demand',
    'DeviceInfo',
    'DeviceKey',
    'DeviceSample',
    'History',
    'HostProcessSample',
    'HostSample',
    'Intervals',
    'LiveSource',
    'Problem',
    'ProcessKey',
    'ProcessSample',
    'Sample',
    'Sampler',
    'Source',
    'StoredSampleError',
    'intervals',
    'parse',
    'serialise',
]

#: What is loaded on first use: who only draws samples loads no driver.
_LAZY = {
    'History': 'history',
    'Intervals': 'plan',
    'LiveSource': 'source',
    'REPORT_METRICS': 'plan',
    'intervals': 'plan',
    'Sampler': 'sampler',
    'Source': 'source',
    'StoredSampleError': 'stored',
    'parse': 'stored',
    'serialise': 'stored',
}


def __getattr__(name: str) -> object:
    if name in _LAZY:
        return getattr(importlib.import_module(f'nvitop.sampling.{_LAZY[name]}'), name)
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
