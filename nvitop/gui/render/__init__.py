# SPDX-License-Identifier: GPL-3.0-only
"""Buffer, spans, cell width, themes, ANSI text: the bottom layer."""
