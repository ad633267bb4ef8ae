# SPDX-License-Identifier: Apache-2.0
"""Names and texts of ``nvidia-smi --query-…`` that do not follow from the metrics. Pure data.

The names are those of the drivers R590 to R610.
"""

from __future__ import annotations

#: Further names of fields of GPUs → their names in CSV headers.
DEVICE_ALIASES = {
    'gpu_name': 'name',
    'gpu_serial': 'serial',
    'gpu_uuid': 'uuid',
    'gpu_bus_id': 'pci.bus_id',
    'clocks.gr': 'clocks.current.graphics',
    'clocks.sm': 'clocks.current.sm',
    'clocks.mem': 'clocks.current.memory',
    'clocks.video': 'clocks.current.video',
    'clocks.max.gr': 'clocks.max.graphics',
    'clocks.max.mem': 'clocks.max.memory',
    'clocks_throttle_reasons.active': 'clocks_event_reasons.active',
    'clocks.applications.gr': 'clocks.applications.graphics',
    'clocks.applications.mem': 'clocks.applications.memory',
    'clocks.default_applications.gr': 'clocks.default_applications.graphics',
    'clocks.default_applications.mem': 'clocks.default_applications.memory',
    'clocks_throttle_reasons.supported': 'clocks_event_reasons.supported',
    'ecc.errors.uncorrected.aggregate.sram.microcontroller': (
        'ecc.errors.uncorrected.aggregate.sram.mcu'
    ),
    'gpu.power.current_limit': 'enforced.power.limit',
    'gpu.power.default_limit': 'power.default_limit',
    'gpu.power.draw.average': 'power.draw.average',
    'gpu.power.draw.instant': 'power.draw.instant',
    'gpu.power.max_limit': 'power.max_limit',
    'gpu.power.min_limit': 'power.min_limit',
    'gpu.power.requested_limit': 'power.limit',
    'gpu_operation_mode.current': 'gom.current',
    'gpu_operation_mode.pending': 'gom.pending',
    'inforom.image': 'inforom.img',
    'inforom.power': 'inforom.pwr',
    'module.power.current_limit': 'module.enforced.power.limit',
    'module.power.requested_limit': 'module.power.limit',
    'remapped_rows.dbe': 'remapped_rows.uncorrectable',
    'remapped_rows.sbe': 'remapped_rows.correctable',
    'retired_pages.dbe': 'retired_pages.double_bit.count',
    'retired_pages.sbe': 'retired_pages.single_bit_ecc.count',
}
PROCESS_ALIASES = {'used_memory': 'used_gpu_memory', 'username': 'user'}
#: In ``nvidia-smi --query-compute-apps``, this name has another meaning.
COMPUTE_APPS_ALIASES = {**PROCESS_ALIASES, 'name': 'process_name'}

_PROFILE = (
    ('percent_tmp_floor', '%'),
    ('primary_floor_act_offset', 'W'),
    ('primary_floor_act_window_multiplier', ''),
    ('primary_floor_tar_window_multiplier', ''),
    ('ramp_down_hysteresis', 'ms'),
    ('ramp_down_rate', 'W/s'),
    ('ramp_up_rate', 'W/s'),
    ('secondary_power_floor', 'W'),
)
_POWER_SMOOTHING = (
    ('active_profile', ''),
    *((f'admin_override.{name}', unit) for name, unit in _PROFILE),
    *((f'curr_profile.{name}', unit) for name, unit in _PROFILE),
    ('delayed_power_smoothing_supported', ''),
    ('enabled', ''),
    ('hw_lifetime_remaining_percent', '%'),
    ('imm_ramp_down', ''),
    ('max_percent_tmp_floor', '%'),
    ('min_percent_tmp_floor', '%'),
    ('min_primary_floor_activation_offset', 'W'),
    ('min_primary_floor_activation_point', 'W'),
    ('num_preset_profiles', ''),
    ('primary_power_floor', 'W'),
    ('priv_level', ''),
    ('secondary_power_floor', 'W'),
    ('soc_power_smoothing_enabled', ''),
    ('tmp_ceil', 'W'),
    ('tmp_floor', 'W'),
    ('window_multiplier', 'ms'),
)
#: Names that are accepted, but always N/A: name → unit in the header. NVML has no source for them,
#: or one whose values have not been seen on a real machine yet.
UNAVAILABLE = {
    'bbx.time_run': 'seconds',
    'fabric.health.partition_assigned': '',
    **{f'gpu.base.{name}': 'W' for name in ('current', 'default', 'max', 'min', 'requested')},
    **{f'power_smoothing.{name}': unit for name, unit in _POWER_SMOOTHING},
    'vgpu_device_capability.homogeneous_placements': '',
    'vgpu_device_capability.mig_timeSlicing': '',
    'vgpu_device_capability.mig_timeSlicing_mode': '',
}

NOT_AVAILABLE = '[N/A]'


def missing_text(query: str | None) -> str:
    """Text of a missing value: nvidia-smi writes a few of them without brackets."""
    name = query or ''
    return 'N/A' if name == 'temperature.memory' or name.startswith('fabric.') else NOT_AVAILABLE
