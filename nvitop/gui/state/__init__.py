# SPDX-License-Identifier: GPL-3.0-only
"""The state of the viewer and the one function that changes it."""
