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


def test_names_of_the_binding_can_be_imported() -> None:
    names: dict[str, Any] = {}
    exec('from nvitop.compat.pynvml_smi import *', names)
    assert names['nvidia_smi'] is nvidia_smi
    assert names['NVSMI_UUID'] == 6
    assert names['nvmlInit'] is libnvml.nvmlInit
    assert smi.NVML_TEMPERATURE_GPU == 0
    with pytest.raises(AttributeError, match='NVML_NOTHING'):
        getattr(smi, 'NVML_' + 'NOTHING')


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


def test_query_without_a_filter_returns_everything(gpus: simulation.Machine) -> None:
    everything = nvidia_smi.DeviceQuery()
    assert list(everything) == ['timestamp', 'driver_version', 'count', 'gpu']
    assert nvidia_smi.DeviceQuery([smi.NVSMI_ALL])['gpu'] == everything['gpu']
    assert nvidia_smi.DeviceQuery(smi.NVSMI_ALL)['gpu'] == everything['gpu']
    for name in smi.NVSMI_QUERY_GPU:
        for path, value in leaves(nvidia_smi.DeviceQuery(name)):
            if path != ('timestamp',):
                assert at(everything, path) == value


def leaves(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    items = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, value in items:
        if isinstance(value, (dict, list)):
            yield from leaves(value, (*path, key))
        else:
            yield (*path, key), value


def at(tree: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        tree = tree[key]
    return tree


def test_query_calls_only_the_functions_it_needs(gpus: simulation.Machine) -> None:
    nvidia_smi.getInstance()
    gpus.reset_calls()
    nvidia_smi.DeviceQuery('memory.free, memory.used, memory.total')
    asked = {name: count for name, count in gpus.calls.items() if 'Handle' not in name}
    assert asked == {
        'nvmlDeviceGetCount_v2': 1,
        'nvmlDeviceGetMemoryInfo_v2': 2,
        'nvmlDeviceGetUUID': 2,  # Device identifies its GPU
    }
    gpus.reset_calls()
    nvidia_smi.DeviceQuery('timestamp')
    assert not gpus.calls


@pytest.mark.parametrize('filter', ['', [], 'nothing', [9999], 'Memory.Free', ['', 'nothing']])
def test_unknown_names_are_ignored(gpus: simulation.Machine, filter: Any) -> None:
    assert nvidia_smi.DeviceQuery(filter) == {}
    assert first('nothing, uuid') == first('uuid')


def test_unknown_names_raise_if_strict(gpus: simulation.Machine) -> None:
    with pytest.raises(
        ValueError, match=r"^unknown query name 'memory.fre'; did you mean 'memory.free'\?$"
    ):
        nvidia_smi.DeviceQuery('memory.fre', strict=True)
    with pytest.raises(ValueError, match=r"^unknown query name 'xyzzy'$"):
        nvidia_smi.XmlDeviceQuery(['xyzzy'], strict=True)
    with pytest.raises(ValueError, match=r'^unknown query number: 9999$'):
        nvidia_smi.DeviceQuery([9999], strict=True)
    assert nvidia_smi.DeviceQuery('', strict=True) == {}


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


def test_help_is_text(gpus: simulation.Machine) -> None:
    for query in (nvidia_smi.DeviceQuery, nvidia_smi.XmlDeviceQuery):
        assert 'DeviceQuery(' in query('--help')
        assert query('-h') == query('--help')
        names = query('--help-query-gpu')
        assert query('--help_query_gpu') == names
        lines = names.splitlines()
        assert [line.split()[0] for line in lines] == list(smi.NVSMI_QUERY_GPU)
        assert len({len(line) - len(line.split(None, 1)[1]) for line in lines}) == 1
    assert not gpus.calls


# Members


@pytest.mark.parametrize(
    ('filter', 'tree'),
    [
        ('name', {'product_name': 'Tesla V100-SXM2-32GB', 'product_brand': 'Tesla'}),
        ('gpu_bus_id', {'id': '00000000:1B:00.0', 'pci': {'pci_bus_id': '00000000:1B:00.0'}}),
        ('gom.current', {'gpu_operation_mode': {'current_gom': 'Compute'}}),
        ('gom.pending', {'gpu_operation_mode': {'pending_gom': 'Low Double Precision'}}),
        ('utilization.encoder', {'utilization': {'encoder_util': 0, 'unit': '%'}}),
        ('temperature.memory', {'temperature': {'memory_temp': 66, 'unit': 'C'}}),
        (
            'power.draw',
            {'power_readings': {'power_draw': 238.456, 'power_state': 'P0', 'unit': 'W'}},
        ),
        ('clocks.sm', {'clocks': {'sm_clock': 1380, 'unit': 'MHz'}}),
        ('clocks.video', {'clocks': {'video_clock': 1230, 'unit': 'MHz'}}),
        ('mig.mode.current', {'mig_mode': {'current_mig': 'N/A'}}),
    ],
)
def test_value_is_in_its_group_with_its_unit(
    gpus: simulation.Machine, filter: Any, tree: dict[str, Any]
) -> None:
    """The comparison with pynvml.smi covers the other names."""
    assert first(filter) == tree


def test_each_throttle_reason_selects_all(gpus: simulation.Machine) -> None:
    reasons = first('clocks_throttle_reasons.gpu_idle')['clocks_throttle']
    active = [key for key, value in reasons.items() if value == 'Active']
    assert active == [
        'clocks_throttle_reason_sw_power_cap',
        'clocks_throttle_reason_hw_thermal_slowdown',
    ]
    assert reasons['clocks_throttle_reason_unknown'] == 'N/A'
    assert reasons['clocks_throttle_reason_sync_boost'] == 'Not Active'
    assert reasons['clocks_throttle_reasons_active'] == '0x0000000000000044'
    gpus.fail('nvmlDeviceGetCurrentClocks*Reasons', 'UNKNOWN')
    assert first('clocks_throttle_reasons.gpu_idle') == {
        'clocks_throttle': {'Error': 'Unknown Error'}
    }
    gpus.heal()
    gpus.fail('nvmlDeviceGetSupportedClocks*Reasons', 'NOT_SUPPORTED')
    assert first('clocks_throttle_reasons.gpu_idle') == {'clocks_throttle': {'Error': 'N/A'}}


def test_throttle_reasons_are_read_with_new_and_old_functions(gpus: simulation.Machine) -> None:
    reasons = first('clocks_throttle_reasons.active')
    gpus.hide('nvmlDeviceGet*ClocksThrottleReasons')
    if not hasattr(libnvml, 'nvmlDeviceGetCurrentClocksEventReasons'):
        # This binding is older than the new name.
        reasons = {'clocks_throttle': {'Error': 'Function Not Found'}}
    assert first('clocks_throttle_reasons.active') == reasons


def test_each_ecc_error_selects_all_of_its_counter(gpus: simulation.Machine) -> None:
    errors = first('ecc.errors.uncorrected.volatile.total')['ecc_errors']
    assert list(errors) == ['volatile']
    assert errors['volatile']['single_bit'] == {
        'device_memory': 5,
        'register_file': 0,
        'l1_cache': 0,
        'l2_cache': 0,
        'texture_memory': 0,
        'dram': 5,
        'cbu': 0,
        'sram': 0,
        'total': '5',
    }
    assert errors['volatile']['double_bit']['total'] == '6'
    aggregate = first('ecc.errors.corrected.aggregate.dram')['ecc_errors']['aggregate']
    assert aggregate['double_bit']['dram'] == 8


def test_retired_pages_have_a_count_and_addresses(gpus: simulation.Machine) -> None:
    answer = nvidia_smi.DeviceQuery('retired_pages.sbe, retired_pages.dbe')['gpu']
    assert answer[0]['retired_pages'] == {
        'multiple_single_bit_retirement': {
            'retired_count': 2,
            'retired_page_addresses': {
                'retired_page_address_1': '0x0000000000010000',
                'retired_page_address_2': '0x0000000000020000',
            },
        },
        'double_bit_retirement': {
            'retired_count': 1,
            'retired_page_addresses': {'retired_page_address_1': '0x0000000000010000'},
        },
    }
    assert set(answer[1]['retired_pages'].values()) == {None}
    gpus.fail('nvmlDeviceGetRetiredPages', 'NOT_SUPPORTED')
    assert first('retired_pages.sbe') == {'retired_pages': {'multiple_single_bit_retirement': None}}
    gpus.heal()
    gpus.fail('nvmlDeviceGetRetiredPages', 'UNKNOWN')
    assert first('retired_pages.sbe')['retired_pages'] == {
        'multiple_single_bit_retirement': 'Unknown Error'
    }


def test_bridge_chips_and_traffic_are_part_of_everything(gpus: simulation.Machine) -> None:
    pci = first(None)['pci']
    assert pci['pci_bridge_chip'] == {'bridge_chip_type': 'BR04', 'bridge_chip_fw': '00012345'}
    assert pci['replay_counter'] == '3'
    assert isinstance(pci['tx_util'], int)
    assert (pci['tx_util_unit'], pci['rx_util_unit']) == ('KB/s', 'KB/s')


def test_board_without_a_bridge_chip_has_none() -> None:
    with machine(extra=False):
        chip = first(None)['pci']['pci_bridge_chip']
        assert chip == {'bridge_chip_type': 'N/A', 'bridge_chip_fw': 'N/A'}


def test_supported_clocks_are_listed_by_memory_clock(gpus: simulation.Machine) -> None:
    (clocks,) = first('supported-clocks')['supported_clocks']
    assert (clocks['current'], clocks['unit']) == (877, 'MHz')
    assert clocks['supported_graphics_clock'][0] == 1530
    gpus.fail('nvmlDeviceGetSupportedGraphicsClocks', 'UNKNOWN')
    (clocks,) = first('supported-clocks')['supported_clocks']
    assert clocks['supported_graphics_clock'] == 'Unknown Error'
    gpus.fail('nvmlDeviceGetSupportedMemoryClocks', 'NOT_SUPPORTED')
    assert first('supported-clocks') == {'supported_clocks': 'N/A'}


# Processes


def test_compute_processes_are_listed(gpus: simulation.Machine) -> None:
    train = {'pid': FIRST, 'process_name': 'python', 'used_memory': 29696, 'unit': 'MiB'}
    other = {'pid': FIRST + 2, 'process_name': "<a> & 'b'", 'used_memory': 1, 'unit': 'MiB'}
    answer = nvidia_smi.DeviceQuery('compute-apps')['gpu']
    assert [gpu['processes'] for gpu in answer] == [[train, other], None]


def test_unknown_memory_of_a_process_is_not_available() -> None:
    process = '[[process]]\ngpus = [0]\ncommand = ["x"]\nmemory = "N/A"\n'
    with machine('[[gpu]]\n' + process):
        assert first('compute-apps')['processes'][0]['used_memory'] == 'N/A'


def test_exited_process_is_left_out(gpus: simulation.Machine) -> None:
    gpus.fail('nvmlSystemGetProcessName', 'NOT_FOUND', times=1)
    assert [row['pid'] for row in first('compute-apps')['processes']] == [FIRST + 2]
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


def test_missing_accounts_are_left_out() -> None:
    with machine(extra=False) as gpus:
        gpus.fail('nvmlDeviceGetAccountingStats', 'NOT_FOUND')
        assert first('accounted-apps') == {'accounted_processes': None}


# Errors


def test_text_of_an_error_replaces_the_value(gpus: simulation.Machine) -> None:
    gpus.fail('nvmlDeviceGetTemperature*', 'UNKNOWN')
    gpus.fail('nvmlDeviceGetUUID', 'NO_PERMISSION')
    gpus.fail('nvmlDeviceGetMemoryInfo*', 'NOT_SUPPORTED')
    answer = first('temperature.gpu, uuid, memory.used, serial')
    assert answer['temperature']['gpu_temp'] == 'Unknown Error'
    assert answer['temperature']['unit'] == 'C'
    assert answer['uuid'] == 'Insufficient Permissions'
    assert answer['fb_memory_usage'] == {'used': 'N/A', 'unit': 'MiB'}
    assert answer['serial'] == '0324118000000'


def test_errors_are_raised_on_request(gpus: simulation.Machine) -> None:
    gpus.fail('nvmlDeviceGetMemoryInfo*', 'NOT_SUPPORTED')
    assert first('memory.used', errors='raise')['fb_memory_usage']['used'] == 'N/A'
    gpus.fail('nvmlDeviceGetUUID', 'NO_PERMISSION')
    with pytest.raises(libnvml.NVMLError, match='Insufficient Permissions'):
        nvidia_smi.DeviceQuery('memory.used, uuid', errors='raise')
    with pytest.raises(libnvml.NVMLError, match='Insufficient Permissions'):
        nvidia_smi.XmlDeviceQuery('uuid', errors='raise')


def test_lost_gpu_has_errors_and_hides_no_other_gpu(gpus: simulation.Machine) -> None:
    gpus.set(gpu=0, lost=True)
    lost, other = nvidia_smi.DeviceQuery()['gpu']
    assert lost['uuid'] == 'GPU is lost'
    assert lost['fb_memory_usage']['free'] == 'GPU is lost'
    assert lost['processes'] == 'GPU is lost'
    assert other['fb_memory_usage']['free'] > 0
    assert lost.keys() == other.keys()
    with pytest.raises(libnvml.NVMLError_GpuIsLost):
        nvidia_smi.DeviceQuery('uuid', errors='raise')


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


def test_machine_without_gpus_has_an_empty_list() -> None:
    with simulation.machine('empty'):
        assert nvidia_smi.DeviceQuery('count, uuid') == {'count': 0, 'gpu': []}


def test_new_brands_have_names() -> None:
    with simulation.machine('dgx-h100', processes='none'):
        assert first('name')['product_brand'] == 'NVIDIA'
    assert smi.NVSMI_BRAND_NAMES[0] == 'Unknown'


# The object


def test_instance_is_shared_and_others_work_too(gpus: simulation.Machine) -> None:
    instance = nvidia_smi.getInstance()
    assert nvidia_smi.getInstance() is instance
    assert nvidia_smi().DeviceQuery('uuid') == instance.DeviceQuery('uuid')


def test_instance_without_a_driver_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    with machine() as gpus:
        gpus.fail('nvmlInitWithFlags', 'DRIVER_NOT_LOADED')
        with pytest.raises(libnvml.NVMLError, match='Driver Not Loaded'):
            nvidia_smi.getInstance()
        gpus.heal()
        assert nvidia_smi.getInstance().DeviceQuery('count') == {'count': 2}
