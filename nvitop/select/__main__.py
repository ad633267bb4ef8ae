# SPDX-License-Identifier: Apache-2.0
"""``python -m nvitop.select``."""

from __future__ import annotations

import sys

from nvitop.select import main

if __name__ == '__main__':
    sys.exit(main())
