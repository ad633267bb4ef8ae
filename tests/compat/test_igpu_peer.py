"""Comparison with igpu on the same simulated machines.

``make test-peers`` installs igpu in a separate environment. Elsewhere the tests are skipped.
"""

from __future__ import annotations

import inspect
import math
import os
from typing import Any

import pytest

from nvitop.compat import igpu as ours
from tests.compat import machines
from tests.compat.peers import begin, import_igpu, import_smi

SMI = import_smi()
PEER = import_igpu()
GROUPS = ('memory', 'utilization', 'pci', 'clocks', 'power')


@pytest.fixture(autouse=True)
def accounts_that_igpu_can_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machines, 'ACCOUNTED', machines.ACCOUNTED[:1])
    monkeypatch.delenv('CUDA_VISIBLE_DEVICES', raising=False)


def members(value: object) -> set[str]:
    return {name for name in dir(value) if not name.startswith('_')}


def test_all_names_exist() -> None:
    names = {
        name
        for name, value in vars(PEER).items()
        if not name.startswith('_') and not inspect.ismodule(value)
    }
    assert names <= set(ours.__all__)
    for name in names:
        mine = getattr(ours, name)
        attributes = getattr(mine, '__annotations__', {})
        assert members(getattr(PEER, name)) <= members(mine) | set(attributes)


def test_functions_have_the_same_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('CUDA_DEVICE_ORDER', 'PCI_BUS_ID')
    with machines.machine():
        begin(SMI)
        assert ours.nvidia_driver_version() == PEER.nvidia_driver_version()
        assert ours.count_devices() == PEER.count_devices()
        assert ours.devices_index() == PEER.devices_index()
        for index in (2, -1, '0', None):
            for igpu in (PEER, ours):
                with pytest.raises(ValueError, match=r'.'):
                    igpu.get_device(index)
        monkeypatch.setenv('CUDA_VISIBLE_DEVICES', '1,0')
        assert ours.visible_devices_index() == PEER.visible_devices_index() == [1, 0]
        assert ours.count_visible_devices() == PEER.count_visible_devices()


@pytest.mark.parametrize('index', [0, 1])
def test_gpu_has_the_same_values(index: int) -> None:
    parent = os.getppid()
    with machines.machine(processes=[os.getpid(), parent, parent]):
        begin(SMI)
        theirs, mine = PEER.get_device(index), ours.get_device(index)
        for name in ('index', 'name', 'serial', 'uuid', 'bios'):
            assert getattr(mine, name) == getattr(theirs, name)
        for group in GROUPS:
            assert_alike(getattr(theirs, group), getattr(mine, group))
        by_pid = {process.pid: process for process in mine.processes}
        # igpu has ``None`` for no processes, and does not list graphics processes.
        processes = theirs.processes or []
        assert [process.pid for process in processes] == [os.getpid(), parent][: 2 - 2 * index]
        for process in processes:
            # nvitop adds the memory that the parent has as a graphics process.
            but_for = {'gpu_memory'} if process.pid == parent else set()
            assert_alike(process, by_pid[process.pid], but_for)


def test_text_is_the_same() -> None:
    with machines.machine(processes=[os.getpid(), os.getppid(), os.getppid()]):
        begin(SMI)
        theirs, mine = PEER.get_device(0), ours.get_device(0)
    for group in ('memory', 'utilization', 'pci'):
        assert str(getattr(mine, group)) == str(getattr(theirs, group))
    for group in ('clocks', 'power'):  # nvitop has more lines
        expected, found = (
            [line.split() for line in str(getattr(gpu, group)).splitlines()]
            for gpu in (theirs, mine)
        )
        assert [line for line in found if line in expected] == expected
    table, expected_table = (
        [line.rstrip() for line in str(gpu.processes).splitlines()] for gpu in (mine, theirs)
    )
    assert table[:3] == expected_table[:3]


def assert_alike(theirs: Any, mine: Any, but_for: set[str] | None = None) -> None:
    """Check that all members of igpu have the same value and type in nvitop."""
    for name in members(theirs) - (but_for or set()):
        expected, value = getattr(theirs, name), getattr(mine, name)
        assert type(value) is type(expected), name
        assert value == expected or (math.isnan(value) and math.isnan(expected)), name
