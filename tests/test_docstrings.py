"""Examples in docstrings run on a simulated machine, with the shown output except for numbers."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import inspect
import os
import pathlib
import pkgutil
import re
import sys
from typing import Any, Iterator
from unittest import mock

import pytest

import nvitop
from docs.reference import FOLDER, PAGES, page
from nvitop import api
from nvitop.sampling import events
from tests.api.machines import machine as make_machine

#: A machine with everything that the examples use.
MACHINE = """\
[[gpu]]
model = "H100"
bus_id = "00000000:1B:00.0"

[[gpu]]
model = "A100"

[[gpu.mig]]
profile = "3g.40gb"

[[gpu.mig]]
profile = "3g.40gb"

[[gpu]]
model = "H100"
count = 2

[[process]]
command = ["python3", "train.py"]
gpus = [0]
memory = "8 GiB"
"""

PACKAGE = pathlib.Path(nvitop.__file__).parent
#: Modules whose examples print the same values everywhere.
EXACT = re.compile(r'nvitop\.(api\.(caching|host|termcolor|utils|process\.command)|caching)\b')


class SameShape(doctest.OutputChecker):
    """Accepts other numbers and names, and any output if none is shown."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return not want or _shape(want) == _shape(got)


def _shape(text: str) -> str:
    text = re.sub(r"'(GPU|MIG)-[^']*'|(?<='user': )'[^']*'|\(('[\w', ]*)?\)", 'X', text)
    text = re.sub(r'\d+([.]\d+)*', '0', text)
    return re.sub(r'(?<=\[)([^\[\]]+?)(, \1)+(?=\])', r'\1', text)  # a list of any length


def modules() -> Iterator[str]:
    for found in pkgutil.walk_packages(nvitop.__path__, 'nvitop.'):
        if (
            not found.name.startswith(('nvitop.gui', 'nvitop.tui'))
            and found.name[-8:] != '__main__'
        ):
            yield found.name


def examples() -> Iterator[doctest.DocTest]:
    finder = doctest.DocTestFinder(exclude_empty=True)
    for name in sorted({importlib.import_module(name).__name__ for name in modules()}):
        module = importlib.import_module(name)
        for each in getattr(module, '__all__', ())[:200]:  # the rest are names of other packages
            with contextlib.suppress(ImportError):
                getattr(module, each)  # imported on use
        for test in finder.find(module, name):
            if test.examples:
                yield test


EXAMPLES = list(examples())


def names() -> dict[str, Any]:
    anything = mock.MagicMock()
    placeholders = 'model x y writer logger Trainer CSVLogger GpuStatsLogger train_one_epoch step'
    public = {name: getattr(nvitop, name) for name in dir(nvitop) if name[0] != '_'}
    return {**dict.fromkeys(placeholders.split(), anything), **public, 'os': os}


@pytest.fixture(scope='module', autouse=True)
def running() -> Iterator[None]:
    # A watcher of events ends when its wait does.
    with make_machine(MACHINE, processes='real'), mock.patch.object(events, 'WAIT_MS', 100):
        yield


@pytest.mark.parametrize('test', EXAMPLES, ids=lambda test: test.name)
def test_examples_run(test: doctest.DocTest, tmp_path: pathlib.Path) -> None:
    checker = doctest.OutputChecker() if EXACT.match(test.name) else SameShape()
    runner = doctest.DocTestRunner(checker, verbose=False)
    report: list[str] = []
    changes = {'CUDA_VISIBLE_DEVICES': '0', 'NVITOP_CLAIMS': str(tmp_path / 'claims')}
    with mock.patch.dict(os.environ, changes):
        collector = nvitop.ResourceMetricCollector(nvitop.Device.all())
        device = nvitop.Device(0)
        test.globs.update({**names(), 'collector': collector, 'device': device, **test.globs})
        with collector(tag='examples'):
            runner.run(test, out=report.append)
    assert not runner.failures, ''.join(report)


# The reference, which is made from them


@pytest.mark.skipif(sys.version_info < (3, 11), reason='signatures look different')
@pytest.mark.parametrize('name', PAGES)
def test_pages_are_current(name: str) -> None:
    assert (FOLDER / f'{name}.md').read_text(encoding='utf-8') == page(name), (
        'run: make update-docs'
    )


def test_every_public_name_is_on_a_page() -> None:
    text = '\n'.join(path.read_text(encoding='utf-8') for path in FOLDER.glob('*.md'))
    names = {name for name in dir(api) if inspect.isclass(getattr(api, name))} - {'NVMLError'}
    assert {name for name in names if not re.search(rf'`{name}\b', text)} == set()
