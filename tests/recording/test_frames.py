from __future__ import annotations

import contextlib
import random
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nvitop.recording.frames import (
    KEY_SECONDS,
    FrameEncoder,
    FrameError,
    compress,
    decompress,
    parse_text,
)
from nvitop.sampling.types import HostProcessSample
from tests.recording.virtual_clock import SimpleMachine


@given(st.binary(max_size=3000), st.binary(max_size=3000))
def test_any_text_can_be_compressed_with_any_key(text: bytes, key: bytes) -> None:
    assert decompress(compress(text * 20, key * 20), key * 20) == text * 20


def test_key_frames_are_renewed_hourly_and_with_the_devices() -> None:
    machine, encoder = SimpleMachine(2), FrameEncoder()

    def is_key(seconds: float) -> bool:
        return encoder.encode(machine.sample(seconds))[1] is not None

    assert [is_key(10), is_key(10), is_key(KEY_SECONDS - 11), is_key(1)] == [1, 0, 0, 1]
    machine.devices.pop()
    assert is_key(10)
    machine.run(1, command=''.join(random.choices('0123456789abcdef', k=9000)))
    assert [is_key(10), is_key(10)] == [True, False]


@given(st.binary(max_size=100), st.integers(0, 99), st.integers(1, 255))
def test_damaged_frames_are_refused_or_have_another_text(
    text: bytes, at: int, difference: int
) -> None:
    frame = bytearray(compress(text, b'abc'))
    if frame:
        frame[at % len(frame)] ^= difference
        with contextlib.suppress(FrameError):
            decompress(bytes(frame), b'abc')


def test_bombs_are_refused() -> None:
    with pytest.raises(FrameError):
        decompress(zlib.compress(bytes(100 << 20)), b'')
    with pytest.raises(FrameError):
        parse_text(b'null')


def test_a_sample_that_is_too_large_loses_its_host_processes_first() -> None:
    machine = SimpleMachine()
    sample = machine.sample()
    tree = tuple(HostProcessSample(pid, 1.0, command='x' * 50_000) for pid in range(100))
    frame, key = FrameEncoder().encode(sample._replace(host_processes=tree))
    assert frame == b''
    assert parse_text(decompress(key or b'')) == sample
    for pid in range(100):
        machine.run(pid, command='x' * 50_000)
    with pytest.raises(FrameError, match='more than 4 MiB'):
        FrameEncoder().encode(machine.sample())
