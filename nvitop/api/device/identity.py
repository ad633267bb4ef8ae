# SPDX-License-Identifier: Apache-2.0
"""What a device is: names, numbers on the board, architecture. None of it ever changes."""

from __future__ import annotations

from nvitop.api.device.base import DeviceBase
from nvitop.api.utils import NA, NaType

_ARCHITECTURES = {
    2: 'Kepler',
    3: 'Maxwell',
    4: 'Pascal',
    5: 'Volta',
    6: 'Turing',
    7: 'Ampere',
    8: 'Ada',
    9: 'Hopper',
    10: 'Blackwell',
    13: 'Rubin',
}
#: NVML's number of a product brand → its name.
BRANDS = {
    1: 'Quadro',
    2: 'Tesla',
    3: 'NVS',
    4: 'Grid',
    5: 'GeForce',
    6: 'Titan',
    7: 'NVIDIA Virtual Applications',
    8: 'NVIDIA Virtual PC',
    9: 'NVIDIA Virtual Compute Server',
    10: 'NVIDIA RTX Virtual Workstation',
    11: 'NVIDIA Cloud Gaming',
    12: 'Quadro RTX',
    13: 'NVIDIA RTX',
    14: 'NVIDIA',
    15: 'GeForce RTX',
    16: 'Titan RTX',
    18: 'NVIDIA RTX Virtual Game Development',
}
_LOST_NAMES = {'NVMLError_GpuIsLost': 'ERROR: GPU is Lost', 'NVMLError_Unknown': 'ERROR: Unknown'}


class IdentityMixin(DeviceBase):
    """What a device is. All of it is asked once."""

    def name(self) -> str:
        """Product name: ``'NVIDIA H100 80GB HBM3'``.

        A GPU that is lost when its device is made is called ``'ERROR: GPU is Lost'`` or
        ``'ERROR: Unknown'``.

        NVML: ``nvmlDeviceGetName`` · nvidia-smi: ``name``
        """
        if self._loss is not None:
            return _LOST_NAMES.get(type(self._loss).__name__, f'ERROR: {self._loss}')
        return self._text_fact('nvmlDeviceGetName')

    def uuid(self) -> str:
        """Globally unique identifier, which stays with the board: ``'GPU-…'``, ``'MIG-…'``.

        NVML: ``nvmlDeviceGetUUID`` · nvidia-smi: ``uuid``
        """
        return self._text_fact('nvmlDeviceGetUUID')

    def bus_id(self) -> str:
        """PCI bus id, ``domain:bus:device.function`` in hexadecimal: ``'00000000:1B:00.0'``.

        A MIG device has that of its GPU. NVML: ``nvmlDeviceGetPciInfo`` · nvidia-smi: ``pci.bus_id``
        """
        bus_id = getattr(self._fact('nvmlDeviceGetPciInfo'), 'busId', NA)
        if isinstance(bus_id, bytes):
            bus_id = bus_id.decode('utf-8', 'replace')
        return str(bus_id) or NA if bus_id is not NA else NA

    def serial(self) -> str:
        """Serial number printed on the board; ``NA`` for boards without one (GeForce).

        NVML: ``nvmlDeviceGetSerial`` · nvidia-smi: ``serial``
        """
        return self._text_fact('nvmlDeviceGetSerial')

    def vbios_version(self) -> str:
        """Version of the video BIOS. NVML: ``nvmlDeviceGetVbiosVersion`` · nvidia-smi: ``vbios_version``."""
        return self._text_fact('nvmlDeviceGetVbiosVersion')

    def board_part_number(self) -> str:
        """Part number of the board; ``NA`` for boards without one (GeForce).

        NVML: ``nvmlDeviceGetBoardPartNumber`` · nvidia-smi -q: GPU Part Number
        """
        return self._text_fact('nvmlDeviceGetBoardPartNumber')

    def numa_node(self) -> int | NaType:
        """NUMA node that holds the memory of the GPU (Grace Hopper and the like), else ``NA``.

        NVML: ``nvmlDeviceGetNumaNodeId`` · nvidia-smi topo -m: GPU NUMA ID
        """
        return self._int_fact('nvmlDeviceGetNumaNodeId')

    def cuda_compute_capability(self) -> tuple[int, int] | NaType:
        """CUDA compute capability, (major, minor): ``(9, 0)``.

        NVML: ``nvmlDeviceGetCudaComputeCapability`` · nvidia-smi: ``compute_cap``
        """
        answer = self._fact('nvmlDeviceGetCudaComputeCapability')
        return (int(answer[0]), int(answer[1])) if answer is not NA else NA

    def architecture(self) -> str:
        """Architecture: ``'Hopper'``; ``NA`` for one that has no name here yet.

        NVML: ``nvmlDeviceGetArchitecture`` · nvidia-smi -q: Product Architecture
        """
        return _ARCHITECTURES.get(self._fact('nvmlDeviceGetArchitecture'), NA)

    def brand(self) -> str:
        """Product brand: ``'GeForce'``; ``NA`` for one that has no name here yet.

        NVML: ``nvmlDeviceGetBrand`` · nvidia-smi -q: Product Brand
        """
        return BRANDS.get(self._fact('nvmlDeviceGetBrand'), NA)
