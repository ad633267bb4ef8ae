# SPDX-License-Identifier: Apache-2.0
import sys
from typing import TYPE_CHECKING

from nvitop.api import host

if TYPE_CHECKING:
    from nvitop.api.host import *

sys.modules[__name__] = host
