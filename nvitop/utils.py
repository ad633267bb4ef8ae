# SPDX-License-Identifier: Apache-2.0
import sys
from typing import TYPE_CHECKING

from nvitop.api import utils

if TYPE_CHECKING:
    from nvitop.api.utils import *

sys.modules[__name__] = utils
