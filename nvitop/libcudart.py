# SPDX-License-Identifier: Apache-2.0
import sys
from typing import TYPE_CHECKING

from nvitop.api import libcudart

if TYPE_CHECKING:
    from nvitop.api.libcudart import *

sys.modules[__name__] = libcudart
