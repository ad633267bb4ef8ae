# SPDX-License-Identifier: Apache-2.0
"""The names of several exporters, as tables."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nvitop.exporter.tables import Dialect

#: Names of all dialects. Each has its own module, which is loaded on use.
DIALECT_NAMES = ('own', 'nvitop-exporter', 'dcgm', 'nvidia-smi')


def dialect(name: str) -> Dialect:
    """Return a dialect.

    Raises:
        ModuleNotFoundError: There is no such dialect.
    """
    module = importlib.import_module(f'nvitop.exporter.dialects.{name.replace("-", "_")}')
    table: Dialect = module.DIALECT
    return table
