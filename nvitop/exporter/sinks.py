# SPDX-License-Identifier: Apache-2.0
"""Files that get each sample. Their own thread keeps a slow disk from delaying samples."""

from __future__ import annotations

import contextlib
import os
import queue
import threading
from typing import TYPE_CHECKING, Callable, Sequence

if TYPE_CHECKING:
    from nvitop.exporter.pages import Pages
    from nvitop.recording.recorder import Sink
    from nvitop.sampling.types import Sample

#: Maximum number of samples that wait for a slow disk; further ones are left out.
MAX_WAITING = 10
#: Maximum time (seconds) that :meth:`BackgroundSinks.close` waits for the disk.
CLOSE_SECONDS = 2.0


class BackgroundSinks:
    """Passes samples on to other sinks in a background thread.

    A failure of a sink affects neither its next sample nor other sinks.

    Args:
        sinks: The sinks.
        on_problem: Gets the text of a failure, once while it lasts.
    """

    def __init__(self, sinks: Sequence[Sink], on_problem: Callable[[str], None]) -> None:
        self._sinks = sinks
        self._on_problem = on_problem
        #: The last failure of each sink, '' if there is none.
        self._problems = [''] * len(sinks)
        self._queue: queue.SimpleQueue[Sample | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name='nvitop-sinks', daemon=True)
        self._thread.start()

    def write(self, sample: Sample) -> None:
        """Take a sample."""
        if self._queue.qsize() < MAX_WAITING:
            self._queue.put(sample)

    def close(self) -> None:
        """Finish, unless the disk does not respond."""
        self._queue.put(None)
        self._thread.join(CLOSE_SECONDS)

    def _run(self) -> None:
        while True:
            sample = self._queue.get()
            for number, sink in enumerate(self._sinks):
                problem = _problem_of(sink, sample)
                if problem and problem != self._problems[number]:
                    self._on_problem(problem)
                self._problems[number] = problem
            if sample is None:
                return


def _problem_of(sink: Sink, sample: Sample | None) -> str:
    """Pass a sample to a sink, or close it; return what failed, ``''`` if nothing did."""
    try:
        if sample is None:
            sink.close()
        else:
            sink.write(sample)
    except Exception as error:
        if isinstance(error, OSError) and error.filename:
            return f'cannot write {error.filename}: {error.strerror}'
        return f'{type(sink).__name__} failed: {type(error).__name__}: {error}'
    return ''


class TextFile:
    """A file with the last series, for the textfile collector of node_exporter.

    It is replaced after each sample: readers see the old or the new content, never a part.

    Args:
        path: Name of the file.
        pages: Makes the content.

    Raises:
        OSError: The file cannot be written.
    """

    def __init__(self, path: str, pages: Pages) -> None:
        self._path = path
        directory, name = os.path.split(path)
        #: The collector reads only names that end in ``.prom``.
        self._new_path = os.path.join(directory, f'.{name}.{os.getpid()}.new')
        self._pages = pages
        self._replace(b'')

    def write(self, sample: Sample) -> None:
        """Replace the file. The pages must have the sample already."""
        self._replace(self._pages.file_content())

    def close(self) -> None:
        """Remove the file, because its values would become stale."""
        with contextlib.suppress(OSError):
            os.unlink(self._path)

    def _replace(self, content: bytes) -> None:
        try:
            with open(self._new_path, 'wb') as file:
                file.write(content)
            os.replace(self._new_path, self._path)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.unlink(self._new_path)
            raise OSError(error.errno, error.strerror, self._path) from error
