from __future__ import annotations

from typing import Iterator

import pytest

from tests.sampling.clocked_machine import ClockedMachine


@pytest.fixture
def bench(request: pytest.FixtureRequest) -> Iterator[ClockedMachine]:
    """A bench of the scenario that the test names, by default ``dgx-h100``."""
    options = getattr(request, 'param', 'dgx-h100')
    bench = ClockedMachine(*options) if isinstance(options, tuple) else ClockedMachine(options)
    with bench.machine:
        bench.open()
        yield bench
        bench.join()
