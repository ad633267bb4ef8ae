# SPDX-License-Identifier: Apache-2.0
"""Words that samples contain. Only readers of stored samples need them at run time."""

from __future__ import annotations

from typing import Literal

DeviceStatus = Literal['ok', 'lost', 'timed out', 'error']
#: ``zombie``: exited, not yet reaped; ``gone``: exited; ``no permission``: alive, but its command line
#: cannot be read; ``foreign``: a PID of another PID namespace (container).
ProcessStatus = Literal['running', 'zombie', 'gone', 'no permission', 'foreign']
#: ``na``: the device has no such value; ``denied``: this user may not read it; ``error``: it could not
#: be read; ``impossible``: an implausible value was dropped; ``reset needed``: the device must be
#: reset first; ``lost``; ``timed out``; ``slow``: the device responds, but late.
ProblemKind = Literal[
    'na', 'denied', 'error', 'impossible', 'reset needed', 'lost', 'timed out', 'slow'
]
