"""pynvml.smi: names, filters, results, and errors in results."""

from __future__ import annotations

from typing import Any, Iterator

import pytest

from nvitop import simulation
from nvitop.api import libnvml
from nvitop.api.device import Device
from nvitop.compat import pynvml_smi as smi
from nvitop.compat.pynvml_smi import nvidia_smi
from nvitop.compat.pynvml_smi.fields import HELP, NUMBERS
from tests.compat.machines import ACCOUNTED, machine
from tests.compat.peers import EXTRA

FIRST = 4100000


@pytest.fixture(autouse=True)
def fresh_instance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvidia_smi, '_instance', None)


@pytest.fixture
def gpus() -> Iterator[simulation.Machine]:
    with machine() as running:
        yield running


def first(filter: Any, **options: Any) -> Any:
    """The result of a query for the first GPU."""
    return nvidia_smi.DeviceQuery(filter, **options)['gpu'][0]


# Names


def test_all_names_and_numbers_of_pynvml_smi_exist() -> None:
    names = {name: number for name, number in smi.NVSMI_QUERY_GPU.items() if name not in EXTRA}
    assert len(names) == 125
    assert len(set(names.values())) == 105
    without_a_name = {smi.NVSMI_BOARD_ID, smi.NVSMI_MEMORY_BAR1}
    without_a_name |= {smi.NVSMI_UTILIZATION_ENCODER, smi.NVSMI_UTILIZATION_DECODER}
    numbers = {number for number in NUMBERS if 0 < number < 300}
    assert numbers - set(names.values()) == without_a_name
    assert len(EXTRA) == 16
    assert HELP.keys() == smi.NVSMI_QUERY_GPU.keys()
    assert all(HELP.values())


def test_every_name_has_a_result(gpus: simulation.Machine) -> None:
    for name, number in smi.NVSMI_QUERY_GPU.items():
        answer = nvidia_smi.DeviceQuery(name, errors='raise', strict=True)
        assert answer, name
        if 'gpu' in answer:
            assert len(answer['gpu']) == 2, name
            assert all(answer['gpu']), name
        assert nvidia_smi.DeviceQuery([number]).keys() == answer.keys(), name


# Filters


def test_filter_consists_of_names_and_numbers(gpus: simulation.Machine) -> None:
    free = libnvml.nvmlQuery('nvmlDeviceGetMemoryInfo', Device(0).handle).free / (1 << 20)
    both = {'fb_memory_usage': {'total': 34089730048 / (1 << 20), 'free': free, 'unit': 'MiB'}}
    for filter in (
        'memory.free, memory.total',
        ' memory.free ,,memory.total ,',
        [smi.NVSMI_MEMORY_FREE, smi.NVSMI_MEMORY_TOTAL],
        (smi.NVSMI_MEMORY_FREE, 'memory.total'),
        {smi.NVSMI_MEMORY_FREE, smi.NVSMI_MEMORY_TOTAL},
        ['memory.free,memory.total'],
        iter(['memory.free', 'memory.total']),
    ):
        assert first(filter) == both
    assert first(smi.NVSMI_PSTATE) == {'performance_state': 'P0'}


def test_unknown_names_raise_if_strict(gpus: simulation.Machine) -> None:
    with pytest.raises(
        ValueError, match=r"^unknown query name 'memory.fre'; did you mean 'memory.free'\?$"
    ):
        nvidia_smi.DeviceQuery('memory.fre', strict=True)
    with pytest.raises(ValueError, match=r"^unknown query name 'xyzzy'$"):
        nvidia_smi.XmlDeviceQuery(['xyzzy'], strict=True)
    with pytest.raises(ValueError, match=r'^unknown query number: 9999$'):
        nvidia_smi.DeviceQuery([9999], strict=True)
    for filter in ('', [], 'nothing', [9999], 'Memory.Free', ['', 'nothing']):
        assert nvidia_smi.DeviceQuery(filter) == {}
    assert first('nothing, uuid') == first('uuid')


def test_filter_of_another_type_raises(gpus: simulation.Machine) -> None:
    wrong: Any
    for wrong in (1.5, object()):
        with pytest.raises(TypeError, match=r'^expected a filter of names and numbers, got '):
            nvidia_smi.DeviceQuery(wrong)
    for wrong in ([None], [[1]]):
        with pytest.raises(
            TypeError, match=r'^expected a filter of names and numbers, got .* in it$'
        ):
            nvidia_smi.DeviceQuery(wrong)
    with pytest.raises(ValueError, match="expected errors='value' or 'raise', got 'ignore'"):
        nvidia_smi.DeviceQuery('uuid', errors='ignore')


# Processes


def test_exited_process_is_left_out(gpus: simulation.Machine) -> None:
    train = {'pid': FIRST, 'process_name': 'python', 'used_memory': 29696, 'unit': 'MiB'}
    other = {'pid': FIRST + 2, 'process_name': "<a> & 'b'", 'used_memory': 1, 'unit': 'MiB'}
    assert first('compute-apps')['processes'] == [train, other]
    gpus.fail('nvmlSystemGetProcessName', 'NOT_FOUND', times=1)
    assert first('compute-apps')['processes'] == [other]
    gpus.heal()
    gpus.fail('nvmlSystemGetProcessName', 'NOT_FOUND')
    assert first('compute-apps') == {'processes': None}
    gpus.heal()
    gpus.fail('nvmlSystemGetProcessName', 'NO_PERMISSION')
    assert first('compute-apps')['processes'][0]['process_name'] == 'Insufficient Permissions'


def test_accounts_are_listed(gpus: simulation.Machine) -> None:
    known, unknown = first('accounted-apps')['accounted_processes']
    assert known == {
        'pid': str(ACCOUNTED[0]),
        'gpu_util': '50 %',
        'memory_util': '20 %',
        'max_memory_usage': '1024 MiB',
        'time': '1234 ms',
        'is_running': '1',
    }
    assert (unknown['gpu_util'], unknown['max_memory_usage']) == ('N/A', 'N/A')


# Errors


def test_errors_are_raised_on_request(gpus: simulation.Machine) -> None:
    gpus.fail('nvmlDeviceGetMemoryInfo*', 'NOT_SUPPORTED')
    assert first('memory.used', errors='raise')['fb_memory_usage']['used'] == 'N/A'
    gpus.fail('nvmlDeviceGetUUID', 'NO_PERMISSION')
    assert first('uuid, serial') == {'uuid': 'Insufficient Permissions', 'serial': '0324118000000'}
    with pytest.raises(libnvml.NVMLError, match='Insufficient Permissions'):
        nvidia_smi.DeviceQuery('memory.used, uuid', errors='raise')
    with pytest.raises(libnvml.NVMLError, match='Insufficient Permissions'):
        nvidia_smi.XmlDeviceQuery('uuid', errors='raise')


def test_failure_of_the_whole_query_is_printed(
    gpus: simulation.Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    gpus.fail('nvmlDeviceGetCount*', 'UNKNOWN')
    assert nvidia_smi.DeviceQuery() == {}
    assert capsys.readouterr().err == 'nvidia_smi: Unknown Error\n'
    assert nvidia_smi.XmlDeviceQuery().endswith('<nvidia_smi>\n</nvidia_smi>\n')
    capsys.readouterr()
    with pytest.raises(libnvml.NVMLError, match='Unknown Error'):
        nvidia_smi.DeviceQuery(errors='raise')
    assert capsys.readouterr() == ('', '')


def test_missing_functions_of_an_old_driver_cause_no_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with simulation.machine('old-driver', processes='fixed'):
        answer = first(None)
    assert answer['mig_mode']['current_mig'] == 'Function Not Found'
    assert answer['fb_memory_usage']['total'] > 30000
    assert [row['process_name'] for row in answer['processes']] == ['python']
    assert caplog.text == ''


# The object
