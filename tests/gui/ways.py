"""Ways from the main screen to the others, from the table of keys."""

from __future__ import annotations

from nvitop.gui.model.screens import Screen
from nvitop.gui.state.bindings import BINDINGS, Need


def way_to(screen: Screen) -> tuple[str, ...]:
    """Return the keys that open a screen, after selecting a process if it needs one."""
    if screen is Screen.MAIN:
        return ()
    binding = next(binding for binding in BINDINGS if binding.opens is screen)
    assert Screen.MAIN in binding.screens
    return (*(('Down',) if Need.PROCESS in binding.needs else ()), binding.keys[0])
