"""The reference lists every public name, and only names that exist."""

from __future__ import annotations

import ast
import importlib
import pathlib
import re
from typing import Iterator

import pynvml

from nvitop.api.libnvml._query import OVERRIDES

ROOT = pathlib.Path(__file__).parent.parent
PAGES = sorted((ROOT / 'docs' / 'reference').glob('*.rst'))

#: Public modules, by the paths that users import.
PUBLIC = """
    caching callbacks.keras callbacks.lightning callbacks.pytorch_lightning
    callbacks.tensorboard callbacks.utils collector compat.igpu compat.pynvml_smi device host
    libcuda libcudart libnvml process query sampling select simulation termcolor utils
"""

DIRECTIVE = re.compile(r'^\.\. (py:|auto)(\w+):: ([\w.]+)\n((?:   :.*\n)*)', re.MULTILINE)


def names_of(module: str) -> list[str]:
    """Return the names that a module lists, without those that it makes from tables."""
    if module in ('api', 'libnvml'):
        names = set(importlib.import_module(f'nvitop.{module}').__all__)
        return sorted(names.difference(vars(pynvml)) | names.intersection(OVERRIDES))
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
            elif ':no-members:' not in options and name[len('nvitop.') :] in PUBLIC.split():
                yield from (f'{name}.{each}' for each in names_of(name[len('nvitop.') :]))


def test_alias_modules_are_public() -> None:
    aliases = {path.stem for path in (ROOT / 'nvitop').glob('*.py') if _is_alias(path)}
    assert len(aliases) > 5
    assert aliases <= set(PUBLIC.split())


def _is_alias(path: pathlib.Path) -> bool:
    return 'sys.modules[__name__] =' in path.read_text(encoding='utf-8')


def test_reference_lists_every_public_name() -> None:
    public = {f'nvitop.{module}.{name}' for module in PUBLIC.split() for name in names_of(module)}
    assert public <= set(documented())


def test_reference_lists_every_name_of_the_package() -> None:
    tails = {name.rpartition('.')[2] for name in documented()}
    modules = {'host', 'libcuda', 'libcudart', 'libnvml'}
    assert {*names_of('api'), 'select_devices'} - modules <= tails


def test_reference_lists_existing_names_once() -> None:
    names = [name for name in documented() if 'callbacks' not in name]
    assert len(set(names)) == len(names)
    for name in names:
        module, _, tail = name.rpartition('.')
        assert hasattr(importlib.import_module(module), tail), name
