# SPDX-License-Identifier: Apache-2.0
"""What is measured now, as plain immutable values."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nvitop.sampling.history import History
    from nvitop.sampling.plan import REPORT_METRICS, Intervals, intervals
    from nvitop.sampling.sampler import Sampler
    from nvitop.sampling.serialization import SerializationError, parse, serialise
    from nvitop.sampling.source import LiveSource, Source
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
    'SerializationError',
    'Source',
    'intervals',
    'parse',
    'serialise',
]

#: Modules by the names that are imported from them when they are first used.
_HOMES = {
    'History': 'history',
    'REPORT_METRICS': 'plan',
    'Intervals': 'plan',
    'intervals': 'plan',
    'Sampler': 'sampler',
    'LiveSource': 'source',
    'Source': 'source',
    'SerializationError': 'serialization',
    'parse': 'serialization',
    'serialise': 'serialization',
    'EMPTY_SAMPLE': 'types',
    'Cost': 'types',
    'Demand': 'types',
    'DeviceInfo': 'types',
    'DeviceKey': 'types',
    'DeviceSample': 'types',
    'HostProcessSample': 'types',
    'HostSample': 'types',
    'Problem': 'types',
    'ProcessKey': 'types',
    'ProcessSample': 'types',
    'Sample': 'types',
}

if not TYPE_CHECKING:  # where it would hide misspelled names

    def __getattr__(name):
        if name not in _HOMES:
            raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
        import importlib

        module = importlib.import_module(f'{__name__}.{_HOMES[name]}')
        value = globals()[name] = getattr(module, name)
        return value

    def __dir__():
        return sorted({*globals(), *__all__})
