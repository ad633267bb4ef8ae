# SPDX-License-Identifier: Apache-2.0
"""Samples as small compressed frames, and reading frames that may be hostile.

A frame is the JSON of a sample, compressed by zlib with the JSON of an earlier sample, the key frame,
as the dictionary. The window of zlib is 32 KiB, so the text is compressed in blocks of 16 KiB, each
with the part of the key frame around the same place as its dictionary. The blocks are whole zlib
streams, one after the other.
"""

from __future__ import annotations

import zlib
from typing import NamedTuple

from nvitop.sampling.serialization import SerializationError, dumps, loads
from nvitop.sampling.types import Sample
from nvitop.times import LATEST_TIME

#: Size of the blocks (bytes), and how far the dictionary reaches beyond each end of its block.
BLOCK_BYTES = 16 << 10
MARGIN_BYTES = 8 << 10
LEVEL = 6

#: Maximum size (bytes) of the JSON of a sample: more than 7,000 processes.
MAX_TEXT_BYTES = 4 << 20
#: Maximum number of commas and opening brackets in it, which bounds the memory that parsing takes.
MAX_MARKS = 300_000

#: Maximum size of a frame, as a part of its key frame; a larger one becomes a key frame.
MAX_PART_OF_KEY = 0.5
#: Time (seconds) after which a new key frame is written anyway.
KEY_SECONDS = 3600.0

_MARKS = (b',', b'[', b'{')


class FrameError(ValueError):
    """A frame is damaged, hostile, or in a format that this version cannot read."""


def compress(text: bytes, key: bytes) -> bytes:
    """Compress a text with the text of its key frame as the dictionary."""
    parts = []
    for at in range(0, len(text), BLOCK_BYTES):
        dictionary = key[max(0, at - MARGIN_BYTES) : at + BLOCK_BYTES + MARGIN_BYTES]
        # zlib takes an empty dictionary for a missing one.
        stream = (
            zlib.compressobj(LEVEL, zdict=dictionary) if dictionary else zlib.compressobj(LEVEL)
        )
        parts += [stream.compress(text[at : at + BLOCK_BYTES]), stream.flush()]
    return b''.join(parts)


def decompress(blob: bytes, key: bytes) -> bytes:
    """Return the text that :func:`compress` was given.

    Raises:
        FrameError: The frame is damaged, or its text is too large.
    """
    parts: list[bytes] = []
    at = 0
    while blob:
        dictionary = key[max(0, at - MARGIN_BYTES) : at + BLOCK_BYTES + MARGIN_BYTES]
        stream = zlib.decompressobj(zdict=dictionary) if dictionary else zlib.decompressobj()
        try:
            # One byte more than a block shows a stream that is too long.
            part = stream.decompress(blob, BLOCK_BYTES + 1)
        except zlib.error as error:
            raise FrameError(f'damaged frame ({error})') from None
        blob = stream.unused_data
        is_whole = stream.eof and 0 < len(part) <= BLOCK_BYTES
        # Only the last block may be short. Otherwise tiny blocks would take quadratic time.
        if not is_whole or (blob and len(part) < BLOCK_BYTES):
            raise FrameError('damaged frame')
        parts.append(part)
        at += len(part)
        if at > MAX_TEXT_BYTES:
            raise FrameError(f'a frame of more than {MAX_TEXT_BYTES >> 20} MiB')
    return b''.join(parts)


def parse_text(text: bytes) -> Sample:
    """Return the sample in a JSON text of bounded size and memory.

    Raises:
        FrameError: The text is not a sample, or too large.
    """
    if len(text) > MAX_TEXT_BYTES:
        raise FrameError(f'a sample of more than {MAX_TEXT_BYTES >> 20} MiB')
    if sum(map(text.count, _MARKS)) > MAX_MARKS:
        raise FrameError('a sample of too many values')
    try:
        sample = loads(text)
    except SerializationError as error:
        raise FrameError(str(error)) from None
    if not 0 <= sample.timestamp < LATEST_TIME:
        raise FrameError('a sample of an impossible time')
    return sample


def text_of(sample: Sample) -> bytes:
    """Return the JSON of a sample as ASCII text.

    If the sample would be too large to be read, its host processes are left out.

    Raises:
        FrameError: The sample is too large even so.
    """
    text = dumps(sample).encode('ascii')
    if len(text) > MAX_TEXT_BYTES and sample.host_processes:
        text = dumps(sample._replace(host_processes=())).encode('ascii')
    if len(text) > MAX_TEXT_BYTES:
        raise FrameError(f'a sample of more than {MAX_TEXT_BYTES >> 20} MiB')
    return text


class KeyFrame(NamedTuple):
    """A sample on which frames depend."""

    text: bytes
    #: Size (bytes) of the text when compressed by itself.
    size: int
    #: Time of the sample on the monotonic clock.
    monotonic: float
    #: Labels and UUIDs of the devices.
    devices: tuple[object, ...]


class FrameEncoder:
    """Compresses samples one after the other, and decides when a new key frame is due."""

    def __init__(self) -> None:
        self._key: KeyFrame | None = None

    def encode(self, sample: Sample, text: bytes = b'') -> tuple[bytes, bytes | None]:
        """Return the frame of a sample, and the text of its key frame if that is a new one.

        ``text`` is the JSON of the sample, if it is known.

        Raises:
            FrameError: The sample is too large.
        """
        text = text or text_of(sample)
        key = self._key
        devices = tuple(device.key for device in sample.devices)
        if (
            key is not None
            and key.devices == devices
            and 0 <= sample.monotonic - key.monotonic < KEY_SECONDS
        ):
            frame = compress(text, key.text)
            if len(frame) <= MAX_PART_OF_KEY * key.size:
                return frame, None
        self._key = KeyFrame(text, len(compress(text, b'')), sample.monotonic, devices)
        return compress(text, text), text

    def restart(self) -> None:
        """Begin with a new key frame, as after one that could not be stored."""
        self._key = None
