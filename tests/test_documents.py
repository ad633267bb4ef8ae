"""Every code block of the documentation runs on a simulated machine and prints what the page shows."""

from __future__ import annotations

import configparser
import contextlib
import io
import json
import os
import pathlib
import re
import shutil
import sys
import types
from typing import Any, Iterator
from unittest import mock

import pytest

from docs.reference import PAGES as REFERENCE
from nvitop import simulation
from nvitop.collector.collector import CollectThread
from tests.callbacks import frameworks
from tests.documents import (
    ANNOUNCED,
    ROOT,
    SCENARIO,
    Block,
    Shell,
    blocks_of,
    commands_of,
    matches,
    session_of,
)
from tests.waiting import PATIENCE

PAGES = [
    'README.md',
    'CONTRIBUTING.md',
    *sorted(
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / 'docs').rglob('*.md')
        if path.stem not in REFERENCE  # tests/test_docstrings.py runs their examples
    ),
]
#: Start of a command that is not run → reason.
NOT_RUN = {
    r'(pip|pipx|uv tool) (un)?install ': 'needs the network',
    r'uvx ': 'needs the network',
    r'docker ': 'needs Docker',
    r'make ': 'creates environments from the network; .ci/run runs these targets',
    r'\.ci/run': 'runs everything',
    r'nvidia-smi ': 'part of the driver',
    r'sudo ': 'changes the system',
    r'(nvitop --)?ssh ': 'needs another machine',
    r'srun ': 'needs Slurm',
    r'sqlite3 ': 'is not everywhere',
    r'nvitop exporter': 'serves a port that may be in use; see tests/exporter',
}
#: Commands that run until they are interrupted.
ENDLESS = (r'.* (-l|-lms|--loop)\b', r'nvitop record (?!.*--duration=)')
#: Pages with text blocks that no command prints.
DRAWINGS = {'docs/architecture.md', 'docs/exporter.md', 'docs/recording.md'}
PRINTS_COUNT = 'from nvitop import Device\n\nprint(Device.count())\n'
TRAINS = 'import os\n\nos.environ["CUDA_VISIBLE_DEVICES"]\n'
#: Page → files that its commands read.
FILES = {
    'README.md': {'train.py': TRAINS},
    'docs/how-to.md': {'train.py': TRAINS},
    'docs/select.md': {'train.py': TRAINS},
    'docs/simulation.md': {
        'my_program.py': PRINTS_COUNT,
        'my-machine.toml': '[[gpu]]\nmodel = "RTX 4090"\n',
    },
    'docs/query.md': {'processes.csv': 'pid, command\n4242, python train.py\n'},
}


def page_text(page: str) -> str:
    return (ROOT / page).read_text(encoding='utf-8')


def stand_ins(page: str) -> dict[str, Any]:
    """Return names that a page takes from the reader's program: a training, a logger."""
    anything = mock.MagicMock()
    if page == 'docs/collector.md':
        names = ('logger', 'model', 'x', 'y', 'CSVLogger', 'Trainer', 'writer')
        return {**dict.fromkeys(names, anything), 'train_one_epoch': lambda: None, 'epoch': 0}
    if page == 'docs/query.md':
        return {'pandas': anything}
    return {}


@contextlib.contextmanager
def interpreter(page: str, claims: str) -> Iterator[dict[str, Any]]:
    """Yield the Python namespace of a page, with a simulated machine and stand-in frameworks.

    ``claims`` is the directory of claims.
    """
    names = {'__name__': 'page', **stand_ins(page)}
    machine = simulation.machine(SCENARIO)
    with pytest.MonkeyPatch.context() as patch, mock.patch.dict(os.environ), machine:
        os.environ['NVITOP_CLAIMS'] = claims
        # Only these: forgetting other modules would give the next test a second copy of them.
        for name, module in frameworks.modules().items():
            patch.setitem(sys.modules, name, module)
        try:
            yield names
        finally:
            for thread in [each for each in names.values() if isinstance(each, CollectThread)]:
                thread.collector.deactivate('metrics-daemon')
                thread.join(PATIENCE)
    for framework in ('keras', 'lightning', 'pytorch_lightning'):
        # This class was made from a stand-in; another test may need the real one.
        vars(sys.modules.get(f'nvitop.callbacks.{framework}', types)).pop('GpuStatsLogger', None)


@contextlib.contextmanager
def inside(folder: pathlib.Path) -> Iterator[None]:
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def run_shell(block: Block, shell: Shell) -> None:
    commands = [line for line in commands_of(block.text) if not why_not_run(line)]
    if any(is_endless(command) for command in commands):
        for command in commands:
            if is_endless(command):
                shell.run_for_a_while(command)
            else:
                shell.run(command)
    elif len(commands) == len(commands_of(block.text)):
        shell.run(block.text)
    elif commands:
        shell.run('\n'.join(commands))


def why_not_run(command: str) -> str:
    return next((why for start, why in NOT_RUN.items() if re.match(start, command)), '')


def is_endless(command: str) -> bool:
    return any(re.match(pattern, command) for pattern in ENDLESS)


def run_console(block: Block, shell: Shell) -> None:
    sessions = list(session_of(block.text))
    assert sessions, f'{block.where}: no "$ command"'
    for command, expected in sessions:
        if why_not_run(command):
            continue
        printed = shell.show(command, errors=ANNOUNCED in expected)
        assert matches(expected, printed, varies=block.varies), (
            f'{block.where}: $ {command}\n{printed}'
        )


def check_toml(block: Block, shell: Shell) -> None:
    if re.search(r'^\[\[?(driver|gpu|process|event|fault|clock)', block.text, re.MULTILINE):
        gpus = '' if '[[gpu]]' in block.text else '[[gpu]]\ncount = 8\n'
        simulation.parse_scenario(gpus + block.text, name=block.where)
        return
    (shell.folder / 'checked.toml').write_text(block.text, encoding='utf-8')
    complaints = shell.errors('nvitop --config checked.toml -1')
    assert 'checked.toml' not in complaints, f'{block.where}: {complaints}'


def shipped_yaml() -> str:
    return '\n'.join(path.read_text('utf-8') for path in (ROOT / 'share').rglob('*.yml'))


def run_page(page: str, folder: pathlib.Path) -> None:
    """Run the blocks of a page in order, in one folder and one namespace."""
    shell = Shell(folder)
    for name, text in FILES.get(page, {}).items():
        (shell.folder / name).write_text(text, encoding='utf-8')
    with interpreter(page, shell.environment['NVITOP_CLAIMS']) as names:
        printed = ''
        for block in blocks_of(page):
            if block.language == 'sh':
                run_shell(block, shell)
            elif block.language == 'console':
                run_console(block, shell)
            elif block.language == 'python':
                output = io.StringIO()
                with contextlib.redirect_stdout(output), inside(shell.folder):
                    exec(compile(block.text, block.where, 'exec'), names)
                    for name in re.findall(r'^def (test_\w+)\(\)', block.text, re.MULTILINE):
                        names[name]()
                printed = output.getvalue()
            elif block.language == 'toml':
                check_toml(block, shell)
            elif block.language == 'json':
                json.loads(block.text)
            elif block.language == 'yaml':
                assert block.text.strip() in shipped_yaml(), f'{block.where} is not in share/'
            elif block.language == 'ini':
                configparser.ConfigParser(strict=False).read_string(block.text)
            elif block.language == 'text' and block.follows_python:
                assert matches(block.text, printed, varies=block.varies), (
                    f'{block.where}:\n{printed}'
                )
            else:
                is_drawing = block.language == 'text' and page in DRAWINGS
                assert is_drawing or block.language.startswith('{'), f'{block.where} is not run'


@pytest.mark.skipif(not shutil.which('bash'), reason='NOT TESTED: bash is not installed')
@pytest.mark.timeout(900)
@pytest.mark.parametrize('page', PAGES)
def test_blocks_run(page: str, tmp_path: pathlib.Path) -> None:
    run_page(page, tmp_path)


def test_messages_in_troubleshooting_are_those_of_the_program() -> None:
    text = page_text('docs/troubleshooting.md').partition('## Questions')[0]
    quoted = re.findall(r'`([^`]+)`', ' '.join(re.findall(r'^\| (.*?) \|', text, re.MULTILINE)))
    source = ''.join(
        path.read_text(encoding='utf-8') for path in sorted((ROOT / 'nvitop').rglob('*.py'))
    )
    assert len(quoted) > 5
    for words in quoted:
        assert words.strip('… ') in source, words


def test_environment_variables_are_documented() -> None:
    text = page_text('docs/command-line.md')
    table = text.partition('## Environment variables')[2].partition('##')[0]
    documented = set(re.findall(r'`([A-Z_]+)`', ''.join(re.findall(r'^\| (.*?) \|', table, re.M))))
    source = '\n'.join(
        path.read_text(encoding='utf-8')
        for path in sorted((ROOT / 'nvitop').rglob('*.py'))
        # The package owner reads the variables of other processes.
        if path.parts[-2] not in ('compat', 'owner')
    )
    read = set(re.findall(r"environ(?:ment)?(?:\.get\(|\[)'([A-Z_]+)'", source))
    # Set by systems and terminals, not by users.
    read -= {'PATH', 'COLORTERM', 'WT_SESSION', 'STY', 'TMUX', 'RUNTIME_DIRECTORY'}
    assert read <= documented
    assert all(name in source for name in documented)


def test_links_have_targets() -> None:
    for page in PAGES:
        text = page_text(page)
        for name, anchor in re.findall(r'\]\((?!\w+://)([^)#\s]*)#?([^)\s]*)\)', text):
            target = (ROOT / page).parent / name if name else ROOT / page
            assert target.exists(), (page, name)
            if anchor:
                assert anchor in anchors(target.read_text(encoding='utf-8')), (page, anchor)


def anchors(text: str) -> set[str]:
    headings = re.findall(r'^#+ (.*)', text, re.MULTILINE)
    return {re.sub(r'[^\w -]', '', each).strip().lower().replace(' ', '-') for each in headings}


def test_named_paths_exist_and_the_architecture_page_names_every_package() -> None:
    for page in PAGES:
        for path in re.findall(
            r'`((?:nvitop|tests|docs|tools|examples|benchmarks)/[\w/]+\.(?:py|json|md))`',
            page_text(page),
        ):
            assert (ROOT / path).exists(), (page, path)
    text = page_text('docs/architecture.md')
    for path in re.findall(r'`((?:[a-z_]+/)+\w+(?:\.py)?)`', text):
        places = [ROOT / path, ROOT / 'nvitop' / path]
        assert any(p.exists() or p.with_suffix('.py').exists() for p in places), path
    packages = {path.parent.name for path in (ROOT / 'nvitop').glob('*/__init__.py')}
    assert packages <= {re.split(r'[/.]', word)[0] for word in re.findall(r'`([\w/.]+)`', text)}
