"""pynvml.smi itself, asked the same on the same simulated machine, name by name.

It is part of the package pynvml (13), which calls it pynvml_utils. ``make test-peers`` installs it in
an environment of its own; elsewhere nothing is compared, and the summary of the run says so.
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
from tests.compat.peers import begin, import_smi
from tests.compat.test_smi_query import BEYOND

PEER = import_smi()

#: Names to which pynvml.smi gives no answer, or an empty one.
UNANSWERED = {
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
#: What it says and we do not: leaf → why.
ONLY_THEIRS = {
    'timestamp = *': 'the date without the time of day',
    'gpu/?/multigpu_board = *': 'told when the BIOS version is asked for',
    'gpu/?/gpu_operation_mode/* = *': 'told when a version of the inforom is asked for',
    'gpu/?/ecc_errors/* = {}': 'an empty table',
    "gpu/?/pci/pci_bridge_chip/bridge_chip_type = 'PLX'": 'told of boards without a bridge',
    "gpu/?/driver_model/*_dm = 'Function Not Found'": 'drivers that know the old function only',
    'gpu/?/temperature = ': 'empty in XML',
}
#: What we say and it does not: leaf → why.
ONLY_OURS = {
    'timestamp = *': 'with the time of day',
    'gpu/?/multigpu_board = *': 'told with the number of the board',
    'gpu/?/clocks_throttle*/clocks_throttle_reason* = *': 'reasons that came later',
    'gpu/?/ecc_errors/* = *': 'tables are complete',
    "gpu/?/pci/pci_bridge_chip/bridge_chip_type = 'N/A'": 'there is none',
    "gpu/?/driver_model/*_dm = 'N/A'": 'not Windows',
    'gpu/?/temperature/memory_temp = *': 'a name without an answer there',
    'gpu/?/clocks/video_clock = *': 'a name without an answer there',
    'gpu/?/encoder_stats/* = *': 'names without an answer there',
    'gpu/?/mig_mode/* = *': 'documented names that are not accepted there',
}
#: The same of XML.
ONLY_OURS_IN_XML = {
    **ONLY_OURS,
    'gpu/?/pci/pci_bridge_chip/bridge_chip_type = N/A': 'there is none',
    'gpu/?/driver_model/*_dm = N/A': 'not Windows',
    'gpu/?/temperature/* = *': 'empty there',
    'gpu/?/driver_model/pending_dm = *': 'not told alone',
    'gpu/?/pci/pci_gpu_link_info/* = *': 'not told alone',
}
ONLY_THEIRS_IN_XML = {
    **ONLY_THEIRS,
    'gpu/?/pci/pci_bridge_chip/bridge_chip_type = PLX': 'told of boards without a bridge',
    'gpu/?/driver_model/*_dm = Function Not Found': 'drivers that know the old function only',
}


@pytest.fixture
def peer() -> Any:
    """pynvml.smi."""
    return PEER


@pytest.fixture(autouse=True)
def accounts_that_the_peer_can_read(monkeypatch: pytest.MonkeyPatch) -> None:
    # An account without memory is a TypeError there.
    monkeypatch.setattr(machines, 'ACCOUNTED', machines.ACCOUNTED[:1])


def leaves(tree: Any, path: str = '') -> Iterator[str]:
    """Path and value of each leaf of a tree of dicts and lists; an empty one is a leaf."""
    if isinstance(tree, (dict, list)) and tree:
        for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from leaves(value, f'{path}/{key}' if path else str(key))
    elif path:
        yield f'{path} = {tree!r}'


def xml_leaves(element: ET.Element, path: str = '') -> Iterator[str]:
    """Path and text of each element without children. GPUs are counted, as in trees."""
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
    """Leaf by leaf the same, but for what is known."""
    their_leaves, my_leaves = Counter(theirs), Counter(mine)
    for more, known in (
        (their_leaves - my_leaves, only_theirs),
        (my_leaves - their_leaves, only_ours),
    ):
        assert not [leaf for leaf in more if not is_known(leaf, known)]


def is_known(leaf: str, known: Mapping[str, str]) -> bool:
    return any(fnmatch.fnmatchcase(leaf, pattern) for pattern in known)


def compare(peer: Any, filter: Any) -> None:
    """Ask both the same and compare the trees."""
    theirs = peer.nvidia_smi.DeviceQuery(filter)
    mine = ours.nvidia_smi.DeviceQuery(filter)
    if isinstance(filter, str) and filter in UNANSWERED:
        assert not [leaf for leaf in leaves(theirs) if not leaf.endswith(' = {}')]
        assert mine['gpu']
    else:
        assert_alike(leaves(theirs), leaves(mine))


def compare_xml(peer: Any, filter: Any) -> None:
    """Ask both the same and compare the documents."""
    theirs = ET.fromstring(peer.nvidia_smi.XmlDeviceQuery(filter))
    mine = ET.fromstring(ours.nvidia_smi.XmlDeviceQuery(filter))
    assert theirs.tag == mine.tag
    if not isinstance(filter, str) or filter not in UNANSWERED:
        assert_alike(xml_leaves(theirs), xml_leaves(mine), ONLY_THEIRS_IN_XML, ONLY_OURS_IN_XML)


NAMES = sorted(set(ours.NVSMI_QUERY_GPU) - set(BEYOND))
WITHOUT_NAME = [
    ours.NVSMI_BOARD_ID,
    ours.NVSMI_MEMORY_BAR1,
    ours.NVSMI_UTILIZATION_ENCODER,
    ours.NVSMI_UTILIZATION_DECODER,
]
#: Failures of these end the whole query there.
DECISIVE = ('Count', 'HandleByIndex', 'Name', 'PciInfo')
#: Names whose errors are crashes, or no errors, there.
ERRORS_LOST = {'supported-clocks', 'retired_pages.sbe', 'retired_pages.dbe'}
ERRORS_LOST |= {'retired_pages.single_bit_ecc.count', 'retired_pages.double_bit.count'}


def test_names_and_numbers_are_the_same(peer: Any) -> None:
    accepted = {name: ours.NVSMI_QUERY_GPU[name] for name in peer.NVSMI_QUERY_GPU}
    assert accepted == dict(peer.NVSMI_QUERY_GPU)
    for name, value in vars(peer).items():
        if name.startswith('NVSMI_') and isinstance(value, int):
            assert getattr(ours, name) == value


def test_public_members_are_the_same(peer: Any) -> None:
    theirs = {name for name in dir(peer.nvidia_smi) if not name.startswith('_')}
    assert theirs <= set(dir(ours.nvidia_smi))
    loop = {name for name in dir(peer.nvidia_smi.loop_async) if not name.startswith('_')}
    assert loop <= set(dir(ours.LoopAsync))


@pytest.mark.parametrize('name', NAMES)
def test_each_name_has_the_same_answer(peer: Any, name: str) -> None:
    with machines.machine():
        begin(peer)
        compare(peer, name)
        if name not in UNANSWERED:
            compare(peer, f'uuid, {name} ,, nothing')
            compare(peer, [ours.NVSMI_QUERY_GPU[name]])


@pytest.mark.parametrize('name', NAMES)
def test_each_name_has_the_same_answer_in_xml(peer: Any, name: str) -> None:
    with machines.machine() as gpus:
        # It cannot write retired pages, nor names that need to be escaped.
        gpus.set(retired_single_bit=0, retired_double_bit=0)
        if name != 'compute-apps':
            begin(peer)
            compare_xml(peer, name)
    with simulation.machine('workstation', processes='fixed', clock=lambda: 0.0):
        begin(peer)
        compare_xml(peer, name)


@pytest.mark.parametrize('code', ['NOT_SUPPORTED', 'TIMEOUT'])
@pytest.mark.parametrize('name', sorted(set(NAMES) - ERRORS_LOST))
def test_errors_look_the_same(peer: Any, name: str, code: str) -> None:
    functions = [name for name in ALL_SYMBOLS if name.startswith('nvmlDeviceGet')]
    with machines.machine(extra=False) as gpus:
        begin(peer)
        for function in functions:
            if not any(word in function for word in DECISIVE):
                gpus.fail(function, code)
        gpus.fail('nvmlSystemGetProcessName', code)
        compare(peer, name)


@pytest.mark.parametrize('number', WITHOUT_NAME)
def test_numbers_without_a_name_have_the_same_answer(peer: Any, number: int) -> None:
    with machines.machine():
        begin(peer)
        compare(peer, [number])


@pytest.mark.parametrize('scenario', ['workstation', 'dgx-h100', 'mig'])
def test_everything_is_the_same_on_other_machines(peer: Any, scenario: str) -> None:
    with simulation.machine(scenario, processes='fixed', clock=lambda: 0.0):
        begin(peer)
        compare(peer, None)
        compare(peer, [ours.NVSMI_ALL])
        compare_xml(peer, None)


@pytest.mark.parametrize(
    ('scenario', 'crash'), [('old-driver', 'compute-apps'), ('spark', 'supported-clocks')]
)
def test_the_rest_is_the_same_where_a_name_is_a_crash(peer: Any, scenario: str, crash: str) -> None:
    with simulation.machine(scenario, processes='fixed', clock=lambda: 0.0):
        begin(peer)
        compare(peer, ', '.join(name for name in NAMES if name != crash))


def test_everything_is_the_same(peer: Any) -> None:
    with machines.machine():
        begin(peer)
        compare(peer, None)
        compare(peer, ', '.join(NAMES))


@pytest.mark.parametrize('filter', ['', 'nothing', [], [9999], 'Memory.Free', 'nothing, uuid'])
def test_filters_mean_the_same(peer: Any, filter: Any) -> None:
    with machines.machine():
        begin(peer)
        compare(peer, filter)
        compare_xml(peer, filter)


def test_text_is_the_same(peer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # Names that Python dropped in 3.10.
    monkeypatch.setattr('collections.Mapping', Mapping, raising=False)
    monkeypatch.setattr('collections.Iterable', Iterable, raising=False)
    filter = 'driver_version, count, uuid, memory.free, fan.speed, compute-apps, pci.bus_id'
    with machines.machine():
        begin(peer)
        tree = peer.nvidia_smi.DeviceQuery(filter)
        theirs = peer.nvidia_smi.getInstance().format(tree)
    assert theirs == ours.nvidia_smi.format(tree)
    assert '[2 of 2]' in theirs
