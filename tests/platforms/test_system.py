"""Detection of WSL and containers, and the directory for settings."""

from __future__ import annotations

import platformdirs
import pytest

from nvitop import platforms
from nvitop.api import host


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
