# SPDX-License-Identifier: GPL-3.0-only
"""Values to a Buffer; pure."""
