"""Fixtures of the API tests."""

from __future__ import annotations

from typing import Iterator

import pytest

from tests.api.fake_nvml import FakeLibrary, installed


@pytest.fixture
def library() -> Iterator[FakeLibrary]:
    """An NVML library with a few functions, in place of the driver."""
    with installed(FakeLibrary()) as library:
        yield library
