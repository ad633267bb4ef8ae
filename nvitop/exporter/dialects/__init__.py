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
#: Names of all dialects that the exporter can write.
DIALECT_NAMES = tuple(_MODULES)
#: Dialects that are only read.
_ONLY_READ = {'all-smi': 'all_smi'}


def dialect(name: str) -> Dialect:
    """Return a dialect.

    Raises:
        KeyError: There is no such dialect.
    """
    known = {**_MODULES, **_ONLY_READ}
    module = importlib.import_module(f'nvitop.exporter.dialects.{known[name]}')
    tables: tuple[Dialect, ...] = module.DIALECTS
    return next(table for table in tables if table.name == name)
