"""Generated tables, pictures and charts of the documentation are up to date."""

from __future__ import annotations

import re
from typing import Any

import pynvml
import pytest
from cogapp import Cog

from docs import animation, charts, pictures, tables
from nvitop.gui.model import device_columns
from nvitop.gui.model.device_columns import DEVICE_COLUMNS
from tests.gui.drawing import lines_on
from tests.gui.samples import SAMPLES

DOCS = tables.ROOT / 'docs'


def test_generated_tables_are_current() -> None:
    pages = [tables.ROOT / 'README.md', *DOCS.rglob('*.md')]
    generated = [str(page) for page in pages if '[[[cog ' in page.read_text(encoding='utf-8')]
    assert generated
    options = ['--check', '-p', 'from docs.tables import *']
    assert Cog().main(['cog', *options, *generated]) == 0, 'run: make update-docs'


def test_every_command_has_a_table_of_its_options() -> None:
    page = (DOCS / 'command-line.md').read_text(encoding='utf-8')
    for name in tables.PARSERS:
        assert f"options('{name}')" in page, f'add a section about {name} to docs/command-line.md'


@pytest.mark.usefixtures('utc')
def test_pictures_are_current() -> None:
    if not hasattr(pynvml, 'nvmlDeviceGetNumaNodeId'):
        pytest.skip('NOT TESTED: the page of a GPU lacks values with this old binding')
    for name, drawn in {**pictures.drawings(), **charts.drawings()}.items():
        stored = (pictures.FOLDER / f'{name}.svg').read_text(encoding='utf-8')
        assert drawn == stored, f'{name}: run: make pictures'


@pytest.mark.slow
@pytest.mark.skipif(
    not hasattr(pynvml, 'nvmlDeviceGetNumFans'),
    reason='NOT TESTED: the picture counts the functions that this old binding lacks',
)
@pytest.mark.usefixtures('utc')
def test_moving_picture_is_current() -> None:
    assert animation.draw() == animation.FILE.read_text(encoding='utf-8'), 'run: make pictures'


def test_example_of_a_column_appears_at_the_width_in_its_page(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page = (DOCS / 'adding-a-column.md').read_text(encoding='utf-8')
    match = re.search(r'at least (\d+) columns:\n\n```python\n(.*?)```', page, re.DOTALL)
    assert match is not None
    width, code = match.groups()
    names: dict[str, Any] = {}
    exec(code.replace('\nColumn(', '\ncolumn = Column('), names)
    columns = (*DEVICE_COLUMNS[:-1], names['column'], DEVICE_COLUMNS[-1])
    monkeypatch.setattr(device_columns, 'DEVICE_COLUMNS', columns)
    sample = SAMPLES['h100x8']
    limits: dict[str, Any] = {'temperature_slowdown_threshold_celsius': 89}
    gpus = [gpu._replace(info=gpu.info._replace(**limits)) for gpu in sample.devices]
    for cells in (int(width) - 1, int(width)):
        lines = lines_on(sample._replace(devices=tuple(gpus)), cells, 24)
        assert any('SLOWDOWN' in line for line in lines) is (cells == int(width))
