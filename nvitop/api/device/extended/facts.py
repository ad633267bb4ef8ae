# SPDX-License-Identifier: Apache-2.0
"""What the subjects of extended facts stand on."""

from __future__ import annotations

from nvitop.api.device.base import OPTIONAL_FUNCTIONS, DeviceBase
from nvitop.api.libnvml._extended_structures import READERS
from nvitop.api.utils import NaType

# Nobody is warned of a driver without these.
OPTIONAL_FUNCTIONS.update(
    f'nvmlDeviceGet{name}'
    for name in (
        'AccountingBufferSize',
        'AccountingMode',
        'AddressingMode',
        'ApplicationsClock',
        'C2cModeInfoV',
        'ConfComputeProtectedMemoryUsage',
        'DefaultApplicationsClock',
        'DramEncryptionMode',
        'GpuFabricInfoV',
        'GpuMaxPcieLinkGeneration',
        'GpuOperationMode',
        'MarginTemperature',
        'PciInfoExt',
        'PlatformInfo',
        'RetiredPagesPendingStatus',
        'RowRemapperHistogram',
        'SramEccErrorStatus',
        'SupportedClocksEventReasons',
        'SupportedClocksThrottleReasons',
        'VgpuCapabilities',
    )
)
OPTIONAL_FUNCTIONS.update(READERS)


class ExtendedValues(DeviceBase):
    """Ways to ask that several subjects need."""

    def _field(self, field: int, scope: int = 0) -> int | NaType:
        """The value of a field (``NVML_FI_DEV_…``), read now."""
        return self._in_range(self._read_fields([(field, scope)])[0][0])
