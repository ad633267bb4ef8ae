# SPDX-License-Identifier: Apache-2.0
import sys
from typing import TYPE_CHECKING

from nvitop.api import process

if TYPE_CHECKING:
    from nvitop.api.process import *

sys.modules[__name__] = process
