# SPDX-License-Identifier: Apache-2.0
"""What a process knows of a GPU, whichever of its device objects learnt it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nvitop.api import libnvml

if TYPE_CHECKING:
    from collections.abc import Hashable

    from nvitop.api.device.window import Window

    #: What the driver answered, or ``NA`` and its error.
    Answer = tuple[Any, libnvml.NVMLError | None]


class Board:
    """Facts that never change, and where the last measurements ended.

    Programs make devices anew for each snapshot; nothing is asked and nothing is waited for twice
    because of that.
    """

    def __init__(self) -> None:
        #: Answers by question.
        self.facts: dict[Hashable, Answer] = {}
        #: Rates by what they are of.
        self.windows: dict[str, Window[Any, Any]] = {}
        #: Driver's time (µs) of the newest sample of a process that was seen.
        self.last_sample: int | None = None


_boards: dict[str, Board] = {}
# Another library may tell other things of a GPU of the same UUID.
libnvml.on_new_library(_boards.clear)


def board_of(uuid: str) -> Board:
    """The board of a GPU, the same one for each question."""
    return _boards.get(uuid) or _boards.setdefault(uuid, Board())
