"""Whatever fails, nothing crashes or hangs, nothing untrue is shown, and it is said why."""
