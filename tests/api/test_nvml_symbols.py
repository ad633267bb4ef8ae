"""Functions that the NVML libraries of real drivers export: 580.159.04, 590.48.01 and 610.57.04."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest

from nvitop.api.device import Device, base
from nvitop.api.timing import Window
from nvitop.simulation.driver.nvml import ALL_SYMBOLS, no_permission, not_supported
from tests.api.contract import getters
from tests.api.machines import SCENARIO, machine
from tests.simulation.conftest import NEWEST, needs

pytestmark = needs(*NEWEST)
#: In late drivers of R580, but not in R590.
BACKPORTED = {'nvmlDeviceGetRemappedRows_v2'}
SYMBOLS = pathlib.Path(__file__).parent.parent / 'captures' / 'nvml-symbols.tsv'


def values() -> dict[str, Any]:
    base._gpu_caches.clear()  # nothing is known yet
    devices = [Device(index) for index in (0, 1, 2, (1, 2))]
    return {f'{d}.{name}': repr(getattr(d, name)()) for d in devices for name in getters(type(d))}


def exported(branch: int) -> set[str]:
    lines = (line.split('\t') for line in SYMBOLS.read_text(encoding='utf-8').splitlines()[1:])
    return {name for name, drivers in lines if str(branch) in drivers.split()}


@pytest.mark.parametrize('branch', [580, 590, 610])
def test_simulated_drivers_lack_what_real_ones_of_their_branch_lack(branch: int) -> None:
    with machine(SCENARIO.replace('580.65.06', f'{branch}.1')) as simulated:
        names = {name for name in vars(simulated.driver) if name.startswith('nvml')}
    # The others are those that the binding calls and nvitop does not.
    implemented = {
        name
        for name, symbol in ALL_SYMBOLS.items()
        if symbol.body not in (not_supported, no_permission)
    }
    names &= implemented
    expected = implemented & exported(branch)
    assert names | BACKPORTED == expected | BACKPORTED


@pytest.mark.parametrize('branch', [580, 590, 610])
def test_getters_need_no_function_that_a_real_driver_lacks(
    branch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Window, 'sleep', staticmethod(lambda seconds: None))
    with machine(SCENARIO.replace('580.65.06', '999.0'), clock=lambda: 0.0) as simulated:
        before = values()
        called = {name for name in simulated.calls if name.startswith('nvml')}
        for name in set(ALL_SYMBOLS) - exported(branch):
            simulated.hide(name)
        after = values()
    assert len(called & exported(branch)) > 90
    assert after == before
