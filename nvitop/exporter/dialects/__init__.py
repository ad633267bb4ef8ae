# SPDX-License-Identifier: Apache-2.0
"""The names of several exporters, as tables."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nvitop.exporter.tables import Dialect

#: Dialect → the module that contains it, loaded on use.
_MODULES = {
    'own': 'own',
    'nvitop-exporter': 'nvitop_exporter',
    'dcgm': 'dcgm',
    'dcgm-4.9': 'dcgm',
    'nvidia-smi': 'nvidia_smi',
    'otel': 'otel',
}
#: Names of all dialects.
DIALECT_NAMES = tuple(_MODULES)


def dialect(name: str) -> Dialect:
    """Return a dialect.

    Raises:
        KeyError: There is no such dialect.
    """
    module = importlib.import_module(f'nvitop.exporter.dialects.{_MODULES[name]}')
    tables: tuple[Dialect, ...] = module.DIALECTS
    return next(table for table in tables if table.name == name)
