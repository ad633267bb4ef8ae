# SPDX-License-Identifier: GPL-3.0-only
"""The state of the monitor, and ``update``, the only function that changes it."""
