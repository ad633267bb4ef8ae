# SPDX-License-Identifier: Apache-2.0
"""NVML's library in places where the loader of the system was not told to look."""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Callable

NAME = 'libnvidia-ml.so.1'
#: WSL (services and ``sudo`` do not have it in their path), Fedora and the like, NixOS.
DIRECTORIES = ('/usr/lib/wsl/lib', '/usr/lib64/nvidia', '/run/opengl-driver/lib')


def load_from_elsewhere(
    load: Callable[[str], object] = ctypes.CDLL, platform: str = sys.platform
) -> str:
    """Load the library from the first place that has it; its path, ``''``: nowhere.

    Loaded it is found by everybody who asks for it by its name alone, the binding too.
    """
    if not platform.startswith('linux'):
        return ''
    for directory in DIRECTORIES:
        path = os.path.join(directory, NAME)
        if os.path.exists(path):
            try:
                load(path)
            except OSError:  # for another processor, or broken
                continue
            return path
    return ''
