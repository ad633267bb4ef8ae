"""Texts about failures: initialization, a foreign binding, missing functions."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pynvml
import pytest

from nvitop.api import libnvml
from nvitop.api.libnvml import _binding, _explanation
from tests.api.fake_nvml import FakeLibrary, handle, write_text

LIBRARY_NOT_FOUND = 12
DRIVER_NOT_LOADED = 9
VERSION_MISMATCH = 18
NO_PERMISSION = 4
GPU_IS_LOST = 15
UNKNOWN = 999


def simulate_surroundings(surroundings: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_explanation, 'surroundings', lambda: surroundings)


@pytest.fixture(autouse=True)
def bare_linux(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Linux machine without a container, WSL or a kernel module."""
    simulate_surroundings('linux', monkeypatch)
    monkeypatch.setattr(_explanation, 'read_loaded_driver_version', lambda: '')
    monkeypatch.setattr(_explanation, 'read_library_version', lambda: '')


def explain(code: int) -> str:
    return libnvml.explain_init_error(libnvml.NVMLError(code))


def test_no_driver() -> None:
    text = explain(LIBRARY_NOT_FOUND)
    assert 'libnvidia-ml.so.1' in text
    assert 'Install the driver' in text
    assert 'nvitop --demo' in text


def test_kernel_module_without_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_explanation, 'read_loaded_driver_version', lambda: '550.54.15')
    text = explain(LIBRARY_NOT_FOUND)
    assert '550.54.15' in text
    assert 'libnvidia-compute-550' in text


def test_container_without_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    simulate_surroundings('container', monkeypatch)
    assert '--gpus all' in explain(LIBRARY_NOT_FOUND)
    assert '--gpus all' in explain(DRIVER_NOT_LOADED)
    assert 'Restart the container' in explain(VERSION_MISMATCH)
    assert 'daemon-reload' in explain(UNKNOWN)


def test_unknown_error_outside_of_a_container() -> None:
    assert 'Unknown Error (code 999)' in explain(UNKNOWN)
    assert 'nvidia-smi' in explain(UNKNOWN)
    assert 'container' not in explain(UNKNOWN)


def test_wsl(monkeypatch: pytest.MonkeyPatch) -> None:
    simulate_surroundings('wsl', monkeypatch)
    assert 'wsl --update' in explain(LIBRARY_NOT_FOUND)
    for code in (DRIVER_NOT_LOADED, VERSION_MISMATCH):
        assert 'wsl --shutdown' in explain(code)
        assert 'modprobe' not in explain(code)
    assert 'Windows Event Viewer' in explain(GPU_IS_LOST)


def test_macos_and_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    simulate_surroundings('macos', monkeypatch)
    assert 'macOS' in explain(LIBRARY_NOT_FOUND)
    simulate_surroundings('windows', monkeypatch)
    assert 'modprobe' not in explain(DRIVER_NOT_LOADED)
    assert 'Event Viewer' in explain(GPU_IS_LOST)


def test_kernel_module_not_loaded() -> None:
    text = explain(DRIVER_NOT_LOADED)
    assert 'modprobe nvidia' in text
    assert 'dmesg' in text


def test_version_mismatch(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 'unknown' not in explain(VERSION_MISMATCH)
    monkeypatch.setattr(_explanation, 'read_loaded_driver_version', lambda: '535.54.03')
    monkeypatch.setattr(_explanation, 'read_library_version', lambda: '550.54.15')
    text = explain(VERSION_MISMATCH)
    assert 'module 535.54.03, library 550.54.15' in text
    assert 'Restart the machine' in text


def test_no_permission(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert 'group' in explain(NO_PERMISSION)
    monkeypatch.setattr('os.path.exists', lambda path: True)
    monkeypatch.setattr('os.access', lambda path, mode: False)
    assert '(/dev/nvidiactl)' in explain(NO_PERMISSION)


@pytest.mark.parametrize('where', ['linux', 'container', 'wsl', 'windows', 'macos'])
@pytest.mark.parametrize('code', [*range(1, 31), 999])
def test_every_text_says_what_happened_and_what_to_do(
    code: int, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulate_surroundings(where, monkeypatch)
    what, _, next_step = explain(code).partition('\n')
    assert what
    assert next_step


def test_driver_versions_are_read_from_the_system(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.undo()
    version = tmp_path / 'version'
    version.write_text(
        'NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 18:56:32 UTC 2023\n'
    )
    maps = tmp_path / 'maps'
    maps.write_text(
        '7f00-7f01 r-xp 0 08:01 1 /usr/lib/x86_64-linux-gnu/libnvidia-ml.so.550.54.15\n'
    )
    assert _explanation.read_loaded_driver_version(str(version)) == '535.129.03'
    assert _explanation.read_library_version(str(maps)) == '550.54.15'
    assert _explanation.read_loaded_driver_version(str(tmp_path / 'none')) == ''
    assert _explanation.read_library_version(str(version)) == ''


def test_installed_binding_needs_no_explanation() -> None:
    assert libnvml.explain_binding() == ''


def test_old_binding_is_rejected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    old = ModuleType('pynvml')
    old.__file__ = '/somewhere/pynvml.py'
    for name in ('NVMLError', '_nvmlGetFunctionPointer', 'nvmlLib', 'nvmlInit'):
        setattr(old, name, object())
    monkeypatch.setitem(sys.modules, 'pynvml', old)
    with pytest.raises(ImportError) as caught:
        _binding.find_binding()
    text = str(caught.value)
    assert '/somewhere/pynvml.py' in text
    assert 'nvmlInitWithFlags' in text
    assert 'pip3 install --force-reinstall nvidia-ml-py' in text
    assert 'pipx, uv tool' in text


def test_inner_module_of_a_foreign_package_is_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    package, inner = ModuleType('pynvml'), ModuleType('pynvml.nvml')
    for name in ('NVMLError', '_nvmlGetFunctionPointer', 'nvmlLib', 'nvmlInitWithFlags'):
        setattr(inner, name, object())
    monkeypatch.setattr(package, 'nvml', inner, raising=False)
    monkeypatch.setitem(sys.modules, 'pynvml', package)
    monkeypatch.setattr(_binding, '_installed_rivals', lambda: ['pynvml 11.5.0'])
    assert _binding.find_binding() is inner
    assert 'Another package was installed over it: pynvml 11.5.0.' in libnvml.explain_binding()


def test_missing_binding_names_the_package_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> ModuleType:
        raise ModuleNotFoundError(name, name=name)

    monkeypatch.setattr('importlib.import_module', missing)
    with pytest.raises(ImportError, match='pip3 install nvidia-ml-py'):
        _binding.find_binding()


def test_report_is_empty_without_missing_functions(library: FakeLibrary) -> None:
    assert libnvml.missing_functions_report() == ''


@pytest.mark.parametrize(
    ('driver', 'extra'),
    [
        ('430.64', 'cuda10'),
        ('440.33.01', 'cuda10'),
        ('470.57.02', 'cuda11'),
        ('535.129.03', 'cuda12'),
        ('580.65', 'cuda13'),
        ('', 'cuda13'),
    ],
)
def test_missing_functions_are_reported_with_the_binding_to_install(
    library: FakeLibrary, driver: str, extra: str
) -> None:
    library.add('nvmlSystemGetDriverVersion', write_text(driver.encode()))
    for name in ('nvmlDeviceGetSerial', 'nvmlDeviceGetFanSpeed', 'nvmlDeviceGetFromTheFuture'):
        libnvml.nvmlQuery(name, handle())
    driver_lacks, advice, binding_lacks, _ = libnvml.missing_functions_report().split('\n')
    assert driver_lacks.endswith('lacks: nvmlDeviceGetFanSpeed, nvmlDeviceGetSerial.')
    assert driver in driver_lacks
    assert f'nvitop[{extra}]' in advice
    assert binding_lacks.startswith('The binding nvidia-ml-py ')
    assert binding_lacks.endswith('lacks: nvmlDeviceGetFromTheFuture.')


def test_report_without_a_driver_version(library: FakeLibrary) -> None:
    libnvml.nvmlQuery('nvmlDeviceGetFanSpeed', handle())
    assert libnvml.missing_functions_report().startswith('The NVIDIA driver lacks: ')
    assert pynvml.nvmlLib is library
