"""Architecture rules, checked in the source: imports, licenses, sizes, suppressions, docstrings."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import pathlib
import re
from typing import Iterator

ROOT = pathlib.Path(__file__).parent.parent
PACKAGE = ROOT / 'nvitop'
FILES = sorted(PACKAGE.rglob('*.py'))

MAX_FILE_LINES = 700
MAX_FUNCTION_LINES = 100
MAX_SUPPRESSIONS_PER_1000_LINES = 2.0
SUPPRESSION = re.compile(r'#\s*(noqa|type:\s*ignore|pylint:\s*disable|pragma:\s*no cover)')

#: Files that may be longer because they only contain tables.
TABLES = {'nvitop/basics/metrics.py'}

#: Names that begin with ``get_`` because scripts of other packages expect them.
FOREIGN_NAMES = {
    ('nvitop.callbacks.utils', 'get_devices_by_logical_ids'),
    ('nvitop.callbacks.utils', 'get_gpu_stats'),
    ('nvitop.compat.igpu', 'get_device'),
    ('nvitop.exporter.server', 'get_request'),
}

#: Packages that every package may import. They import none but each other.
ANYONE = 'basics platforms version'
#: Package → other packages that it may import. The longest match applies. Cycles of modules and GPL
#: modules in Apache files are forbidden by tests of their own.
LAYERS: dict[str, str] = {
    'basics': '',
    'platforms': '',
    'version': '',
    'tui': '',
    # The door to NVML knows nothing of what is behind it.
    'api.libnvml': '',
    # The simulation replaces the driver in the __init__ of the library, and nowhere below.
    'api': 'collector owner simulation',
    'simulation': 'api',
    'owner': 'api',
    # Who has claimed a device is read by all; claiming one needs to choose it.
    'claims.records': '',
    'sampling': 'api claims.records owner',
    'health': 'api console sampling',
    'recording': 'accounting api console health owner sampling',
    'accounting': 'health sampling',
    'remote': 'console sampling simulation',
    'collector': 'api sampling',
    'callbacks': 'api',
    'compat': 'api console',
    'select': 'api claims.records console health sampling',
    'claims': 'api console sampling select',
    'query': 'api console health remote sampling',
    'usage': 'accounting console fleet health owner recording sampling',
    'exporter': 'accounting api console health recording sampling',
    'fleet': 'accounting console exporter health owner remote sampling',
    'doctor': 'api console health sampling simulation',
    'console': 'api sampling simulation',
    # Drawing is pure: state and views know values only.
    'gui.render': '',
    'gui.model': 'console gui.render health owner sampling',
    'gui.state': 'accounting fleet gui.fleet gui.model gui.render health owner recording sampling',
    'gui.view': 'accounting gui.model gui.render gui.state console health owner sampling',
    'gui.term': 'gui.render gui.state',
    'gui': 'accounting api console fleet health owner query recording remote sampling',
    'cli': 'api console gui remote',
    '__main__': 'cli console',
    '__init__': 'api caching claims collector device process sampling select termcolor utils',
}
#: Package → the only rooms that may import it.
ONLY_IN = {
    'curses': 'gui.term',
    'argparse': (
        'claims doctor console.arguments console.option_table exporter.command '
        'fleet.command '
        'gui.fleet.command health.command query recording.command select simulation usage.command'
    ),
    'dataclasses': 'usage',  # it takes 10 ms to import
    'pynvml': 'api.libnvml simulation',
    'psutil': 'api.host api.process',
}

#: Modules that may check the platform.
PLATFORMS = 'platforms api.host api.process claims.run console.messages gui.effects gui.term owner.names owner.reading simulation.simulated_system'
PLATFORM_CHECK = re.compile(
    r'\b(sys\.platform|os\.name|LINUX|MACOS|POSIX|WINDOWS|hasattr\((os|signal|time|curses|ctypes)\b)'
)


@functools.lru_cache(maxsize=None)
def source_of(path: pathlib.Path) -> str:
    return path.read_text(encoding='utf-8')


@functools.lru_cache(maxsize=None)
def tree_of(path: pathlib.Path) -> ast.Module:
    return ast.parse(source_of(path))


@functools.lru_cache(maxsize=None)
def nodes_of(path: pathlib.Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(tree_of(path)))


def module_name(path: pathlib.Path) -> str:
    parts = list(path.relative_to(ROOT).with_suffix('').parts)
    if parts[-1] == '__init__':
        parts.pop()
    return '.'.join(parts)


def is_within(name: str, prefix: str) -> bool:
    return name == prefix or name.startswith(prefix + '.')


def is_in_any(name: str, rooms: str) -> bool:
    return any(is_within(name, f'nvitop.{room}') for room in rooms.split())


def type_checking_only(path: pathlib.Path) -> set[ast.AST]:
    """Return the nodes under ``if TYPE_CHECKING:``, which import nothing at run time."""
    nodes: set[ast.AST] = set()
    for node in nodes_of(path):
        if isinstance(node, ast.If) and 'TYPE_CHECKING' in ast.dump(node.test):
            for child in node.body:
                nodes.update(ast.walk(child))
    return nodes


@functools.lru_cache(maxsize=None)
def imported_modules(path: pathlib.Path, *, typing_too: bool = True) -> tuple[str, ...]:
    """Return the modules that a file imports, lazy imports included."""
    hidden = set() if typing_too else type_checking_only(path)
    nodes = (node for node in nodes_of(path) if node not in hidden)
    return tuple(name for node in nodes for name in modules_of(node, path))


def modules_of(node: ast.AST, path: pathlib.Path) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        assert node.level == 0, f'{path}: relative import'
        assert node.module is not None
        for alias in node.names:
            # `from nvitop.api import libnvml` imports a module, not a name of the package.
            full = f'{node.module}.{alias.name}'
            yield full if is_module(full) else node.module
    elif isinstance(node, ast.Call) and getattr(node.func, 'id', '') == 'lazy_names':
        assert isinstance(node.args[1], ast.Dict)
        for home, names in zip(node.args[1].keys, node.args[1].values):
            if isinstance(home, ast.Constant):
                yield str(home.value)
            else:  # submodules of this package
                package = module_name(path)
                yield from (f'{package}.{name}' for name in ast.literal_eval(names).split())


@functools.lru_cache(maxsize=None)
def is_module(name: str) -> bool:
    path = ROOT.joinpath(*name.split('.'))
    return path.with_suffix('.py').exists() or (path / '__init__.py').exists()


def is_alias(path: pathlib.Path) -> bool:
    """Return whether a file makes its module another name of another module."""
    return 'sys.modules[__name__] = ' in source_of(path)


def layer_of(name: str) -> str:
    matches = [layer for layer in LAYERS if is_within(name, f'nvitop.{layer}')]
    assert matches, f'{name} is not in LAYERS'
    return max(matches, key=len)


def test_packages_import_only_layers_below_them() -> None:
    problems = []
    for path in FILES:
        if is_alias(path):
            continue
        name = module_name(path)
        layer = '__init__' if name == 'nvitop' else layer_of(name)
        allowed = f'{ANYONE} {LAYERS[layer]} {layer}'
        problems += [
            f'{name} imports {imported}; {layer} may import {allowed}'
            for imported in imported_modules(path)
            if is_within(imported, 'nvitop') and not is_in_any(imported, allowed)
        ]
    assert not problems, '\n'.join(problems)


def cycles(imports: dict[str, set[str]]) -> set[str]:
    """Return the modules on cycles of imports, and those on a way from one cycle to another."""
    left, size = imports, -1
    while len(left) != size:
        size = len(left)
        imported = set().union(*left.values())
        left = {
            name: targets & left.keys()
            for name, targets in left.items()
            if name in imported and targets & left.keys()
        }
    return set(left)


def test_there_are_no_import_cycles() -> None:
    """Imports inside functions and for type checkers count too."""
    modules = {module_name(path): path for path in FILES}
    imports = {
        name: {imported for imported in imported_modules(path) if imported in modules} - {name}
        for name, path in modules.items()
    }
    assert not cycles(imports)


def test_no_class_name_is_defined_twice() -> None:
    definitions: dict[str, list[str]] = {}
    for path in FILES:
        for node in nodes_of(path):
            if isinstance(node, ast.ClassDef):
                definitions.setdefault(node.name, []).append(module_name(path))
    twice = {name: places for name, places in definitions.items() if len(places) > 1}
    assert not twice


def test_some_packages_are_imported_in_one_place_only() -> None:
    problems = [
        f'{module_name(path)} imports {package}'
        for path in FILES
        for imported in imported_modules(path, typing_too=False)
        for package, rooms in ONLY_IN.items()
        if is_within(imported, package) and not is_in_any(module_name(path), rooms)
    ]
    assert not problems


def test_few_modules_check_the_platform() -> None:
    problems = [
        f'{path}:{number}'
        for path in FILES
        if not is_in_any(module_name(path), PLATFORMS)
        for number, line in enumerate(source_of(path).splitlines(), 1)
        if PLATFORM_CHECK.search(line)
    ]
    assert not problems


def test_licenses_are_declared_and_apache_files_import_no_gpl_file() -> None:
    for path in FILES:
        name = module_name(path)
        is_gpl = name == 'nvitop.cli' or is_within(name, 'nvitop.gui')
        expected = 'GPL-3.0-only' if is_gpl else 'Apache-2.0'
        first = source_of(path).split('\n', 1)[0]
        assert first == f'# SPDX-License-Identifier: {expected}', path
        if is_gpl or name == 'nvitop.__main__':
            continue
        for imported in imported_modules(path):
            assert not is_within(imported, 'nvitop.gui'), f'{name} imports {imported}'
            assert not is_within(imported, 'nvitop.cli'), f'{name} imports {imported}'


def functions_of(path: pathlib.Path) -> Iterator[tuple[str, int]]:
    """Yield the name and number of lines of each function, without its docstring."""
    for node in nodes_of(path):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            assert node.end_lineno is not None
            lines = node.end_lineno - node.lineno + 1
            if ast.get_docstring(node) is not None:
                assert node.body[0].end_lineno is not None
                lines -= node.body[0].end_lineno - node.body[0].lineno + 1
            yield node.name, lines


def test_files_and_functions_are_short() -> None:
    problems = []
    for path in FILES:
        relative = path.relative_to(ROOT).as_posix()
        lines = len(source_of(path).splitlines())
        if lines > MAX_FILE_LINES and relative not in TABLES:
            problems.append(f'{relative} has {lines} lines')
        for name, lines in functions_of(path):
            if lines > MAX_FUNCTION_LINES:
                problems.append(f'{relative}: {name} has {lines} lines')
    assert not problems


def test_suppressions_are_rare_and_have_reasons() -> None:
    total = 0
    suppressions = []
    for path in FILES:
        for number, line in enumerate(source_of(path).splitlines(), 1):
            total += 1
            match = SUPPRESSION.search(line)
            if match:
                suppressions.append(f'{path.relative_to(ROOT)}:{number}')
                reason = re.search(r'\s-\s\S', line[match.start() :])
                assert reason, f'{suppressions[-1]}: a suppression needs " - reason"'
    allowed = max(3.0, total / 1000 * MAX_SUPPRESSIONS_PER_1000_LINES)
    assert len(suppressions) <= allowed, suppressions


def test_names_are_specific() -> None:
    forbidden = {'library', 'helpers', 'helper', 'common', 'misc', 'core', 'manager'}
    for path in FILES:
        assert not forbidden & set(path.relative_to(PACKAGE).with_suffix('').parts), path
        for node in nodes_of(path):
            if isinstance(node, ast.FunctionDef) and node.name.startswith('get_'):
                assert (module_name(path), node.name) in FOREIGN_NAMES, f'{path}: {node.name}'


def test_modules_and_public_names_have_docstrings() -> None:
    assert not [
        path for path in FILES if not is_alias(path) and not ast.get_docstring(tree_of(path))
    ]
    problems = []
    package = importlib.import_module('nvitop')
    for name in package.__all__:
        value = getattr(package, name)
        members = {
            f'{name}.{member}': getattr(value, member)
            for member in (vars(value) if inspect.isclass(value) else ())
            if not member.startswith('_')
        }
        problems += [
            where
            for where, each in {name: value, **members}.items()
            if getattr(each, '__module__', '').startswith('nvitop')
            and (inspect.isclass(each) or inspect.isroutine(each))
            and not inspect.getdoc(each)
        ]
    assert not problems


def test_benchmarks_and_tools_import_no_tests() -> None:
    files = [*ROOT.glob('benchmarks/*.py'), *ROOT.glob('tools/*.py')]
    assert not [
        path for path in files if re.search(r'^\s*(from|import) tests', source_of(path), re.M)
    ]


def test_tests_import_helpers_from_no_module_of_tests() -> None:
    imports = re.compile(r'^\s*from tests(\S*\.test_\w+ import| import test_)', re.MULTILINE)
    assert not [path for path in ROOT.glob('tests/**/*.py') if imports.search(source_of(path))]
