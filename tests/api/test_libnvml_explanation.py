"""Texts about failures: initialization, a foreign binding, missing functions."""

from __future__ import annotations

import re
import sys
from types import ModuleType
from typing import Callable

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
    monkeypatch.setattr(_explanation, 'read_driver_version', lambda: '')
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


@pytest.mark.parametrize('where', ['linux', 'container', 'wsl', 'windows', 'macos'])
def test_every_text_has_the_words_of_nvml_an_advice_and_the_hint(
    surroundings: Callable[[str], None], where: str
) -> None:
    surroundings(where)
    for code in (*range(1, 31), 999):
        first, *advice, last = explain(code).split('\n')
        assert re.fullmatch(rf'Failed to initialize NVML: .*[^.] \(code {code}\)\.', first)
        assert any(advice), code
        assert last == HINT


@pytest.mark.usefixtures('surroundings')
def test_kernel_module_without_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_explanation, 'read_driver_version', lambda: '550.54.15')
    text = explain(LIBRARY_NOT_FOUND)
    assert '550.54.15' in text
    assert 'libnvidia-compute-550' in text


@pytest.mark.usefixtures('surroundings')
def test_version_mismatch_names_both_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 'unknown' not in explain(VERSION_MISMATCH)
    monkeypatch.setattr(_explanation, 'read_driver_version', lambda: '535.54.03')
    monkeypatch.setattr(_explanation, 'read_library_version', lambda: '550.54.15')
    assert 'module 535.54.03, library 550.54.15' in explain(VERSION_MISMATCH)


def test_no_permission_names_the_device_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('os.path.exists', lambda path: True)
    monkeypatch.setattr('os.access', lambda path, mode: False)
    assert '(/dev/nvidiactl)' in explain(NO_PERMISSION)


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
