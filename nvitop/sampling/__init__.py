# SPDX-License-Identifier: Apache-2.0
"""Measurements as plain immutable values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvitop.basics.lazy import lazy_names

if TYPE_CHECKING:
    from nvitop.sampling.history import History as History
    from nvitop.sampling.plan import REPORT_METRICS as REPORT_METRICS
    from nvitop.sampling.plan import Intervals as Intervals
    from nvitop.sampling.plan import intervals as intervals
    from nvitop.sampling.serialization import SerializationError as SerializationError
    from nvitop.sampling.serialization import parse as parse
    from nvitop.sampling.serialization import serialize as serialize
    from nvitop.sampling.source import LiveSource as LiveSource
    from nvitop.sampling.source import take_sample as take_sample
    from nvitop.sampling.threads import Sampler as Sampler
    from nvitop.sampling.types import EMPTY_SAMPLE as EMPTY_SAMPLE
    from nvitop.sampling.types import Cost as Cost
    from nvitop.sampling.types import Demand as Demand
    from nvitop.sampling.types import DeviceInfo as DeviceInfo
    from nvitop.sampling.types import DeviceKey as DeviceKey
    from nvitop.sampling.types import DeviceSample as DeviceSample
    from nvitop.sampling.types import HostProcessSample as HostProcessSample
    from nvitop.sampling.types import HostSample as HostSample
    from nvitop.sampling.types import Problem as Problem
    from nvitop.sampling.types import ProcessKey as ProcessKey
    from nvitop.sampling.types import ProcessSample as ProcessSample
    from nvitop.sampling.types import Sample as Sample
    from nvitop.sampling.types import Source as Source

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
    __all__ = sorted({*__dir__()}.difference(globals()))
