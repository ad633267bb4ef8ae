# SPDX-License-Identifier: Apache-2.0
"""PCI identifiers of a board, and the contents of its inforom."""

from __future__ import annotations

from nvitop.api.device.base import DeviceBase
from nvitop.api.libnvml import NVMLError
from nvitop.api.libnvml._errors import CORRUPTED_INFOROM
from nvitop.api.utils import NA, NaType

_OEM, _ECC, _POWER = range(3)


class PciMixin(DeviceBase):
    """Identifiers in hexadecimal, and versions. All values are queried once."""

    def _pci_number(self, name: str) -> str:
        number = getattr(self._query('nvmlDeviceGetPciInfo', static=True), name, NA)
        return f'0x{number:08X}' if isinstance(number, int) and number else NA

    def pci_device_id(self) -> str:
        """PCI device and vendor ID, such as ``'0x233010DE'``.

        NVML: ``nvmlDeviceGetPciInfo`` · nvidia-smi: ``pci.device_id``
        """
        return self._pci_number('pciDeviceId')

    def pci_subsystem_id(self) -> str:
        """PCI subsystem device and vendor ID, such as ``'0x16C110DE'``.

        NVML: ``nvmlDeviceGetPciInfo`` · nvidia-smi: ``pci.sub_device_id``
        """
        return self._pci_number('pciSubSystemId')

    def _pci_class(self, name: str) -> str:
        from nvitop.api.libnvml._extended_structures import read_pci_info_ext

        number = getattr(self._query(read_pci_info_ext, static=True), name, NA)
        return f'0x{number:X}' if isinstance(number, int) else NA

    def pci_base_class(self) -> str:
        """PCI base class: ``'0x3'`` for a display controller; ``NA`` before R530.

        NVML: ``nvmlDeviceGetPciInfoExt`` · nvidia-smi: ``pci.baseClass``
        """
        return self._pci_class('baseClass')

    def pci_subclass(self) -> str:
        """PCI subclass: ``'0x2'`` for a controller without display outputs; ``NA`` before R530.

        NVML: ``nvmlDeviceGetPciInfoExt`` · nvidia-smi: ``pci.subClass``
        """
        return self._pci_class('subClass')

    def gpu_max_pcie_link_generation(self) -> int | NaType:
        """Maximum PCIe generation of the GPU, regardless of the system; ``NA`` before R510.

        NVML: ``nvmlDeviceGetGpuMaxPcieLinkGeneration`` · nvidia-smi: ``pcie.link.gen.gpumax``
        """
        return self._number('nvmlDeviceGetGpuMaxPcieLinkGeneration', static=True)

    def host_max_pcie_link_generation(self) -> int | NaType:
        """Maximum PCIe generation of the system, if the system limits the link; otherwise ``NA``.

        NVML reports only the generation that both GPU and system support.

        NVML: ``nvmlDeviceGetMaxPcieLinkGeneration`` · nvidia-smi: ``pcie.link.gen.hostmax``
        """
        both = self._number('nvmlDeviceGetMaxPcieLinkGeneration', static=True)
        gpu = self.gpu_max_pcie_link_generation()
        return both if isinstance(both, int) and isinstance(gpu, int) and both < gpu else NA

    def inforom_image_version(self) -> str:
        """Version of the inforom, the configuration memory of the board: ``'G520.0200.00.05'``.

        NVML: ``nvmlDeviceGetInforomImageVersion`` · nvidia-smi: ``inforom.img``
        """
        return self._text('nvmlDeviceGetInforomImageVersion')

    def _inforom_version(self, part: int) -> str:
        version = self._text('nvmlDeviceGetInforomVersion', part)
        return version if version != 'N/A' else NA

    def inforom_oem_version(self) -> str:
        """Version of the inforom object with OEM data.

        NVML: ``nvmlDeviceGetInforomVersion`` · nvidia-smi: ``inforom.oem``
        """
        return self._inforom_version(_OEM)

    def inforom_ecc_version(self) -> str:
        """Version of the inforom object with ECC data; ``NA`` without ECC memory.

        NVML: ``nvmlDeviceGetInforomVersion`` · nvidia-smi: ``inforom.ecc``
        """
        return self._inforom_version(_ECC)

    def inforom_power_version(self) -> str:
        """Version of the inforom object with power management data.

        NVML: ``nvmlDeviceGetInforomVersion`` · nvidia-smi: ``inforom.pwr``
        """
        return self._inforom_version(_POWER)

    def inforom_checksum_validation(self) -> str:
        """Whether the inforom is intact: ``'valid'`` or ``'invalid'``. Checked at each call.

        NVML: ``nvmlDeviceValidateInforom`` · nvidia-smi: ``inforom.checksum_validation``
        """
        answer, error = self._answer('nvmlDeviceValidateInforom')
        if isinstance(error, NVMLError):
            return 'invalid' if error.value == CORRUPTED_INFOROM else NA
        return 'valid' if answer is not NA else NA
