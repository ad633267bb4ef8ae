"""Golden screens: their format, the check for unused ones, and what they leave out."""

from __future__ import annotations

import pathlib
import subprocess

import pytest

from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.style import Role
from tests.gui import goldens
from tests.programs import run_program

PROJECT_TEST = """
import pathlib
from nvitop.gui.render.buffer import Buffer
from tests.gui import goldens

goldens.FOLDER = pathlib.Path(__file__).parent / 'golden'

def test_screen():
    buffer = Buffer(5, 1)
    buffer.write(0, 0, 'hello')
    goldens.assert_golden('screen', buffer)
"""


def test_each_role_except_the_gradient_has_its_own_letter() -> None:
    assert len(set(goldens.LETTERS.values())) == len(goldens.LETTERS)
    without = {role for role in Role if role not in goldens.LETTERS}
    assert all(role.name.startswith('GRADIENT') for role in without)


def test_version_line_is_in_one_golden() -> None:
    found = [
        path.stem
        for path in goldens.FOLDER.glob('*.txt')
        if '\n|nvitop 1.0.0  Tue ' in path.read_text('utf-8')
    ]
    assert found == ['frame-main-frozen-160x50']


def test_there_are_few_goldens() -> None:
    assert len(list(goldens.FOLDER.glob('*.txt'))) <= 110


def run(project: pathlib.Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    options = '-m pytest -q -p tests.conftest -p no:cacheprovider'
    return run_program(*options.split(), *arguments, cwd=project)


@pytest.mark.slow
def test_unused_golden_fails_a_run_of_all_tests(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / 'golden'
    folder.mkdir()
    (tmp_path / 'pytest.ini').write_text('[pytest]\ntestpaths = .\n')
    (tmp_path / 'test_it.py').write_text(PROJECT_TEST)
    (folder / 'old.txt').write_text('5 x 1\n|hallo\n')
    written = run(tmp_path, '--update-golden')
    assert written.returncode == pytest.ExitCode.OK, written.stdout
    assert [path.name for path in folder.iterdir()] == ['screen.txt']
    assert (folder / 'screen.txt').read_text() == '5 x 1\n|hello\n'
    (folder / 'old.txt').write_text('5 x 1\n|hallo\n')
    whole = run(tmp_path)
    assert whole.returncode == pytest.ExitCode.TESTS_FAILED, whole.stdout
    assert 'old' in whole.stdout.splitlines()
    part = run(tmp_path, 'test_it.py')
    assert part.returncode == pytest.ExitCode.OK, part.stdout


def test_drawing_that_differs_or_is_new_fails(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(goldens, 'FOLDER', tmp_path)
    monkeypatch.setattr(goldens, 'USED', set())
    monkeypatch.setattr(goldens.UPDATE, 'enabled', False)
    buffer = Buffer(5, 1)
    buffer.write(0, 0, 'hello')
    with pytest.raises(AssertionError, match=r'golden screen new does not exist(.|\n)*[|]hello'):
        goldens.assert_golden('new', buffer)
    (tmp_path / 'new.txt').write_text('5 x 1\n|hallo\n')
    with pytest.raises(AssertionError):
        goldens.assert_golden('new', buffer)
    (tmp_path / 'new.txt').write_text('5 x 1\n|hello\n')
    goldens.assert_golden('new', buffer)
    assert goldens.unused() == []
