# SPDX-License-Identifier: Apache-2.0
import sys
from typing import TYPE_CHECKING

from nvitop.api import device

if TYPE_CHECKING:
    from nvitop.api.device import *

sys.modules[__name__] = device
