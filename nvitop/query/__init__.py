# SPDX-License-Identifier: Apache-2.0
"""Rows of GPU and process values: CSV, JSON, JSON lines and tables."""

from __future__ import annotations

from nvitop.query.measure import query_devices, query_processes

__all__ = ['query_devices', 'query_processes']
