# SPDX-License-Identifier: Apache-2.0
import sys
from typing import TYPE_CHECKING

from nvitop.api import libnvml

if TYPE_CHECKING:
    from nvitop.api.libnvml import *

sys.modules[__name__] = libnvml
