# SPDX-License-Identifier: Apache-2.0
"""A file with the last series, for the textfile collector of node_exporter."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Callable

if TYPE_CHECKING:
    from nvitop.exporter.pages import Pages
    from nvitop.sampling.types import Sample


class TextFile:
    """Replaces a file after each sample; readers see the old or the new content, never a part.

    Args:
        path: Name of the file.
        pages: Makes the content.
        on_problem: Gets the text of a failure, once for as long as it lasts.

    Raises:
        OSError: The file cannot be written.
    """

    def __init__(self, path: str, pages: Pages, on_problem: Callable[[str], None]) -> None:
        self._path = path
        directory, name = os.path.split(path)
        #: The collector reads only names that end in ``.prom``.
        self._new_path = os.path.join(directory, f'.{name}.{os.getpid()}.new')
        self._pages = pages
        self._on_problem = on_problem
        self._problem = ''
        self._replace(b'')

    def write(self, sample: Sample) -> None:
        """Replace the file. ``sample`` was written to the pages before."""
        try:
            self._replace(self._pages.file_content())
        except OSError as error:
            if error.strerror != self._problem:
                self._problem = error.strerror or str(error)
                self._on_problem(f'cannot write {self._path}: {self._problem}')
        else:
            self._problem = ''

    def close(self) -> None:
        """Remove the file: its values are no longer true."""
        with contextlib.suppress(OSError):
            os.unlink(self._path)

    def _replace(self, content: bytes) -> None:
        try:
            with open(self._new_path, 'wb') as file:
                file.write(content)
            os.replace(self._new_path, self._path)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(self._new_path)
            raise
