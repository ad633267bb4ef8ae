from __future__ import annotations

import subprocess
import sys

import pytest

from nvitop import sampling


@pytest.mark.parametrize('name', sampling.__all__)
def test_every_exported_name_is_there(name: str) -> None:
    assert getattr(sampling, name) is not None


def test_a_name_that_is_not_exported_is_not_there() -> None:
    with pytest.raises(AttributeError, match='no_such_name'):
        sampling.no_such_name  # noqa: B018 - the access is the test


def test_who_only_draws_samples_loads_no_driver() -> None:
    code = (
        'import sys, nvitop.sampling.types, nvitop.sampling.history;'
        'print([m for m in ("pynvml", "psutil", "nvitop.api.libnvml") if m in sys.modules])'
    )
    result = subprocess.run(
        [sys.executable, '-c', code], capture_output=True, text=True, check=True, timeout=60
    )
    assert result.stdout.strip() == '[]'
