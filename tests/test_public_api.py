"""The public names: where they are found, what they are called, what they cost to import."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

SUBMODULES = [
    'caching',
    'collector',
    'device',
    'host',
    'libcuda',
    'libcudart',
    'libnvml',
    'process',
    'termcolor',
    'utils',
]


@pytest.mark.parametrize('name', SUBMODULES)
def test_a_submodule_is_the_same_under_both_of_its_paths(name: str) -> None:
    code = f'import nvitop.{name}, nvitop.api.{name}; assert nvitop.{name} is nvitop.api.{name}'
    subprocess.run([sys.executable, '-c', code], check=True)
    subprocess.run(
        [
            sys.executable,
            '-c',
            f'from nvitop import {name}; assert {name}.__name__ == "nvitop.api.{name}"',
        ],
        check=True,
    )
    conventional = importlib.import_module(f'nvitop.{name}')
    assert conventional is importlib.import_module(f'nvitop.api.{name}')
    assert conventional.__name__ == f'nvitop.api.{name}'
