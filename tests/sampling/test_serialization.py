from __future__ import annotations

import json
from typing import Any

import pytest

from nvitop.owner import Owner, parse_cgroup
from nvitop.sampling import serialization
from nvitop.sampling.serialization import SerializationError, dumps, loads, parse, serialize
from nvitop.sampling.types import (
    Cost,
    DeviceInfo,
    DeviceKey,
    DeviceSample,
    HostProcessSample,
    HostSample,
    Problem,
    ProcessKey,
    ProcessSample,
    Sample,
)

GPU = DeviceKey(0, -1, 'GPU-0')
MIG = DeviceKey(0, 1, 'MIG-1')
PROCESS = ProcessKey(4242, 1.7e9, MIG)
EXTENDED = (
    ('ecc', 'Enabled'),
    ('supported', ('a', 'b')),
    ('none', None),
    ('retired', True),
    ('rows', ((1, None), (2, 'x'))),
)
FULL = Sample(
    timestamp=1.7e9,
    monotonic=12.5,
    sequence=3,
    driver_version='535.98',
    host=HostSample('node', 'me', load_average=(0.5, 1.0, 2.0), cpu_percent=3.5),
    devices=(
        DeviceSample(
            GPU,
            DeviceInfo(GPU, 0, 'Some GPU', uuid='GPU-0', memory_total_bytes=1 << 36),
            gpu_utilization_percent=0,
            clock_event_reasons=('SW Power Cap',),
            remapped_rows_pending=False,
            extended=EXTENDED,
        ),
        DeviceSample(MIG, DeviceInfo(MIG, 0), status='lost', reason='GPU is lost'),
    ),
    processes=(
        ProcessSample(PROCESS, type='C', status='zombie', command='python3 träin.py', is_own=True),
        ProcessSample(PROCESS, owner=parse_cgroup('0::/slurm/uid_5/job_42/step_0 (deleted)')),
        ProcessSample(PROCESS, owner=Owner()),
    ),
    host_processes=(HostProcessSample(1, 1.0, devices=(GPU, MIG)),),
    problems=(
        Problem(MIG, 'power_usage', 'Not Supported'),
        Problem(42, 'command', 'the system does not respond', 'timed out'),
        Problem('host', 'load_average', 'none'),
    ),
    cost=Cost(0.01, 42),
)


def plain(sample: Sample = FULL) -> Any:
    return json.loads(json.dumps(serialize(sample)))


def test_full_sample_survives_json() -> None:
    again = loads(dumps(FULL))
    assert again == FULL
    assert type(again.devices[0].info.key) is DeviceKey
    assert type(again.processes[0].key.device) is DeviceKey
    assert type(again.problems[0].subject) is DeviceKey
    assert type(again.host) is HostSample
    assert again.devices[0].extended_value('supported') == ('a', 'b')
    assert again.devices[0].extended_value('retired') is True


def test_fields_of_newer_versions_are_ignored_and_missing_ones_get_their_default() -> None:
    stored = plain()
    stored['added_later'] = {'a': [1]}
    stored['devices'][0]['added_later'] = 1
    del stored['host'], stored['devices'][0]['gpu_utilization_percent']
    again = parse(stored)
    assert again.host == HostSample()
    assert again.devices[0].gpu_utilization_percent is None


def test_words_of_newer_versions_become_the_nearest_known_ones() -> None:
    stored = plain()
    stored['devices'][1]['status'] = 'rebooting'
    stored['processes'][0]['status'] = 'frozen'
    stored['problems'][1]['kind'] = 'strange'
    stored['problems'][2]['subject'] = 'fabric'
    again = parse(stored)
    assert again.devices[1].status == 'error'
    assert again.processes[0].status == 'running'
    assert again.problems[1].kind == 'error'
    assert again.problems[2].subject == 'monitor'


@pytest.mark.parametrize(
    ('stored', 'message'),
    [
        (None, 'not a sample'),
        ([], 'not a sample'),
        ({'timestamp': 1.0}, 'not a sample'),
        ({'nvitop_sample': 3, 'timestamp': 1.0}, 'newer version'),
        ({'nvitop_sample': 1, 'timestamp': 1.0}, 'not in format 2'),
        ({'nvitop_sample': [2], 'timestamp': 1.0}, 'not in format 2'),
        ({'nvitop_sample': 2}, '^timestamp missing'),
    ],
)
def test_anything_but_a_sample_is_refused(stored: object, message: str) -> None:
    with pytest.raises(SerializationError, match=message):
        parse(stored)


@pytest.mark.parametrize(
    ('place', 'value', 'message'),
    [
        (['timestamp'], {}, r'^timestamp: expected a number, not dict$'),
        (['timestamp'], float('nan'), 'expected a number'),
        (['timestamp'], float('inf'), 'expected a number'),
        (['sequence'], True, 'expected an integer, not bool'),
        (['sequence'], 1 << 70, 'expected an integer'),
        (['driver_version'], 535.98, 'expected a text'),
        (['devices'], 5, 'expected a list'),
        (['devices'], [{}], r'^devices: key, info missing'),
        (['devices', 0], 3, 'expected an object'),
        (
            ['devices', 0, 'clock_event_reasons'],
            'x',
            'devices: clock_event_reasons: expected a list',
        ),
        (['devices', 0, 'remapped_rows_pending'], 1, 'expected a boolean'),
        (['devices', 0, 'extended'], 'ecc', 'extended: expected a list'),
        (['devices', 0, 'extended'], [['ecc']], 'expected 2 items, not 1'),
        (['devices', 0, 'extended'], [[1, 2]], 'expected a text'),
        (['devices', 0, 'extended'], [['a', [[[1]]]]], 'expected a number, not list'),
        (['devices', 0, 'extended'], [['a', {}]], 'expected a number, not dict'),
        (['host'], None, 'expected an object, not NoneType'),
        (['host', 'load_average'], [1.0], 'expected 3 items'),
        (['problems', 0, 'subject'], [], 'expected an integer, not list'),
        (['processes', 0, 'key', 'device', 'uuid'], None, 'expected a text'),
    ],
)
def test_values_of_other_types_are_refused(place: list[Any], value: Any, message: str) -> None:
    stored = inner = plain()
    for name in place[:-1]:
        inner = inner[name]
    inner[place[-1]] = value
    with pytest.raises(SerializationError, match=message):
        parse(stored)


def test_text_and_lists_of_any_size_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (('MAX_TEXT', 5), ('MAX_ITEMS', 1)):
        with monkeypatch.context() as patch:
            patch.setattr(serialization, name, value)
            with pytest.raises(SerializationError):
                loads(dumps(FULL))
    monkeypatch.setattr(serialization, 'MAX_BYTES', 100)
    with pytest.raises(SerializationError, match='MiB'):
        loads(dumps(FULL))


@pytest.mark.parametrize(
    'text', ['', '{', b'\xff', '[' * 1_000_000, '{"a":' * 100_000, '9' * 10_000]
)
def test_anything_but_json_of_bounded_depth_is_refused(text: str | bytes) -> None:
    with pytest.raises(SerializationError):
        loads(text)
