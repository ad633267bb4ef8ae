"""docs/simulation.md agrees with the code."""

from __future__ import annotations

import pathlib
import re
from typing import Callable

import pynvml
import pytest

from nvitop import simulation
from nvitop.simulation.models import MODELS
from nvitop.simulation.schema import REQUIRED, TABLES, ScenarioKey
from tests.simulation.conftest import handle, text

DOCUMENT = pathlib.Path(__file__).parent.parent.parent / 'docs' / 'simulation.md'
TEXT = DOCUMENT.read_text(encoding='utf-8')


def key_table(name: str) -> str:
    """The Markdown table of the keys of a table."""
    rows = ['| key | kind | default | meaning |', '| --- | --- | --- | --- |']
    for key in TABLES[name]:
        words = f' ({", ".join(f"`{word}`" for word in key.words)})' if key.words else ''
        if key.words and key.help.startswith('return code'):
            words = ''
        rows.append(f'| `{key.name}` | {key.kind} | {_default(key)} | {key.help}{words} |')
    return '\n'.join(rows)


def _default(key: ScenarioKey) -> str:
    if key.default is None or key.default == '':
        return ''
    if key.default is REQUIRED:
        return 'required'
    if isinstance(key.default, bool):
        return f'`{str(key.default).lower()}`'
    if key.name.startswith('pci_') and key.name.endswith('_id'):
        return f'`{key.default:#010x}`'
    return f'`{key.default}`'


@pytest.mark.parametrize('name', TABLES)
def test_document_has_the_table_of_keys(name: str) -> None:
    assert key_table(name) in TEXT, f'docs/simulation.md needs this table:\n\n{key_table(name)}'


def test_document_names_every_scenario_and_model() -> None:
    for name in (*simulation.scenario_names(), *MODELS):
        assert f'`{name}`' in TEXT, name


@pytest.mark.parametrize('name', simulation.scenario_names())
def test_bundled_scenario_lists_its_gpus(name: str, start: Callable[..., object]) -> None:
    start(name, processes='none')
    scenario = simulation.load(name)
    assert scenario.description
    assert pynvml.nvmlDeviceGetCount() == len(scenario.gpus)
    for index, gpu in enumerate(scenario.gpus):
        if (name, index) != ('faults', 1):  # a lost GPU
            assert text(pynvml.nvmlDeviceGetName(handle(index))) == gpu.values['name']


def test_scenario_examples_load() -> None:
    examples = re.findall(r'```toml\n(.*?)```', TEXT, re.S)
    assert len(examples) >= 4
    for example in examples:
        gpus = '' if '[[gpu]]' in example else '[[gpu]]\ncount = 8\n'
        scenario = simulation.parse_scenario(gpus + example, name='example')
        simulation.Machine(scenario, processes='none')


@pytest.mark.parametrize('example', re.findall(r'```python\n(.*?)```', TEXT, re.S))
def test_python_examples_run(example: str) -> None:
    names: dict[str, object] = {}
    exec(compile(example, str(DOCUMENT), 'exec'), names)
    for name, value in names.items():
        if name.startswith('test_') and callable(value):
            value()
