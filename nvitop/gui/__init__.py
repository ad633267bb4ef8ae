# SPDX-License-Identifier: GPL-3.0-only
"""The viewer: state, layout, view and render are pure; term is the terminal."""
