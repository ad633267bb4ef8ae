"""The tables of names, and what they make of samples."""

from __future__ import annotations

import zlib
from typing import Any

import pytest

from nvitop.api.device import ClockEventReasons
from nvitop.basics.metrics import METRICS
from nvitop.exporter.dialects import (
    DIALECT_NAMES,
    Family,
    GpuUse,
    Observation,
    SeriesOptions,
    dialect,
)
from nvitop.exporter.dialects.own import DEVICE_PREFIX
from nvitop.exporter.exposition import render
from nvitop.exporter.families import (
    ALL_METRICS,
    MAX_PROCESSES,
    demand_of,
    label_value,
    make_families,
    without_values,
)
from nvitop.owner.types import Layer, make_owner
from nvitop.sampling.types import (
    DeviceEvent,
    DeviceSample,
    DiskSample,
    FilesystemSample,
    HostIo,
    HostSample,
    NetworkSample,
    ProcessSample,
    Sample,
)
from tests.exporter.machines import EVERYTHING, SCENARIOS, observed, sample_of
from tests.gui.goldens import assert_golden_text
from tests.sampling.fakes import device_sample, process_sample

HOST = HostSample(
    hostname='node7',
    cpu_percent=12.5,
    load_average=(1.0, 2.0, 3.0),
    memory_total_bytes=64 << 30,
    memory_used_bytes=16 << 30,
    memory_percent=25.0,
    swap_total_bytes=8 << 30,
    swap_used_bytes=2 << 30,
    swap_percent=25.0,
    uptime_seconds=3600.0,
    io=HostIo(
        memory_free_bytes=32 << 30,
        networks=(NetworkSample('eth0', 1 << 20, 2 << 20, 30, 40),),
        disks=(DiskSample('sda', 5 << 20, 6 << 20),),
        filesystems=(FilesystemSample('/', 100 << 20, 60 << 20, 30 << 20, 66.7),),
    ),
)

of_dialects = pytest.mark.parametrize('name', DIALECT_NAMES)
on_machines = pytest.mark.parametrize('scenario', SCENARIOS)


def families(observation: Observation, *names: str) -> dict[str, Family]:
    return {family.name: family for family in make_families(names or ('own',), observation)}


def series(observation: Observation, *names: str) -> dict[str, dict[str, float]]:
    """Return values by name of the series and text of the labels."""
    return {
        family.name: {
            ','.join(f'{name}={value}' for name, value in sorted(point.labels.items())): point.value
            for point in family.points
        }
        for family in make_families(names or ('own',), observation)
    }


def full_device() -> DeviceSample:
    """Return a device whose values are all known. Each number depends on the name of its metric."""
    info: dict[str, Any] = {}
    values: dict[str, Any] = {}
    extended = []
    for metric in ALL_METRICS.values():
        number = 100 + zlib.crc32(metric.name.encode()) % 10_000
        value: Any = {
            'bool': True,
            'str': f'some {metric.name}',
            'list': ('sw_power_cap',),
            'rows': ((1024, 2048), (3072, None)),
        }.get(metric.kind, number)
        value = {'performance_state': 'P2', 'mig_mode': 'Enabled'}.get(metric.name, value)
        if metric.tier == 'extended':
            extended.append((metric.field, value))
        else:
            (info if metric.tier == 'static' else values)[metric.field] = value
    device = device_sample(**{name: values[name] for name in values})
    return device._replace(info=device.info._replace(**info), extended=tuple(extended))


@of_dialects
def test_series_of_one_gpu_are_the_golden_ones(name: str) -> None:
    process = process_sample(
        7,
        username='ada',
        name='python',
        type='C',
        command='python train.py',
        gpu_memory_bytes=5 << 30,
        gpu_sm_utilization_percent=30,
        gpu_memory_utilization_percent=20,
        gpu_memory_percent=6.25,
        cpu_percent=250.0,
        host_memory_bytes=3 << 30,
        memory_percent=1.5,
        running_time_seconds=90.5,
    )
    sample = Sample(
        1.7e9,
        driver_version='580.65',
        cuda_driver_version='13.0',
        devices=(full_device(),),
        processes=(process,),
        host=HOST,
    )
    options = SeriesOptions(processes=True)
    observation = Observation(sample, options, usage={(('user', 'ada'),): GpuUse(12.5)}, failures=3)
    made = [f for f in make_families([name], observation) if f.name != 'nvitop_build_info']
    lines = [line for line in render(made).splitlines(keepends=True) if line[:6] != '# HELP']
    assert_golden_text(f'exporter-{name}', ''.join(lines))


def test_every_metric_is_exported_under_its_own_name() -> None:
    table = dialect('own')
    labels = {key for info in table.device_info for key in info.labels.values()}
    labels |= {key.replace('gpu_uuid', 'uuid') for key in table.labels.values()}
    assert {metric.name for metric in METRICS} <= table.metrics | labels
    assert all(row.name.startswith(DEVICE_PREFIX) for row in table.devices)


@on_machines
def test_no_series_exists_twice_with_all_dialects_at_once(scenario: str) -> None:
    made = make_families(DIALECT_NAMES, observed(scenario))
    assert len({family.name for family in made}) == len(made)
    for family in made:
        labels = [tuple(sorted(point.labels.items())) for point in family.points]
        assert len(set(labels)) == len(labels), family.name


# Devices


def test_all_own_series_name_the_host() -> None:
    observation = observed('dgx-h100')
    named = observation._replace(options=EVERYTHING._replace(hostname='gpu07'))
    for one, name in ((observation, observation.sample.host.hostname), (named, 'gpu07')):
        made = families(one)
        assert {'nvitop_build_info', 'nvitop_gpu_up', 'nvitop_process_info'} <= made.keys()
        names = {point.labels['hostname'] for family in made.values() for point in family.points}
        assert names == {name}


def test_mig_devices_have_the_labels_of_their_gpu_and_their_own() -> None:
    used = families(observed('mig'))['nvitop_gpu_memory_used_bytes']
    gpu, first, *_ = [dict(point.labels) for point in used.points if point.labels['gpu'] == '0']
    mig_uuid = first.pop('mig_uuid')
    assert mig_uuid.startswith('MIG-')
    assert first.pop('gpu_instance') == '2'
    assert first.pop('compute_instance')
    assert first == gpu


def test_a_gpu_that_does_not_respond_has_no_values() -> None:
    sample = sample_of('faults')
    lost = next(device for device in sample.devices if device.status == 'lost')
    for name in DIALECT_NAMES:
        made = make_families([name], observed('faults'))
        for family in made:
            if family.name not in ('nvitop_gpu_up', 'nvitop_gpu_problem_info', 'nvitop_gpu_health'):
                indices = {
                    point.labels.get('gpu', point.labels.get('index')) for point in family.points
                }
                assert lost.key.label not in indices
    up = families(observed('faults'))['nvitop_gpu_up']
    assert {point.value for point in up.points if point.labels['gpu'] == '1'} == {0.0}


def test_a_gpu_without_permission_is_not_down() -> None:
    device = device_sample(3, status='not permitted', reason='no access to /dev/nvidia3')
    made = families(Observation(Sample(0.0, devices=(device,)), EVERYTHING))
    assert 'nvitop_gpu_up' not in made
    assert 'nvitop_gpu_health' not in made
    (point,) = made['nvitop_gpu_problem_info'].points
    assert point.labels['status'] == 'not permitted'


def test_old_samples_have_no_values_but_say_that_gpus_do_not_respond() -> None:
    sample = without_values(sample_of('dgx-h100'), 'no sample for 20 s')
    made = families(Observation(sample, EVERYTHING, is_fresh=False), *DIALECT_NAMES)
    assert {point.value for point in made['nvitop_gpu_up'].points} == {0.0}
    assert made['nvitop_gpu_problem_info'].points[0].labels['reason'] == 'no sample for 20 s'
    assert made['nvitop_last_collect_success'].points[0].value == 0.0
    assert {name for name in made if 'used' in name or 'utilization' in name} == set()


def test_findings_have_a_severity_for_each_kind() -> None:
    health = series(observed('faults'))['nvitop_gpu_health']
    of_kind = {
        (labels.partition(',')[0], labels.partition('kind=')[2].partition(',')[0]): value
        for labels, value in health.items()
    }
    assert of_kind['gpu=1', 'lost'] == 3
    assert of_kind['gpu=2', 'hot'] == 2
    assert not [kind for gpu, kind in of_kind if gpu == 'gpu=0']
    assert 0 not in of_kind.values()


# Users and processes


def test_users_are_summed_up_on_each_device() -> None:
    device = device_sample()
    processes = (
        process_sample(1, username='ada', gpu_memory_bytes=5),
        process_sample(2, username='ada', gpu_memory_bytes=7),
        process_sample(3, username=None, gpu_memory_bytes=None),
    )
    values = series(Observation(Sample(0.0, devices=(device,), processes=processes)))
    assert list(values['nvitop_user_gpu_memory_bytes'].values()) == [12]
    assert sorted(values['nvitop_user_gpu_processes'].values()) == [1, 2]
    assert any('user=(unknown)' in labels for labels in values['nvitop_user_gpu_processes'])
    without = families(
        Observation(Sample(0.0, devices=(device,), processes=processes), SeriesOptions(users=False))
    )
    assert not [name for name in without if '_user_' in name]


def test_processes_have_series_only_on_request() -> None:
    observation = observed('dgx-h100')
    quiet = observation._replace(options=SeriesOptions())
    for name in DIALECT_NAMES:
        labels = {
            label for f in make_families([name], quiet) for p in f.points for label in p.labels
        }
        assert ('pid' in labels) == (name == 'nvitop-exporter')


@pytest.mark.parametrize(
    ('options', 'needs_processes'),
    [
        (SeriesOptions(users=False), False),
        (SeriesOptions(), True),
        (SeriesOptions(users=False, owners=True), True),
        (SeriesOptions(users=False, processes=True), True),
    ],
)
def test_processes_are_measured_only_for_series(
    options: SeriesOptions, needs_processes: bool
) -> None:
    assert demand_of(['own'], options).processes is needs_processes


def test_series_of_dcgm_name_every_pod_and_job() -> None:
    mig, gpu = (d for d in sample_of('mig').devices if d.key.label in ('0:0', '2'))
    chat, train = (Layer('pod', name, f'ml/{name}') for name in ('chat', 'train'))
    rows = (
        (mig, 5, make_owner((chat, Layer('containerd', '2', 'vllm')))),
        (gpu, 7, make_owner((train,))),
        (gpu, 4, make_owner((chat, Layer('containerd', '2', 'vllm')))),
        (gpu, 3, make_owner((chat, Layer('containerd', '4', 'sidecar')))),
        (gpu, 6, make_owner((Layer('slurm', '42'),))),
        (gpu, 9, make_owner((Layer('docker', '3', 'web'),))),
        (gpu, 10, None),
    )
    processes = [
        process._replace(owner=owner, key=process.key._replace(device=device.key))
        for device, size, owner in rows
        for process in [process_sample(1, gpu_memory_bytes=size)]
    ]
    sample = Sample(0.0, devices=(mig, gpu), processes=tuple(processes))
    names = ('namespace', 'pod', 'container', 'hpc_job')

    def labels(options: SeriesOptions) -> list[list[str | None]]:
        used = families(Observation(sample, options), 'dcgm')['DCGM_FI_DEV_FB_USED']
        return [[p.labels['gpu'], *map(p.labels.get, names)] for p in used.points]

    assert labels(SeriesOptions(owners=True)) == [
        ['0', 'ml', 'chat', 'vllm', None],
        ['2', 'ml', 'train', None, None],
        ['2', None, None, None, '42'],
        ['2', 'ml', 'chat', 'vllm', None],
    ]
    assert labels(SeriesOptions()) == [['0', *[None] * 4], ['2', *[None] * 4]]


def test_sums_of_dcgm_are_physical_with_mig() -> None:
    """dcgm-exporter has instances instead of their GPU, which repeat what only the GPU has."""
    made = families(observed('mig'), 'dcgm')
    sample = sample_of('mig')
    total = {d.key.label: (d.info.memory_total_bytes or 0) / 2**20 for d in sample.devices}
    rows = made['DCGM_FI_DEV_FB_TOTAL'].points
    assert sum(p.value for p in rows) <= sum(t for label, t in total.items() if ':' not in label)
    divided = {d.key.physical_index for d in sample.devices if d.key.is_mig}
    assert divided
    for name in ('FB_USED', 'GPU_TEMP', 'POWER_USAGE', 'SM_CLOCK', 'XID_ERRORS'):
        instances: dict[str, list[str]] = {}
        for point in made[f'DCGM_FI_DEV_{name}'].points:
            instances.setdefault(point.labels['gpu'], []).append(point.labels.get('GPU_I_ID', ''))
        for gpu, ids in instances.items():
            assert all(ids) == (int(gpu) in divided), (name, gpu)
    temperatures = {p.labels['gpu']: p.value for p in made['DCGM_FI_DEV_GPU_TEMP'].points}
    for device in sample.devices:
        if not device.key.is_mig:
            assert temperatures[device.key.label] == device.temperature_celsius


def test_xids_of_dcgm_have_code_and_message() -> None:
    devices = (device_sample(0), device_sample(1))
    events = (DeviceEvent(devices[0].key, 'xid', 79),)
    made = families(Observation(Sample(0.0, devices=devices, events=events)), 'dcgm')
    assert [
        (p.value, p.labels['err_code'], p.labels['err_msg'])
        for p in made['DCGM_FI_DEV_XID_ERRORS'].points
    ] == [(79, '79', 'GPU has fallen off the bus'), (0, '0', 'No Error')]


def test_used_share_of_dcgm_leaves_out_reserved_memory() -> None:
    device = device_sample(memory_used_bytes=20, memory_free_bytes=60, memory_reserved_bytes=5)
    made = families(Observation(Sample(0.0, devices=(device,))), 'dcgm')
    assert made['DCGM_FI_DEV_FB_USED_PERCENT'].points[0].value == 0.25


@pytest.mark.parametrize('name', DIALECT_NAMES)
def test_pages_of_simulated_machines_are_marked(name: str) -> None:
    observation = observed('dgx-h100')
    real = observation._replace(sample=observation.sample._replace(simulated=''))
    assert 'nvitop_simulation_info' in families(observation, name)
    assert 'nvitop_simulation_info' not in families(real, name)


def test_reasons_become_the_bit_mask_of_nvml() -> None:
    for mask in (*ClockEventReasons, 0, 0x5, 0xC00):
        device = device_sample(clock_event_reasons=ClockEventReasons(mask).names)
        made = families(Observation(Sample(0.0, devices=(device,))), 'dcgm')
        assert [point.value for point in made['DCGM_FI_DEV_CLOCK_THROTTLE_REASONS'].points] == [
            mask
        ]


def test_command_lines_are_labels_only_on_request() -> None:
    observation = observed('dgx-h100')
    for name in ('own', 'nvitop-exporter'):
        texts = [
            str(make_families([name], observation._replace(options=options)))
            for options in (EVERYTHING._replace(commands=False), EVERYTHING)
        ]
        assert ['pretrain_gpt.py' in text for text in texts] == [False, True]


def test_secrets_in_command_lines_are_masked() -> None:
    process = process_sample(1, command='python3 a.py --password hunter2')
    sample = Sample(0.0, devices=(device_sample(),), processes=(process,))
    for name in DIALECT_NAMES:
        text = str(make_families([name], Observation(sample, EVERYTHING)))
        assert 'hunter2' not in text


def test_the_number_of_processes_with_series_is_limited() -> None:
    device = device_sample()
    processes = tuple(
        process_sample(pid, gpu_memory_bytes=pid) for pid in range(1, MAX_PROCESSES + 11)
    )
    sample = Sample(0.0, devices=(device,), processes=processes)
    memory = families(Observation(sample, EVERYTHING))['nvitop_process_gpu_memory_bytes']
    assert len(memory.points) == MAX_PROCESSES
    assert min(point.value for point in memory.points) == 11


def hostile(text: str) -> ProcessSample:
    return process_sample(7, username=text, name=text, command=text)


@pytest.mark.parametrize(
    'text',
    ['a"b\\c\nd\x1b[31m', 'x' * 500, '\udcff\u202e', '', 'ünï 😀'],
    ids=['escapes', 'long', 'invalid', 'empty', 'wide'],
)
def test_hostile_texts_become_short_printable_labels(text: str) -> None:
    device = device_sample(0)
    device = device._replace(info=device.info._replace(name=text))
    sample = Sample(0.0, devices=(device,), processes=(hostile(text),))
    for family in make_families(DIALECT_NAMES, Observation(sample, EVERYTHING)):
        for point in family.points:
            for value in point.labels.values():
                assert len(value) <= 128
                assert value.isprintable()
                value.encode()


def test_only_longer_labels_are_cut() -> None:
    assert label_value('x' * 128) == 'x' * 128
    assert label_value('x' * 129) == 'x' * 127 + '…'


def test_a_sleeping_gpu_has_one_series_in_all_dialects_together() -> None:
    awake = device_sample(0, gpu_utilization_percent=5)
    asleep = DeviceSample(device_sample(1).key, device_sample(1).info, 'asleep', 'asleep')
    found = series(Observation(Sample(1.0, devices=(awake, asleep)), EVERYTHING), *DIALECT_NAMES)
    of_sleeping = {
        name: points
        for name, points in found.items()
        for labels in points
        if asleep.key.uuid in labels or 'gpu=1' in labels
    }
    assert of_sleeping == {'nvitop_gpu_asleep': {f'gpu=1,uuid={asleep.key.uuid}': 1.0}}
    assert found['nvitop_gpus_expected'] == {'': 2.0}
