# SPDX-License-Identifier: Apache-2.0
"""A replacement for pynvml.smi: ``from nvitop.compat.pynvml_smi import nvidia_smi``.

The names of the NVML binding can be imported from here too, as scripts do.
"""

from __future__ import annotations

from typing import Any

from nvitop.api import libnvml
from nvitop.compat.pynvml_smi import fields as _fields
from nvitop.compat.pynvml_smi.fields import NVSMI_BRAND_NAMES, NVSMI_QUERY_GPU
from nvitop.compat.pynvml_smi.smi import LoopAsync, nvidia_smi

_NUMBERS = {name: value for name, value in vars(_fields).items() if name.startswith('NVSMI_')}
globals().update(_NUMBERS)

__all__ = ['NVSMI_BRAND_NAMES', 'NVSMI_QUERY_GPU', 'LoopAsync', 'nvidia_smi']
__all__ += sorted(_NUMBERS.keys() - set(__all__))
__all__ += sorted(set(libnvml.__all__) - set(__all__))


def __getattr__(name: str) -> Any:
    """Look up all other names in :mod:`nvitop.libnvml`."""
    return getattr(libnvml, name)
