"""Texts about failures: initialization, a foreign binding, missing functions."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Callable

import pynvml
import pytest

from nvitop.api import libnvml
from nvitop.api.libnvml import _binding, _explanation
from nvitop.basics.toml import TomlDocument
from tests.api.fake_nvml import FakeLibrary, handle, write_text
from tests.programs import ROOT

LIBRARY_NOT_FOUND = 12
DRIVER_NOT_LOADED = 9
VERSION_MISMATCH = 18
NO_PERMISSION = 4
GPU_IS_LOST = 15
OPERATING_SYSTEM = 17
UNKNOWN = 999

HINT = 'To look around without a GPU: nvitop --demo'


@pytest.fixture
def surroundings(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Simulate other surroundings than Linux without a container, WSL or a kernel module."""

    def simulate(name: str) -> None:
        monkeypatch.setattr(_explanation, 'surroundings', lambda: name)

    simulate('linux')
    monkeypatch.setattr(_explanation, 'read_loaded_driver_version', lambda: '')
    monkeypatch.setattr(_explanation, 'read_library_version', lambda: '')
    return simulate


def explain(code: int) -> str:
    return libnvml.explain_init_error(libnvml.NVMLError(code))


@pytest.mark.parametrize(
    ('where', 'advice'), [('linux', 'Reinstall the driver'), ('container', 'The image contains')]
)
def test_library_that_cannot_be_loaded_is_not_called_missing(
    surroundings: Callable[[str], None], where: str, advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    surroundings(where)
    monkeypatch.setattr(_explanation, 'nvml_load_error', lambda: 'x.so: file too short')
    text = explain(LIBRARY_NOT_FOUND)
    assert 'cannot be loaded: x.so: file too short' in text
    assert advice in text
    assert 'not installed' not in text


@pytest.mark.parametrize(
    ('where', 'phrases'),
    [
        ('linux', {
            LIBRARY_NOT_FOUND: 'Install the driver',
            DRIVER_NOT_LOADED: 'modprobe nvidia',
            VERSION_MISMATCH: 'Restart the machine',
            NO_PERMISSION: 'group',
            OPERATING_SYSTEM: 'control group',
            UNKNOWN: 'nvidia-smi',
        }),
        ('container', {
            LIBRARY_NOT_FOUND: '--gpus all',
            DRIVER_NOT_LOADED: '--gpus all',
            VERSION_MISMATCH: 'Restart the container',
            UNKNOWN: 'daemon-reload',
        }),
        ('wsl', {
            LIBRARY_NOT_FOUND: 'wsl --update',
            DRIVER_NOT_LOADED: 'wsl --shutdown',
            VERSION_MISMATCH: 'wsl --shutdown',
            GPU_IS_LOST: 'Event Viewer',
        }),
        ('windows', {DRIVER_NOT_LOADED: 'Restart the machine', GPU_IS_LOST: 'Event Viewer'}),
        ('macos', {LIBRARY_NOT_FOUND: 'macOS'}),
    ],
)  # fmt: skip
def test_text_fits_the_surroundings(
    surroundings: Callable[[str], None], where: str, phrases: dict[int, str]
) -> None:
    surroundings(where)
    for code, phrase in phrases.items():
        text = explain(code)
        assert phrase in text
        assert ('modprobe' in text) <= (where == 'linux')
        assert ('container' in text) <= (where == 'container' or code == NO_PERMISSION)


@pytest.mark.parametrize('where', ['linux', 'container', 'wsl', 'windows', 'macos'])
def test_every_text_has_the_words_of_nvml_an_advice_and_the_hint(
    surroundings: Callable[[str], None], where: str
) -> None:
    surroundings(where)
    for code in (*range(1, 31), 999):
        first, *advice, last = explain(code).split('\n')
        assert re.fullmatch(rf'Failed to initialize NVML: .*[^.] \(code {code}\)\.', first)
        assert advice, code
        assert last == HINT


def test_silence_has_an_advice_and_the_hint() -> None:
    text = libnvml.explain_init_error(TimeoutError(libnvml.explain_silence(30)))
    assert text.startswith('The NVIDIA driver has not responded for 30 seconds.\n')
    assert text.endswith(f'\n{HINT}')


@pytest.mark.usefixtures('surroundings')
def test_kernel_module_without_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_explanation, 'read_loaded_driver_version', lambda: '550.54.15')
    text = explain(LIBRARY_NOT_FOUND)
    assert '550.54.15' in text
    assert 'libnvidia-compute-550' in text


@pytest.mark.usefixtures('surroundings')
def test_version_mismatch_names_both_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 'unknown' not in explain(VERSION_MISMATCH)
    monkeypatch.setattr(_explanation, 'read_loaded_driver_version', lambda: '535.54.03')
    monkeypatch.setattr(_explanation, 'read_library_version', lambda: '550.54.15')
    assert 'module 535.54.03, library 550.54.15' in explain(VERSION_MISMATCH)


def test_no_permission_names_the_device_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('os.path.exists', lambda path: True)
    monkeypatch.setattr('os.access', lambda path, mode: False)
    assert '(/dev/nvidiactl)' in explain(NO_PERMISSION)


def test_driver_versions_are_read_from_the_system(tmp_path: Path) -> None:
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


def test_old_binding_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
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
    assert 'pip install --force-reinstall nvidia-ml-py' in text
    assert 'pipx, uv tool' in text


def test_inner_module_of_a_foreign_package_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
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
    with pytest.raises(ImportError, match='pip install nvidia-ml-py'):
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
    pyproject = TomlDocument((ROOT / 'pyproject.toml').read_text(encoding='utf-8'))
    (requirement,) = pyproject.values['project']['optional-dependencies'][extra]
    assert advice.endswith(f"pip install '{requirement.replace(' ', '')}'")
    assert binding_lacks.startswith('The binding nvidia-ml-py ')
    assert binding_lacks.endswith('lacks: nvmlDeviceGetFromTheFuture.')


def test_report_without_a_driver_version(library: FakeLibrary) -> None:
    libnvml.nvmlQuery('nvmlDeviceGetFanSpeed', handle())
    assert libnvml.missing_functions_report().startswith('The NVIDIA driver lacks: ')
    assert pynvml.nvmlLib is library
