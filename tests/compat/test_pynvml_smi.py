"""pynvml.smi: filters, results, errors, texts, a repeated query, and the command line."""

from __future__ import annotations

import threading
import xml.etree.ElementTree as ET
from typing import Any, Iterator

import pytest

from nvitop import simulation
from nvitop.api import libnvml
from nvitop.api.device import Device
from nvitop.compat import pynvml_smi as smi
from nvitop.compat.pynvml_smi import LoopAsync, nvidia_smi
from nvitop.compat.pynvml_smi.__main__ import main
from nvitop.compat.pynvml_smi.fields import HELP
from nvitop.compat.pynvml_smi.smi import format_tree, tree_to_xml
from tests.compat.machines import EXTRA_NAMES, machine
from tests.programs import run_program
from tests.waiting import PATIENCE

FIRST = 4100000


@pytest.fixture(autouse=True)
def fresh_instance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvidia_smi, '_instance', None)


@pytest.fixture
def gpus() -> Iterator[simulation.Machine]:
    with machine() as running:
        yield running


def first(filter: Any, **options: Any) -> Any:
    return nvidia_smi.DeviceQuery(filter, **options)['gpu'][0]


# Names


def test_all_names_and_numbers_of_pynvml_smi_exist() -> None:
    names = {
        name: number for name, number in smi.NVSMI_QUERY_GPU.items() if name not in EXTRA_NAMES
    }
    assert (len(names), len(set(names.values())), len(EXTRA_NAMES)) == (125, 105, 16)
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


@pytest.mark.parametrize(
    ('filter', 'options', 'message'),
    [
        ('memory.fre', {'strict': True}, r"^unknown query name 'memory.fre'; did you mean 'memory.free'\?$"),
        (['xyzzy'], {'strict': True}, "^unknown query name 'xyzzy'$"),
        ([9999], {'strict': True}, '^unknown query number: 9999$'),
        (1.5, {}, '^expected a filter of names and numbers, got '),
        ([[1]], {}, '^expected a filter of names and numbers, got .* in it$'),
        ('uuid', {'errors': 'ignore'}, "expected errors='value' or 'raise', got 'ignore'"),
    ],
)  # fmt: skip
def test_wrong_filters_raise_and_unknown_names_if_strict(
    gpus: simulation.Machine, filter: Any, options: dict[str, Any], message: str
) -> None:
    for query in (nvidia_smi.DeviceQuery, nvidia_smi.XmlDeviceQuery):
        with pytest.raises(TypeError if 'a filter' in message else ValueError, match=message):
            query(filter, **options)
    if 'strict' in options:
        assert nvidia_smi.DeviceQuery(filter) == nvidia_smi.DeviceQuery('') == {}
        assert first('nothing, uuid') == first('uuid')


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


def test_unknown_values_of_accounts_are_not_available(gpus: simulation.Machine) -> None:
    known, unknown = first('accounted-apps')['accounted_processes']
    assert (known['gpu_util'], known['max_memory_usage']) == ('50 %', '1024 MiB')
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


# Texts


@pytest.mark.parametrize(
    'name',
    ['<a> & \'b\' "c"', '</gpu>', ']]>', 'tab\tnew\nline', '視 🚀', '\x1b[31m\x00\x7f', '\udc80'],
)
def test_any_process_name_is_escaped_in_xml(name: str) -> None:
    tree: dict[str, Any] = {'gpu': [{'processes': [{'process_name': name}]}]}
    root = ET.fromstring(tree_to_xml(tree, ['<"id">']))
    (gpu,) = root.findall('gpu')
    assert (root.tag, gpu.get('id')) == ('nvidia_smi', '<"id">')
    assert format_tree({'name': 'a\x1b[2Jb\nc\u202ed'}) == '  name: a\ufffd[2Jb\ufffdc\ufffdd\n'
    shown = ''.join('\ufffd' if c in '\x1b\x00\udc80' else c for c in name)
    assert gpu.findtext('processes/process_info/process_name') == shown


# A repeated query


def test_loop_repeats_until_it_is_canceled(gpus: simulation.Machine) -> None:
    seen: list[tuple[LoopAsync, Any]] = []
    enough = threading.Event()

    def callback(loop: LoopAsync, results: Any) -> None:
        seen.append((loop, results))
        if len(seen) == 3:
            loop.cancel()
            enough.set()
        raise ArithmeticError(len(seen))  # does not end the loop

    loop = nvidia_smi.loop(1, 'serial', callback)
    assert enough.wait(PATIENCE)
    loop._thread.join(PATIENCE)
    assert not loop._thread.is_alive()
    assert loop.is_aborted()
    expected = nvidia_smi.DeviceQuery('serial')
    assert seen == [(loop, expected)] * 3
    assert loop.result() == expected
    assert str(loop.exception()) == '3'


@pytest.mark.parametrize('milliseconds', [-1, float('nan')])
def test_invalid_arguments_raise_without_starting_a_thread(milliseconds: float) -> None:
    threads = set(threading.enumerate())  # a thread of another test may end meanwhile
    with pytest.raises(ValueError, match='at least 0 ms'):
        nvidia_smi.loop(milliseconds)
    with pytest.raises(ValueError, match='nothing'):
        nvidia_smi.loop(filter='nothing', strict=True)
    assert set(threading.enumerate()) <= threads


def test_period_includes_the_time_of_the_query() -> None:
    now = [100.0]
    waits: list[float] = []
    durations = iter([0.25, 0.0, 2.5, 0.125, 0.0])

    def query() -> None:
        now[0] += next(durations)

    def wait(seconds: float) -> bool:
        waits.append(seconds)
        now[0] += seconds
        return len(waits) == 5

    loop = LoopAsync(1.0, query, clock=lambda: now[0], wait=wait)
    loop._thread.join(PATIENCE)
    # The third query took longer than two periods; the missed queries are skipped.
    assert waits == [0.75, 1.0, 0.5, 0.875, 1.0]
    assert now[0] == 107.0


# The command line


def test_module_prints_a_query() -> None:
    words = ('memory.total,', 'count')
    done = run_program('-m', 'nvitop.compat.pynvml_smi', *words, NVITOP_DEMO='old-driver')
    assert done.returncode == 0
    lines = ['count: 2']
    for index, total in ((1, '32480.0'), (2, '11178.0')):
        lines += [
            f'gpu: [{index} of 2]',
            '  fb_memory_usage:',
            f'    total: {total}',
            '    unit: MiB',
        ]
    assert done.stdout.splitlines() == [f'  {line}' for line in lines]


def test_unknown_name_exits_with_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    with machine():
        assert main(['memory.fre']) == 2
    text = "unknown query name 'memory.fre'; did you mean 'memory.free'?"
    out, err = capsys.readouterr()
    assert (out, err.count('\n')) == ('', 1)
    assert err.startswith(f'nvidia_smi: error: {text}')


def test_missing_driver_exits_with_status_1(capsys: pytest.CaptureFixture[str]) -> None:
    with simulation.machine('empty') as gpus:
        gpus.fail('nvmlInitWithFlags', 'DRIVER_NOT_LOADED')
        assert main(['--help-query-gpu']) == 0
        assert capsys.readouterr().out.startswith('timestamp ')
        assert main(['uuid']) == 1
    assert capsys.readouterr() == ('', 'nvidia_smi: error: Driver Not Loaded\n')
