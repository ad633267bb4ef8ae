# SPDX-License-Identifier: GPL-3.0-only
"""Reusable drawing functions."""
