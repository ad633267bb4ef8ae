# SPDX-License-Identifier: GPL-3.0-only
"""What layout and state both need: columns, screens, choices, graphs, effects."""
