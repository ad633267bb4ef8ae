# SPDX-License-Identifier: Apache-2.0
"""A value together with the reason why it is missing, and the check that a value is plausible."""

from __future__ import annotations

from nvitop.namedtuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Union

    from nvitop.api import libnvml

    #: Why a value is missing.
    Reason = Union[libnvml.NVMLError, 'ImpossibleAnswer']


class ImpossibleAnswer(Exception):
    """The driver returned an implausible value; the getter returned ``NA`` instead."""


class Reading(NamedTuple):
    """The result of a getter of :class:`nvitop.Device`."""

    #: The value, or ``NA``.
    value: Any
    #: Why the value, or a part of it, is ``NA``; ``None`` if it is not, or if the driver gives no reason.
    reason: Reason | None = None


def implausible(value: object) -> ImpossibleAnswer:
    """Return the reason for refusing a number that is out of range; it may be text with a unit."""
    return ImpossibleAnswer(f'{value} is implausible')


# The public path, as shown in tracebacks, pickles and the documentation.
ImpossibleAnswer.__module__ = Reading.__module__ = 'nvitop.api.device'
