# SPDX-License-Identifier: Apache-2.0
"""Snapshots of everything at once, and metrics collected over time."""
