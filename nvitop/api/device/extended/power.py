# SPDX-License-Identifier: Apache-2.0
"""Power over other time spans and of the whole module, and the temperature margin."""

from __future__ import annotations

from nvitop.api.device.base import DeviceBase
from nvitop.api.utils import NA, NaType

# Numbers of NVML_FI_DEV_POWER_….
_FIELD_POWER_AVERAGE, _FIELD_POWER_INSTANT = 185, 186
_FIELD_POWER_MIN_LIMIT, _FIELD_POWER_MAX_LIMIT, _FIELD_POWER_DEFAULT_LIMIT = 187, 188, 189
_FIELD_POWER_CURRENT_LIMIT, _FIELD_POWER_REQUESTED_LIMIT = 190, 192
_SCOPE_GPU, _SCOPE_MODULE = 0, 1


class ExtendedPowerMixin(DeviceBase):
    """Power in mW. A module is a GPU with its CPU (Grace); its values are ``NA`` on other boards."""

    def temperature_margin(self) -> int | NaType:
        """Temperature difference to the slowdown threshold in °C, negative above it; ``NA`` before R555.

        NVML: ``nvmlDeviceGetMarginTemperature`` · nvidia-smi: ``temperature.gpu.tlimit``
        """
        margin = self._query('nvmlDeviceGetMarginTemperature')
        return margin if isinstance(margin, int) and abs(margin) < 1000 else NA

    def power_management(self) -> str:
        """Whether a power limit can be set: ``'Enabled'`` or ``'Disabled'``.

        NVML: ``nvmlDeviceGetPowerManagementMode`` · nvidia-smi: ``power.management``
        """
        return self._word('nvmlDeviceGetPowerManagementMode')

    def average_power_usage(self) -> int | NaType:
        """Power draw averaged over 1 s, in mW; ``NA`` before R525 and before Ampere.

        NVML: ``NVML_FI_DEV_POWER_AVERAGE`` · nvidia-smi: ``power.draw.average``
        """
        return self._field(_FIELD_POWER_AVERAGE, _SCOPE_GPU)

    def instant_power_usage(self) -> int | NaType:
        """Instantaneous power draw in mW; ``NA`` before R525.

        NVML: ``NVML_FI_DEV_POWER_INSTANT`` · nvidia-smi: ``power.draw.instant``
        """
        return self._field(_FIELD_POWER_INSTANT, _SCOPE_GPU)

    def module_average_power_usage(self) -> int | NaType:
        """Power draw of the module averaged over 1 s, in mW.

        NVML: ``NVML_FI_DEV_POWER_AVERAGE`` · nvidia-smi: ``module.power.draw.average``
        """
        return self._field(_FIELD_POWER_AVERAGE, _SCOPE_MODULE)

    def module_instant_power_usage(self) -> int | NaType:
        """Instantaneous power draw of the module in mW.

        NVML: ``NVML_FI_DEV_POWER_INSTANT`` · nvidia-smi: ``module.power.draw.instant``
        """
        return self._field(_FIELD_POWER_INSTANT, _SCOPE_MODULE)

    def module_power_limit(self) -> int | NaType:
        """Requested power limit of the module in mW.

        NVML: ``NVML_FI_DEV_POWER_REQUESTED_LIMIT`` · nvidia-smi: ``module.power.limit``
        """
        return self._field(_FIELD_POWER_REQUESTED_LIMIT, _SCOPE_MODULE)

    def module_enforced_power_limit(self) -> int | NaType:
        """Power limit of the module in effect, in mW.

        NVML: ``NVML_FI_DEV_POWER_CURRENT_LIMIT`` · nvidia-smi: ``module.enforced.power.limit``
        """
        return self._field(_FIELD_POWER_CURRENT_LIMIT, _SCOPE_MODULE)

    def module_default_power_limit(self) -> int | NaType:
        """Default power limit of the module in mW.

        NVML: ``NVML_FI_DEV_POWER_DEFAULT_LIMIT`` · nvidia-smi: ``module.power.default_limit``
        """
        return self._field(_FIELD_POWER_DEFAULT_LIMIT, _SCOPE_MODULE)

    def module_min_power_limit(self) -> int | NaType:
        """Minimum power limit of the module that can be set, in mW.

        NVML: ``NVML_FI_DEV_POWER_MIN_LIMIT`` · nvidia-smi: ``module.power.min_limit``
        """
        return self._field(_FIELD_POWER_MIN_LIMIT, _SCOPE_MODULE)

    def module_max_power_limit(self) -> int | NaType:
        """Maximum power limit of the module that can be set, in mW.

        NVML: ``NVML_FI_DEV_POWER_MAX_LIMIT`` · nvidia-smi: ``module.power.max_limit``
        """
        return self._field(_FIELD_POWER_MAX_LIMIT, _SCOPE_MODULE)
