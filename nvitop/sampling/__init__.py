# SPDX-License-Identifier: Apache-2.0
"""Measurements as plain immutable values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvitop.basics.lazy import lazy_names

if TYPE_CHECKING:
    from nvitop.sampling.history import History
    from nvitop.sampling.plan import REPORT_METRICS, Intervals, intervals
    from nvitop.sampling.serialization import SerializationError, parse, serialize
    from nvitop.sampling.source import LiveSource, take_sample
    from nvitop.sampling.threads import Sampler
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
        Source,
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
    'SerializationError',
    'Source',
    'intervals',
    'parse',
    'serialize',
    'take_sample',
]

if not TYPE_CHECKING:  # it would hide misspelled names
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            'nvitop.sampling.history': 'History',
            'nvitop.sampling.plan': 'REPORT_METRICS Intervals intervals',
            'nvitop.sampling.threads': 'Sampler',
            'nvitop.sampling.source': 'LiveSource take_sample',
            'nvitop.sampling.serialization': 'SerializationError parse serialize',
            'nvitop.sampling.types': 'EMPTY_SAMPLE Cost Demand DeviceInfo DeviceKey DeviceSample '
            'HostProcessSample HostSample Problem ProcessKey ProcessSample Sample Source',
        },
    )
