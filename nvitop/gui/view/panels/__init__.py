# SPDX-License-Identifier: GPL-3.0-only
"""Named parts of a screen, made of widgets."""
