# SPDX-License-Identifier: GPL-3.0-only
"""Pure layout: sizes, counts and modes to named rectangles."""
