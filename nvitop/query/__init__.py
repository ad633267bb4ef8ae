# SPDX-License-Identifier: Apache-2.0
"""Rows out of samples: CSV, JSON, JSON lines, tables."""
