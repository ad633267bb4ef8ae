from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nvitop.sampling import serialization
from nvitop.sampling.serialization import SerializationError, parse, serialise
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
SLICE = DeviceKey(0, 1, 'MIG-1')
PROCESS = ProcessKey(4242, 1.7e9, SLICE)
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
        ),
        DeviceSample(SLICE, DeviceInfo(SLICE, 0, 'A slice'), status='lost', reason='GPU is lost'),
    ),
    processes=(ProcessSample(PROCESS, type='C', command='python3 träin.py', is_own=True),),
    host_processes=(HostProcessSample(1, 1.0, devices=(GPU, SLICE)),),
    problems=(
        Problem('device 0:1', 'power_usage', 'Not Supported', device=SLICE),
        Problem('host', 'load_average', 'none'),
    ),
    cost=Cost(0.01, 42),
)


def through_json(sample: Sample) -> Sample:
    return parse(json.loads(json.dumps(serialise(sample), allow_nan=False)))


def test_a_full_sample_survives_json() -> None:
    again = through_json(FULL)
    assert again == FULL
    assert type(again.devices[0].info.key) is DeviceKey
    assert type(again.processes[0].key.device) is DeviceKey
    assert type(again.problems[0].device) is DeviceKey
    assert type(again.host) is HostSample
    assert type(again.cost) is Cost


def test_the_empty_sample_is_short() -> None:
    assert serialise(Sample(timestamp=0.0)) == {
        'nvitop_sample': serialization.VERSION,
        'timestamp': 0.0,
    }


def test_a_value_of_zero_is_kept_where_the_default_is_unknown() -> None:
    plain: Any = serialise(FULL)
    device = plain['devices'][0]
    assert device['gpu_utilization_percent'] == 0
    assert device['remapped_rows_pending'] is False


def test_unknown_fields_are_ignored_and_missing_ones_get_their_default() -> None:
    plain: Any = serialise(FULL)
    plain['invented_later'] = {'a': [1]}
    plain['devices'][0]['invented_later'] = 1
    del plain['host'], plain['devices'][0]['gpu_utilization_percent']
    again = parse(plain)
    assert again.host == HostSample()
    assert again.devices[0].gpu_utilization_percent is None


@pytest.mark.parametrize(
    ('plain', 'message'),
    [
        (None, 'not a stored sample'),
        ([], 'not a stored sample'),
        ({'timestamp': 1.0}, 'not a stored sample'),
        ({'nvitop_sample': 2, 'timestamp': 1.0}, 'version 2'),
        ({'nvitop_sample': 1}, 'timestamp missing'),
        ({'nvitop_sample': 1, 'timestamp': {}}, 'timestamp'),
        ({'nvitop_sample': 1, 'timestamp': 1.0, 'devices': 5}, None),
        ({'nvitop_sample': 1, 'timestamp': 1.0, 'devices': [{}]}, 'key, info missing'),
        ({'nvitop_sample': 1, 'timestamp': 1.0, 'devices': [3]}, 'DeviceSample: an object'),
        ({'nvitop_sample': 1, 'timestamp': 1.0, 'host': 'x'}, 'HostSample: an object'),
    ],
)
def test_what_is_no_stored_sample_is_refused(plain: object, message: str | None) -> None:
    with pytest.raises(SerializationError, match=message):
        parse(plain)


def classes() -> list[Any]:
    return [
        Sample, HostSample, Cost, Problem, DeviceSample, DeviceInfo, DeviceKey,
        ProcessSample, ProcessKey, HostProcessSample,
    ]  # fmt: skip


@pytest.mark.parametrize('cls', classes(), ids=lambda cls: cls.__name__)
def test_every_field_that_is_no_scalar_is_declared(cls: Any) -> None:
    nested = {**serialization._NESTED, **serialization._NESTED_TUPLES}
    for name, annotation in cls.__annotations__.items():
        text = annotation if isinstance(annotation, str) else annotation.__forward_arg__
        words = {word.strip(' .,]') for part in text.split('|') for word in part.split('[')}
        if words <= {'None', 'bool', 'int', 'float', 'str'}:
            assert (cls, name) not in nested
        elif text.startswith('tuple[') and (cls, name) not in nested:
            known = serialization._TUPLES | serialization._PAIRS
            assert (cls, name) in known, f'{cls.__name__}.{name}: {text}'
        else:
            assert nested[cls, name].__name__ in text, f'{cls.__name__}.{name}: {text}'


def test_extended_values_survive_with_their_types() -> None:
    extended = (
        ('ecc', 'Enabled'),
        ('supported', ('a', 'b')),
        ('none', None),
        ('retired', True),
        ('rows', ((1, None), (2, 'x'))),
    )
    device = DeviceSample(GPU, DeviceInfo(GPU, 0, 'A'), extended=extended)
    sample = FULL._replace(devices=(device,))
    again = parse(json.loads(json.dumps(serialise(sample))))
    assert again == sample
    assert again.devices[0].extended_value('supported') == ('a', 'b')
    assert again.devices[0].extended_value('retired') is True
    assert again.devices[0].extended_value('other') is None


@pytest.mark.parametrize('extended', ['ecc', ['ecc'], [['ecc']], [[1, 2]], [['a', 'b', 'c']]])
def test_extended_values_that_are_no_pairs_are_refused(extended: object) -> None:
    sample = FULL._replace(devices=(DeviceSample(GPU, DeviceInfo(GPU, 0, 'A')),))
    structure: Any = json.loads(json.dumps(serialise(sample)))
    structure['devices'][0]['extended'] = extended
    with pytest.raises(SerializationError, match='extended'):
        parse(structure)


numbers = st.none() | st.integers(-1, 1 << 62) | st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.text(), numbers, numbers), max_size=5))
def test_any_sample_survives_json(values: list[tuple[str, Any, Any]]) -> None:
    devices = tuple(
        DeviceSample(GPU, DeviceInfo(GPU, i, name), memory_percent=a, memory_used_bytes=b)
        for i, (name, a, b) in enumerate(values)
    )
    assert through_json(FULL._replace(devices=devices)) == FULL._replace(devices=devices)
