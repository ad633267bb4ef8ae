# SPDX-License-Identifier: Apache-2.0
"""Field values: several values of a device in one call."""

from __future__ import annotations

import ctypes
import functools
import time
from typing import Any, Sequence, Tuple, Union

from nvitop.api.libnvml._binding import call_driver
from nvitop.api.libnvml._errors import UNKNOWN
from nvitop.api.libnvml._query import key_of, note_error_of, nvmlQuery, override
from nvitop.api.libnvml._structures import FieldValue
from nvitop.api.utils import NA, NaType

#: A field ID, or a field ID and its scope, such as a link number.
Field = Union[int, Tuple[int, int]]

_NAME = 'nvmlDeviceGetFieldValues'
#: Members of the union, indexed by ``NVML_VALUE_TYPE_…``.
_MEMBERS = ('dVal', 'uiVal', 'ulVal', 'ullVal', 'sllVal', 'siVal', 'usVal')


@override
def nvmlDeviceGetFieldValues(handle: Any, fieldIds: Sequence[Field]) -> Sequence[Any]:
    """Return the structures of several fields, each with its own ``nvmlReturn``.

    Raises:
        NVMLError: The call as a whole failed.
    """
    count = len(fieldIds)
    request = _request(tuple(fieldIds))
    values = type(request).from_buffer_copy(request)
    call_driver(_NAME, handle, ctypes.c_int(count), ctypes.byref(values))
    return values[:count]


@functools.lru_cache(maxsize=64)
def _request(fields: tuple[Field, ...]) -> ctypes.Array[FieldValue]:
    """Return the structures that ask for these fields."""
    # Some drivers write one entry too many.
    values = (FieldValue * (len(fields) + 1))()
    for value, field in zip(values, fields):
        if isinstance(field, int):
            value.fieldId = field
        else:
            value.fieldId, value.scopeId = field
    return values


def nvmlQueryFieldValues(
    handle: Any, field_ids: Sequence[Field]
) -> list[tuple[float | int | NaType, int]]:
    """Query several fields (``NVML_FI_…``) of a device in one call.

    Args:
        handle: The device.
        field_ids: Field IDs, or pairs of a field ID and a scope.

    Returns:
        For each field its value and the time of the measurement in microseconds since the epoch.
        A field that the device or the driver does not have is ``NA`` with the time of the query.
        The reason is ``last_error('nvmlDeviceGetFieldValues', handle, field)``, without ``field`` if
        the call as a whole failed.

    Raises:
        NVMLError: NVML cannot be initialized.
    """
    values = nvmlQuery(nvmlDeviceGetFieldValues, handle, field_ids, default=None)
    now = int(time.time() * 1_000_000)
    address, rest = key_of(_NAME, (handle,))
    if values is None:
        for field in field_ids:  # drop the reasons of previous calls
            note_error_of(_NAME, (address, (*rest, field)), 0)
        return [(NA, now)] * len(field_ids)
    results: list[tuple[float | int | NaType, int]] = []
    for field, value in zip(field_ids, values):
        code = value.nvmlReturn
        if not code and value.valueType >= len(_MEMBERS):
            code = UNKNOWN
        note_error_of(_NAME, (address, (*rest, field)), code)
        if code:
            results.append((NA, now))
        else:
            number = getattr(value.value, _MEMBERS[value.valueType])
            results.append((number, value.timestamp or now))
    return results
