# SPDX-License-Identifier: GPL-3.0-only
"""The monitor and the report. model, layout, state, view and render are pure; term is the terminal."""
