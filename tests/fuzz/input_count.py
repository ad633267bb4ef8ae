"""Amount of generated input; the variable ``NVITOP_FUZZ`` multiplies it."""

from __future__ import annotations

import os
from typing import Callable, Iterator

import pytest
from hypothesis import settings

#: Multiple of the default amount.
FACTOR = float(os.environ.get('NVITOP_FUZZ') or 1.0)
#: First seed; another one generates other input.
FIRST_SEED = int(os.environ.get('NVITOP_FUZZ_SEED') or 0)


def scaled(default: int) -> int:
    return max(1, round(default * FACTOR))


def examples(default: int) -> settings:
    return settings(max_examples=scaled(default))


def seeds(default: int) -> Iterator[int]:
    """Seeds for generated input, the same in every run."""
    return iter(range(FIRST_SEED, FIRST_SEED + scaled(default)))


def check_seeds(default: int, check: Callable[[int], object]) -> None:
    """Call a check with each seed; failures contain the seed."""
    for seed in seeds(default):
        try:
            check(seed)
        except Exception as error:
            pytest.fail(f'with seed {seed}: {type(error).__name__}: {error}')
