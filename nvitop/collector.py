# SPDX-License-Identifier: Apache-2.0
import sys
from typing import TYPE_CHECKING

from nvitop.api import collector

if TYPE_CHECKING:
    from nvitop.api.collector import *

sys.modules[__name__] = collector
