# SPDX-License-Identifier: Apache-2.0
"""NVLink fabric of a rack, and the position of a GPU in its chassis."""

from __future__ import annotations

from typing import Any

from nvitop.api.device.base import DeviceBase
from nvitop.api.libnvml import NVMLError
from nvitop.api.libnvml._extended_structures import read_fabric_info, read_platform_info
from nvitop.api.utils import NA, NaType

_FABRIC_STATES = {0: 'Not Supported', 1: 'Not Started', 2: 'In Progress', 3: 'Completed'}
_COMPLETED = 3
#: Positions of two-bit values in the fabric's health mask: 0 unknown, 1 true, 2 false.
_BANDWIDTH, _ROUTE_RECOVERY, _ROUTE_UNHEALTHY, _TIMEOUT_RECOVERY = 0, 2, 4, 6
_FLAGS = {1: 'True', 2: 'False'}
_PEER_TYPES = {0: 'Direct Connected', 1: 'Switch Connected'}


class FabricMixin(DeviceBase):
    """Fabric and platform; ``NA`` for GPUs that are part of neither, and before R535."""

    def _fabric(self) -> Any:
        return self._query(read_fabric_info)

    def fabric_state(self) -> str:
        """Progress of joining the fabric: ``'Not Started'``, ``'In Progress'`` or ``'Completed'``.

        NVML: ``nvmlDeviceGetGpuFabricInfoV`` · nvidia-smi: ``fabric.state``
        """
        return _FABRIC_STATES.get(getattr(self._fabric(), 'state', -1), NA)

    def fabric_status(self) -> str:
        """Result of joining the fabric: ``'Success'`` or an error; ``NA`` until it is completed.

        NVML: ``nvmlDeviceGetGpuFabricInfoV`` · nvidia-smi: ``fabric.status``
        """
        info = self._fabric()
        if getattr(info, 'state', 0) != _COMPLETED:
            return NA
        return str(NVMLError(info.status)) if info.status else 'Success'

    def fabric_clique_id(self) -> int | NaType:
        """ID of the clique: GPUs of the same cluster and clique reach each other over NVLink.

        NVML: ``nvmlDeviceGetGpuFabricInfoV`` · nvidia-smi: ``fabric.cliqueId``
        """
        info = self._fabric()
        return int(info.cliqueId) if getattr(info, 'state', 0) == _COMPLETED else NA

    def fabric_cluster_uuid(self) -> str:
        """UUID of the cluster; all zeros within one machine.

        NVML: ``nvmlDeviceGetGpuFabricInfoV`` · nvidia-smi: ``fabric.clusterUuid``
        """
        info = self._fabric()
        if getattr(info, 'state', 0) != _COMPLETED:
            return NA
        digits = bytes(info.clusterUuid).hex()
        return '-'.join(digits[a:b] for a, b in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32)))

    def _fabric_health(self, position: int) -> int:
        mask: int = getattr(self._fabric(), 'healthMask', 0)
        return mask >> position & 3

    def fabric_bandwidth(self) -> str:
        """Bandwidth of the fabric: ``'Full'`` or ``'Degraded'``.

        NVML: ``nvmlDeviceGetGpuFabricInfoV`` · nvidia-smi: ``fabric.health.bandwidth``
        """
        return {1: 'Degraded', 2: 'Full'}.get(self._fabric_health(_BANDWIDTH), NA)

    def fabric_route_recovery(self) -> str:
        """Whether routes of the fabric are being recovered: ``'True'`` or ``'False'``.

        NVML: ``nvmlDeviceGetGpuFabricInfoV``
        · nvidia-smi: ``fabric.health.route_recovery_in_progress``
        """
        return _FLAGS.get(self._fabric_health(_ROUTE_RECOVERY), NA)

    def fabric_route_unhealthy(self) -> str:
        """Whether routes of the fabric have failed: ``'True'`` or ``'False'``.

        NVML: ``nvmlDeviceGetGpuFabricInfoV`` · nvidia-smi: ``fabric.health.route_unhealthy``
        """
        return _FLAGS.get(self._fabric_health(_ROUTE_UNHEALTHY), NA)

    def fabric_access_timeout_recovery(self) -> str:
        """Whether the GPU is recovering from an access timeout: ``'True'`` or ``'False'``.

        NVML: ``nvmlDeviceGetGpuFabricInfoV``
        · nvidia-smi: ``fabric.health.access_timeout_recovery``
        """
        return _FLAGS.get(self._fabric_health(_TIMEOUT_RECOVERY), NA)

    def _platform(self, name: str) -> Any:
        return getattr(self._query(read_platform_info), name, NA)

    def _platform_number(self, name: str) -> int | NaType:
        return self._in_range(self._platform(name), 254)

    def chassis_serial_number(self) -> str:
        """Serial number of the chassis.

        NVML: ``nvmlDeviceGetPlatformInfo`` · nvidia-smi: ``platform.chassis_serial_number``
        """
        text = self._platform('chassisSerialNumber')
        return text.decode('utf-8', 'replace').strip() or NA if isinstance(text, bytes) else NA

    def slot_number(self) -> int | NaType:
        """Slot number in the chassis.

        NVML: ``nvmlDeviceGetPlatformInfo`` · nvidia-smi: ``platform.slot_number``
        """
        return self._platform_number('slotNumber')

    def tray_index(self) -> int | NaType:
        """Index of the compute tray in the chassis.

        NVML: ``nvmlDeviceGetPlatformInfo`` · nvidia-smi: ``platform.tray_index``
        """
        return self._platform_number('trayIndex')

    def host_id(self) -> int | NaType:
        """Number of the host in its tray.

        NVML: ``nvmlDeviceGetPlatformInfo`` · nvidia-smi: ``platform.host_id``
        """
        return self._platform_number('hostId')

    def peer_type(self) -> str:
        """Connection to peer GPUs: ``'Direct Connected'`` or ``'Switch Connected'``.

        NVML: ``nvmlDeviceGetPlatformInfo`` · nvidia-smi: ``platform.peer_type``
        """
        return _PEER_TYPES.get(self._platform('peerType'), NA)

    def platform_module_id(self) -> int | NaType:
        """Number of the module that contains the GPU.

        NVML: ``nvmlDeviceGetPlatformInfo`` · nvidia-smi: ``platform.module_id``
        """
        return self._platform_number('moduleId')

    def gpu_fabric_guid(self) -> str:
        """Globally unique number of the GPU in its fabric, in hexadecimal: ``'0x38c0ffee…'``.

        NVML: ``nvmlDeviceGetPlatformInfo`` · nvidia-smi: ``platform.gpu_fabric_guid``
        """
        guid = self._platform('ibGuid')
        digits = '' if guid is NA else bytes(guid)[:8].hex()
        return f'0x{digits}' if digits.strip('0') else NA
