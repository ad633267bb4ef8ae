# SPDX-License-Identifier: Apache-2.0
"""``python -m nvitop``, and the process around the command: how it starts and how it ends."""

from __future__ import annotations

import contextlib
import gc
import os
import sys


def run() -> None:
    """Run the command ``nvitop`` as a whole process; does not return."""
    # Nothing that is made while modules are imported is garbage: looking for it takes a tenth of
    # the time of a report.
    gc.disable()
    from nvitop.cli import main

    status = 1
    try:
        status = main()
    except SystemExit as leaving:
        status = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                stream.flush()
    # Taking the interpreter apart piece by piece takes as long as reading eight GPUs; the system
    # does it at once. The driver lets go of a process that has ended by itself.
    os._exit(status)


if __name__ == '__main__':
    run()
