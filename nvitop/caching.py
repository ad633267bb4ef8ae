# SPDX-License-Identifier: Apache-2.0
import sys
from typing import TYPE_CHECKING

from nvitop.api import caching

if TYPE_CHECKING:
    from nvitop.api.caching import *

sys.modules[__name__] = caching
