# SPDX-License-Identifier: GPL-3.0-only
"""Panels: named parts of a screen, made of widgets."""
