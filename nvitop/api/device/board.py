# SPDX-License-Identifier: Apache-2.0
"""Values that a process remembers per GPU, shared by all device objects of that GPU."""

from __future__ import annotations

from nvitop.api import libnvml

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Hashable
    from typing import Any

    from nvitop.api.device.window import Window
    from nvitop.api.reading import Reason

    #: A value and, if it is ``NA``, why. A plain tuple: a snapshot makes 30 of them per device.
    Answer = tuple[Any, Reason | None]


class Board:
    """Values that never change, and the ends of the last measurements.

    Programs create new device objects for each snapshot. Because of this class, no static value is
    queried twice and no measurement starts over.
    """

    def __init__(self) -> None:
        #: Static values by function and arguments, or by name.
        self.facts: dict[Hashable, Answer] = {}
        #: Rates by name.
        self.windows: dict[str, Window[Any, Any]] = {}
        #: Driver's time (µs) of the newest utilization sample of a process.
        self.last_sample: int | None = None


_boards: dict[str, Board] = {}
# Another driver library may report other values for the same UUID.
libnvml.on_new_library(_boards.clear)


def board_of(uuid: str) -> Board:
    """Return the board of a GPU, always the same one."""
    return _boards.get(uuid) or _boards.setdefault(uuid, Board())
