# SPDX-License-Identifier: Apache-2.0
"""``python -m nvitop``, and the command ``nvitop``."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from nvitop.console.lifecycle import run_process

if TYPE_CHECKING:
    from collections.abc import Callable


def run() -> NoReturn:
    """Run ``nvitop``."""
    run_process('nvitop', _load)


def _load() -> Callable[[], int]:
    from nvitop.cli import main

    return main


if __name__ == '__main__':
    run()
