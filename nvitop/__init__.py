# SPDX-License-Identifier: Apache-2.0
"""An interactive NVIDIA GPU process viewer and the Python library under it."""

from __future__ import annotations

from nvitop.version import __version__

__all__ = ['__version__']
