"""Pseudo-terminals are a matter of POSIX."""

from __future__ import annotations

import os

collect_ignore_glob = [] if os.name == 'posix' else ['test_*.py']
