# SPDX-License-Identifier: Apache-2.0
import sys
from typing import TYPE_CHECKING

from nvitop import collector

if TYPE_CHECKING:
    from nvitop.collector import *

sys.modules[__name__] = collector
