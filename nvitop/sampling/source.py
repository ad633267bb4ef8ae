# SPDX-License-Identifier: Apache-2.0
"""Where samples come from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from nvitop.sampling.types import Demand, Sample


class Source(Protocol):
    """Where samples come from: the live machine, a recording, a test.

    A source is used by one thread at a time.
    """

    def sample(self, demand: Demand) -> Sample:
        """Measure what is due now for this demand; the rest of the sample is as it was.

        A source should answer within seconds, whatever the driver does, and put failures into
        :attr:`Sample.problems`.
        """

    def next_due(self) -> float:
        """When something falls due next, on the monotonic clock."""

    def refresh(self) -> None:
        """Make everything due at once."""
