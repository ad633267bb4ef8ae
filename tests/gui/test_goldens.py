"""Golden screens: their format, and their number."""

from __future__ import annotations

from nvitop.gui.render.style import Role
from tests.gui import goldens


def test_each_role_has_its_own_letter() -> None:
    assert set(goldens.LETTERS) == set(Role)
    assert len(set(goldens.LETTERS.values())) == len(goldens.LETTERS)


def test_there_are_few_goldens() -> None:
    frames = [*goldens.FOLDER.glob('frame-*'), *goldens.FOLDER.glob('report-*')]
    assert len(frames) + len([*goldens.FOLDER.glob('fleet-*')]) <= 30
