# SPDX-License-Identifier: Apache-2.0
"""A physical GPU, and the MIG devices it is split into."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvitop.api.device.device import Device

if TYPE_CHECKING:
    from nvitop.api.device.mig import MigDevice


class PhysicalDevice(Device):
    """A GPU, as nvidia-smi counts them. See :class:`Device`."""

    if TYPE_CHECKING:

        @property
        def index(self) -> int:
            """Index in NVML."""

    def mig_device(self, mig_index: int) -> MigDevice:
        """The MIG device of this index on the GPU.

        NVML: ``nvmlDeviceGetMigDeviceHandleByIndex``

        Raises:
            NVMLError: There is no such device, or the GPU is not in MIG mode.
        """
        from nvitop.api.device.mig import MigDevice

        return MigDevice((self.index, mig_index))

    def mig_devices(self) -> list[MigDevice]:
        """The MIG devices of the GPU now, in the order of their indices.

        Indices may have gaps, where instances have been destroyed.
        """
        from nvitop.api.device.mig import MigDevice

        return MigDevice.of_parent(self) if self.is_mig_mode_enabled() else []

    def is_leaf_device(self) -> bool:
        """Whether the GPU is not in MIG mode."""
        return not self.is_mig_mode_enabled()

    def to_leaf_devices(self) -> list[Device]:
        """The MIG devices of a GPU in MIG mode (perhaps none yet), otherwise the GPU itself."""
        return list(self.mig_devices()) if self.is_mig_mode_enabled() else [self]
