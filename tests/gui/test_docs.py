"""What is made for the documentation, tables and pictures, is as the program is."""

from __future__ import annotations

import re

import pytest

from docs import pictures, tables
from nvitop.gui.model.columns import COLUMNS
from nvitop.gui.render.theme import theme_named
from nvitop.gui.state.bindings import BINDINGS
from nvitop.gui.view.frame import draw_frame
from nvitop.sampling.history import History
from tests.gui.driving import press, state_of
from tests.gui.samples import SAMPLES

MONITOR = tables.ROOT / 'docs' / 'monitor.md'


@pytest.mark.parametrize('name', tables.PAGES)
def test_the_tables_of_a_page_are_made_from_those_of_the_program(name: str) -> None:
    page = (tables.ROOT / name).read_text(encoding='utf-8')
    new = tables.rewrite(page, tables.PAGES[name])
    assert page == new, 'python -m docs.tables brings it up to date'


def test_the_page_names_every_key_and_column() -> None:
    page = MONITOR.read_text(encoding='utf-8')
    for binding in BINDINGS:
        if binding.help:
            assert all(f'`{keys.replace(" ", "")}`' in page for keys in binding.keys), binding
    assert all(f'| `{column.name}` |' in page for column in COLUMNS)


@pytest.mark.parametrize('mode', ['f', 'c'])
def test_the_page_explains_what_stands_in_the_host_panel(mode: str) -> None:
    state, _ = press(state_of(SAMPLES['h100x8'], width=123, height=80), mode)
    lines = draw_frame(state, History()).lines()
    first = next(y for y, line in enumerate(lines) if 'Load Average' in line)
    last = next(y for y, line in enumerate(lines) if 'SWP' in line)
    shown = set(re.findall(r'([A-Z][A-Za-z ]*): ', '\n'.join(lines[first : last + 1])))
    devices = {title for title in shown if 'GPU' in title}
    assert len(devices) == (2 if mode == 'f' else 0)
    assert {'CPU', 'MEM', 'SWP'} < shown - devices <= {title for title, *_ in tables.HOST}


def test_a_page_without_a_section_is_refused() -> None:
    with pytest.raises(ValueError, match='begin keys'):
        tables.rewrite('# The monitor\n', {'keys': tables.keys})


@pytest.mark.usefixtures('utc')
@pytest.mark.parametrize('name', pictures.PICTURES)
def test_pictures_are_of_the_screens_as_they_are(name: str) -> None:
    drawn = pictures.to_svg(pictures.draw(pictures.PICTURES[name]), theme_named('dark'))
    stored = (pictures.FOLDER / f'{name}.svg').read_text(encoding='utf-8')
    assert drawn == stored, 'python -m docs.pictures brings them up to date'


def test_every_picture_of_the_page_exists_and_is_shown() -> None:
    page = MONITOR.read_text(encoding='utf-8')
    assert set(re.findall(r'images/(\w+)[.]svg', page)) == set(pictures.PICTURES)
