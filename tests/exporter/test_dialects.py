"""The tables of names, and what they make of samples."""

from __future__ import annotations

import unicodedata
import zlib
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from nvitop.api.device import ClockEventReasons
from nvitop.exporter.dialects import DIALECT_NAMES, Family, Observation, Point, SeriesOptions
from nvitop.exporter.families import (
    ALL_METRICS,
    MAX_PROCESSES,
    demand_of,
    label_value,
    make_families,
    render,
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


def page_sample() -> Sample:
    """Return a machine with all values and all kinds of devices, processes, users and texts."""
    busy = full_device()
    pod = make_owner((Layer('pod', 'a', 'ml/chat'), Layer('containerd', '2', 'vllm')))
    train = process_sample(
        7,
        username='ada',
        name='python',
        type='C',
        command='python train.py --password hunter2',
        gpu_memory_bytes=5 << 30,
        gpu_sm_utilization_percent=30,
        gpu_memory_utilization_percent=20,
        gpu_memory_percent=6.25,
        cpu_percent=250.0,
        host_memory_bytes=3 << 30,
        memory_percent=1.5,
        running_time_seconds=90.5,
        owner=pod,
    )
    others = [
        process_sample(8, username='ada', gpu_memory_bytes=1 << 30, owner=pod),
        process_sample(9, username=None, name='x' * 128, gpu_memory_bytes=None),
        process_sample(10, username='"b\\\n\x1b', name='x' * 129, gpu_memory_bytes=1),
    ]
    statuses: tuple[Any, ...] = ('asleep', 'not permitted', 'lost')
    asleep, denied, lost = (
        DeviceSample(device_sample(index).key, device_sample(index).info, status, 'why')
        for index, status in enumerate(statuses, 1)
    )
    return Sample(
        1.7e9,
        driver_version='580.65',
        cuda_driver_version='13.0',
        devices=(busy, asleep, denied, lost),
        processes=(train, *others),
        host=HOST,
        missing_gpus=('0000:3d:00.0',),
        events=(
            DeviceEvent(busy.key, 'xid', 79, 1.6e9, 1.7e9, 2),
            DeviceEvent(lost.key, 'xid', 79, 1.6e9, 1.7e9),
        ),
    )


@of_dialects
def test_series_of_a_machine_are_the_golden_ones(name: str) -> None:
    options = SeriesOptions(processes=True, commands=True, owners=True)
    observation = Observation(
        page_sample(), options, usage={(('user', 'ada'),): {'seconds': 12.5}}, failures=3
    )
    made = [f for f in make_families([name], observation) if f.name != 'nvitop_build_info']
    lines = [line for line in render(made).splitlines(keepends=True) if line[:6] != '# HELP']
    assert_golden_text(f'exporter-{name}', ''.join(lines))


@on_machines
def test_no_series_exists_twice_with_all_dialects_at_once(scenario: str) -> None:
    made = make_families(DIALECT_NAMES, observed(scenario))
    assert len({family.name for family in made}) == len(made)
    assert 'nvitop_simulation_info' in {family.name for family in made}
    for family in made:
        labels = [tuple(sorted(point.labels.items())) for point in family.points]
        assert len(set(labels)) == len(labels), family.name


labels = st.dictionaries(st.sampled_from('abcd'), st.text())


@given(st.text(), labels, st.floats(allow_nan=False))
@example('', {}, 1e20)
def test_pages_mean_what_they_are_made_from(
    text: str, labels: dict[str, str], value: float
) -> None:
    points = (Point(labels, value), Point({**labels, 'x': ''}, 3.0))
    page = render(
        [Family('a_info', 'info', text, points), Family('b_total', 'counter', text, points)]
    )
    assert page.startswith('# HELP a_info ')
    assert '\n# TYPE b_total counter\n' in page
    found = [sample for family in text_string_to_metric_families(page) for sample in family.samples]
    assert [(s.name, s.labels, s.value) for s in found] == [
        (name, point.labels, point.value) for name in ('a_info', 'b_total') for point in points
    ]


@given(st.text(max_size=200))
@example('\udcff\u202e')
def test_hostile_texts_become_short_printable_labels(text: str) -> None:
    label = label_value(text)
    assert len(label) <= 128
    assert not {unicodedata.category(character) for character in label} & {'Cc', 'Cs', 'Zl', 'Zp'}
    assert '\u202e' not in label


def test_all_own_series_name_the_host() -> None:
    made = families(observed('dgx-h100', EVERYTHING._replace(hostname='gpu07')))
    assert {point.labels['hostname'] for f in made.values() for point in f.points} == {'gpu07'}


def test_old_samples_have_no_values_but_say_that_gpus_do_not_respond() -> None:
    sample = without_values(sample_of('dgx-h100'), 'no sample for 20 s')
    made = families(Observation(sample, EVERYTHING, is_fresh=False), *DIALECT_NAMES)
    assert {point.value for point in made['nvitop_gpu_up'].points} == {0.0}
    assert made['nvitop_gpu_problem_info'].points[0].labels['reason'] == 'no sample for 20 s'
    assert made['nvitop_last_collect_success'].points[0].value == 0.0
    assert {name for name in made if 'used' in name or 'utilization' in name} == set()


@of_dialects
def test_options_select_series(name: str) -> None:
    sample = page_sample()

    def text_with(**options: Any) -> str:
        return render(make_families([name], Observation(sample, SeriesOptions(**options))))

    assert ('pid="' in text_with()) == (name == 'nvitop-exporter')
    assert 'train.py' not in text_with(processes=True, owners=True)
    assert 'chat' not in text_with(users=False)
    assert ('user="ada"' in text_with()) == (name == 'own')
    assert '_user_' not in text_with(users=False)


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


def test_reasons_become_the_bit_mask_of_nvml() -> None:
    for mask in (*ClockEventReasons, 0, 0x5, 0xC00):
        device = device_sample(clock_event_reasons=ClockEventReasons(mask).names)
        made = families(Observation(Sample(0.0, devices=(device,))), 'dcgm')
        assert [point.value for point in made['DCGM_FI_DEV_CLOCK_THROTTLE_REASONS'].points] == [
            mask
        ]


def test_the_number_of_processes_with_series_is_limited() -> None:
    device = device_sample()
    processes = tuple(
        process_sample(pid, gpu_memory_bytes=pid) for pid in range(1, MAX_PROCESSES + 11)
    )
    sample = Sample(0.0, devices=(device,), processes=processes)
    memory = families(Observation(sample, EVERYTHING))['nvitop_process_gpu_memory_bytes']
    assert len(memory.points) == MAX_PROCESSES
    assert min(point.value for point in memory.points) == 11
