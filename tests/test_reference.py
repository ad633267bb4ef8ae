"""The pages of the reference are those that the docstrings make, and have every public name."""

from __future__ import annotations

import inspect
import re
import sys

import pytest

from docs.reference import FOLDER, PAGES, page
from nvitop import api


@pytest.mark.skipif(sys.version_info < (3, 11), reason='signatures look different')
@pytest.mark.parametrize('name', PAGES)
def test_pages_are_current(name: str) -> None:
    assert (FOLDER / f'{name}.md').read_text(encoding='utf-8') == page(name), (
        'run: make update-docs'
    )


def test_every_public_name_is_on_a_page() -> None:
    text = '\n'.join(path.read_text(encoding='utf-8') for path in FOLDER.glob('*.md'))
    names = {name for name in dir(api) if inspect.isclass(getattr(api, name))} - {'NVMLError'}
    assert {name for name in names if not re.search(rf'`{name}\b', text)} == set()
