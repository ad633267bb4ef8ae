# SPDX-License-Identifier: GPL-3.0-only
"""Size, counts and mode to named rectangles; pure."""
