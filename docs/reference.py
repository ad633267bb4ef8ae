"""Write the pages of docs/reference from the docstrings: ``python -m docs.reference``."""

from __future__ import annotations

import ast
import enum
import functools
import importlib
import inspect
import pathlib
import re
import sys
import textwrap
from typing import Any, Iterator

FOLDER = pathlib.Path(__file__).parent / 'reference'

#: Page → title and the modules on it. A name after a colon is one object instead of all public names.
PAGES: dict[str, tuple[str, str]] = {
    'device': (
        'Devices',
        """
        device api.device.processes:ProcessUsage api.device.processes:AccountedProcess
        api.device.sensors:SupportedClocks api.device.utilization:EncoderStats
        api.device.health:RemappingHistogram api.device.health:RetiredPage
        """,
    ),
    'process': (
        'Processes and the host',
        """
        process owner:Owner owner:Layer owner:parse_cgroup owner:read_owner host:MemoryUsage
        host:getuser host:hostname host:uptime host:load_average host:memory_usage
        host:swap_usage host:ppid_map
        """,
    ),
    'library': (
        'Snapshots, samples, choosing, health',
        """
        collector callbacks.tensorboard callbacks.utils
        select query health:findings health:Finding health:health_status
        health.check:check_health sampling.events:EventWatcher
        sampling
        """,
    ),
    'driver': (
        'Driver libraries, simulated machines, values',
        """
        libnvml libcuda libcudart
        simulation simulation.scenario:Gpu simulation.scenario:Mig simulation.scenario:ProcessSpec
        simulation.scenario:Host simulation.scenario:Event simulation.scenario:Fault
        utils caching termcolor
        """,
    ),
}

#: Classes that are on this page already; subclasses do not repeat their members.
DESCRIBED: set[str] = set()

#: Values rather than objects with methods: after everything else on a page, without a signature.
PLAIN = (tuple, enum.Enum, BaseException)

SECTION = re.compile(r'(Args|Returns|Raises|Yields|Warns|Attributes|Note|Example|Examples):\Z')


def markdown(docstring: str) -> str:
    """Convert a docstring with Google's sections and roles of Sphinx to Markdown."""
    text = re.sub(r':\w+:`~?\.?(?:[^`<]*<)?([^`>]+)>?`', r'``\1``', docstring)
    text = re.sub(r'``(.+?)``', r'`\1`', text, flags=re.DOTALL)
    paragraphs = []
    for paragraph in re.split(r'\n\s*\n', text):
        first, _, rest = paragraph.partition('\n')
        if paragraph.lstrip().startswith('>>>'):
            paragraphs.append(f'```pycon\n{textwrap.dedent(paragraph)}\n```')
        elif SECTION.match(first.strip()):
            items = re.split(r'\n(?=\S)', textwrap.dedent(rest))
            lines = [re.sub(r'\s*\n\s*', ' ', item) for item in items]
            lines = [re.sub(r'^([\w*, .]+): ', r'`\1`: ', line) for line in lines]
            paragraphs.append(f'**{first.strip()}**\n\n' + '\n'.join(f'- {line}' for line in lines))
        else:
            paragraphs.append(textwrap.dedent(paragraph))
    return '\n\n'.join(paragraphs).replace('.:\n', '.\n')


@functools.lru_cache(maxsize=None)
def comments_of(module_name: str) -> dict[str, str]:
    """Return the ``#:`` comments above the names of a module, and of its classes as ``Class.name``."""
    file = importlib.import_module(module_name).__file__
    assert file is not None
    source = pathlib.Path(file).read_text(encoding='utf-8')
    lines = source.splitlines()
    comments: dict[str, str] = {}

    def collect(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef):
                collect(node.body, f'{prefix}{node.name}.')
            elif isinstance(node, (ast.Assign, ast.AnnAssign)):
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                above = node.lineno - 2
                found = []
                while lines[above].strip().startswith('#:'):
                    found.insert(0, lines[above].strip()[2:].strip())
                    above -= 1
                if isinstance(target, ast.Name) and found:
                    comments[f'{prefix}{target.id}'] = ' '.join(found)

    collect(ast.parse(source).body, '')
    return comments


def signature(thing: Any, name: str) -> str:
    """Return the name with its parameters and the type of its result."""
    if isinstance(thing, property):
        kind = getattr(thing.fget, '__annotations__', {}).get('return')
        return f'{name}: {kind}' if kind else name
    try:
        text = str(inspect.signature(thing))
    except (TypeError, ValueError):
        return name
    text = re.sub(r"ForwardRef\('([^']*)'\)", r'\1', text)
    text = re.sub(r"(: |-> )['\"](.*?)['\"](?=[,)]| = |$)", r'\1\2', text)
    text = re.sub(r'<built-in function (\w+)>', r'time.\1', text)
    return name + re.sub(r'<(function|class) .*?>', '...', text).replace('(self, ', '(').replace(
        '(self)', '()'
    )


def own_docstring(thing: Any) -> str:
    """Return the docstring, unless Python or another package wrote it."""
    text = thing.__doc__ if isinstance(thing, property) else inspect.getdoc(thing)
    text = inspect.cleandoc(text or '')
    return '' if text.startswith('Alias for field number') else text


def text_of(annotation: object) -> str:
    return re.sub(r"ForwardRef\('([^']*)'.*\)", r'\1', str(annotation))


def entry(level: int, head: str, text: str) -> Iterator[str]:
    yield f'{"#" * level} `{head}`'
    if text:
        yield markdown(text)


def class_entries(kind: type, name: str, level: int) -> Iterator[str]:
    """Yield a class, its fields and its public methods, in the order of the sources."""
    is_plain = issubclass(kind, PLAIN)
    parents = [base.__name__ for base in kind.__bases__ if base.__name__ in DESCRIBED]
    yield from entry(level, name if is_plain else signature(kind, name), own_docstring(kind))
    if parents:
        yield f'Has everything that `{parents[0]}` has.'
    fields = []
    seen: set[str] = set()
    bases = [base for base in kind.__mro__ if base.__module__.startswith('nvitop.')]
    for base in bases:
        if base is not kind and base.__name__ in DESCRIBED:
            bases = bases[: bases.index(base)]
            break
    DESCRIBED.add(name)
    for base in bases:
        comments = comments_of(base.__module__)
        for field, annotation in vars(base).get('__annotations__', {}).items():
            if not field.startswith('_') and field not in seen:
                seen.add(field)
                comment = comments.get(f'{base.__name__}.{field}', '')
                fields.append(
                    f'- `{field}: {text_of(annotation)}`'
                    + (f': {markdown(comment)}' if comment else '')
                )
    if fields:
        yield ('' if is_plain else '**Attributes:**\n\n') + '\n'.join(fields)
    for base in bases:
        for member, thing in vars(base).items():
            if member.startswith('_') or member in seen:
                continue
            seen.add(member)
            thing = getattr(thing, '__func__', thing)
            if isinstance(thing, property) or inspect.isfunction(thing):
                yield from entry(
                    level + 1, signature(thing, f'{kind.__name__}.{member}'), own_docstring(thing)
                )


def module_entries(module: str, only: str, level: int) -> Iterator[str]:
    """Yield the public names of a module, or one of them."""
    found = importlib.import_module(f'nvitop.{module}')
    if not only and found.__doc__:
        yield markdown(inspect.cleandoc(found.__doc__))

    def place(name: str) -> tuple[bool, bool, int, str]:
        thing = getattr(found, name)
        is_class = inspect.isclass(thing)
        return (
            is_class and issubclass(thing, PLAIN),
            not is_class,
            len(getattr(thing, '__mro__', ())),
            name.lower(),
        )

    names = [only] if only else sorted(found.__all__, key=place)
    constants = []
    for name in names:
        thing = getattr(found, name)
        home = getattr(thing, '__module__', None) or ''
        if re.match(r'(CUDAError|cudaError|NVMLError)_', name):
            continue  # one for each return code
        if inspect.isclass(thing) and home.startswith('nvitop.'):
            yield from class_entries(thing, name, level)
        elif inspect.isfunction(thing) and home.startswith('nvitop.'):
            yield from entry(level, signature(thing, name), own_docstring(thing))
        elif not inspect.ismodule(thing) and not name.startswith(
            ('nvml', 'NVML', 'c_', 'cu', 'CU')
        ):
            comment = comments_of(found.__name__).get(name, '')
            if comment:
                constants.append(f'- `{name}`: {markdown(comment)}')
    if constants:
        yield '\n'.join(constants)


def page(name: str) -> str:
    """Return one page."""
    title, modules = PAGES[name]
    DESCRIBED.clear()
    parts = [f'# {title}', '<!-- Written by docs/reference.py from the docstrings. -->']
    words = modules.split()
    for word in words:
        module, _, only = word.partition(':')
        if len(words) > 1 and not only:
            parts.append(f'## `nvitop.{module}`')
        parts += module_entries(module, only, level=3 if len(words) > 1 else 2)
    return '\n\n'.join(part.rstrip() for part in parts) + '\n'


if __name__ == '__main__':
    for name in PAGES:
        (FOLDER / f'{name}.md').write_text(page(name), encoding='utf-8')
    print(f'Written: {", ".join(PAGES)}', file=sys.stderr)
