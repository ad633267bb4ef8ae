"""The live filter: words, smart case, prefixes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nvitop.gui.state.filtering import (
    filter_processes,
    matches,
    matches_host_process,
    parse_query,
)
from nvitop.sampling.types import DeviceKey, HostProcessSample, ProcessKey, ProcessSample

PROCESS = ProcessSample(
    ProcessKey(4321, 1.0, DeviceKey(1, 0, 'MIG-ab12')),
    type='C+G',
    username='ann',
    name='python3',
    command='python3 Train.py --lr 3e-4',
)
BARE = ProcessSample(ProcessKey(7, 1.0, DeviceKey(0)))


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('', True),
        ('   ', True),
        ('train', True),
        ('Train', True),
        ('TRAIN', False),
        ('train lr', True),
        ('train absent', False),
        ('.*', False),
        ('4321', True),
        ('432', False),
        ('ann', True),
        ('user:an', True),
        ('user:Ann', False),
        ('user:bob', False),
        ('user:', True),
        ('pid:43', True),
        ('pid:21', False),
        ('gpu:1', True),
        ('GPU:1', True),
        ('GPU:0', False),
        ('User:an', True),
        ('gpu:1:0', True),
        ('gpu:0', False),
        ('gpu:MIG-ab', True),
        ('type:c', True),
        ('type:G', True),
        ('type:C+G', True),
        ('type:x', True),
        ('type:m', False),
        ('user:ann gpu:1 train', True),
        ('user:ann gpu:2 train', False),
        ('nosuch:thing', False),
    ],
)
def test_matches(text: str, expected: bool) -> None:
    assert matches(PROCESS, parse_query(text)) is expected


@pytest.mark.parametrize('text', ['x', 'user:x', 'type:c', 'gpu:1', 'pid:8'])
def test_what_is_not_known_matches_nothing(text: str) -> None:
    assert not matches(BARE, parse_query(text))


@pytest.mark.parametrize(
    ('status', 'text'),
    [('zombie', 'zombie'), ('gone', 'no such'), ('no permission', 'permissions')],
)
def test_what_stands_in_the_place_of_a_command_is_found(status: str, text: str) -> None:
    query = parse_query(text)
    assert matches(BARE._replace(status=status), query)
    assert not matches(BARE, query)
    assert matches_host_process(HostProcessSample(9, 1.0, status=status), query, {})


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('', True),
        ('shell', True),
        ('9', True),
        ('user:root', True),
        ('pid:1', False),
        ('gpu:1', False),
        ('type:c', False),
    ],
)
def test_the_tree_is_filtered_by_the_same_words(text: str, expected: bool) -> None:
    process = HostProcessSample(9, 1.0, username='root', command='/bin/shell')
    assert matches_host_process(process, parse_query(text), {}) is expected


@pytest.mark.parametrize('text', ['type:g', 'TYPE:c GPU:1:0', 'gpu:0', 'name', 'user:ann type:c'])
def test_a_process_on_devices_matches_in_the_tree_as_in_the_list(text: str) -> None:
    device = DeviceKey(1, 0, 'MIG-abc')
    use = ProcessSample(ProcessKey(9, 1.0, device), 'C', name='name', username='ann')
    process = HostProcessSample(9, 1.0, username='ann', devices=(device,))
    query = parse_query(text)
    assert matches_host_process(process, query, {(9, 1.0): [use]}) is matches(use, query)
    assert matches_host_process(process, query, {(9, 2.0): [use]}) is False


def test_what_a_process_does_on_one_device_is_not_said_of_another() -> None:
    uses = [
        ProcessSample(ProcessKey(9, 1.0, DeviceKey(index)), kind)
        for index, kind in enumerate(('C', 'G'))
    ]
    process = HostProcessSample(9, 1.0, devices=(DeviceKey(0), DeviceKey(1)))
    for text, expected in (('gpu:0 type:c', True), ('gpu:1 type:g', True), ('gpu:0 type:g', False)):
        query = parse_query(text)
        assert bool(filter_processes(uses, query)) is expected
        assert matches_host_process(process, query, {(9, 1.0): uses}) is expected


@given(st.text(max_size=60))
def test_any_text_is_a_filter(text: str) -> None:
    kept = filter_processes((PROCESS, BARE), parse_query(text))
    assert set(kept) <= {PROCESS, BARE}
