"""How much is generated: little by default, more with the variable ``NVITOP_FUZZ``."""

from __future__ import annotations

import os
from typing import Callable, Iterator

import pytest
from hypothesis import settings

#: How many times the default amount.
FACTOR = float(os.environ.get('NVITOP_FUZZ') or 1.0)
#: Where the seeds begin: another number, other input.
FIRST_SEED = int(os.environ.get('NVITOP_FUZZ_SEED') or 0)


def amount(usual: int) -> int:
    """The number of examples, ``usual`` of them by default."""
    return max(1, round(usual * FACTOR))


def examples(usual: int) -> settings:
    """The same for a test of Hypothesis."""
    return settings(max_examples=amount(usual))


def seeds(usual: int) -> Iterator[int]:
    """Seeds to generate input from, the same in every run."""
    return iter(range(FIRST_SEED, FIRST_SEED + amount(usual)))


def check_seeds(usual: int, check: Callable[[int], object]) -> None:
    """Call a check with each seed; what fails tells its seed."""
    for seed in seeds(usual):
        try:
            check(seed)
        except Exception as error:
            pytest.fail(f'with seed {seed}: {type(error).__name__}: {error}')
