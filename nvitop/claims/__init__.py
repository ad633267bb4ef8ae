# SPDX-License-Identifier: Apache-2.0
"""Claims: locks on GPUs that every user of a machine sees; ``nvitop run`` and :func:`nvitop.claim`.

A claim is a ``flock`` on a file named after the UUID of a GPU, and a small file that says who holds
it. Nothing enforces claims: they coordinate programs that look at them.
"""

from __future__ import annotations
