# SPDX-License-Identifier: Apache-2.0
"""Samples that travel: recordings in SQLite and JSON lines, the last hour in memory, other machines."""
