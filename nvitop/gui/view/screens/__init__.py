# SPDX-License-Identifier: GPL-3.0-only
"""Screens: what fills the terminal, made of panels and widgets."""
