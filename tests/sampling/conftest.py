from __future__ import annotations

from typing import Iterator

import pytest

from tests.sampling.bench import Bench


@pytest.fixture
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    """A bench of the scenario that the test names, by default ``dgx-h100``."""
    options = getattr(request, 'param', 'dgx-h100')
    bench = Bench(*options) if isinstance(options, tuple) else Bench(options)
    with bench.machine:
        bench.open()
        yield bench
        bench.join()
