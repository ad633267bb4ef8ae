"""Hours of reports, for comparison."""

from __future__ import annotations

from typing import Any

from nvitop.usage.report import Report

HOUR = 3600


def hours(report: Report) -> dict[Any, tuple[float, ...]]:
    """Return the hours used, held idle, free and not observed of each row."""
    return {
        row.key[0] if len(row.key) == 1 else row.key: tuple(
            round(seconds / HOUR, 4) + 0.0
            for seconds in (
                row.sums.used,
                row.sums.held_idle,
                row.sums.free,
                row.sums.unobserved,
            )
        )
        for row in report.rows
    }
