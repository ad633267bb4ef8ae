# SPDX-License-Identifier: GPL-3.0-only
"""Whole screens, made of panels."""
