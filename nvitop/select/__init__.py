# SPDX-License-Identifier: Apache-2.0
"""``nvisel`` and :func:`select_devices`: choose the devices that match limits, best first."""

from __future__ import annotations

from nvitop.select.choice import select_devices

__all__ = ['select_devices']


def main(arguments: list[str] | None = None) -> int:
    """Run ``nvisel`` and return its exit status."""
    from nvitop.select.command import main as run  # select_devices needs no command line

    return run(arguments)
