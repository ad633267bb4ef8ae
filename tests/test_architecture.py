"""Architecture rules, checked in the source: imports, licenses, sizes, suppressions, docstrings."""

from __future__ import annotations

import ast
import functools
import pathlib
import re
from typing import Iterator

ROOT = pathlib.Path(__file__).parent.parent
PACKAGE = ROOT / 'nvitop'
FILES = sorted(PACKAGE.rglob('*.py'))

MAX_FILE_LINES = 700
MAX_IMPORTS_INSIDE_FUNCTIONS = 70
MAX_FUNCTION_LINES = 60
MAX_SUPPRESSIONS_PER_1000_LINES = 2.0
SUPPRESSION = re.compile(r'#\s*(noqa|type:\s*ignore|pylint:\s*disable|pragma:\s*no cover)')

#: Files that may be longer because they only contain tables.
TABLES = {'nvitop/api/metrics.py'}

#: Names that begin with ``get_`` because scripts of other packages expect them.
FOREIGN_NAMES = {('nvitop.compat.igpu', 'get_device')}

#: Prefixes that every room may import.
ANYONE = 'version lazy log masking printable tables times toml api.utils api.metrics platforms'
#: Package or module → prefixes that it may import in addition to itself and ANYONE, all without
#: ``nvitop.``. The longest match applies.
ROOMS: dict[str, str] = {
    'doctor': 'api console health sampling.watchdog',
    'health': 'sampling.types',
    'health.__init__': 'health sampling.source sampling.types',
    'health.check': 'api.system health sampling',
    'health.command': 'console health sampling.types',
    'lazy': '',
    'log': '',
    'masking': '',
    'tables': '',
    'platforms': '',
    'printable': '',
    'times': '',
    'toml': '',
    'tui': '',
    'version': '',
    'api.libnvml': '',
    # The library connects NVML to the simulated driver here, and nowhere below.
    'api.__init__': 'api collector simulation',
    # Another path of the same module, for programs written for nvitop 1.
    'api.collector': 'collector',
    'api': 'api owner',
    'owner': 'api.host api.process.procfs api.system',
    'owner.types': '',
    'owner.cgroup': 'owner.types',
    'sampling.types': 'owner.types',
    'sampling': 'api owner sampling',
    'sampling.source': 'api claims owner sampling',
    'collector': 'api sampling',
    'select': 'api claims.records health.check',
    'claims': 'api claims select.choice',
    'claims.__init__': '',
    'claims.records': 'claims',
    'claims.run': 'api claims console select',
    'claims.listing': 'claims console sampling',
    'select.__main__': 'console.lifecycle',
    'select.command': 'api console sampling.watchdog select.choice',
    'query': 'api health sampling',
    'query.formats': 'exporter query',
    'query.output': 'console.lifecycle',
    'query.command': 'api console query sampling.device_names sampling.types',
    'query.samples': 'query recording.privacy sampling',
    'exporter': 'health sampling.types',
    'fleet': 'exporter health owner.types sampling.types',
    'fleet.command': 'console fleet',
    'exporter.access': '',
    'exporter.pages': (
        'api.host api.process exporter recording.recorder recording.shares recording.usage '
        'sampling.types'
    ),
    'exporter.server': '',
    'exporter.command': 'console exporter recording sampling',
    'console': '',
    'console.problems': 'console.messages sampling.types',
    'console.remote': 'console recording.ssh sampling.types',
    'console.messages': 'api.termcolor',
    'console.arguments': 'console sampling.device_names',
    'console.driver': 'api console sampling.device_names sampling.watchdog simulation',
    'recording.privacy': 'owner.types sampling.types',
    'recording': 'health sampling.history sampling.serialization sampling.types',
    'recording.command': 'api console recording sampling',
    'usage': 'recording sampling.types times usage',
    'usage.report': 'health.states recording.shares sampling.types',
    'usage.prometheus': 'fleet recording.shares usage',
    'usage.command': 'console fleet recording sampling.types times usage',
    'callbacks': 'api',
    'compat': 'api',
    'compat.pynvml_smi.__main__': 'api compat console.lifecycle',
    'simulation': 'api.host api.libcuda api.libnvml api.metrics api.process.facts api.system',
    'gui.render': '',
    'gui.state': (
        'health owner.types sampling.history sampling.types gui.layout '
        'gui.model gui.render.geometry'
    ),
    # The description of a screen has the function that draws it into a Buffer.
    'gui.state.app_state': (
        'health owner.types recording.events sampling.history sampling.types gui.layout gui.model '
        'gui.fleet.data gui.render.buffer gui.state'
    ),
    'gui.state.events': 'fleet owner.types recording.events sampling.history sampling.types',
    'gui.model': (
        'console.options gui.render.style gui.render.width health owner.types sampling.types'
    ),
    'gui.layout': 'gui.model gui.render.geometry gui.render.width sampling.types',
    'gui.view': (
        'health gui.render gui.layout gui.model gui.state sampling.types sampling.history '
        'console.options'
    ),
    'gui.term': 'gui.render gui.state.events',
    'gui.effect_runner': (
        'api.host console.config api.process owner gui.state.events sampling.types'
    ),
    'gui': 'health console.options owner.types recording.events recording.frames recording.replay sampling',
    'gui.settings': 'console gui.model.columns gui.state.bindings',
    'gui.show': 'api console gui health recording.replay sampling',
    'gui.replay_command': 'console gui query recording sampling',
    'gui.fleet': 'fleet gui sampling',
    'gui.fleet.data': 'fleet',
    'gui.fleet.view': 'exporter.dialects fleet gui sampling.history',
    'gui.fleet.command': 'console fleet gui sampling',
    'gui.report': 'api console gui health sampling.types',
    'cli': 'api console gui',
    '__main__': 'cli console.lifecycle',
    '__init__': 'api caching claims.acquire collector device process select termcolor utils',
}
#: Package → the only rooms that may import it.
ONLY_IN = {
    'curses': 'gui.term',
    'argparse': (
        'claims doctor console.arguments console.option_table exporter.command '
        'fleet.command '
        'gui.fleet.command health.command query recording.command select simulation usage.command'
    ),
    'dataclasses': '',
    'pynvml': 'api.libnvml simulation',
    'psutil': 'api.host api.process',
}

#: Modules that may check the platform.
PLATFORMS = 'platforms api.host api.process claims.run gui.effect_runner gui.term owner.reading simulation.children'
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


def room_of(name: str) -> str | None:
    matches = [room for room in ROOMS if is_within(name, f'nvitop.{room}')]
    return max(matches, key=len) if matches else None


def test_modules_import_only_what_rooms_allows() -> None:
    problems = []
    for path in FILES:
        if is_alias(path):
            continue
        name = module_name(path)
        room = room_of(f'{name}.__init__' if path.name == '__init__.py' else name)
        assert room is not None, f'{name} is not in ROOMS'
        allowed = f'{ANYONE} {ROOMS[room]} {room}'
        problems += [
            f'{name} imports {imported}; it may import {allowed}'
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


def test_cycles_are_found() -> None:
    imports = {'a': {'b'}, 'b': {'c', 'd'}, 'c': {'a'}, 'd': {'e'}, 'e': set(), 'f': {'a'}}
    assert cycles(imports) == {'a', 'b', 'c'}


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


def test_few_imports_are_inside_functions() -> None:
    """docs/architecture.md has the reasons for those that are."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    inside = {
        (path, child.lineno)
        for path in FILES
        for node in nodes_of(path)
        if isinstance(node, functions)
        for child in ast.walk(node)
        if isinstance(child, (ast.Import, ast.ImportFrom))
    }
    assert len(inside) < MAX_IMPORTS_INSIDE_FUNCTIONS


def test_claims_stay_small() -> None:
    files = [path for path in FILES if path.parent.name == 'claims']
    assert sum(len(source_of(path).splitlines()) for path in files) <= 900


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
    problems = []
    for path in FILES:
        if is_alias(path):
            continue
        if not ast.get_docstring(tree_of(path)):
            problems.append(f'{path}: module')
        public: list[ast.stmt] = list(tree_of(path).body)
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith('_'):
                public.extend(node.body)
        for node in public:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith('_'):
                needs_none = any(
                    'overload' in ast.dump(d) or 'setter' in ast.dump(d)
                    for d in node.decorator_list
                )
                if not needs_none and not ast.get_docstring(node):
                    problems.append(f'{path}:{node.lineno}: {node.name}')
    assert not problems


def test_tests_import_helpers_from_no_module_of_tests() -> None:
    imports = re.compile(r'^\s*from tests(\S*\.test_\w+ import| import test_)', re.MULTILINE)
    assert not [path for path in ROOT.glob('tests/**/*.py') if imports.search(source_of(path))]
