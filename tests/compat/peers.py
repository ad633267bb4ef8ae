"""The packages whose faces nvitop.compat has, where they are installed."""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from typing import Any

import pynvml
import pytest

from nvitop.compat.pynvml_smi import NVSMI_BRAND_NAMES

#: Set where the packages must be there: in the environment of ``make test-peers``.
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
    """pynvml.smi, which is called pynvml_utils.smi now, with what it needs to run today."""
    smi = _import('pynvml_utils.smi')
    # A constant that the binding dropped, and brands that came later.
    smi.nvmlClocksThrottleReasonUnknown = 1 << 63
    smi.NVSMI_BRAND_NAMES.update(
        {number: name for number, name in NVSMI_BRAND_NAMES.items() if number > 5}
    )
    # It shuts NVML down when it is collected, at whatever time that is.
    if hasattr(smi.nvidia_smi, '__del__'):
        del smi.nvidia_smi.__del__
    return smi


def import_igpu() -> Any:
    """igpu, which looks for pynvml.smi where it was."""
    smi = import_smi()
    sys.modules['pynvml.smi'] = smi
    pynvml.smi = smi
    return _import('igpu')


def begin(smi: Any) -> None:
    """Have pynvml.smi find the GPUs of the machine that runs now: it does so when it is made."""
    smi.nvidia_smi._nvidia_smi__instance = smi.nvidia_smi._nvidia_smi__handles = None
    smi.nvidia_smi.getInstance()
