# SPDX-License-Identifier: Apache-2.0
"""Samples as small compressed frames.

A frame is the JSON of a sample, compressed by zlib with the JSON of an earlier sample, the key frame,
as the dictionary. An empty frame is its key frame itself.
"""

from __future__ import annotations

import zlib
from typing import NamedTuple

from nvitop.sampling.serialization import MAX_BYTES, SerializationError, dumps, loads
from nvitop.sampling.types import Sample

LEVEL = 6
#: Size (bytes) of the window of zlib: it cannot use more of a key frame.
WINDOW_BYTES = 32 << 10
#: Maximum size of a frame, as a part of its key frame; a larger one becomes a key frame.
MAX_PART_OF_KEY = 0.5
#: Time (seconds) after which a new key frame is written anyway.
KEY_SECONDS = 3600.0


class FrameError(ValueError):
    """A frame is damaged, too large, or in a format that this version cannot read."""


def compress(text: bytes, key: bytes = b'') -> bytes:
    """Compress a text with the end of the text of its key frame as the dictionary."""
    # zlib takes an empty dictionary for a missing one.
    stream = zlib.compressobj(LEVEL, zdict=key[-WINDOW_BYTES:]) if key else zlib.compressobj(LEVEL)
    return stream.compress(text) + stream.flush()


def decompress(blob: bytes, key: bytes = b'') -> bytes:
    """Return the text that :func:`compress` was given.

    Raises:
        FrameError: The frame is damaged, or its text is too large.
    """
    stream = zlib.decompressobj(zdict=key[-WINDOW_BYTES:]) if key else zlib.decompressobj()
    try:
        text = stream.decompress(blob, MAX_BYTES)
    except zlib.error as error:
        raise FrameError(f'damaged frame ({error})') from None
    if not stream.eof:
        raise FrameError(f'damaged frame, or more than {MAX_BYTES >> 20} MiB')
    return text


def parse_text(text: bytes) -> Sample:
    """Return the sample in a JSON text.

    Raises:
        FrameError: The text is not a sample, or too large.
    """
    try:
        return loads(text)
    except SerializationError as error:
        raise FrameError(str(error)) from None


def text_of(sample: Sample) -> bytes:
    """Return the JSON of a sample as ASCII text.

    If the sample would be too large to be read, its host processes are left out.

    Raises:
        FrameError: The sample is too large even so.
    """
    text = dumps(sample).encode('ascii')
    if len(text) > MAX_BYTES and sample.host_processes:
        text = dumps(sample._replace(host_processes=())).encode('ascii')
    if len(text) > MAX_BYTES:
        raise FrameError(f'a sample of more than {MAX_BYTES >> 20} MiB')
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

    def encode(self, sample: Sample) -> tuple[bytes, bytes | None]:
        """Return the frame of a sample, and its compressed key frame if that is a new one.

        Raises:
            FrameError: The sample is too large.
        """
        text = text_of(sample)
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
        blob = compress(text)
        self._key = KeyFrame(text, len(blob), sample.monotonic, devices)
        return b'', blob

    def restart(self) -> None:
        """Begin with a new key frame, as after one that could not be stored."""
        self._key = None
