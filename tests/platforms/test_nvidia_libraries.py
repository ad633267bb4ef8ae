"""Paths of NVIDIA's libraries on every platform."""

from __future__ import annotations

import os
import pathlib

import pytest

from nvitop.platforms import nvidia
from nvitop.platforms.nvidia import cudart_files, nvml_elsewhere, nvml_load_error


def test_existing_nvml_files_are_returned_in_order(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert '/usr/lib/wsl/lib' in nvidia.DIRECTORIES
    assert '/home/kubernetes/bin/nvidia/lib64' in nvidia.DIRECTORIES
    folders = [tmp_path / 'first', tmp_path / 'second', tmp_path / 'third']
    monkeypatch.setattr(nvidia, 'DIRECTORIES', tuple(map(str, folders)))
    assert nvml_elsewhere('linux') == []
    files = [touch(folder / 'libnvidia-ml.so.1') for folder in folders[1:]]
    assert nvml_elsewhere('linux') == files
    # The loaders of other platforms find it themselves.
    assert nvml_elsewhere('win32') == nvml_elsewhere('darwin') == []


@pytest.mark.parametrize(
    ('error', 'reason'),
    [
        (OSError('libnvidia-ml.so.1: cannot open shared object file: No such file'), ''),
        (FileNotFoundError("Could not find module 'nvml.dll'"), ''),
        (OSError('/usr/lib/libnvidia-ml.so.1: file too short'), 'file too short'),
        (OSError('libc.so.9: cannot open shared object file: No such file'), 'libc.so.9: cannot'),
    ],
)
def test_reason_of_the_loader_is_kept_if_there_is_a_library(error: OSError, reason: str) -> None:
    def load(path: str) -> None:
        raise error

    found = nvml_load_error('linux', load)
    assert reason in found
    assert bool(reason) == bool(found)
    assert nvml_load_error('linux', lambda path: None) == ''


def touch(path: pathlib.Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return str(path)


def test_runtime_is_searched_by_the_loader_then_in_variables_then_in_packages(
    tmp_path: pathlib.Path,
) -> None:
    home = touch(tmp_path / 'home' / 'lib64' / 'libcudart.so')
    path = touch(tmp_path / 'path [1]' / 'lib' / 'libcudart.so.12')
    package = touch(tmp_path / 'site' / 'nvidia' / 'cu13' / 'lib' / 'libcudart.so.13')
    touch(tmp_path / 'site' / 'nvidia' / 'cu13' / 'lib' / 'libcudart_static.a')
    environ = {'CUDA_HOME': str(tmp_path / 'home'), 'CUDA_PATH': str(tmp_path / 'path [1]')}
    found = list(cudart_files('linux', environ, ['', str(tmp_path / 'site')]))
    bare = [name for name in found if os.sep not in name]
    assert bare[:3] == ['libcudart.so', 'libcudart.so.13', 'libcudart.so.12']
    assert found[: len(bare)] == bare
    files = [name for name in found[len(bare) :] if not name.startswith('/usr/local/cuda/')]
    assert files == [path, home, package]


def test_runtime_is_searched_in_path_on_windows(tmp_path: pathlib.Path) -> None:
    in_path = touch(tmp_path / 'bin' / 'cudart64_12.dll')
    touch(tmp_path / 'bin' / 'cudart32_12.dll')
    in_home = touch(tmp_path / 'v13' / 'bin' / 'x64' / 'cudart64_13.dll')
    environ = {
        'PATH': f';{tmp_path / "bin"};{tmp_path / "none"}',
        'CUDA_PATH': f'{tmp_path / "v13"}',
    }
    assert list(cudart_files('win32', environ, [])) == [in_path, in_home]
