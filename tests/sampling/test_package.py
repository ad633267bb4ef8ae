from __future__ import annotations

import pytest

from nvitop import sampling


@pytest.mark.parametrize('name', sampling.__all__)
def test_exported_names_exist(name: str) -> None:
    assert getattr(sampling, name) is not None
