"""Generated tables, pictures and charts of the documentation are up to date."""

from __future__ import annotations

import re

import pynvml
import pytest
from cogapp import Cog

from docs import animation, charts, pictures, tables
from nvitop.gui.model.columns import COLUMNS
from nvitop.gui.render.theme import theme_named
from nvitop.gui.state.bindings import BINDINGS

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


def test_every_key_and_column_is_documented() -> None:
    page = ''.join((DOCS / name).read_text(encoding='utf-8') for name in ('keys.md', 'columns.md'))
    for binding in BINDINGS:
        if binding.help:
            assert all(f'`{keys.replace(" ", "")}`' in page for keys in binding.keys), binding
    assert all(f'| `{column.name}` |' in page for column in COLUMNS)


@pytest.mark.usefixtures('utc')
@pytest.mark.parametrize('name', pictures.PICTURES)
def test_pictures_are_current(name: str) -> None:
    if name == 'page' and not hasattr(pynvml, 'nvmlDeviceGetNumaNodeId'):
        pytest.skip('this binding lacks functions')
    drawn = pictures.to_svg(pictures.draw(pictures.PICTURES[name]), theme_named('dark'))
    stored = (pictures.FOLDER / f'{name}.svg').read_text(encoding='utf-8')
    assert drawn == stored, 'run: make update-docs'


def test_picture_of_the_fleet_is_current() -> None:
    drawn = pictures.to_svg(pictures.draw_fleet_picture(), theme_named('dark'))
    stored = (DOCS / 'images' / 'fleet.svg').read_text(encoding='utf-8')
    assert drawn == stored, 'run: make update-docs'


@pytest.mark.slow
@pytest.mark.skipif(
    not hasattr(pynvml, 'nvmlDeviceGetNumFans'),
    reason='NOT TESTED: the picture counts the functions that this old binding lacks',
)
@pytest.mark.usefixtures('utc')
def test_moving_picture_is_current() -> None:
    assert animation.draw() == animation.FILE.read_text(encoding='utf-8'), 'run: make update-docs'


@pytest.mark.parametrize('name', charts.CHARTS)
def test_charts_are_current(name: str) -> None:
    stored = (DOCS / 'images' / f'{name}.svg').read_text(encoding='utf-8')
    assert charts.CHARTS[name]() == stored, 'run: make update-docs'


def test_every_image_is_used() -> None:
    text = ''.join(path.read_text(encoding='utf-8') for path in DOCS.rglob('*.md'))
    assert set(re.findall(r'images/(\w+)[.]svg', text)) == {
        path.stem for path in (DOCS / 'images').iterdir()
    }
