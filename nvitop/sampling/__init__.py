# SPDX-License-Identifier: Apache-2.0
"""What is measured now, as plain immutable values."""

from __future__ import annotations

from nvitop.sampling.history import History
from nvitop.sampling.plan import REPORT_METRICS, Intervals, intervals
from nvitop.sampling.sampler import Sampler
from nvitop.sampling.source import LiveSource, Source
from nvitop.sampling.stored import StoredSampleError, parse, serialise
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
