# SPDX-License-Identifier: GPL-3.0-only
"""The Terminal protocol and its implementations."""
