# SPDX-License-Identifier: Apache-2.0
"""``python -m nvitop.select``."""

from __future__ import annotations

from nvitop.console.lifecycle import nvisel

if __name__ == '__main__':
    nvisel()
