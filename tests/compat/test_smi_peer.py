"""Comparison with pynvml.smi on the same simulated machines, name by name.

pynvml.smi is part of the package pynvml (13) as pynvml_utils.smi. ``make test-peers`` installs it in a
separate environment. Elsewhere the tests are skipped.
"""

from __future__ import annotations

import fnmatch
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Iterator

import pytest

from nvitop import simulation
from nvitop.compat import pynvml_smi as ours
from nvitop.simulation.driver.nvml import ALL_SYMBOLS
from tests.compat import machines
from tests.compat.peers import EXTRA, begin, import_smi

PEER = import_smi()

#: Names for which pynvml.smi returns nothing, or an empty result.
EMPTY = {
    'gom.current',
    'gom.pending',
    'gpu_operation_mode.current',
    'gpu_operation_mode.pending',
    'encoder.stats.sessionCount',
    'encoder.stats.averageFps',
    'encoder.stats.averageLatency',
    'temperature.memory',
    'clocks.sm',
    'clocks.current.sm',
    'clocks.video',
    'clocks.current.video',
    'ecc.errors.corrected.volatile.total',
    *(name for name in ours.NVSMI_QUERY_GPU if name.startswith('ecc.errors.uncorrected.')),
}
#: Leaves that only pynvml.smi has → reason.
ONLY_THEIRS = {
    'timestamp = *': 'the date without the time of day',
    'gpu/?/multigpu_board = *': 'selected with the BIOS version',
    'gpu/?/gpu_operation_mode/* = *': 'selected with a version of the InfoROM',
    'gpu/?/ecc_errors/* = {}': 'an empty table',
    "gpu/?/pci/pci_bridge_chip/bridge_chip_type = 'PLX'": 'reported for boards without a bridge',
    "gpu/?/driver_model/*_dm = 'Function Not Found'": 'drivers that only have the old function',
    'gpu/?/temperature = ': 'empty in XML',
}
#: Leaves that only nvitop has → reason.
ONLY_OURS = {
    'timestamp = *': 'with the time of day',
    'gpu/?/multigpu_board = *': 'selected with the ID of the board',
    'gpu/?/clocks_throttle*/clocks_throttle_reason* = *': 'newer reasons',
    'gpu/?/ecc_errors/* = *': 'tables are complete',
    "gpu/?/pci/pci_bridge_chip/bridge_chip_type = 'N/A'": 'there is none',
    "gpu/?/driver_model/*_dm = 'N/A'": 'not Windows',
    'gpu/?/temperature/memory_temp = *': 'a name without a result in pynvml.smi',
    'gpu/?/clocks/video_clock = *': 'a name without a result in pynvml.smi',
    'gpu/?/encoder_stats/* = *': 'names without a result in pynvml.smi',
    'gpu/?/mig_mode/* = *': 'documented names that pynvml.smi does not accept',
}
#: Leaves that only the XML of nvitop has → reason.
ONLY_OURS_IN_XML = {
    **ONLY_OURS,
    'gpu/?/pci/pci_bridge_chip/bridge_chip_type = N/A': 'there is none',
    'gpu/?/driver_model/*_dm = N/A': 'not Windows',
    'gpu/?/temperature/* = *': 'empty in pynvml.smi',
    'gpu/?/driver_model/pending_dm = *': 'only reported with everything',
    'gpu/?/pci/pci_gpu_link_info/* = *': 'only reported with everything',
}
ONLY_THEIRS_IN_XML = {
    **ONLY_THEIRS,
    'gpu/?/pci/pci_bridge_chip/bridge_chip_type = PLX': 'reported for boards without a bridge',
    'gpu/?/driver_model/*_dm = Function Not Found': 'drivers that only have the old function',
}


@pytest.fixture
def peer() -> Any:
    """pynvml.smi."""
    return PEER


@pytest.fixture(autouse=True)
def accounts_that_pynvml_smi_can_read(monkeypatch: pytest.MonkeyPatch) -> None:
    # pynvml.smi raises a TypeError for an account without memory.
    monkeypatch.setattr(machines, 'ACCOUNTED', machines.ACCOUNTED[:1])


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
    theirs: Iterator[str],
    mine: Iterator[str],
    only_theirs: Mapping[str, str] = ONLY_THEIRS,
    only_ours: Mapping[str, str] = ONLY_OURS,
) -> None:
    """Check that all leaves are the same except for known differences."""
    their_leaves, my_leaves = Counter(theirs), Counter(mine)
    for more, known in (
        (their_leaves - my_leaves, only_theirs),
        (my_leaves - their_leaves, only_ours),
    ):
        assert not [leaf for leaf in more if not is_known(leaf, known)]


def is_known(leaf: str, known: Mapping[str, str]) -> bool:
    return any(fnmatch.fnmatchcase(leaf, pattern) for pattern in known)


def compare(peer: Any, filter: Any) -> None:
    """Compare the trees of both for a filter."""
    theirs = peer.nvidia_smi.DeviceQuery(filter)
    mine = ours.nvidia_smi.DeviceQuery(filter)
    if isinstance(filter, str) and filter in EMPTY:
        assert not [leaf for leaf in leaves(theirs) if not leaf.endswith(' = {}')]
        assert mine['gpu']
    else:
        assert_alike(leaves(theirs), leaves(mine))


def compare_xml(peer: Any, filter: Any) -> None:
    """Compare the XML of both for a filter."""
    theirs = ET.fromstring(peer.nvidia_smi.XmlDeviceQuery(filter))
    mine = ET.fromstring(ours.nvidia_smi.XmlDeviceQuery(filter))
    assert theirs.tag == mine.tag
    if not isinstance(filter, str) or filter not in EMPTY:
        assert_alike(xml_leaves(theirs), xml_leaves(mine), ONLY_THEIRS_IN_XML, ONLY_OURS_IN_XML)


NAMES = sorted(set(ours.NVSMI_QUERY_GPU) - set(EXTRA))
#: Functions whose failure ends the whole query of pynvml.smi.
ESSENTIAL = ('Count', 'HandleByIndex', 'Name', 'PciInfo')
#: Names for which pynvml.smi crashes at an error or ignores it.
ERRORS_LOST = {'supported-clocks', 'retired_pages.sbe', 'retired_pages.dbe'}
ERRORS_LOST |= {'retired_pages.single_bit_ecc.count', 'retired_pages.double_bit.count'}


def test_names_and_numbers_are_the_same(peer: Any) -> None:
    accepted = {name: ours.NVSMI_QUERY_GPU[name] for name in peer.NVSMI_QUERY_GPU}
    assert accepted == dict(peer.NVSMI_QUERY_GPU)
    for name, value in vars(peer).items():
        if name.startswith('NVSMI_') and isinstance(value, int):
            assert getattr(ours, name) == value


@pytest.mark.parametrize('name', NAMES)
def test_every_name_has_the_same_result(peer: Any, name: str) -> None:
    with machines.machine():
        begin(peer)
        compare(peer, name)
        if name not in EMPTY:
            compare(peer, f'uuid, {name} ,, nothing')
            compare(peer, [ours.NVSMI_QUERY_GPU[name]])


@pytest.mark.parametrize('code', ['NOT_SUPPORTED', 'TIMEOUT'])
@pytest.mark.parametrize('name', sorted(set(NAMES) - ERRORS_LOST))
def test_errors_have_the_same_result(peer: Any, name: str, code: str) -> None:
    functions = [name for name in ALL_SYMBOLS if name.startswith('nvmlDeviceGet')]
    with machines.machine(extra=False) as gpus:
        begin(peer)
        for function in functions:
            if not any(word in function for word in ESSENTIAL):
                gpus.fail(function, code)
        gpus.fail('nvmlSystemGetProcessName', code)
        compare(peer, name)


@pytest.mark.parametrize('scenario', ['workstation', 'dgx-h100', 'mig'])
def test_results_of_bundled_scenarios_are_the_same(peer: Any, scenario: str) -> None:
    with simulation.machine(scenario, processes='fixed', clock=lambda: 0.0):
        begin(peer)
        compare(peer, None)
        compare(peer, [ours.NVSMI_ALL])
        compare_xml(peer, None)


def test_text_is_the_same(peer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # pynvml.smi uses names that Python 3.10 removed.
    monkeypatch.setattr('collections.Mapping', Mapping, raising=False)
    monkeypatch.setattr('collections.Iterable', Iterable, raising=False)
    filter = 'driver_version, count, uuid, memory.free, fan.speed, compute-apps, pci.bus_id'
    with machines.machine():
        begin(peer)
        tree = peer.nvidia_smi.DeviceQuery(filter)
        theirs = peer.nvidia_smi.getInstance().format(tree)
    assert theirs == ours.nvidia_smi.format(tree)
    assert '[2 of 2]' in theirs
