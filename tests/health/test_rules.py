"""Rules about the health of devices, and what devices are doing: plain samples in, findings and states out."""

from __future__ import annotations

import ast
import inspect
import re
from itertools import product
from typing import Any

import pytest

from nvitop import simulation
from nvitop.basics.metrics import METRICS
from nvitop.basics.units import GiB
from nvitop.gui.model.format import advice_lines
from nvitop.health import (
    KINDS,
    DeviceState,
    Finding,
    device_states,
    findings,
    headline,
    health_status,
    rules,
    worst_findings,
)
from nvitop.health.xid import ACTIONS
from nvitop.sampling.source import LiveSource
from nvitop.sampling.types import (
    PROCESSES,
    Demand,
    DeviceInfo,
    DeviceKey,
    DeviceSample,
    HostSample,
    Problem,
    ProblemKind,
    ProcessKey,
    ProcessSample,
    Sample,
)

BUSY: dict[str, Any] = {'gpu_utilization_percent': 90, 'performance_state': 'P0'}
INFO = DeviceInfo(
    DeviceKey(3, -1, 'GPU-3'),
    3,
    name='NVIDIA H100',
    max_sm_clock_mhz=1980,
    temperature_slowdown_threshold_celsius=89,
    max_temperature_threshold_celsius=83,
    max_pcie_link_generation=5,
    max_pcie_link_width=16,
    nvlink_link_count=18,
)


def device(index: int = 3, info: dict[str, Any] | None = None, **values: Any) -> DeviceSample:
    key = DeviceKey(index, -1, f'GPU-{index}')
    return DeviceSample(key, INFO._replace(key=key, physical_index=index, **(info or {})), **values)


def found(
    *devices: DeviceSample, problems: tuple[tuple[str, str, ProblemKind], ...] = ()
) -> tuple[Finding, ...]:
    failures = tuple(Problem(devices[0].key, what, reason, kind) for what, reason, kind in problems)
    return findings(Sample(1.0, devices=devices, problems=failures))


def outcome(*devices: DeviceSample, **options: Any) -> list[str]:
    return [f'{f.kind} {f.severity} {f.evidence}'.strip() for f in found(*devices, **options)]


def test_a_healthy_device_and_a_device_without_values_have_no_findings() -> None:
    healthy = device(
        **BUSY,
        temperature_celsius=60,
        clock_event_reasons=(),
        pcie_link_generation=5,
        pcie_link_width=16,
        nvlink_down_count=0,
        total_volatile_uncorrected_ecc_errors=0,
        remapped_rows_pending=False,
        remapped_rows_failure=False,
        remapping_banks_none=0,
        sram_threshold_exceeded=False,
        fabric_state='Completed',
        recovery_action='None',
    )
    assert found(healthy, DeviceSample(DeviceKey(4), DeviceInfo(DeviceKey(4), 4))) == ()


#: Finding of a device with these values.
RULES = """
lost critical  |  status='lost', reason='GPU is lost'
not_responding critical no response for 9s  |  status='timed out', reason='no response for 9s'
failing critical Unknown Error  |  status='error', reason='Unknown Error'
reset_needed critical recovery action: GPU Reset  |  recovery_action='GPU Reset'
reset_needed critical recovery action: Drain and Reset  |  recovery_action='Drain and Reset'
reboot_needed critical recovery action: Node Reboot  |  recovery_action='Node Reboot'
recovery_needed critical recovery action: Drain P2P  |  recovery_action='Drain P2P'
hot warning 91°C, slows down at 89°C  |  temperature_celsius=91
hot warning 89°C, slows down at 89°C  |  temperature_celsius=89
hot warning 91°C, slows down at 89°C; SM clock 1005 of 1980 MHz  |  temperature_celsius=91, clock_event_reasons=('hw_thermal_slowdown',), sm_clock_mhz=1005
hot warning 84°C, slows down at 89°C  |  temperature_celsius=84
thermal_slowdown warning SM clock 1005 of 1980 MHz  |  clock_event_reasons=('hw_slowdown', 'hw_thermal_slowdown'), sm_clock_mhz=1005
power_brake warning  |  clock_event_reasons=('hw_slowdown', 'hw_power_brake_slowdown')
hardware_slowdown warning  |  clock_event_reasons=('hw_slowdown',)
power_cap info 700 of 700 W  |  clock_event_reasons=('sw_power_cap',), power_usage_mw=699_600, power_limit_mw=700_000
thermal_cap info 83°C  |  clock_event_reasons=('sw_thermal_slowdown',), temperature_celsius=83
implausible warning 100 % at 12 W in P8  |  gpu_utilization_percent=100, performance_state='P8', power_usage_mw=12_000, power_limit_mw=145_000
implausible warning 99 % at 210 MHz in P8  |  gpu_utilization_percent=99, performance_state='P8', sm_clock_mhz=210, power_limit_mw=None, power_usage_mw=None
memory_errors critical 3 uncorrected ECC errors since the driver was loaded  |  total_volatile_uncorrected_ecc_errors=3
remap_pending warning a memory row will be remapped at the next reset  |  remapped_rows_pending=True
remap_failed critical a memory row could not be remapped  |  remapped_rows_failure=True
remap_exhausted warning 1 memory bank has no spare rows  |  remapping_banks_none=1
sram_errors critical more SRAM errors over its life than the limit of the driver  |  sram_threshold_exceeded=True
fabric critical state: Not Started  |  fabric_state='Not Started'
fabric critical state: In Progress  |  fabric_state='In Progress', nvlink_down_count=0
pcie_link warning Gen5 x8, possible Gen5 x16  |  **BUSY, pcie_link_generation=5, pcie_link_width=8
pcie_link warning Gen3 x16, possible Gen5 x16  |  **BUSY, pcie_link_generation=3, pcie_link_width=16
nvlink_down warning 2 of 18  |  nvlink_down_count=2
nvlink_down critical 2 of 18  |  nvlink_down_count=2, fabric_state='Completed'
retired_pages warning pages of memory will be retired when the driver is loaded again  |  extended=(('retired_pages_pending', True),)
retired_pages warning 60 of 64 pages of memory are retired  |  retired_pages_double_bit_ecc=60
retired_pages critical 64 of 64 pages of memory are retired  |  retired_pages_double_bit_ecc=14, retired_pages_single_bit_ecc=50
inforom warning the checksum of its inforom is wrong  |  extended=(('inforom_checksum_validation', 'invalid'),)
"""


def found_in(row: str) -> tuple[Finding, ...]:
    """Return the findings about the device in a row of :data:`RULES`."""
    return found(device(**eval(f'dict({row.partition("  |  ")[2]})')))


@pytest.mark.parametrize('row', RULES.strip().splitlines())
def test_each_rule_has_its_severity_and_evidence(row: str) -> None:
    (finding,) = found_in(row)
    assert f'{finding.kind} {finding.severity} {finding.evidence}'.strip() == row.split('  |  ')[0]
    assert finding.device == DeviceKey(3, -1, 'GPU-3')
    assert finding.mark == KINDS[finding.kind].mark
    assert finding.words
    assert bool(finding.action) == (finding.severity != 'info')
    assert '{' not in finding.action


def test_command_of_advice_is_whole_in_its_line_or_left_out_at_any_width() -> None:
    rows = RULES.strip().splitlines()
    advice = {finding.action for row in rows for finding in found_in(row)}
    advice |= {action.text for action in ACTIONS.values()}
    commands = {text: ''.join(re.findall(r'nvidia-smi [^.;]*', text)) for text in advice}
    assert len({*commands.values()}) > 3
    for text, command in commands.items():
        for width, most in product(range(20, 201), range(1, 5)):
            lines = advice_lines(text, width, most)
            assert len(lines) <= most
            for line in lines:
                assert len(line) <= width
                assert not re.search(r'nvidia|--|-i\b', line.replace(command, '')), line


def test_problems_of_a_device_lead_to_findings() -> None:
    restart, driver = 'GPU requires restart', 'temperature (unknown driver error)'
    problems: dict[tuple[str, str, ProblemKind], str] = {
        ('status', 'takes 0.4 s to respond', 'slow'): 'slow warning 0.4 s',
        ('processes', restart, 'reset needed'): 'reset_needed critical processes unreadable',
        ('sm_clock', '9 GHz is implausible', 'impossible'): 'implausible warning SM clock: 9 GHz',
        ('temperature', 'Unknown Error', 'error'): f'unreadable unknown {driver}',
    }
    for problem, expected in problems.items():
        assert outcome(device(), problems=(problem,)) == [expected]


def test_values_that_no_rule_needs_or_that_do_not_exist_make_no_findings() -> None:
    missing: tuple[tuple[str, str, ProblemKind], ...] = (
        ('temperature', 'Not Supported', 'na'),
        ('recovery_action', 'Insufficient Permissions', 'denied'),
        ('power_usage', 'Unknown Error', 'error'),
        ('a metric of no rule', 'GPU requires restart', 'reset needed'),
        ('a metric of no rule', '4294967295 % is implausible', 'impossible'),
    )
    assert found(device(), problems=missing) == ()


def test_evidence_names_at_most_three_implausible_values_in_one_order() -> None:
    names = ('gpu_utilization', 'power_usage', 'temperature', 'sm_clock', 'memory_used')
    for order in (names, names[::-1]):
        (finding,) = found(device(), problems=tuple((name, '9', 'impossible') for name in order))
        assert finding.evidence == 'GPU utilization: 9; SM clock: 9; memory used: 9; 2 more'


def test_findings_name_the_board_and_keep_the_time_they_were_first_found() -> None:
    hot = device(temperature_celsius=95, info={'serial': '165', 'bus_id': '00000000:3D:00.0'})
    (first,) = findings(Sample(7.0, devices=(hot,)))
    assert (first.serial, first.bus_id, first.since) == ('165', '0000:3d:00.0', 7.0)
    (later,) = findings(Sample(9.0, devices=(hot,)), (first,))
    assert later.since == 7.0


def test_without_a_slowdown_threshold_the_temperature_for_full_clocks_counts() -> None:
    info: dict[str, Any] = {'temperature_slowdown_threshold_celsius': None}
    expected = 'hot warning 84°C, keeps its clocks up to 83°C'
    assert outcome(device(info=info, temperature_celsius=84)) == [expected]
    assert outcome(device(info=info, temperature_celsius=83)) == []


@pytest.mark.parametrize(
    ('load', 'is_reported'),
    [
        ({'gpu_utilization_percent': 10, 'performance_state': 'P2'}, True),
        ({'gpu_utilization_percent': 9, 'performance_state': 'P0'}, False),
        ({'gpu_utilization_percent': 90, 'performance_state': 'P8'}, False),
        ({'gpu_utilization_percent': 90}, True),
        ({'performance_state': 'P0'}, True),  # a partitioned GPU has no utilization
        ({}, False),
    ],
)
def test_a_slow_pcie_link_counts_only_under_load(load: dict[str, Any], is_reported: bool) -> None:
    link: dict[str, Any] = {'pcie_link_generation': 1, 'pcie_link_width': 16}
    assert bool(found(device(**load, **link))) is is_reported


def test_utilization_that_a_process_explains_is_not_doubtful() -> None:
    # Such as a laptop on battery.
    limited = device(gpu_utilization_percent=100, performance_state='P8', sm_clock_mhz=210)
    process = ProcessSample(ProcessKey(1, 1.0, limited.key), gpu_sm_utilization_percent=95)
    for percent, kinds in ((95, []), (None, ['implausible']), (0, ['implausible'])):
        used = process._replace(gpu_sm_utilization_percent=percent)
        sample = Sample(1.0, devices=(limited,), processes=(used,))
        assert [finding.kind for finding in findings(sample)] == kinds


def test_unused_nvlinks_are_normal_unless_a_gpu_of_the_same_kind_has_links() -> None:
    unwired = device(3, nvlink_down_count=18)
    assert found(unwired, device(4, nvlink_down_count=18)) == ()
    assert outcome(unwired, device(4, nvlink_down_count=0)) == ['nvlink_down warning 18 of 18']
    assert found(device(3, nvlink_down_count=2, mig_mode='Enabled')) == ()
    assert found(device(3, nvlink_down_count=18, fabric_state='Not Started')) == ()
    assert found(device(3, fabric_state='Not Supported')) == ()  # H100 in a virtual machine


def test_counters_count_by_how_fast_they_grow() -> None:
    def kinds_of(count: int, *, hours: float, earlier: int | None = None) -> list[str]:
        def sample(value: int, at: float) -> Sample:
            values: Any = {
                'pcie_replays': value,
                'extended': (('nvlink_crc_data_errors', 1000 * value),),
            }
            host = HostSample(uptime_seconds=3600 * hours)
            return Sample(at, devices=(device(3, **values),), host=host)

        before = None if earlier is None else sample(earlier, 1.0)
        return [f.kind for f in findings(sample(count, 3.0), before=before)]

    assert kinds_of(0, hours=1) == kinds_of(100, hours=1) == []
    assert kinds_of(1000, hours=1) == ['nvlink_errors', 'pcie_errors']
    assert kinds_of(1000, hours=1000) == []
    assert kinds_of(1000, hours=1000, earlier=1000) == []
    assert kinds_of(1000, hours=1000, earlier=999) == ['nvlink_errors']
    assert kinds_of(1000, hours=1000, earlier=990) == ['nvlink_errors', 'pcie_errors']


def test_a_board_whose_nvlinks_are_all_down_has_no_fabric_manager() -> None:
    def board(name: str, count: int) -> list[str]:
        down: Any = {'nvlink_down_count': 12, 'info': {'name': name, 'nvlink_link_count': 12}}
        return outcome(*(device(index, **down) for index in range(count)))

    assert board('NVIDIA A100-SXM4-80GB', 8) == ['nvlink_down critical 12 of 12'] * 8
    assert board('NVIDIA A100-SXM4-80GB', 1) == []  # in a virtual machine
    for name in ('NVIDIA A100-PCIE-40GB', 'NVIDIA H100 PCIe', 'NVIDIA H200 NVL', 'NVIDIA L40S'):
        assert board(name, 8) == []  # without bridges


def test_a_lost_device_has_no_other_findings() -> None:
    lost = device(status='lost', reason='GPU is lost')
    assert len(found(lost, problems=(('status', 'GPU is lost', 'lost'),))) == 1


def test_findings_are_in_order_of_devices_and_severity() -> None:
    both = device(temperature_celsius=85, total_volatile_uncorrected_ecc_errors=1)
    kinds = [f.kind for f in found(device(1, nvlink_down_count=1), both)]
    assert kinds == ['nvlink_down', 'memory_errors', 'hot']


def test_the_headline_counts_each_gpu_once() -> None:
    hot = device(2, temperature_celsius=95, clock_event_reasons=('hw_thermal_slowdown',))
    mig = DeviceKey(1, 0, 'MIG')
    sample = found(
        device(1, status='lost'),
        DeviceSample(mig, DeviceInfo(mig, 1), 'lost'),
        hot,
        device(4, clock_event_reasons=('hw_thermal_slowdown',)),
        device(5, clock_event_reasons=('sw_power_cap',)),
    )
    assert headline(sample) == '3 GPUs: 1 lost, 2 hot'
    assert headline(found(hot)) == 'GPU 2: too hot'
    assert headline(found(device(5, clock_event_reasons=('sw_power_cap',)))) == ''
    missing = findings(Sample(1.0, missing_gpus=('0000:5a:00.0',)))
    assert headline(missing) == 'GPU 0000:5a:00.0: missing'
    assert headline(findings(Sample(1.0, missing_gpus=('', '')))) == '2 GPUs: 2 missing'


def test_status_and_worst_finding_of_a_device() -> None:
    hot = found(device(temperature_celsius=95, remapped_rows_pending=True))
    assert worst_findings(hot)[DeviceKey(3, -1, 'GPU-3')].kind == 'hot'
    assert health_status(hot) == 'warning'
    assert health_status(found(device(sram_threshold_exceeded=True))) == 'critical'
    assert health_status(found(device(remapped_rows_pending=True))) == 'warning'
    assert health_status(found(device(clock_event_reasons=('sw_power_cap',)))) == 'ok'
    assert health_status(()) == 'ok'
    failure: Any = ('temperature', 'Unknown Error', 'error')
    assert health_status(found(device(), problems=(failure,))) == 'unknown'
    worse = found(device(remapped_rows_pending=True), problems=(failure,))
    assert health_status(worse) == 'warning'


def test_a_lost_gpu_that_the_driver_no_longer_lists_is_not_missing() -> None:
    now = 0.0
    with simulation.machine('half-busy', processes='none') as machine:
        source = LiveSource(clock=lambda: now)
        source.sample(Demand())
        machine.set(gpu=3, lost=True)
        now = 10.0
        assert [f.kind for f in findings(source.sample(Demand()))] == ['lost']
        machine.set(gpu=3, present=False)
        now = 100.0
        assert [f.kind for f in findings(source.sample(Demand()))] == ['lost']


def test_metrics_that_rules_read_are_measured() -> None:
    fields = {metric.field: metric.name for metric in METRICS if metric.name != 'index'}
    tree = ast.parse(inspect.getsource(rules))
    read = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert {fields[name] for name in read & set(fields)} <= set(rules.CHECK_METRICS)


# What devices are doing: free, busy, in use or held


GPU = DeviceKey(0, uuid='GPU-0')
HOUR = 3600.0


def gpu(percent: int | None = 0, used: int = 40 * GiB, key: DeviceKey = GPU) -> DeviceSample:
    info = DeviceInfo(key, key.physical_index)
    return DeviceSample(key, info, gpu_utilization_percent=percent, memory_used_bytes=used)


def process(
    idle: float | None = HOUR, memory: int = 20 * GiB, pid: int = 1, **fields: object
) -> ProcessSample:
    values: dict[str, object] = {
        'type': 'C',
        'gpu_memory_bytes': memory,
        'gpu_sm_utilization_percent': 0,
        'gpu_idle_seconds': idle,
        'running_time_seconds': 9 * HOUR,
    }
    device = fields.pop('device', GPU)
    return ProcessSample(ProcessKey(pid, 1.0, device), **{**values, **fields})  # type: ignore[arg-type]


SMALL = process(0.0, GiB, 2, gpu_sm_utilization_percent=3)


@pytest.mark.parametrize(
    ('expected', 'processes', 'percent', 'used'),
    [
        # Without a compute process.
        ('free', [], 0, GiB - 1),
        ('free', [], None, GiB - 1),
        ('free', [process(type='G')], 0, 20 * GiB),
        ('free', [process(memory=(16 << 20) - 1)], 0, GiB),
        ('busy', [], 5, 0),
        # Memory that belongs to no process.
        ('in use', [], 0, GiB),
        ('in use', [process(type='G', memory=GiB)], 0, 2 * GiB),
        # No kernel for ten minutes.
        ('held 600', [process(600.0)], 0, 20 * GiB),
        ('in use', [process(599.0)], 0, 20 * GiB),
        ('busy', [process(599.0)], 5, 20 * GiB),
        ('busy', [process(HOUR)], 10, 20 * GiB),
        # Not yet watched for that long.
        ('in use', [process(None)], 0, 20 * GiB),
        ('in use', [process(30.0, is_idle_longer=True)], 0, 20 * GiB),
        ('held 600', [process(600.0, is_idle_longer=True)], 0, 20 * GiB),
        # Processes that hold most of the memory decide; a small one is busy now and then.
        ('held 3600', [process(HOUR), SMALL], 3, 20 * GiB),
        ('held 3600', [process(HOUR), SMALL._replace(gpu_sm_utilization_percent=6)], 9, 20 * GiB),
        ('in use', [process(HOUR), SMALL._replace(gpu_memory_bytes=21 * GiB)], 3, 20 * GiB),
        ('in use', [process(HOUR), SMALL._replace(gpu_memory_bytes=None)], 3, 20 * GiB),
        ('held 7200', [process(HOUR), process(2 * HOUR, 30 * GiB, 2)], 0, 20 * GiB),
    ],
)
def test_what_a_gpu_is_doing(
    expected: str, processes: list[ProcessSample], percent: int | None, used: int
) -> None:
    sample = Sample(1.0, devices=(gpu(percent, used),), processes=tuple(processes))
    state = device_states(sample)[GPU]
    seconds = '' if state.held_seconds is None else f' {state.held_seconds:g}'
    assert f'{state.word}{seconds}' == expected


def test_memory_decides_if_processes_are_unknown() -> None:
    problems = (Problem(GPU, PROCESSES, 'no list'),)
    for percent, used, word in (
        (0, GiB - 1, 'free'),
        (0, GiB, 'in use'),
        (50, 0, 'busy'),
        (None, 0, 'unknown'),
    ):
        sample = Sample(1.0, devices=(gpu(percent, used),), problems=problems)
        assert device_states(sample)[GPU].word == word


def test_gpu_with_mig_devices_is_as_busy_as_they_are() -> None:
    migs = tuple(DeviceKey(0, index, f'MIG-{index}') for index in range(3))
    devices = (gpu(None), *(gpu(None, used=0, key=key) for key in migs))
    held = process(device=migs[1])
    sample = Sample(1.0, devices=devices, processes=(held,))
    assert device_states(sample) == {
        GPU: DeviceState('held', HOUR),
        migs[0]: DeviceState('free'),
        migs[1]: DeviceState('held', HOUR),
        migs[2]: DeviceState('free'),
    }
    pausing = process(0.0, device=migs[2], pid=2)
    assert device_states(sample._replace(processes=(held, pausing)))[GPU].word == 'in use'
    busy = pausing._replace(gpu_sm_utilization_percent=50)
    assert device_states(sample._replace(processes=(held, busy)))[GPU].word == 'busy'
    assert device_states(sample._replace(processes=()))[GPU].word == 'free'


def test_device_that_does_not_respond_has_its_status() -> None:
    sample = Sample(1.0, devices=(gpu()._replace(status='lost'),), processes=(process(),))
    assert device_states(sample)[GPU] == DeviceState('lost')
