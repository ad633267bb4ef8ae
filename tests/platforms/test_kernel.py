"""System calls that some platforms lack; users; surroundings; settings; paths of libraries."""

from __future__ import annotations

import ctypes
import getpass
import os
import pathlib
import sys
import types

import platformdirs
import pytest

from nvitop import platforms
from nvitop.api import host
from nvitop.platforms import kernel, nvidia
from nvitop.platforms.nvidia import cudart_files, nvml_elsewhere, nvml_load_error

posix_only = pytest.mark.skipif(sys.platform == 'win32', reason='needs POSIX')
linux_only = pytest.mark.skipif(sys.platform != 'linux', reason='needs Linux')


def test_windows_has_no_posix_values_and_does_not_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, 'platform', 'win32')
    monkeypatch.delattr(os, 'register_at_fork', raising=False)
    with pytest.raises(OSError, match='SC_PAGE_SIZE'):
        kernel.sysconf('SC_PAGE_SIZE')
    kernel.at_fork(after_in_child=lambda: None)


@pytest.mark.parametrize('platform', [sys.platform, 'darwin', 'win32'])
def test_nameless_file_can_be_written_and_read(
    monkeypatch: pytest.MonkeyPatch, platform: str
) -> None:
    monkeypatch.setattr(sys, 'platform', platform)
    with kernel.open_nameless_file() as file:
        file.write(b'a message')
        file.seek(0)
        assert file.read() == b'a message'


@posix_only
def test_descriptors_above_1023_can_be_waited_for() -> None:
    import fcntl
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(2048, hard)), hard))
    reader, writer = os.pipe()
    try:
        high = fcntl.fcntl(writer, fcntl.F_DUPFD, 1024)
        kernel.wait_until_writable(high)
        os.close(high)
    finally:
        os.close(reader)
        os.close(writer)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@linux_only
def test_getuser_of_an_unknown_user(monkeypatch: pytest.MonkeyPatch) -> None:
    import pwd

    def unknown(uid: int) -> object:
        raise KeyError(uid)

    def no_login() -> str:
        raise OSError('no terminal')

    monkeypatch.setattr(pwd, 'getpwuid', unknown)
    monkeypatch.setenv('LOGNAME', 'jovyan')
    assert kernel.getuser() == 'jovyan'
    monkeypatch.setattr(getpass, 'getuser', no_login)
    monkeypatch.setattr(os, 'getlogin', lambda: 'login')
    assert kernel.getuser() == 'login'
    monkeypatch.setattr(os, 'getlogin', no_login)
    assert kernel.getuser() == str(os.getuid())


def test_users_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> str:
        raise OSError('no window station')

    monkeypatch.setattr(sys, 'platform', 'win32')
    for name in ('LOGNAME', 'USER', 'LNAME'):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv('USERNAME', 'ada')
    assert kernel.getuser() == 'ada'
    assert kernel.without_domain('DESKTOP-7\\ada') == kernel.without_domain('ada') == 'ada'
    monkeypatch.setattr(getpass, 'getuser', unknown)
    monkeypatch.setattr(os, 'getlogin', unknown)
    assert kernel.getuser() == 'unknown'
    assert kernel.name_of_user(987654321) == '987654321'


@pytest.mark.parametrize('result', [0, 1])
def test_windows_administrator_is_the_superuser(
    monkeypatch: pytest.MonkeyPatch, result: int
) -> None:
    monkeypatch.setattr(sys, 'platform', 'win32')
    shell32 = types.SimpleNamespace(IsUserAnAdmin=lambda: result)
    monkeypatch.setattr(ctypes, 'windll', types.SimpleNamespace(shell32=shell32), raising=False)
    assert kernel.is_superuser() is bool(result)


@pytest.mark.parametrize(
    ('environ', 'release', 'name'),
    [
        ({'WSL_DISTRO_NAME': 'Ubuntu-24.04'}, '5.15.167.4-microsoft-standard-WSL2', 'Ubuntu-24.04'),
        # Services and sudo do not have the variable.
        ({}, '5.15.167.4-microsoft-standard-WSL2', 'WSL'),
        ({}, '4.4.0-19041-Microsoft', 'WSL'),
        ({}, '6.8.0-60-generic', None),
    ],
)
def test_wsl_is_detected(environ: dict[str, str], release: str, name: str | None) -> None:
    assert platforms.wsl_distribution(environ, release) == name
    assert host.WSL is platforms.WSL


def test_settings_are_in_the_directory_of_the_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('HOME', '/home/ada')
    assert platforms.settings_folder('linux', {}) == '/home/ada/.config/nvitop'
    assert (
        platforms.settings_folder('linux', {'XDG_CONFIG_HOME': ' '}) == '/home/ada/.config/nvitop'
    )
    assert platforms.settings_folder('linux', {'XDG_CONFIG_HOME': '/etc/xdg'}) == '/etc/xdg/nvitop'
    asked: list[tuple[object, ...]] = []

    def folder(*args: object, **options: object) -> str:
        asked.append((*args, options))
        return 'C:\\Users\\ada\\AppData\\Local\\nvitop'

    monkeypatch.setattr(platformdirs, 'user_config_dir', folder)
    assert platforms.settings_folder('win32', {}) == 'C:\\Users\\ada\\AppData\\Local\\nvitop'
    assert asked == [('nvitop', {'appauthor': False})]


@pytest.mark.parametrize(
    ('platform', 'wsl', 'is_container', 'expected'),
    [
        ('linux', None, False, 'linux'),
        ('linux', None, True, 'container'),
        ('linux', 'Ubuntu', False, 'wsl'),
        ('linux', 'Ubuntu', True, 'container'),
        ('win32', None, True, 'windows'),
        ('darwin', None, False, 'macos'),
    ],
)
def test_surroundings(platform: str, wsl: str | None, is_container: bool, expected: str) -> None:
    assert platforms.surroundings(platform, wsl, lambda: is_container) == expected


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
