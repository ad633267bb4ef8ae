from __future__ import annotations

import pytest

from nvitop import sampling


@pytest.mark.parametrize('name', sampling.__all__)
def test_every_exported_name_is_there(name: str) -> None:
    assert getattr(sampling, name) is not None
