# SPDX-License-Identifier: Apache-2.0
"""Field values: many numbers of a device by one call."""

from __future__ import annotations

import ctypes
import time
from typing import Any, Sequence, Tuple, Union

from nvitop.api.libnvml._binding import BINDING, NVMLError
from nvitop.api.libnvml._errors import UNKNOWN
from nvitop.api.libnvml._query import note_error, nvmlQuery
from nvitop.api.libnvml._structures import FieldValue
from nvitop.api.utils import NA, NaType

#: A field, or a field and its scope (the number of a link, …).
Field = Union[int, Tuple[int, int]]

#: Member of the union by ``NVML_VALUE_TYPE_…``.
_MEMBERS = ('dVal', 'uiVal', 'ulVal', 'ullVal', 'sllVal', 'siVal', 'usVal')


def nvmlDeviceGetFieldValues(handle: Any, fieldIds: Sequence[Field]) -> Sequence[Any]:
    """The structures of several fields, each with its own ``nvmlReturn``.

    Raises:
        NVMLError: The device cannot be asked at all.
    """
    count = len(fieldIds)
    # Some drivers write one entry more than they were asked for.
    values = (FieldValue * (count + 1))()
    for value, field in zip(values, fieldIds):
        if isinstance(field, int):
            value.fieldId = field
        else:
            value.fieldId, value.scopeId = field
    function = BINDING._nvmlGetFunctionPointer('nvmlDeviceGetFieldValues')
    code = function(handle, ctypes.c_int(count), ctypes.byref(values))
    if code:
        raise NVMLError(code)
    return values[:count]


def nvmlQueryFieldValues(
    handle: Any, field_ids: Sequence[Field]
) -> list[tuple[float | int | NaType, int]]:
    """The values of several fields (``NVML_FI_…``) of a device by one call.

    Args:
        handle: The device.
        field_ids: Fields, each a number or a pair (number, scope).

    Returns:
        For each field its value and the time of the measurement in microseconds since the epoch.
        A field that the device or the driver does not have is ``NA`` with the time of asking; the
        reason is ``last_error('nvmlDeviceGetFieldValues', handle, field)``, or without ``field``
        where the call itself failed.

    Raises:
        NVMLError: NVML cannot be initialised.
    """
    values = nvmlQuery(nvmlDeviceGetFieldValues, handle, field_ids, default=None)
    now = int(time.time() * 1_000_000)
    if values is None:
        for field in field_ids:  # what it said of itself before is not the reason now
            note_error('nvmlDeviceGetFieldValues', (handle, field), 0)
        return [(NA, now)] * len(field_ids)
    answers: list[tuple[float | int | NaType, int]] = []
    for field, value in zip(field_ids, values):
        code = value.nvmlReturn
        if not code and value.valueType >= len(_MEMBERS):
            code = UNKNOWN
        note_error('nvmlDeviceGetFieldValues', (handle, field), code)
        if code:
            answers.append((NA, now))
        else:
            number = getattr(value.value, _MEMBERS[value.valueType])
            answers.append((number, value.timestamp or now))
    return answers
