"""The rules of the house, read from the source: who imports whom, licences, sizes, suppressions."""

from __future__ import annotations

import ast
import pathlib
import re
from typing import Iterator

import pytest

ROOT = pathlib.Path(__file__).parent.parent
PACKAGE = ROOT / 'nvitop'
FILES = sorted(PACKAGE.rglob('*.py'))

MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 60
MAX_SUPPRESSIONS_PER_1000_LINES = 2.0
SUPPRESSION = re.compile(r'#\s*(noqa|type:\s*ignore|pylint:\s*disable|pragma:\s*no cover)')

#: Pure tables: long because there is much of one kind, not because they do much.
TABLES = {
    'nvitop/api/metrics.py',
}

#: Names that others chose, for which scripts ask.
FOREIGN_NAMES = {('nvitop.compat.igpu', 'get_device')}

ANYONE = (
    'nvitop.version',
    'nvitop.lazy',
    'nvitop.namedtuple',
    'nvitop.printable',
    'nvitop.toml',
    'nvitop.api.utils',
    'nvitop.api.metrics',
    'nvitop.platforms',
)
#: room → the prefixes it may import beside its own and ANYONE. The first matching room counts.
ROOMS: dict[str, tuple[str, ...]] = {
    'nvitop.lazy': (),
    'nvitop.namedtuple': (),
    'nvitop.platforms': (),
    'nvitop.printable': (),
    'nvitop.toml': (),
    'nvitop.version': (),
    'nvitop.api.libnvml': (),
    # The library connects NVML to the simulated driver here, and nowhere below.
    'nvitop.api.__init__': ('nvitop.api', 'nvitop.simulation'),
    'nvitop.api': ('nvitop.api',),
    'nvitop.sampling.types': (),
    'nvitop.sampling': ('nvitop.api', 'nvitop.sampling'),
    'nvitop.select': ('nvitop.api', 'nvitop.console', 'nvitop.sampling.watchdog'),
    'nvitop.query': ('nvitop.api', 'nvitop.console', 'nvitop.sampling'),
    'nvitop.console': ('nvitop.api', 'nvitop.sampling.watchdog'),
    'nvitop.console.arguments': ('nvitop.console', 'nvitop.sampling.device_names'),
    'nvitop.console.driver': (
        'nvitop.api',
        'nvitop.console',
        'nvitop.sampling.watchdog',
        'nvitop.simulation',
    ),
    'nvitop.callbacks': ('nvitop.api',),
    'nvitop.compat': ('nvitop.api',),
    'nvitop.simulation': ('nvitop.api.libcuda', 'nvitop.api.libnvml'),
    'nvitop.gui.render': ('nvitop.gui.render',),
    'nvitop.gui.state': (
        'nvitop.sampling.types',
        'nvitop.gui.layout',
        'nvitop.gui.model',
        'nvitop.gui.render.geometry',
    ),
    'nvitop.gui.model': ('nvitop.console.options', 'nvitop.sampling.types'),
    'nvitop.gui.layout': (
        'nvitop.gui.model',
        'nvitop.gui.render.geometry',
        'nvitop.gui.render.width',
        'nvitop.sampling.types',
    ),
    'nvitop.gui.view': (
        'nvitop.gui.render',
        'nvitop.gui.layout',
        'nvitop.gui.model',
        'nvitop.gui.state',
        'nvitop.gui.view',
        'nvitop.sampling.types',
        'nvitop.sampling.history',
        'nvitop.console.options',
    ),
    'nvitop.gui.term': (
        'nvitop.gui.model',
        'nvitop.gui.render',
        'nvitop.gui.state',
        'nvitop.gui.term',
    ),
    'nvitop.gui.effect_runner': (
        'nvitop.gui.signals',
        'nvitop.gui.model',
        'nvitop.gui.state',
        'nvitop.api',
        'nvitop.sampling.types',
    ),
    'nvitop.gui.signals': (
        'nvitop.gui.model',
        'nvitop.gui.state',
        'nvitop.api',
        'nvitop.sampling.types',
    ),
    'nvitop.gui': ('nvitop.gui', 'nvitop.sampling', 'nvitop.console.options'),
    'nvitop.gui.report_messages': (
        'nvitop.api',
        'nvitop.console',
        'nvitop.gui.state',
        'nvitop.sampling.types',
    ),
    'nvitop.cli': ('nvitop.api', 'nvitop.console', 'nvitop.gui', 'nvitop.sampling'),
    'nvitop.__main__': ('nvitop.cli', 'nvitop.console.startup'),
    'nvitop.__init__': (
        'nvitop.api',
        'nvitop.caching',
        'nvitop.collector',
        'nvitop.device',
        'nvitop.process',
        'nvitop.select',
        'nvitop.termcolor',
        'nvitop.utils',
    ),
}
#: Import cycles that are still to be removed. Add none.
KNOWN_CYCLES: list[set[str]] = [
    {'nvitop.api.collector.resource', 'nvitop.api.collector.threads'},
]

#: Class names that several modules define.
DEFINED_TWICE = {
    # the public name of the callback for each framework
    'Reading',  # to be removed with nvitop.api.collector.reading
    'Sample',  # to be removed with nvitop.api.collector.statistics
}

#: Packages only these rooms may import.
ONLY_IN = {
    'curses': ('nvitop.gui.term',),
    'argparse': (
        'nvitop.console.arguments',
        'nvitop.cli',
        'nvitop.select',
        'nvitop.console.options',
        'nvitop.query',
        'nvitop.simulation',
    ),
    'dataclasses': (),
    'pynvml': ('nvitop.api.libnvml', 'nvitop.simulation'),
    'psutil': ('nvitop.api.host', 'nvitop.api.process'),
}

#: Only these ask which platform it is: what differs there is in a small module for each subject.
PLATFORMS = (
    'nvitop.platforms',
    'nvitop.api.host',
    'nvitop.api.process',
    'nvitop.gui.signals',
    'nvitop.gui.term',
    'nvitop.simulation.children',
)
ASKS_THE_PLATFORM = re.compile(
    r'\b(sys\.platform|os\.name|LINUX|MACOS|POSIX|WINDOWS|hasattr\((os|signal|time|curses|ctypes)\b)'
)


def module_name(path: pathlib.Path) -> str:
    parts = list(path.relative_to(ROOT).with_suffix('').parts)
    if parts[-1] == '__init__':
        parts.pop()
    return '.'.join(parts)


def is_within(name: str, prefix: str) -> bool:
    return name == prefix or name.startswith(prefix + '.')


def type_checking_only(tree: ast.Module) -> set[ast.AST]:
    """Nodes under ``if TYPE_CHECKING:``, which import nothing when the program runs."""
    nodes: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and 'TYPE_CHECKING' in ast.dump(node.test):
            for child in node.body:
                nodes.update(ast.walk(child))
    return nodes


def imported_modules(path: pathlib.Path, *, typing_too: bool = True) -> Iterator[str]:
    tree = ast.parse(path.read_text(encoding='utf-8'))
    hidden = set() if typing_too else type_checking_only(tree)
    for node in ast.walk(tree):
        if node in hidden:
            continue
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
                    yield from (f'{module_name(path)}.{name}' for name in ast.literal_eval(names))


def is_module(name: str) -> bool:
    path = ROOT.joinpath(*name.split('.'))
    return path.with_suffix('.py').exists() or (path / '__init__.py').exists()


def is_shim(path: pathlib.Path) -> bool:
    return path.parent == PACKAGE and 'sys.modules[__name__]' in path.read_text(encoding='utf-8')


def room_of(name: str) -> str | None:
    best = [room for room in ROOMS if is_within(name, room)]
    return max(best, key=len) if best else None


@pytest.mark.parametrize('path', FILES, ids=module_name)
def test_a_room_imports_only_what_the_design_lets_it(path: pathlib.Path) -> None:
    name = module_name(path)
    if is_shim(path):
        return
    room = room_of(f'{name}.__init__' if path.name == '__init__.py' else name)
    assert room is not None, f'{name} belongs to no room: add it to ROOMS'
    allowed = (*ANYONE, *ROOMS[room], room)
    for imported in imported_modules(path):
        if is_within(imported, 'nvitop'):
            assert any(is_within(imported, prefix) for prefix in allowed), (
                f'{name} imports {imported}, but {room} may import only {sorted(allowed)}'
            )


def cycles(imports: dict[str, set[str]]) -> list[set[str]]:
    """Strongly connected components of more than one module (Tarjan's algorithm)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[set[str]] = []

    def visit(module: str) -> None:
        index[module] = low[module] = len(index)
        stack.append(module)
        for imported in imports[module]:
            if imported not in index:
                visit(imported)
            if imported in stack:
                low[module] = min(low[module], low[imported])
        if low[module] == index[module]:
            component = {stack.pop()}
            while module not in component:
                component.add(stack.pop())
            if len(component) > 1:
                found.append(component)

    for module in imports:
        if module not in index:
            visit(module)
    return found


def test_there_are_no_import_cycles() -> None:
    """Imports inside functions and for type checkers count, too."""
    modules = {module_name(path): path for path in FILES}
    imports = {
        name: {imported for imported in imported_modules(path) if imported in modules} - {name}
        for name, path in modules.items()
    }
    found = cycles(imports)
    new = [sorted(cycle) for cycle in found if not any(cycle <= known for known in KNOWN_CYCLES)]
    assert not new
    gone = [known for known in KNOWN_CYCLES if not any(cycle <= known for cycle in found)]
    assert not gone, 'remove these from KNOWN_CYCLES'


def test_cycles_are_found() -> None:
    imports = {'a': {'b'}, 'b': {'c', 'd'}, 'c': {'a'}, 'd': {'e'}, 'e': {'e'}, 'f': {'a'}}
    assert cycles(imports) == [{'a', 'b', 'c'}]


def test_no_class_name_is_defined_twice() -> None:
    definitions: dict[str, list[str]] = {}
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
            if isinstance(node, ast.ClassDef):
                definitions.setdefault(node.name, []).append(module_name(path))
    twice = {name: places for name, places in definitions.items() if len(places) > 1}
    assert twice.keys() == DEFINED_TWICE, twice


@pytest.mark.parametrize('path', FILES, ids=module_name)
def test_some_packages_are_imported_in_one_place_only(path: pathlib.Path) -> None:
    name = module_name(path)
    for imported in imported_modules(path, typing_too=False):
        for package, rooms in ONLY_IN.items():
            if is_within(imported, package):
                assert any(is_within(name, room) for room in rooms), f'{name} imports {package}'


@pytest.mark.parametrize('path', FILES, ids=module_name)
def test_few_ask_which_platform_it_is(path: pathlib.Path) -> None:
    name = module_name(path)
    if not any(is_within(name, room) for room in PLATFORMS):
        for number, line in enumerate(path.read_text(encoding='utf-8').splitlines(), 1):
            assert not ASKS_THE_PLATFORM.search(line), f'{name}, line {number}'


@pytest.mark.parametrize('path', FILES, ids=module_name)
def test_named_tuples_are_the_ones_that_are_made_fast(path: pathlib.Path) -> None:
    if module_name(path) == 'nvitop.namedtuple':
        return
    for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
        if isinstance(node, ast.ImportFrom) and node.module == 'typing':
            names = [alias.name for alias in node.names]
            assert 'NamedTuple' not in names, f'{path}: from nvitop.namedtuple import NamedTuple'


@pytest.mark.parametrize('path', FILES, ids=module_name)
def test_licences_are_declared_and_apache_files_do_not_import_gpl_ones(path: pathlib.Path) -> None:
    name = module_name(path)
    is_gpl = name == 'nvitop.cli' or is_within(name, 'nvitop.gui')
    first = path.read_text(encoding='utf-8').split('\n', 1)[0]
    expected = 'GPL-3.0-only' if is_gpl else 'Apache-2.0'
    assert first == f'# SPDX-License-Identifier: {expected}'
    if is_gpl or name == 'nvitop.__main__':
        return
    for imported in imported_modules(path):
        assert not is_within(imported, 'nvitop.gui'), f'{name} imports {imported}'
        assert not is_within(imported, 'nvitop.cli'), f'{name} imports {imported}'


@pytest.mark.parametrize('path', FILES, ids=module_name)
def test_files_and_functions_are_short(path: pathlib.Path) -> None:
    text = path.read_text(encoding='utf-8')
    relative = path.relative_to(ROOT).as_posix()
    if relative not in TABLES:
        assert len(text.splitlines()) <= MAX_FILE_LINES, relative
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            assert node.end_lineno is not None
            start = node.lineno
            if ast.get_docstring(node) is not None:
                doc = node.body[0]
                assert doc.end_lineno is not None
                start += doc.end_lineno - doc.lineno + 1
            lines = node.end_lineno - start + 1
            assert lines <= MAX_FUNCTION_LINES, f'{relative}: {node.name} has {lines} lines'


def test_checkers_are_rarely_suppressed_and_never_without_a_reason() -> None:
    total = 0
    suppressions = []
    for path in FILES:
        for number, line in enumerate(path.read_text(encoding='utf-8').splitlines(), 1):
            total += 1
            match = SUPPRESSION.search(line)
            if match:
                suppressions.append(f'{path.relative_to(ROOT)}:{number}')
                reason = re.search(r'\s-\s\S', line[match.start() :])
                assert reason, f'{suppressions[-1]}: a suppression needs " - reason"'
    allowed = max(3.0, total / 1000 * MAX_SUPPRESSIONS_PER_1000_LINES)
    assert len(suppressions) <= allowed, suppressions


@pytest.mark.parametrize('path', FILES, ids=module_name)
def test_nothing_is_called_a_drawer(path: pathlib.Path) -> None:
    forbidden = {'library', 'helpers', 'helper', 'common', 'misc', 'core', 'manager'}
    assert not forbidden & set(path.relative_to(PACKAGE).with_suffix('').parts)
    for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
        if isinstance(node, ast.FunctionDef):
            is_foreign = (module_name(path), node.name) in FOREIGN_NAMES
            assert is_foreign or not node.name.startswith('get_'), f'{path}: {node.name}'


@pytest.mark.parametrize('path', FILES, ids=module_name)
def test_every_module_and_public_name_has_a_docstring(path: pathlib.Path) -> None:
    tree = ast.parse(path.read_text(encoding='utf-8'))
    if is_shim(path):
        return
    assert ast.get_docstring(tree), f'{path}: module'
    public: list[ast.stmt] = list(tree.body)
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith('_'):
            public.extend(node.body)
    for node in public:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith('_'):
            overload = any(
                'overload' in ast.dump(d) or 'setter' in ast.dump(d) for d in node.decorator_list
            )
            assert overload or ast.get_docstring(node), f'{path}: {node.name} at {node.lineno}'
