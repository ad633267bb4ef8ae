# SPDX-License-Identifier: Apache-2.0
"""Hooks of the library that are set where more may be imported than where they are called."""

from __future__ import annotations

from typing import Callable

#: Called before NVML is initialized first, unless its library was replaced before.
before_first_init: Callable[[], None] | None = None
