# SPDX-License-Identifier: Apache-2.0
"""What a board is on the PCI bus, and what its inforom says of itself."""

from __future__ import annotations

from nvitop.api.device.extended.facts import ExtendedValues
from nvitop.api.libnvml._errors import CORRUPTED_INFOROM
from nvitop.api.libnvml._extended_structures import read_pci_info_ext
from nvitop.api.utils import NA, NaType

_OEM, _ECC, _POWER = range(3)


class PciFacts(ExtendedValues):
    """Numbers of the board, as text in hexadecimal, and versions. All of it is asked once."""

    def _pci_number(self, name: str) -> str:
        number = getattr(self._fact('nvmlDeviceGetPciInfo'), name, NA)
        return f'0x{number:08X}' if isinstance(number, int) and number else NA

    def pci_device_id(self) -> str:
        """PCI device id and vendor id: ``'0x233010DE'``.

        NVML: ``nvmlDeviceGetPciInfo`` · nvidia-smi: ``pci.device_id``
        """
        return self._pci_number('pciDeviceId')

    def pci_subsystem_id(self) -> str:
        """PCI subsystem id and vendor id: ``'0x16C110DE'``.

        NVML: ``nvmlDeviceGetPciInfo`` · nvidia-smi: ``pci.sub_device_id``
        """
        return self._pci_number('pciSubSystemId')

    def _pci_class(self, name: str) -> str:
        number = getattr(self._fact(read_pci_info_ext), name, NA)
        return f'0x{number:X}' if isinstance(number, int) else NA

    def pci_base_class(self) -> str:
        """PCI base class, ``'0x3'`` for a display controller; ``NA`` before R530.

        NVML: ``nvmlDeviceGetPciInfoExt`` · nvidia-smi: ``pci.baseClass``
        """
        return self._pci_class('baseClass')

    def pci_subclass(self) -> str:
        """PCI subclass, ``'0x2'`` for one without display outputs; ``NA`` before R530.

        NVML: ``nvmlDeviceGetPciInfoExt`` · nvidia-smi: ``pci.subClass``
        """
        return self._pci_class('subClass')

    def gpu_max_pcie_link_generation(self) -> int | NaType:
        """Highest PCIe generation of the GPU, whatever the system has; ``NA`` before R510.

        NVML: ``nvmlDeviceGetGpuMaxPcieLinkGeneration`` · nvidia-smi: ``pcie.link.gen.gpumax``
        """
        return self._int_fact('nvmlDeviceGetGpuMaxPcieLinkGeneration')

    def host_max_pcie_link_generation(self) -> int | NaType:
        """Highest PCIe generation of the system, where it is the system that limits the link.

        ``NA`` elsewhere: NVML tells only what both can.

        NVML: ``nvmlDeviceGetMaxPcieLinkGeneration`` · nvidia-smi: ``pcie.link.gen.hostmax``
        """
        both = self._int_fact('nvmlDeviceGetMaxPcieLinkGeneration')
        gpu = self.gpu_max_pcie_link_generation()
        return both if isinstance(both, int) and isinstance(gpu, int) and both < gpu else NA

    def inforom_image_version(self) -> str:
        """Version of the inforom, the board's own memory of itself: ``'G520.0200.00.05'``.

        NVML: ``nvmlDeviceGetInforomImageVersion`` · nvidia-smi: ``inforom.img``
        """
        return self._text_fact('nvmlDeviceGetInforomImageVersion')

    def _inforom_version(self, part: int) -> str:
        answer = self._fact('nvmlDeviceGetInforomVersion', part)
        return answer if isinstance(answer, str) and answer not in ('', 'N/A') else NA

    def inforom_oem_version(self) -> str:
        """Version of the inforom's object for OEM data.

        NVML: ``nvmlDeviceGetInforomVersion`` · nvidia-smi: ``inforom.oem``
        """
        return self._inforom_version(_OEM)

    def inforom_ecc_version(self) -> str:
        """Version of the inforom's object for ECC data; ``NA`` without ECC memory.

        NVML: ``nvmlDeviceGetInforomVersion`` · nvidia-smi: ``inforom.ecc``
        """
        return self._inforom_version(_ECC)

    def inforom_power_version(self) -> str:
        """Version of the inforom's object for power management.

        NVML: ``nvmlDeviceGetInforomVersion`` · nvidia-smi: ``inforom.pwr``
        """
        return self._inforom_version(_POWER)

    def inforom_checksum_validation(self) -> str:
        """Whether the inforom is intact, read and checked now: ``'valid'`` or ``'invalid'``.

        NVML: ``nvmlDeviceValidateInforom`` · nvidia-smi: ``inforom.checksum_validation``
        """
        answer, error = self._ask_once('nvmlDeviceValidateInforom')
        if error is not None:
            return 'invalid' if error.value == CORRUPTED_INFOROM else NA
        return 'valid' if answer is not NA else NA
