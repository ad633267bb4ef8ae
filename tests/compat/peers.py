"""The packages that nvitop.compat replaces, if they are installed."""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from typing import Any

import pynvml
import pytest

from nvitop.compat.pynvml_smi import NVSMI_BRAND_NAMES, NVSMI_QUERY_GPU

#: Names that pynvml.smi documents but does not accept. It accepts 125 names of 105 numbers.
EXTRA = [
    name
    for name, number in NVSMI_QUERY_GPU.items()
    if number >= 300 or name in ('utilization.encoder', 'utilization.decoder')
]
#: Whether the packages have to be installed, as in the environment of ``make test-peers``.
IS_REQUIRED = 'NVITOP_TEST_PEERS' in os.environ


def _import(name: str) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            return importlib.import_module(name)
    except ImportError:
        if IS_REQUIRED:
            raise
        pytest.skip(
            f'NOTHING WAS COMPARED with {name}: not installed here (make test-peers)',
            allow_module_level=True,
        )


def import_smi() -> Any:
    """Import pynvml.smi (now pynvml_utils.smi), patched to run with current bindings."""
    smi = _import('pynvml_utils.smi')
    # The binding has removed this constant; the brands are new.
    smi.nvmlClocksThrottleReasonUnknown = 1 << 63
    smi.NVSMI_BRAND_NAMES.update(
        {number: name for number, name in NVSMI_BRAND_NAMES.items() if number > 5}
    )
    # It shuts NVML down at an arbitrary time, when it is garbage-collected.
    if hasattr(smi.nvidia_smi, '__del__'):
        del smi.nvidia_smi.__del__
    return smi


def import_igpu() -> Any:
    """Import igpu, which expects pynvml.smi under its old name."""
    smi = import_smi()
    sys.modules['pynvml.smi'] = smi
    pynvml.smi = smi
    return _import('igpu')


def begin(smi: Any) -> None:
    """Make pynvml.smi find the GPUs of the active machine."""
    smi.nvidia_smi._nvidia_smi__instance = smi.nvidia_smi._nvidia_smi__handles = None
    smi.nvidia_smi.getInstance()
