# SPDX-License-Identifier: Apache-2.0
"""``python -m nvitop``."""

from __future__ import annotations

import sys

from nvitop.cli import main

if __name__ == '__main__':
    sys.exit(main())
