# SPDX-License-Identifier: Apache-2.0
"""Samples as small compressed frames, and as lines of JSON for other programs.

A frame is the JSON of a sample, compressed by zlib with the JSON of an earlier sample, the key frame,
as the dictionary. An empty frame is its key frame itself.
"""

from __future__ import annotations

import os
import stat
import sys
import zlib
from typing import NamedTuple

from nvitop.platforms.files import open_private
from nvitop.platforms.kernel import write_pieces
from nvitop.recording.store import RecordingError, identity
from nvitop.sampling.serialization import MAX_BYTES, CommandFilter, SerializationError, dumps, loads
from nvitop.sampling.types import Sample

LEVEL = 6
#: Size (bytes) of the window of zlib: it cannot use more of a key frame.
WINDOW_BYTES = 32 << 10
#: Maximum size of a frame, as a part of its key frame; a larger one becomes a key frame.
MAX_PART_OF_KEY = 0.5
#: Time (seconds) after which a new key frame is written anyway.
KEY_SECONDS = 3600.0
#: Name of standard output.
STANDARD = '-'


class FrameError(ValueError):
    """A frame is damaged, too large, or in a format that this version cannot read."""


def compress(text: bytes, key: bytes = b'') -> bytes:
    """Compress a text with the end of the text of its key frame as the dictionary."""
    # zlib takes an empty dictionary for a missing one.
    stream = zlib.compressobj(LEVEL, zdict=key[-WINDOW_BYTES:]) if key else zlib.compressobj(LEVEL)
    return stream.compress(text) + stream.flush()


def decompress(blob: bytes, key: bytes = b'') -> bytes:
    """Return the text that :func:`compress` was given; FrameError if it is damaged or too large."""
    stream = zlib.decompressobj(zdict=key[-WINDOW_BYTES:]) if key else zlib.decompressobj()
    try:
        text = stream.decompress(blob, MAX_BYTES)
    except zlib.error as error:
        raise FrameError(f'damaged frame ({error})') from None
    if not stream.eof:
        raise FrameError(f'damaged frame, or more than {MAX_BYTES >> 20} MiB')
    return text


def parse_text(text: bytes) -> Sample:
    """Return the sample in a JSON text; FrameError if it is not a sample, or too large."""
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
        """Return the frame of a sample, and a new key frame; FrameError if it is too large."""
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


class LineWriter:
    """A sink that appends a line of JSON for each sample. The file always ends with a whole line."""

    def __init__(self, path: str, *, commands: str = 'name', mode: int | None = None) -> None:
        """Open or create a file, ``'-'``: standard output; RecordingError if that fails."""
        self.path = path
        self._commands = CommandFilter(commands)
        self._mode = mode
        self._open()

    def _open(self) -> None:
        if self.path == STANDARD:
            sys.stdout.flush()
            self._descriptor = sys.stdout.fileno()
            return
        try:
            self._descriptor = open_private(self.path)
            is_file = stat.S_ISREG(os.fstat(self._descriptor).st_mode)
            if is_file and os.read(self._descriptor, 2) not in (b'', b'{"'):
                self.close()
                raise RecordingError(f'{self.path} has no lines of JSON to append to')
            if self._mode is not None:
                os.chmod(self.path, self._mode)
            if is_file:
                os.lseek(self._descriptor, 0, os.SEEK_END)
            self._file = identity(self.path)
        except OSError as error:
            raise RecordingError(f'cannot open {self.path}: {error.strerror}') from None

    def write(self, sample: Sample) -> None:
        """Append a sample unless it is too large; after OSError, a whole line is the last."""
        try:
            line = text_of(self._commands.apply(sample)) + b'\n'
        except FrameError:
            return
        if self.path != STANDARD and identity(self.path) != self._file:
            self.reopen()  # the file was removed, or moved away
        write_pieces(self._descriptor, [line])

    def reopen(self) -> None:
        """Open the path again, as after the file was moved away; RecordingError if that fails."""
        self.close()
        self._open()

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if self.path != STANDARD and descriptor >= 0:
            os.close(descriptor)
