"""Metadata with which pip finds nvitop: what programs that require it rely on."""

from __future__ import annotations

import importlib.metadata

METADATA = importlib.metadata.metadata('nvitop')


def test_version_satisfies_requirements_on_nvitop_1() -> None:
    assert int(METADATA['Version'].partition('.')[0]) >= 2


def test_extras_choose_a_driver_generation_or_the_exporter() -> None:
    extras = set(METADATA.get_all('Provides-Extra') or ()) - {'delivery', 'lint', 'test'}
    assert extras == {'cuda10', 'cuda11', 'cuda12', 'cuda13', 'exporter', 'prometheus'}
