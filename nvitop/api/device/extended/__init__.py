# SPDX-License-Identifier: Apache-2.0
"""Facts of devices that are seldom asked for: loaded, and joined to ``Device``, at the first question.

What the monitor, reports and snapshots show is in the files above this one; what is here costs
nothing until somebody asks for it.
"""

from __future__ import annotations

from nvitop.api.device.extended.account import AccountFacts
from nvitop.api.device.extended.clock import ClockFacts
from nvitop.api.device.extended.ecc import EccFacts
from nvitop.api.device.extended.encoder import EncoderFacts
from nvitop.api.device.extended.fabric import FabricFacts
from nvitop.api.device.extended.health import HealthFacts
from nvitop.api.device.extended.memory import MemoryFacts
from nvitop.api.device.extended.mode import ModeFacts
from nvitop.api.device.extended.pci import PciFacts
from nvitop.api.device.extended.power import PowerFacts
from nvitop.api.device.extended.vgpu import VgpuFacts


class ExtendedMixin(
    AccountFacts,
    ClockFacts,
    EccFacts,
    EncoderFacts,
    FabricFacts,
    HealthFacts,
    MemoryFacts,
    ModeFacts,
    PciFacts,
    PowerFacts,
    VgpuFacts,
):
    """All of them: what :class:`nvitop.Device` is, for checkers of types."""
