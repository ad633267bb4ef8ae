# SPDX-License-Identifier: GPL-3.0-only
"""Values that state and view share: columns, rows of devices, choices, formats."""
