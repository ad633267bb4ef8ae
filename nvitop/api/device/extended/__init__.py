# SPDX-License-Identifier: Apache-2.0
"""Values that few programs query: the monitor, reports and snapshots show none of them."""

from __future__ import annotations

from nvitop.api.device.extended.account import AccountMixin
from nvitop.api.device.extended.clock import ExtendedClockMixin
from nvitop.api.device.extended.ecc import EccMixin
from nvitop.api.device.extended.encoder import EncoderMixin
from nvitop.api.device.extended.fabric import FabricMixin
from nvitop.api.device.extended.health import ExtendedHealthMixin
from nvitop.api.device.extended.memory import ExtendedMemoryMixin
from nvitop.api.device.extended.mode import ExtendedModeMixin
from nvitop.api.device.extended.pci import PciMixin
from nvitop.api.device.extended.power import ExtendedPowerMixin
from nvitop.api.device.extended.vgpu import VgpuMixin


class ExtendedMixin(
    AccountMixin,
    ExtendedClockMixin,
    EccMixin,
    EncoderMixin,
    FabricMixin,
    ExtendedHealthMixin,
    ExtendedMemoryMixin,
    ExtendedModeMixin,
    PciMixin,
    ExtendedPowerMixin,
    VgpuMixin,
):
    """All extended values."""
