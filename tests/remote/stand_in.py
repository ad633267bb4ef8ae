"""Another machine, reached by a script instead of ssh."""

from __future__ import annotations

import pathlib
import sys
import time
from typing import Callable

from nvitop.remote.source import RemoteSource
from nvitop.sampling.types import Demand, Sample
from tests.waiting import PATIENCE


def add_nvitop(folder: pathlib.Path) -> None:
    nvitop = folder / 'nvitop'
    nvitop.write_text(f'#!/bin/sh\nexec {sys.executable} -m nvitop "$@"\n')
    nvitop.chmod(0o755)


def until(source: RemoteSource, condition: Callable[[Sample], object], demand: Demand) -> Sample:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        sample = source.sample(demand)
        if condition(sample):
            return sample
    raise AssertionError(f'still {source.origin}, {sample.sequence}')
