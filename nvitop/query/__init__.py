# SPDX-License-Identifier: Apache-2.0
"""Rows out of samples: CSV, JSON, JSON lines, tables."""

from __future__ import annotations

from nvitop.query.ask import query_devices, query_processes
from nvitop.query.cell import escape, unescape

__all__ = ['escape', 'query_devices', 'query_processes', 'unescape']
