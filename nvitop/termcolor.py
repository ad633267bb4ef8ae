# SPDX-License-Identifier: Apache-2.0
import sys
from typing import TYPE_CHECKING

from nvitop.api import termcolor

if TYPE_CHECKING:
    from nvitop.api.termcolor import *

sys.modules[__name__] = termcolor
