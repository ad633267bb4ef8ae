# SPDX-License-Identifier: Apache-2.0
"""Power over other times and of more than the board, and how much hotter it may become."""

from __future__ import annotations

from nvitop.api.device.extended.facts import ExtendedValues
from nvitop.api.utils import NA, NaType

# Numbers of NVML_FI_DEV_POWER_…
_FIELD_POWER_AVERAGE, _FIELD_POWER_INSTANT = 185, 186
_FIELD_POWER_MIN_LIMIT, _FIELD_POWER_MAX_LIMIT, _FIELD_POWER_DEFAULT_LIMIT = 187, 188, 189
_FIELD_POWER_CURRENT_LIMIT, _FIELD_POWER_REQUESTED_LIMIT = 190, 192
_SCOPE_GPU, _SCOPE_MODULE = 0, 1


class PowerFacts(ExtendedValues):
    """Power in mW. That of modules is ``NA`` but where CPU and GPU are one (Grace)."""

    def temperature_margin(self) -> int | NaType:
        """How many °C are left until the clocks are lowered, negative above; ``NA`` before R555.

        NVML: ``nvmlDeviceGetMarginTemperature`` · nvidia-smi: ``temperature.gpu.tlimit``
        """
        margin = self._query('nvmlDeviceGetMarginTemperature')
        return margin if isinstance(margin, int) and abs(margin) < 1000 else NA

    def power_management(self) -> str:
        """Whether there is a power limit that can be set: ``'Enabled'`` or ``'Disabled'``.

        NVML: ``nvmlDeviceGetPowerManagementMode`` · nvidia-smi: ``power.management``
        """
        return self._word('nvmlDeviceGetPowerManagementMode')

    def average_power_usage(self) -> int | NaType:
        """Power in mW, averaged over a second; ``NA`` before R525 and Ampere.

        NVML: ``NVML_FI_DEV_POWER_AVERAGE`` · nvidia-smi: ``power.draw.average``
        """
        return self._field(_FIELD_POWER_AVERAGE, _SCOPE_GPU)

    def instant_power_usage(self) -> int | NaType:
        """Power in mW at this moment; ``NA`` before R525.

        NVML: ``NVML_FI_DEV_POWER_INSTANT`` · nvidia-smi: ``power.draw.instant``
        """
        return self._field(_FIELD_POWER_INSTANT, _SCOPE_GPU)

    def module_average_power_usage(self) -> int | NaType:
        """Power in mW of the module of GPU and CPU (Grace), averaged over a second.

        NVML: ``NVML_FI_DEV_POWER_AVERAGE`` · nvidia-smi: ``module.power.draw.average``
        """
        return self._field(_FIELD_POWER_AVERAGE, _SCOPE_MODULE)

    def module_instant_power_usage(self) -> int | NaType:
        """Power in mW of the module of GPU and CPU (Grace) at this moment.

        NVML: ``NVML_FI_DEV_POWER_INSTANT`` · nvidia-smi: ``module.power.draw.instant``
        """
        return self._field(_FIELD_POWER_INSTANT, _SCOPE_MODULE)

    def module_power_limit(self) -> int | NaType:
        """Power limit in mW of the module that was asked for.

        NVML: ``NVML_FI_DEV_POWER_REQUESTED_LIMIT`` · nvidia-smi: ``module.power.limit``
        """
        return self._field(_FIELD_POWER_REQUESTED_LIMIT, _SCOPE_MODULE)

    def module_enforced_power_limit(self) -> int | NaType:
        """Power limit in mW of the module in force.

        NVML: ``NVML_FI_DEV_POWER_CURRENT_LIMIT`` · nvidia-smi: ``module.enforced.power.limit``
        """
        return self._field(_FIELD_POWER_CURRENT_LIMIT, _SCOPE_MODULE)

    def module_default_power_limit(self) -> int | NaType:
        """Power limit in mW of the module after the driver was loaded.

        NVML: ``NVML_FI_DEV_POWER_DEFAULT_LIMIT`` · nvidia-smi: ``module.power.default_limit``
        """
        return self._field(_FIELD_POWER_DEFAULT_LIMIT, _SCOPE_MODULE)

    def module_min_power_limit(self) -> int | NaType:
        """Lowest power limit in mW of the module that can be set.

        NVML: ``NVML_FI_DEV_POWER_MIN_LIMIT`` · nvidia-smi: ``module.power.min_limit``
        """
        return self._field(_FIELD_POWER_MIN_LIMIT, _SCOPE_MODULE)

    def module_max_power_limit(self) -> int | NaType:
        """Highest power limit in mW of the module that can be set.

        NVML: ``NVML_FI_DEV_POWER_MAX_LIMIT`` · nvidia-smi: ``module.power.max_limit``
        """
        return self._field(_FIELD_POWER_MAX_LIMIT, _SCOPE_MODULE)
