"""Metadata with which pip finds nvitop: what programs that require it rely on."""

from __future__ import annotations

import importlib.metadata
import pathlib
import runpy

ROOT = pathlib.Path(__file__).parent.parent.parent

METADATA = importlib.metadata.metadata('nvitop')


def test_version_satisfies_requirements_on_nvitop_1() -> None:
    assert int(METADATA['Version'].partition('.')[0]) >= 2


def test_extras_choose_a_driver_generation_or_the_exporter() -> None:
    extras = set(METADATA.get_all('Provides-Extra') or ()) - {'delivery', 'lint', 'test'}
    assert extras == {'cuda10', 'cuda11', 'cuda12', 'cuda13', 'exporter', 'prometheus'}


def test_package_page_has_absolute_links() -> None:
    program = runpy.run_path(str(ROOT / 'tools' / 'set_repository.py'))
    text = '[a](docs/a.md) ![b](b.svg) [c](#c) [d](https://example.org/d)'
    assert program['absolute_links'](text, 'https://example.org/r', 'v2.0.0') == (
        '[a](https://example.org/r/blob/v2.0.0/docs/a.md) '
        '![b](https://example.org/r/raw/v2.0.0/b.svg) [c](#c) [d](https://example.org/d)'
    )
    assert 'Issues = "https://example.org/r/issues"' in program['project_urls'](
        'https://example.org/r', 'v2.0.0'
    )
