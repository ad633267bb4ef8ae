"""A run of a command in this process."""

from __future__ import annotations

import contextlib
import io
from typing import Any, Callable


class CommandRun:
    """Output, messages and exit status of one run of a command."""

    def __init__(self, main: Callable[..., int], *arguments: str, **options: Any) -> None:
        out, err = (io.TextIOWrapper(io.BytesIO(), 'utf-8', newline='') for _ in range(2))
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                self.status: object = main(list(arguments), **options)
            except SystemExit as leaving:
                self.status = leaving.code
        self.out, self.err = _text(out), _text(err)


def _text(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()
