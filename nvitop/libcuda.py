# SPDX-License-Identifier: Apache-2.0
import sys
from typing import TYPE_CHECKING

from nvitop.api import libcuda

if TYPE_CHECKING:
    from nvitop.api.libcuda import *

sys.modules[__name__] = libcuda
