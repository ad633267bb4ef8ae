"""NVML's library where the loader of the system does not look: WSL above all."""

from __future__ import annotations

import pathlib

import pytest

from nvitop.api import libnvml
from nvitop.api.libnvml import _binding, _library, _session


def refuse(path: str) -> object:
    raise OSError(f'{path}: wrong ELF class')


@pytest.fixture
def places(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> list[pathlib.Path]:
    folders = [tmp_path / 'first', tmp_path / 'second', tmp_path / 'third']
    for folder in folders:
        folder.mkdir()
    monkeypatch.setattr(_library, 'DIRECTORIES', tuple(map(str, folders)))
    return folders


def test_wsl_is_among_the_places() -> None:
    assert '/usr/lib/wsl/lib' in _library.DIRECTORIES


def test_the_first_place_that_has_it_is_taken(places: list[pathlib.Path]) -> None:
    loaded: list[str] = []
    assert _library.load_from_elsewhere(loaded.append, 'linux') == ''
    for folder in places[1:]:
        (folder / 'libnvidia-ml.so.1').touch()
    path = str(places[1] / 'libnvidia-ml.so.1')
    assert _library.load_from_elsewhere(loaded.append, 'linux') == path
    assert loaded == [path]


def test_one_that_cannot_be_loaded_is_passed_over(places: list[pathlib.Path]) -> None:
    (places[0] / 'libnvidia-ml.so.1').write_bytes(b'no library')
    assert _library.load_from_elsewhere(platform='linux') == ''
    assert _library.load_from_elsewhere(refuse, 'linux') == ''


@pytest.mark.parametrize('platform', ['win32', 'darwin'])
def test_other_systems_have_no_such_places(places: list[pathlib.Path], platform: str) -> None:
    (places[0] / 'libnvidia-ml.so.1').touch()
    assert _library.load_from_elsewhere(refuse, platform) == ''


@pytest.mark.parametrize('is_there', [False, True])
def test_the_driver_is_started_once_more_when_it_was_found(
    monkeypatch: pytest.MonkeyPatch, is_there: bool
) -> None:
    starts: list[int] = []

    def start(flags: int) -> None:
        starts.append(flags)
        if len(starts) == 1 or not is_there:
            raise libnvml.NVMLError(libnvml.NVML_ERROR_LIBRARY_NOT_FOUND)

    monkeypatch.setattr(_binding.BINDING, 'nvmlInitWithFlags', start)
    monkeypatch.setattr(_session, 'load_from_elsewhere', lambda: '/some/where' if is_there else '')
    if is_there:
        _session._start_driver(3)
        assert starts == [3, 3]
    else:
        with pytest.raises(libnvml.NVMLError_LibraryNotFound):
            _session._start_driver(3)
        assert starts == [3]
