"""The contract of every getter of a device: it returns its documented type or NA."""

from __future__ import annotations

import inspect
from typing import Any

from nvitop.api import device as device_module
from nvitop.api.device import Device
from nvitop.api.device.health import RemappingHistogram
from nvitop.api.device.utilization import EncoderStats
from nvitop.api.process import GpuProcess
from nvitop.api.utils import Snapshot
from nvitop.basics.units import NA, NaType

#: Public methods other than getters: they need arguments, or act.
NOT_GETTERS = """
    all begin_gpm begin_nvlink_throughput count cuda_driver_version
    driver_version from_indices is_available max_cuda_version mig_device of_parent oneshot
    processes_of reading release_gpm unavailable_reason
"""

#: Types as annotations write them.
TYPES: dict[str, Any] = {
    'int': int,
    'float': (int, float),
    'bool': bool,
    'str': str,
    'NaType': NaType,
    'Snapshot': Snapshot,
    'list': list,
    'dict': dict,
    'tuple': tuple,
    'GpuProcess': GpuProcess,
    'EncoderStats': EncoderStats,
    'RemappingHistogram': RemappingHistogram,
    **{name: getattr(device_module, name) for name in device_module.__all__},
}


def getters(kind: type[Device]) -> list[str]:
    others = NOT_GETTERS.split()
    return [
        name
        for name, value in inspect.getmembers(kind, callable)
        if not name.startswith('_') and name not in others and not inspect.isclass(value)
    ]


def return_annotation(kind: type[Device], name: str) -> str:
    annotation = inspect.signature(getattr(kind, name)).return_annotation
    assert isinstance(annotation, str), f'{name} has no annotation'
    return annotation


def is_documented(value: object, annotation: str) -> bool:
    for one in annotation.split(' | '):
        outer = one.partition('[')[0]
        if not isinstance(value, TYPES[outer]):
            continue
        if isinstance(value, bool) and outer in ('int', 'float'):
            continue
        return are_fields_documented(value)
    return False


def are_fields_documented(value: object) -> bool:
    """Of a named tuple each field too, of a list each value."""
    if isinstance(value, list):
        return all(are_fields_documented(one) for one in value)
    hints = getattr(type(value), '__annotations__', None)
    if not isinstance(value, tuple) or not hints:
        return True
    texts = {name: getattr(hint, '__forward_arg__', hint) for name, hint in hints.items()}
    return all(is_documented(getattr(value, name), str(text)) for name, text in texts.items())


def is_missing(value: object) -> bool:
    return value is NA or (isinstance(value, tuple) and NA in value)


def check_all(device: Device) -> None:
    check(device, getters(type(device)))


def check(device: Device, names: list[str]) -> None:
    for name in names:
        value, reason = device.reading(name)
        assert (reason is None) == (not is_missing(value)), f'{name}() gave {value!r}: {reason!r}'
        annotation = return_annotation(type(device), name)
        assert is_documented(value, annotation), f'{name}() gave {value!r}, not {annotation}'
