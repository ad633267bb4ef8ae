# SPDX-License-Identifier: Apache-2.0
"""What nvidia-smi printed on a real machine, as a scenario.

A capture holds texts by the names of ``nvidia-smi --query-gpu``; for values without such a name, by
the name of the getter. Texts that a capture does not have, or that mean "not available", are N/A in
the scenario.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Sequence

from nvitop.basics.metrics import EXTENDED_METRICS, METRICS
from nvitop.simulation.schema import CLOCK_EVENT_REASONS, GPU_KEYS_BY_NAME, ScenarioKey

#: Texts for values that are not available. nvidia-smi puts some of them in brackets.
_MISSING = re.compile(
    r'\[?(N/A|Not Supported|Not Found|Unknown Error|GPU is lost|ERR!|No Permission|'
    r'Insufficient Permissions|Requested functionality has been deprecated|'
    r'Not available in WDDM driver model|Unknown)\]?|'
)
_NUMBER = re.compile(r'-?[0-9]+(?:\.[0-9]+)?')
#: Units that the simulation refuses above: far above any hardware.
_MOST = 1e15
#: SMs of a MIG slice, by the architecture of the GPU.
_SMS_PER_SLICE = {'Ampere': 14, 'Hopper': 16}


class CapturedGpu(NamedTuple):
    """A GPU and what runs on it."""

    texts: Mapping[str, str]
    #: MIG devices: index, instance IDs, numbers of engines, sizes of memory and BAR1.
    migs: Sequence[Mapping[str, str]] = ()
    #: Processes: ``pid process_name used_memory type gpu_instance_id compute_instance_id``.
    processes: Sequence[Mapping[str, str]] = ()


class Capture(NamedTuple):
    """A machine."""

    driver_version: str
    cuda_version: str
    gpus: Sequence[CapturedGpu]


_SIZES = ('total', 'reserved', 'used', 'free')
#: Getter of a MIG device → its name in a capture.
_MIG_GETTERS = {
    **{f'memory_{name}': f'memory.{name}' for name in _SIZES},
    **{f'bar1_memory_{name}': f'bar1.{name}' for name in ('total', 'used')},
}

#: Value of a process → its name in a capture.
_PROCESS_GETTERS = {'gpu_memory': 'used_memory'}

#: A converter returns the value in the notation of a scenario file, ``None`` if it cannot.
Converter = Callable[[str], 'str | None']


def captured(values: Mapping[str, Any]) -> Capture:
    """Return the capture that ``nvitop doctor --capture`` wrote, from its values."""
    gpus = [_captured_gpu(gpu) for gpu in _tables(values, 'gpu')]
    return Capture(str(values.get('driver_version', '')), str(values.get('cuda_version', '')), gpus)


def _tables(values: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    found = values.get(name)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _captured_gpu(gpu: Mapping[str, Any]) -> CapturedGpu:
    migs = [
        {_MIG_GETTERS.get(name, name): _captured_text(mig[name]) for name in mig}
        for mig in _tables(gpu, 'mig')
    ]
    processes = [
        {_PROCESS_GETTERS.get(name, name): _captured_text(one[name]) for name in one}
        for one in _tables(gpu, 'process')
    ]
    names = {metric.name: metric.query for metric in (*METRICS, *EXTENDED_METRICS)}
    texts = {
        names.get(name) or _VIOLATION.sub(_TIMES + r'\1', name): _captured_text(value)
        for name, value in gpu.items()
    }
    return CapturedGpu(texts, migs, processes)


def _captured_text(value: object) -> str:
    text = str(value)
    return 'N/A' if text.startswith(('error ', 'N/A')) else text


def is_missing(text: str | None) -> bool:
    """Whether a text means that the value is not available."""
    return text is None or _MISSING.fullmatch(text.strip()) is not None


def _text(text: str) -> str:
    return json.dumps(text).replace('\x7f', '\\u007f')


def _number(text: str) -> str | None:
    match = _NUMBER.search(text)
    if match is None or abs(float(match[0])) > _MOST:
        return None
    value = float(match[0])
    return str(value) if value != int(value) else str(int(value))


def _amount(text: str) -> str | None:
    number = _number(text)
    return None if number is None or number.startswith('-') else number


def _pattern(pattern: str) -> Converter:
    return lambda text: _text(text) if re.fullmatch(pattern, text) else None


def _count(text: str) -> str | None:
    number = _number(text)
    return number if number is not None and number.isdecimal() else None


def _margin(text: str) -> str | None:
    number = _number(text)
    return number if number is not None and abs(float(number)) <= 250 else None


def _size(text: str) -> str | None:
    number = _count(text)
    unit = (text.split() or [''])[-1]
    return None if number is None else f'"{number} {unit if unit in ("KiB", "GiB") else "MiB"}"'


def _rate(text: str) -> str | None:
    number = _count(text)
    return None if number is None else f'"{number} KiB"'


def _hexadecimal(text: str) -> str | None:
    return str(int(text, 16)) if re.fullmatch(r'(0x)?[0-9A-Fa-f]{1,16}', text) else None


def _flag(text: str) -> str | None:
    words = {
        **dict.fromkeys(('enabled', 'yes', 'active', 'valid', 'supported'), 'true'),
        **dict.fromkeys(('disabled', 'no', 'not active', 'invalid', 'not supported'), 'false'),
    }
    return words.get(text.strip().lower())


def _convert(key: ScenarioKey, text: str) -> str | None:
    """The text in the notation of a scenario file; :data:`None` if it is something else."""
    if key.words is None:
        return (_BY_KEY.get(key.name) or _BY_KIND[key.kind])(text)
    word = text.lower().replace(' ', '-').replace('_', '-')
    word = _OTHER_WORDS.get(word, word)
    return f'"{word}"' if word in key.words else None


#: Kind of a key → converter, unless the key has its own. Words depend on the key.
_BY_KIND: Mapping[str, Converter] = {
    **dict.fromkeys(('count', '%', '°C', 'MHz'), _count),
    **dict.fromkeys(('W', 'J'), _amount),
    'text': _text,
    'flag': _flag,
    'B': _size,
    'B/s': _rate,
    'integer': _margin,
}
_BY_KEY: Mapping[str, Converter] = {
    **dict.fromkeys(
        (
            'pci_base_class', 'pci_subclass', 'pci_device_id', 'pci_subsystem_id', 'board_id',
            'supported_clock_event_reasons',
        ),
        _hexadecimal,
    ),
    'bus_id': _pattern(r'[0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]'),
    'compute_capability': _pattern(r'\d{1,2}\.\d{1,2}'),
    'edpp_multiplier': _amount,
}  # fmt: skip
#: Words of nvidia-smi that have another name in scenarios.
_OTHER_WORDS = {'tcc': 'wdm', 'ada-lovelace': 'ada'}

#: Name of nvidia-smi → key of a GPU, and the path of its element within ``<gpu>``, or several, of
#: newer drivers first. The first value that is available counts, of names with the same key too.
NAMES: Mapping[str, tuple[str, str]] = {
    'name': ('name', 'product_name'),
    'serial': ('serial', 'serial'),
    'uuid': ('uuid', 'uuid'),
    'pci.bus_id': ('bus_id', 'pci/pci_bus_id'),
    'pci.baseClass': ('pci_base_class', 'pci/pci_base_class'),
    'pci.subClass': ('pci_subclass', 'pci/pci_sub_class'),
    'pci.device_id': ('pci_device_id', 'pci/pci_device_id'),
    'pci.sub_device_id': ('pci_subsystem_id', 'pci/pci_sub_system_id'),
    'pcie.link.gen.current': ('pcie_link_generation', 'pci/pci_gpu_link_info/pcie_gen/current_link_gen'),
    'pcie.link.gen.gpucurrent': ('pcie_link_generation', 'pci/pci_gpu_link_info/pcie_gen/device_current_link_gen'),
    'pcie.link.gen.max': ('max_pcie_link_generation', 'pci/pci_gpu_link_info/pcie_gen/max_link_gen'),
    'pcie.link.gen.gpumax': ('gpu_max_pcie_link_generation', 'pci/pci_gpu_link_info/pcie_gen/max_device_link_gen'),
    'pcie.link.width.current': ('pcie_link_width', 'pci/pci_gpu_link_info/link_widths/current_link_width'),
    'pcie.link.width.max': ('max_pcie_link_width', 'pci/pci_gpu_link_info/link_widths/max_link_width'),
    'display_attached': ('display_mode', 'display_attached'),
    'display_mode': ('display_mode', 'display_mode'),
    'display_active': ('display_active', 'display_active'),
    'persistence_mode': ('persistence_mode', 'persistence_mode'),
    'addressing_mode': ('memory_addressing', 'addressing_mode'),
    'accounting.mode': ('accounting', 'accounting_mode'),
    'accounting.buffer_size': ('accounting_buffer_size', 'accounting_mode_buffer_size'),
    'driver_model.current': ('current_driver_model', 'driver_model/current_dm'),
    'driver_model.pending': ('driver_model_pending', 'driver_model/pending_dm'),
    'vbios_version': ('vbios_version', 'vbios_version'),
    'inforom.img': ('inforom_image_version', 'inforom_version/img_version'),
    'inforom.oem': ('inforom_oem_version', 'inforom_version/oem_object'),
    'inforom.ecc': ('inforom_ecc_version', 'inforom_version/ecc_object'),
    'inforom.pwr': ('inforom_power_version', 'inforom_version/pwr_object'),
    'inforom.checksum_validation': ('inforom_checksum_validation', ''),
    'gpu_recovery_action': ('recovery_action', 'gpu_recovery_action'),
    'reset_status.reset_required': ('reset_required', 'gpu_reset_status/reset_required'),
    'reset_status.drain_and_reset_recommended': ('drain_and_reset_recommended', 'gpu_reset_status/drain_and_reset_recommended'),
    'gom.current': ('operation_mode', 'gpu_operation_mode/current_gom'),
    'fan.speed': ('fan_speed', 'fan_speed'),
    'pstate': ('performance_state', 'performance_state'),
    'clocks_event_reasons.supported': ('supported_clock_event_reasons', ''),
    'memory.total': ('memory_total', 'fb_memory_usage/total'),
    'memory.reserved': ('memory_reserved', 'fb_memory_usage/reserved'),
    'memory.used': ('memory_used', 'fb_memory_usage/used'),
    'memory.free': ('memory_free', 'fb_memory_usage/free'),
    'compute_mode': ('compute_mode', 'compute_mode'),
    'compute_cap': ('cuda_compute_capability', ''),
    'utilization.gpu': ('gpu_utilization', 'utilization/gpu_util'),
    'utilization.memory': ('memory_utilization', 'utilization/memory_util'),
    'utilization.encoder': ('encoder_utilization', 'utilization/encoder_util'),
    'utilization.decoder': ('decoder_utilization', 'utilization/decoder_util'),
    'utilization.jpeg': ('jpeg_utilization', 'utilization/jpeg_util'),
    'utilization.ofa': ('ofa_utilization', 'utilization/ofa_util'),
    'encoder.stats.sessionCount': ('encoder_session_count', 'encoder_stats/session_count'),
    'encoder.stats.averageFps': ('encoder_average_fps', 'encoder_stats/average_fps'),
    'encoder.stats.averageLatency': ('encoder_average_latency', 'encoder_stats/average_latency'),
    'dramEncryption.mode.current': ('dram_encryption', 'dram_encryption_mode/current_dram_encryption'),
    'ecc.mode.current': ('ecc', 'ecc_mode/current_ecc'),
    'ecc.mode.pending': ('ecc_pending', 'ecc_mode/pending_ecc'),
    'retired_pages.single_bit_ecc.count': ('retired_pages_single_bit_ecc', 'retired_pages/multiple_single_bit_retirement/retired_count'),
    'retired_pages.double_bit.count': ('retired_pages_double_bit_ecc', 'retired_pages/double_bit_retirement/retired_count'),
    'retired_pages.pending': ('retired_pages_pending', 'retired_pages/pending_retirement | retired_pages/pending_blacklist'),
    'remapped_rows.correctable': ('remapped_rows_correctable', 'remapped_rows/remapped_row_corr'),
    'remapped_rows.correctable_inactive': ('inactive_remapped_rows_correctable', 'remapped_rows/remapped_row_corr_inactive'),
    'remapped_rows.uncorrectable': ('remapped_rows_uncorrectable', 'remapped_rows/remapped_row_unc'),
    'remapped_rows.uncorrectable_inactive': ('inactive_remapped_rows_uncorrectable', 'remapped_rows/remapped_row_unc_inactive'),
    'remapped_rows.pending': ('remapped_rows_pending', 'remapped_rows/remapped_row_pending'),
    'remapped_rows.failure': ('remapped_rows_failure', 'remapped_rows/remapped_row_failure'),
    'temperature.gpu': ('temperature', 'temperature/gpu_temp'),
    'temperature.gpu.tlimit': ('temperature_margin', 'temperature/gpu_temp_tlimit'),
    'temperature.memory': ('memory_temperature', 'temperature/memory_temp'),
    'power.draw': ('power_usage', 'gpu_power_readings/power_draw | gpu_power_readings/average_power_draw | gpu_power_readings/instant_power_draw'),
    'power.draw.average': ('average_power_usage', 'gpu_power_readings/average_power_draw'),
    'power.draw.instant': ('instant_power_usage', 'gpu_power_readings/instant_power_draw'),
    'power.limit': ('power_limit', 'gpu_power_readings/requested_power_limit | gpu_power_readings/power_limit'),
    'enforced.power.limit': ('enforced_power_limit', 'gpu_power_readings/current_power_limit | gpu_power_readings/enforced_power_limit'),
    'power.default_limit': ('default_power_limit', 'gpu_power_readings/default_power_limit'),
    'power.min_limit': ('min_power_limit', 'gpu_power_readings/min_power_limit'),
    'power.max_limit': ('max_power_limit', 'gpu_power_readings/max_power_limit'),
    'module.power.draw.average': ('module_average_power_usage', 'module_power_readings/average_power_draw | module_power_readings/power_draw'),
    'module.power.draw.instant': ('module_average_power_usage', 'module_power_readings/instant_power_draw | module_power_readings/power_draw'),
    'module.power.limit': ('module_power_limit', 'module_power_readings/requested_power_limit'),
    'edpp_multiplier': ('edpp_multiplier', 'edpp_multiplier'),
    'clocks.current.graphics': ('graphics_clock', 'clocks/graphics_clock'),
    'clocks.current.sm': ('sm_clock', 'clocks/sm_clock'),
    'clocks.current.memory': ('memory_clock', 'clocks/mem_clock'),
    'clocks.current.video': ('video_clock', 'clocks/video_clock'),
    'clocks.applications.graphics': ('application_graphics_clock', 'applications_clocks/graphics_clock'),
    'clocks.applications.memory': ('application_memory_clock', 'applications_clocks/mem_clock'),
    'clocks.default_applications.graphics': ('default_application_graphics_clock', 'default_applications_clocks/graphics_clock'),
    'clocks.default_applications.memory': ('default_application_memory_clock', 'default_applications_clocks/mem_clock'),
    'clocks.max.graphics': ('max_graphics_clock', 'max_clocks/graphics_clock'),
    'clocks.max.sm': ('max_sm_clock', 'max_clocks/sm_clock'),
    'clocks.max.memory': ('max_memory_clock', 'max_clocks/mem_clock'),
    'mig.mode.current': ('mig_mode', 'mig_mode/current_mig'),
    'mig.mode.pending': ('mig_mode_pending', 'mig_mode/pending_mig'),
    'gsp.mode.current': ('gsp_mode', ''),
    'gsp.mode.default': ('gsp_mode_default', ''),
    'c2c.mode': ('c2c_mode', 'c2c_mode | gpu_c2c_mode'),
    'protected_memory.total': ('protected_memory_total', 'cc_protected_memory_usage/total'),
    'fabric.state': ('fabric_state', 'fabric/state'),
    'fabric.cliqueId': ('fabric_clique_id', 'fabric/cliqueId'),
    'platform.slot_number': ('slot_number', 'platformInfo/slot_number'),
    'platform.tray_index': ('tray_index', 'platformInfo/tray_index'),
    'platform.host_id': ('host_id', 'platformInfo/host_id'),
    'platform.peer_type': ('peer_type', 'platformInfo/peer_type'),
    'platform.module_id': ('platform_module_id', 'platformInfo/module_id'),
    # Getters of nvitop that have no name in nvidia-smi, or another one.
    'brand': ('brand', 'product_brand'),
    'architecture': ('architecture', 'product_architecture'),
    'numa_node': ('numa_node', ''),
    'fan_count': ('fan_count', ''),
    'nvlink_link_count': ('nvlink_link_count', ''),
    'nvlink_down_count': ('nvlink_down_count', ''),
    'nvlink_crc_flit_errors': ('nvlink_errors', ''),
    'nvlink_crc_data_errors': ('nvlink_errors', ''),
    'nvlink_replay_errors': ('nvlink_errors', ''),
    'nvlink_recovery_errors': ('nvlink_errors', ''),
    'total_energy': ('total_energy', ''),
    'minor_number': ('minor_number', 'minor_number'),
    'board_id': ('board_id', 'board_id'),
    'multi_gpu_board': ('multi_gpu_board', 'multigpu_board'),
    'board_part_number': ('board_part_number', 'board_part_number'),
    'bar1_memory_total': ('bar1_memory_total', 'bar1_memory_usage/total'),
    'bar1_memory_used': ('bar1_memory_used', 'bar1_memory_usage/used'),
    'pcie_replays': ('pcie_replays', 'pci/replay_counter'),
    'pcie_tx_throughput': ('pcie_tx_throughput', 'pci/tx_util'),
    'pcie_rx_throughput': ('pcie_rx_throughput', 'pci/rx_util'),
    'max_video_clock': ('max_video_clock', 'max_clocks/video_clock'),
    'temperature_shutdown_threshold': ('temperature_shutdown_threshold', 'temperature/gpu_temp_max_threshold'),
    'temperature_slowdown_threshold': ('temperature_slowdown_threshold', 'temperature/gpu_temp_slow_threshold'),
    'max_temperature_threshold': ('max_temperature_threshold', 'temperature/gpu_temp_max_gpu_threshold'),
    'max_memory_temperature_threshold': ('max_memory_temperature_threshold', 'temperature/gpu_temp_max_mem_threshold'),
}  # fmt: skip

_TIMES = 'clocks_event_reasons_counters.'
#: Times that nvidia-smi does not report.
_VIOLATION = re.compile(r'(\w+)_violation_time')
#: Prefix of names → key that holds their counts by the rest of the name.
_COUNTS = {
    'ecc.errors.': 'ecc_counts',
    'remapped_rows.histogram.': 'remapping_banks',
    _TIMES: 'clock_event_times',
}
_REASON = 'clocks_event_reasons.'
#: Name → position in the health mask of the fabric, and the numbers of its words.
FABRIC_HEALTH = {
    'fabric.health.bandwidth': (0, {'degraded': 1, 'full': 2}),
    'fabric.health.route_recovery_in_progress': (2, {'true': 1, 'false': 2}),
    'fabric.health.route_unhealthy': (4, {'true': 1, 'false': 2}),
    'fabric.health.access_timeout_recovery': (6, {'true': 1, 'false': 2}),
}


def scenario_text(capture: Capture, description: str) -> str:
    """Return the scenario file for a capture."""
    lines = [f'description = {_text(description)}', '', '[driver]', 'complete = true']
    for key, version in (('version', capture.driver_version), ('cuda', capture.cuda_version)):
        is_version = re.fullmatch(r'[0-9]{1,6}(\.[0-9]{1,6})+', version)
        lines.append(f'{key} = {_text(version if is_version else "N/A")}')
    uuids = [gpu.texts.get('uuid') for gpu in capture.gpus]
    for position, gpu in enumerate(capture.gpus):
        # Masked files give all GPUs the same UUID; then each gets one of its own.
        is_unique = is_missing(uuids[position]) or uuids.count(uuids[position]) == 1
        lines += ['', *_gpu_lines(gpu, has_uuid=is_unique)]
    for position, gpu in enumerate(capture.gpus):
        for process in gpu.processes:
            lines += _process_lines(position, gpu, process)
    return '\n'.join(lines) + '\n'


def _gpu_lines(gpu: CapturedGpu, *, has_uuid: bool) -> Iterator[str]:
    yield '[[gpu]]'
    yield 'model = "none"'
    values: dict[str, str] = {}
    for name, (key, _) in NAMES.items():
        text = gpu.texts.get(name)
        if text is None or is_missing(text):
            continue
        value = _convert(GPU_KEYS_BY_NAME[key], text.strip())
        if value is not None:
            values.setdefault(key, value)
    values.setdefault('bus_id', _bus_id(gpu.texts))
    if has_uuid:
        values.setdefault('uuid', _text('N/A'))
    else:
        values.pop('uuid', None)
    values.update(_combined(gpu.texts))
    if 'mig_mode' in values:
        highest = max((int(_count(m.get('index', '')) or 0) for m in gpu.migs), default=0)
        values['max_mig_devices'] = str(max(7, highest + 1))
    for key, value in values.items():
        yield f'{key} = {value}'
    for number, mig in enumerate(gpu.migs):
        yield from _mig_lines(gpu, mig, number)


def _bus_id(texts: Mapping[str, str]) -> str:
    """The bus ID in three parts, for files without the whole."""
    parts = [_hexadecimal(texts.get(f'pci.{name}', '')) for name in ('domain', 'bus', 'device')]
    if None in parts:
        return _text('N/A')
    domain, bus, device = (int(part or 0) for part in parts)
    return _text(f'{domain:08X}:{bus:02X}:{device:02X}.0')


def _combined(texts: Mapping[str, str]) -> dict[str, str]:
    """Values that are made of several texts."""
    values: dict[str, str] = {}
    for prefix, key in _COUNTS.items():
        counts = {
            name[len(prefix) :]: {'Yes': '1', 'No': '0'}.get(text, _count(text))
            for name, text in texts.items()
            if name.startswith(prefix) and not is_missing(text)
        }
        known = [f'"{name}" = {count}' for name, count in counts.items() if count is not None]
        if known:
            values[key] = f'{{ {", ".join(known)} }}'
        elif key == 'ecc_counts':
            values[key] = '{}'
    reasons = _active_reasons(texts)
    if reasons is not None:
        words = [f'"{word}"' for word, bit in CLOCK_EVENT_REASONS.items() if bit & reasons]
        values['clock_event_reasons'] = f'[{", ".join(words)}]'
    values.update(_fabric_and_platform(texts))
    return values


def _active_reasons(texts: Mapping[str, str]) -> int | None:
    mask = texts.get(f'{_REASON}active', '')
    if not is_missing(mask):
        return int(_hexadecimal(mask) or 0)
    found = [
        bit if texts[name] == 'Active' else 0
        for word, bit in CLOCK_EVENT_REASONS.items()
        for name in (_REASON + word.replace('-', '_'),)
        if name in texts and not is_missing(texts[name])
    ]
    return sum(found) if found else None


def _fabric_and_platform(texts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    mask = 0
    for name, (shift, words) in FABRIC_HEALTH.items():
        mask |= words.get(texts.get(name, '').lower(), 0) << shift
    yield 'fabric_health', str(mask)
    cluster = texts.get('fabric.clusterUuid', '')
    if re.fullmatch(r'[0-9a-fA-F-]{36}', cluster) and len(cluster.replace('-', '')) == 32:
        yield 'fabric_cluster_uuid', _text(cluster)
    serial = texts.get('platform.chassis_serial_number')
    guid = texts.get('platform.gpu_fabric_guid', '')
    if serial is not None and not is_missing(texts.get('platform.module_id')):
        # The driver knows the platform, even if it has no serial number.
        yield 'chassis_serial_number', '""' if is_missing(serial) else _text(serial)
        yield (
            'gpu_fabric_guid',
            _text(guid if re.fullmatch(r'0x[0-9a-fA-F]{1,16}', guid) else '0x0'),
        )


def _mig_lines(gpu: CapturedGpu, mig: Mapping[str, str], number: int) -> Iterator[str]:
    texts = {name: _count(text) for name, text in mig.items()}
    profile = _profile(gpu, texts)
    yield '  [[gpu.mig]]'
    yield f'  profile = "{profile}"'
    yield f'  index = {texts.get("index") or number}'
    yield f'  gpu_instance = {texts.get("gpu_instance_id") or number}'
    yield f'  compute_instance = {texts.get("compute_instance_id") or 0}'
    engines = ('multiprocessor', 'copy', 'decoder', 'encoder', 'jpeg', 'ofa')
    known = [f'{name} = {texts[name]}' for name in engines if texts.get(name)]
    if known:
        yield f'  engines = {{ {", ".join(known)} }}'
    for name in (*(f'memory.{part}' for part in _SIZES), 'bar1.total', 'bar1.used'):
        value = _size(mig.get(name, ''))
        yield f'  {name.replace(".", "_")} = {value or _text("N/A")}'


def _profile(gpu: CapturedGpu, texts: Mapping[str, str | None]) -> str:
    """The profile of a MIG device, from its share of the GPU."""
    slices = max(1, int(texts.get('copy') or 1))
    units = int(texts.get('multiprocessor') or 0)
    per_slice = _SMS_PER_SLICE.get(gpu.texts.get('architecture', ''), 16)
    compute = min(slices, max(1, units // per_slice)) if units else slices
    gigabytes = math.ceil(int(texts.get('memory.total') or 0) / 1024)
    prefix = f'{compute}c.' if compute < slices else ''
    return f'{prefix}{slices}g.{gigabytes}gb'


def _process_lines(position: int, gpu: CapturedGpu, process: Mapping[str, str]) -> Iterator[str]:
    pid = _count(process.get('pid', ''))
    if pid is None or int(pid) >= 2**32:
        return
    name, kind, memory = (process.get(key, '') for key in ('process_name', 'type', 'used_memory'))
    size = None if is_missing(memory) else _size(memory)
    yield ''
    yield '[[process]]'
    yield f'command = [{_text(name if name.strip() else "unknown")}]'
    yield f'gpus = [{position}]'
    yield f'pid = {pid}'
    yield 'state = "listed"'
    yield f'type = "{kind if kind in ("C", "G", "C+G", "M") else "C"}"'
    yield f'memory = {size or _text("N/A")}'
    for number, mig in enumerate(gpu.migs):
        ids = ('gpu_instance_id', 'compute_instance_id')
        if [mig.get(key) for key in ids] == [process.get(key, '') for key in ids]:
            yield f'mig = {_count(mig.get("index", "")) or number}'
            return
