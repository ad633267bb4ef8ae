# SPDX-License-Identifier: GPL-3.0-only
"""Draws the state into a Buffer. Pure: frames depend on their arguments only."""
