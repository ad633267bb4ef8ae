# SPDX-License-Identifier: Apache-2.0
"""``python -m nvitop``, and the command ``nvitop``."""

from __future__ import annotations

from nvitop.console.startup import run_process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn


def run() -> NoReturn:
    """Run ``nvitop``."""

    def load() -> Callable[[], int]:
        from nvitop.cli import main

        return main

    run_process('nvitop', load)


if __name__ == '__main__':
    run()
