# SPDX-License-Identifier: Apache-2.0
"""Originals: notice that a program has overridden or patched methods.

Snapshots read many values at once instead of calling a method for each. They must not do so for
methods that a program has replaced, for example to hide command lines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class Originals:
    """The methods of a class as nvitop defines them."""

    def __init__(self, cls: type, names: Iterable[str]) -> None:
        self._methods = {name: getattr(cls, name) for name in names}

    def are_replaced(self, instance: object) -> bool:
        """Return whether a subclass overrides a method, or a method has been patched."""
        cls = type(instance)
        if any(getattr(cls, name) is not method for name, method in self._methods.items()):
            return True
        return not self._methods.keys().isdisjoint(vars(instance))
