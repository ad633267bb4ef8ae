"""The document on simulation agrees with the code."""

from __future__ import annotations

import pathlib
import re

import pytest

from nvitop import simulation
from nvitop.simulation.models import MODELS
from nvitop.simulation.schema import FIELDS

DOCUMENT = pathlib.Path(__file__).parent.parent.parent / 'docs' / 'simulation.md'
TEXT = DOCUMENT.read_text(encoding='utf-8')


def key_table() -> str:
    """The table of keys, as it has to stand in the document."""
    rows = ['| key | kind | default | meaning |', '| --- | --- | --- | --- |']
    for field in FIELDS:
        default = '' if field.default is None else f'`{field.default!s}`'
        if field.name.startswith('pci_') and field.name.endswith('_id'):
            default = f'`{field.default:#010x}`'
        if field.kind == 'flag' and field.default is not None:
            default = f'`{str(field.default).lower()}`'
        words = f' ({", ".join(f"`{word}`" for word in field.words)})' if field.words else ''
        rows.append(f'| `{field.name}` | {field.kind} | {default} | {field.help}{words} |')
    return '\n'.join(rows)


def test_the_table_of_keys_is_the_one_of_the_code() -> None:
    assert key_table() in TEXT, f'docs/simulation.md needs this table:\n\n{key_table()}'


def test_every_scenario_and_model_is_named() -> None:
    for name in (*simulation.scenario_names(), *MODELS):
        assert f'`{name}`' in TEXT, name


def test_every_example_of_a_scenario_loads() -> None:
    examples = re.findall(r'```toml\n(.*?)```', TEXT, re.S)
    assert len(examples) >= 4
    for example in examples:
        gpus = '' if '[[gpu]]' in example else '[[gpu]]\ncount = 8\n'
        scenario = simulation.parse_scenario(gpus + example, name='example')
        simulation.Machine(scenario, processes='none')


@pytest.mark.parametrize('example', re.findall(r'```python\n(.*?)```', TEXT, re.S))
def test_every_example_of_python_runs(example: str) -> None:
    names: dict[str, object] = {}
    exec(compile(example, str(DOCUMENT), 'exec'), names)
    for name, value in names.items():
        if name.startswith('test_') and callable(value):
            value()
