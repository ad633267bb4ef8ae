# SPDX-License-Identifier: GPL-3.0-only
"""``nvitop``: arguments → Options → monitor, report, or another job. Thin."""

from __future__ import annotations

import os
import sys
import threading
from typing import TYPE_CHECKING, NamedTuple

from nvitop import messages
from nvitop.options import (
    THEME_NAMES,
    Invocation,
    Options,
    merge,
    parse_arguments,
    parse_environment,
)

if TYPE_CHECKING:
    from nvitop.gui.state.types import ProcessFilter, ViewState
    from nvitop.sampling.types import Sample

#: How long the driver may take to start before it is said that it does not answer.
DRIVER_START_SECONDS = 5.0
