# SPDX-License-Identifier: GPL-3.0-only
"""Values that layout, state and view share: columns, screens, choices, graphs, effects."""
