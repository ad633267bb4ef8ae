# SPDX-License-Identifier: Apache-2.0
"""Names of a module that are imported when they are first used, and a hook that needs more."""

from __future__ import annotations

import importlib
import sys
from typing import Any, Callable, Mapping


def lazy_names(
    module_name: str,
    homes: Mapping[str, str],
    needed: str | None = None,
    **makers: Callable[[], object],
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the functions ``__getattr__`` and ``__dir__`` of a module.

    Assign them under ``if not TYPE_CHECKING:``, because a ``__getattr__`` would hide misspelled names
    from type checkers, and import the same names under ``if TYPE_CHECKING:``.

    Args:
        module_name: The ``__name__`` of the module.
        homes: Modules and the names to import from them, separated by spaces. Names listed for the
            module itself are its submodules.
        needed: The package that the makers need. Without it, ``dir()`` does not list their names, because
            using one raises ImportError, which ``inspect.getmembers()`` and help() do not expect.
        makers: Names and the functions that make their values.
    """
    home_of = {name: home for home, names in homes.items() for name in names.split()}

    def find(name: str) -> Any:
        if name in makers:
            value = makers[name]()
        elif name not in home_of:
            raise AttributeError(f'module {module_name!r} has no attribute {name!r}')
        elif home_of[name] == module_name:
            value = importlib.import_module(f'{module_name}.{name}')
        else:
            value = getattr(importlib.import_module(home_of[name]), name)
        # setdefault: two threads that make a value at the same time get the same one.
        return vars(sys.modules[module_name]).setdefault(name, value)

    def names() -> list[str]:
        made = makers if needed is None or _is_installed(needed) else ()
        return sorted({*vars(sys.modules[module_name]), *home_of, *made})

    return find, names


def _is_installed(package: str) -> bool:
    import importlib.util  # only needed by who asks for all names

    if package in sys.modules:
        return sys.modules[package] is not None
    return importlib.util.find_spec(package) is not None


#: Called before NVML is initialized first, unless its library was replaced before.
before_first_init: Callable[[], None] | None = None
