"""Comparison with pynvml.smi and igpu on the same simulated machines, name by name.

``make test-peers`` installs them in a separate environment. Elsewhere the tests are skipped.
"""

from __future__ import annotations

import fnmatch
import importlib
import inspect
import math
import os
import sys
import warnings
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Iterator

import pynvml
import pytest

from nvitop import simulation
from nvitop.compat import igpu
from nvitop.compat import pynvml_smi as ours
from nvitop.simulation.driver.nvml import ALL_SYMBOLS
from tests.compat import machines


def _import(name: str) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            return importlib.import_module(name)
    except ImportError:
        if 'NVITOP_TEST_PEERS' in os.environ:  # in the environment of ``make test-peers``
            raise
        pytest.skip(
            f'NOTHING WAS COMPARED with {name}: not installed here (make test-peers)',
            allow_module_level=True,
        )


PEER = _import('pynvml_utils.smi')
# The binding has removed this constant; the brands are new.
PEER.nvmlClocksThrottleReasonUnknown = 1 << 63
PEER.NVSMI_BRAND_NAMES.update(
    {number: name for number, name in ours.NVSMI_BRAND_NAMES.items() if number > 5}
)
# It shuts NVML down at an arbitrary time, when it is garbage-collected.
if hasattr(PEER.nvidia_smi, '__del__'):
    del PEER.nvidia_smi.__del__
# igpu expects it under its old name.
sys.modules['pynvml.smi'] = pynvml.smi = PEER
IGPU = _import('igpu')


#: Names for which pynvml.smi returns nothing, or an empty result.
EMPTY = {
    'gom.current', 'gom.pending', 'gpu_operation_mode.current', 'gpu_operation_mode.pending',
    'encoder.stats.sessionCount', 'encoder.stats.averageFps', 'encoder.stats.averageLatency',
    'clocks.sm', 'clocks.current.sm', 'clocks.video', 'clocks.current.video',
    'temperature.memory', 'ecc.errors.corrected.volatile.total',
    *(name for name in ours.NVSMI_QUERY_GPU if name.startswith('ecc.errors.uncorrected.')),
}  # fmt: skip
#: Leaves that only pynvml.smi has → reason.
ONLY_THEIRS = {
    'timestamp = *': 'the date without the time of day',
    'gpu/?/multigpu_board = *': 'selected with the BIOS version',
    'gpu/?/gpu_operation_mode/* = *': 'selected with a version of the InfoROM',
    'gpu/?/ecc_errors/* = {}': 'an empty table',
    'gpu/?/pci/pci_bridge_chip/bridge_chip_type = *PLX*': 'reported for boards without a bridge',
    'gpu/?/driver_model/*_dm = *Function Not Found*': 'drivers that only have the old function',
    'gpu/?/temperature = ': 'empty in XML',
}
#: Leaves that only nvitop has → reason.
ONLY_OURS = {
    'timestamp = *': 'with the time of day',
    'gpu/?/multigpu_board = *': 'selected with the ID of the board',
    'gpu/?/clocks_throttle*/clocks_throttle_reason* = *': 'newer reasons',
    'gpu/?/ecc_errors/* = *': 'tables are complete',
    'gpu/?/pci/pci_bridge_chip/bridge_chip_type = *N/A*': 'there is none',
    'gpu/?/driver_model/*_dm = *N/A*': 'not Windows',
    'gpu/?/temperature/memory_temp = *': 'a name without a result in pynvml.smi',
    'gpu/?/clocks/video_clock = *': 'a name without a result in pynvml.smi',
    'gpu/?/encoder_stats/* = *': 'names without a result in pynvml.smi',
    'gpu/?/mig_mode/* = *': 'documented names that pynvml.smi does not accept',
}
#: Leaves that only the XML of nvitop has → reason.
ONLY_OURS_IN_XML = {
    **ONLY_OURS,
    'gpu/?/temperature/* = *': 'empty in pynvml.smi',
    'gpu/?/driver_model/pending_dm = *': 'only reported with everything',
    'gpu/?/pci/pci_gpu_link_info/* = *': 'only reported with everything',
}


def begin() -> None:
    """Make pynvml.smi find the GPUs of the active machine."""
    PEER.nvidia_smi._nvidia_smi__instance = PEER.nvidia_smi._nvidia_smi__handles = None
    PEER.nvidia_smi.getInstance()


@pytest.fixture(autouse=True)
def accounts_that_peers_can_read(monkeypatch: pytest.MonkeyPatch) -> None:
    # pynvml.smi raises a TypeError for an account without memory.
    monkeypatch.setattr(machines, 'ACCOUNTED', machines.ACCOUNTED[:1])
    monkeypatch.delenv('CUDA_VISIBLE_DEVICES', raising=False)


def leaves(tree: Any, path: str = '') -> Iterator[str]:
    """Path and value of each leaf of a tree; an empty dict or list is a leaf."""
    if isinstance(tree, (dict, list)) and tree:
        for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from leaves(value, f'{path}/{key}' if path else str(key))
    elif path:
        yield f'{path} = {tree!r}'


def xml_leaves(element: ET.Element, path: str = '') -> Iterator[str]:
    """Path and text of each element without children. GPUs have numbers, as in trees."""
    counted = 0
    for child in element:
        name = child.tag
        if name == 'gpu':
            name, counted = f'gpu/{counted}', counted + 1
        below = f'{path}/{name}' if path else name
        if len(child):
            yield from xml_leaves(child, below)
        else:
            yield f'{below} = {(child.text or "").strip()}'


def assert_alike(
    theirs: Iterator[str], mine: Iterator[str], only_ours: Mapping[str, str] = ONLY_OURS
) -> None:
    """Check that all leaves are the same except for known differences."""
    their_leaves, my_leaves = Counter(theirs), Counter(mine)
    for more, known in (
        (their_leaves - my_leaves, ONLY_THEIRS),
        (my_leaves - their_leaves, only_ours),
    ):
        for leaf in more:
            assert any(fnmatch.fnmatchcase(leaf, pattern) for pattern in known), leaf


def compare(filter: Any) -> None:
    theirs = PEER.nvidia_smi.DeviceQuery(filter)
    mine = ours.nvidia_smi.DeviceQuery(filter)
    if isinstance(filter, str) and filter in EMPTY:
        assert not [leaf for leaf in leaves(theirs) if not leaf.endswith(' = {}')]
        assert mine['gpu']
    else:
        assert_alike(leaves(theirs), leaves(mine))


def compare_xml(filter: Any) -> None:
    theirs = ET.fromstring(PEER.nvidia_smi.XmlDeviceQuery(filter))
    mine = ET.fromstring(ours.nvidia_smi.XmlDeviceQuery(filter))
    assert theirs.tag == mine.tag
    if not isinstance(filter, str) or filter not in EMPTY:
        assert_alike(xml_leaves(theirs), xml_leaves(mine), ONLY_OURS_IN_XML)


NAMES = sorted(set(ours.NVSMI_QUERY_GPU) - set(machines.EXTRA_NAMES))
#: Functions whose failure ends the whole query of pynvml.smi.
ESSENTIAL = ('Count', 'HandleByIndex', 'Name', 'PciInfo')
#: Names for which pynvml.smi crashes at an error or ignores it.
ERRORS_LOST = {'supported-clocks', 'retired_pages.sbe', 'retired_pages.dbe'}
ERRORS_LOST |= {'retired_pages.single_bit_ecc.count', 'retired_pages.double_bit.count'}


def test_names_and_numbers_are_the_same() -> None:
    accepted = {name: ours.NVSMI_QUERY_GPU[name] for name in PEER.NVSMI_QUERY_GPU}
    assert accepted == dict(PEER.NVSMI_QUERY_GPU)
    for name, value in vars(PEER).items():
        if name.startswith('NVSMI_') and isinstance(value, int):
            assert getattr(ours, name) == value


@pytest.mark.parametrize('name', NAMES)
def test_every_name_has_the_same_result(name: str) -> None:
    with machines.machine():
        begin()
        compare(name)
        if name not in EMPTY:
            compare(f'uuid, {name} ,, nothing')
            compare([ours.NVSMI_QUERY_GPU[name]])


@pytest.mark.parametrize('code', ['NOT_SUPPORTED', 'TIMEOUT'])
@pytest.mark.parametrize('name', sorted(set(NAMES) - ERRORS_LOST))
def test_errors_have_the_same_result(name: str, code: str) -> None:
    functions = [name for name in ALL_SYMBOLS if name.startswith('nvmlDeviceGet')]
    with machines.machine(extra=False) as gpus:
        begin()
        for function in functions:
            if not any(word in function for word in ESSENTIAL):
                gpus.fail(function, code)
        gpus.fail('nvmlSystemGetProcessName', code)
        compare(name)


@pytest.mark.parametrize('scenario', ['workstation', 'dgx-h100', 'mig'])
def test_results_of_bundled_scenarios_are_the_same(scenario: str) -> None:
    with simulation.machine(scenario, processes='fixed', clock=lambda: 0.0):
        begin()
        compare(None)
        compare([ours.NVSMI_ALL])
        compare_xml(None)


def test_text_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    # pynvml.smi uses names that Python 3.10 removed.
    monkeypatch.setattr('collections.Mapping', Mapping, raising=False)
    monkeypatch.setattr('collections.Iterable', Iterable, raising=False)
    filter = 'driver_version, count, uuid, memory.free, fan.speed, compute-apps, pci.bus_id'
    with machines.machine():
        begin()
        tree = PEER.nvidia_smi.DeviceQuery(filter)
        theirs = PEER.nvidia_smi.getInstance().format(tree)
    assert theirs == ours.nvidia_smi.format(tree)
    assert '[2 of 2]' in theirs


# igpu


def members(value: object) -> set[str]:
    return {name for name in dir(value) if not name.startswith('_')}


def test_all_names_of_igpu_exist() -> None:
    names = {
        name
        for name, value in vars(IGPU).items()
        if not name.startswith('_') and not inspect.ismodule(value)
    }
    assert names <= set(igpu.__all__)
    for name in names:
        mine = getattr(igpu, name)
        attributes = getattr(mine, '__annotations__', {})
        assert members(getattr(IGPU, name)) <= members(mine) | set(attributes)


def test_functions_of_igpu_have_the_same_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('CUDA_DEVICE_ORDER', 'PCI_BUS_ID')
    with machines.machine():
        begin()
        assert igpu.nvidia_driver_version() == IGPU.nvidia_driver_version()
        assert igpu.count_devices() == IGPU.count_devices()
        assert igpu.devices_index() == IGPU.devices_index()
        for index in (2, -1, '0', None):
            for each in (IGPU, igpu):
                with pytest.raises(ValueError, match=r'.'):
                    each.get_device(index)
        monkeypatch.setenv('CUDA_VISIBLE_DEVICES', '1,0')
        assert igpu.visible_devices_index() == IGPU.visible_devices_index() == [1, 0]
        assert igpu.count_visible_devices() == IGPU.count_visible_devices()


@pytest.mark.parametrize('index', [0, 1])
def test_gpu_of_igpu_has_the_same_values(index: int) -> None:
    parent = os.getppid()
    with machines.machine(processes=[os.getpid(), parent, parent]):
        begin()
        theirs, mine = IGPU.get_device(index), igpu.get_device(index)
        for name in ('index', 'name', 'serial', 'uuid', 'bios'):
            assert getattr(mine, name) == getattr(theirs, name)
        for group in ('memory', 'utilization', 'pci', 'clocks', 'power'):
            assert_same_members(getattr(theirs, group), getattr(mine, group))
        by_pid = {process.pid: process for process in mine.processes}
        # igpu has ``None`` for no processes, and does not list graphics processes.
        processes = theirs.processes or []
        assert [process.pid for process in processes] == [os.getpid(), parent][: 2 - 2 * index]
        for process in processes:
            # nvitop adds the memory that the parent has as a graphics process.
            but_for = {'gpu_memory'} if process.pid == parent else set()
            assert_same_members(process, by_pid[process.pid], but_for)


def test_text_of_igpu_is_the_same() -> None:
    with machines.machine(processes=[os.getpid(), os.getppid(), os.getppid()]):
        begin()
        theirs, mine = IGPU.get_device(0), igpu.get_device(0)
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


def assert_same_members(theirs: Any, mine: Any, but_for: set[str] | None = None) -> None:
    """Check that all members of igpu have the same value and type in nvitop."""
    for name in members(theirs) - (but_for or set()):
        expected, value = getattr(theirs, name), getattr(mine, name)
        assert type(value) is type(expected), name
        assert value == expected or (math.isnan(value) and math.isnan(expected)), name
