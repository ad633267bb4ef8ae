"""Golden screens: their format, the check for unused ones, and what they leave out."""

from __future__ import annotations

from nvitop.gui.render.style import Role
from tests.gui import goldens


def test_each_role_has_its_own_letter() -> None:
    assert set(goldens.LETTERS) == set(Role)
    assert len(set(goldens.LETTERS.values())) == len(goldens.LETTERS)


def test_version_line_is_in_one_golden() -> None:
    found = [
        path.stem
        for path in goldens.FOLDER.glob('*.txt')
        if '\n|nvitop 1.0.0  Tue ' in path.read_text('utf-8')
    ]
    assert found == ['frame-main-frozen-160x50']


def test_there_are_few_goldens() -> None:
    assert len(list(goldens.FOLDER.glob('*.txt'))) <= 110
