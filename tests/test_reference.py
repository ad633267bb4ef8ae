"""The reference names every public name, and nothing that does not exist."""

from __future__ import annotations

import ast
import importlib
import pathlib
import re
from typing import Iterator

import pytest

import nvitop

ROOT = pathlib.Path(__file__).parent.parent
PAGES = sorted((ROOT / 'docs' / 'reference').glob('*.rst'))

#: Modules whose names users import, as they import them.
PUBLIC = (
    'caching',
    'callbacks.keras',
    'callbacks.lightning',
    'callbacks.pytorch_lightning',
    'callbacks.tensorboard',
    'callbacks.utils',
    'collector',
    'compat.igpu',
    'compat.pynvml_smi',
    'device',
    'host',
    'libcuda',
    'libcudart',
    'libnvml',
    'process',
    'query',
    'sampling',
    'select',
    'simulation',
    'termcolor',
    'utils',
)

DIRECTIVE = re.compile(r'^\.\. (py:|auto)(\w+):: ([\w.]+)\n((?:   :.*\n)*)', re.MULTILINE)


def names_of(module: str) -> list[str]:
    """The names that a module lists in its source: not those of packages it stands for."""
    path = importlib.import_module(f'nvitop.{module}').__file__
    assert path is not None
    tree = ast.parse(pathlib.Path(path).read_text(encoding='utf-8'))
    values = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], 'id', '') == '__all__'
    ]
    assert isinstance(values[0], ast.List), module
    return [str(each.value) for each in values[0].elts if isinstance(each, ast.Constant)]


def documented() -> Iterator[str]:
    for page in PAGES:
        for _, kind, name, options in DIRECTIVE.findall(page.read_text(encoding='utf-8')):
            if kind != 'module':
                yield name
            elif ':no-members:' not in options and name[len('nvitop.') :] in PUBLIC:
                yield from (f'{name}.{each}' for each in names_of(name[len('nvitop.') :]))


def test_every_path_that_stands_for_a_module_of_the_api_is_public() -> None:
    shims = {path.stem for path in (ROOT / 'nvitop').glob('*.py') if _is_shim(path)}
    assert len(shims) > 5
    assert shims <= set(PUBLIC)


def _is_shim(path: pathlib.Path) -> bool:
    return 'sys.modules[__name__] =' in path.read_text(encoding='utf-8')


@pytest.mark.parametrize('module', PUBLIC)
def test_every_public_name_is_in_the_reference(module: str) -> None:
    missing = {f'nvitop.{module}.{name}' for name in names_of(module)} - set(documented())
    assert not missing


def test_names_of_nvitop_itself_are_those_of_its_modules() -> None:
    tails = {name.rpartition('.')[2] for name in documented()}
    assert set(nvitop.__all__) - {'__version__', 'host', 'libcuda', 'libcudart', 'libnvml'} <= tails


def test_every_name_of_the_reference_is_there_once() -> None:
    names = [name for name in documented() if 'callbacks' not in name]
    assert len(set(names)) == len(names)
    for name in names:
        module, _, tail = name.rpartition('.')
        assert hasattr(importlib.import_module(module), tail), name
