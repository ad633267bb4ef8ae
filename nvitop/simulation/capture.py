# SPDX-License-Identifier: Apache-2.0
"""What nvidia-smi printed on a real machine, as a scenario.

A capture holds texts by the names of ``nvidia-smi --query-gpu``; for values without such a name, by
those in :data:`EXTRA`. Texts that a capture does not have, or that mean "not available", are N/A in
the scenario.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Sequence

from nvitop.api.metrics import EXTENDED_METRICS, METRICS
from nvitop.simulation.schema import (
    ADDRESSING_MODES,
    ARCHITECTURES,
    BRANDS,
    CLOCK_EVENT_REASONS,
    COMPUTE_MODES,
    DRIVER_MODELS,
    FABRIC_STATES,
    GPU_OPERATION_MODES,
    PEER_TYPES,
    RECOVERY_ACTIONS,
)

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


class CapturedProcess(NamedTuple):
    """A process as nvidia-smi lists it."""

    pid: str
    name: str
    memory: str
    type: str = 'C'
    gpu_instance: str = ''
    compute_instance: str = ''


class CapturedGpu(NamedTuple):
    """A GPU and what runs on it."""

    texts: Mapping[str, str]
    #: MIG devices: index, instance IDs, numbers of engines, sizes of memory and BAR1.
    migs: Sequence[Mapping[str, str]] = ()
    processes: Sequence[CapturedProcess] = ()


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
        CapturedProcess(
            str(one.get('pid', '')),
            'unknown',
            _captured_text(one.get('gpu_memory', 'N/A')),
            str(one.get('type', 'C')),
            str(one.get('gpu_instance_id', '')),
            str(one.get('compute_instance_id', '')),
        )
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


def _word(words: Mapping[str, object], **others: str) -> Converter:
    def convert(text: str) -> str | None:
        word = text.strip().lower().replace(' ', '-').replace('_', '-')
        word = others.get(word.replace('-', '_'), word)
        return f'"{word}"' if word in words else None

    return convert


_DRIVER_MODEL = _word(DRIVER_MODELS, tcc='wdm')
#: Getter of nvitop without a name in nvidia-smi, or another name → key of a GPU, and its converter.
EXTRA: dict[str, tuple[str, Converter]] = {
    'brand': ('brand', _word(BRANDS)),
    'architecture': ('architecture', _word(ARCHITECTURES, ada_lovelace='ada')),
    'numa_node': ('numa_node', _count),
    'fan_count': ('fan_count', _count),
    'nvlink_link_count': ('nvlink_count', _count),
    'nvlink_down_count': ('nvlink_down', _count),
    **{
        f'nvlink_{kind}_errors': ('nvlink_errors', _count)
        for kind in ('crc_flit', 'crc_data', 'replay', 'recovery')
    },
    'total_energy': ('total_energy', _amount),
    'minor_number': ('minor_number', _count),
    'board_id': ('board_id', _hexadecimal),
    'multi_gpu_board': ('multi_gpu_board', _flag),
    'board_part_number': ('board_part_number', _text),
    'bar1_memory_total': ('bar1_total', _size),
    'bar1_memory_used': ('bar1_used', _size),
    'pcie_replays': ('pcie_replays', _count),
    'pcie_tx_throughput': ('pcie_tx', _rate),
    'pcie_rx_throughput': ('pcie_rx', _rate),
    'max_video_clock': ('max_video_clock', _count),
    'temperature_shutdown_threshold': ('temperature_shutdown', _count),
    'temperature_slowdown_threshold': ('temperature_slowdown', _count),
    'max_temperature_threshold': ('temperature_gpu_max', _count),
    'max_memory_temperature_threshold': ('temperature_memory_max', _count),
}
#: Name of nvidia-smi → key of a GPU, and its converter. If two names have the same key, the first
#: one that is available counts.
NAMES: dict[str, tuple[str, Converter]] = {
    'name': ('name', _text),
    'serial': ('serial', _text),
    'uuid': ('uuid', _text),
    'pci.bus_id': ('bus_id', _pattern(r'[0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]')),
    'pci.baseClass': ('pci_base_class', _hexadecimal),
    'pci.subClass': ('pci_subclass', _hexadecimal),
    'pci.device_id': ('pci_device_id', _hexadecimal),
    'pci.sub_device_id': ('pci_subsystem_id', _hexadecimal),
    'pcie.link.gen.current': ('pcie_generation', _count),
    'pcie.link.gen.gpucurrent': ('pcie_generation', _count),
    'pcie.link.gen.max': ('max_pcie_generation', _count),
    'pcie.link.gen.gpumax': ('gpu_max_pcie_generation', _count),
    'pcie.link.width.current': ('pcie_width', _count),
    'pcie.link.width.max': ('max_pcie_width', _count),
    'display_attached': ('display_mode', _flag),
    'display_mode': ('display_mode', _flag),
    'display_active': ('display_active', _flag),
    'persistence_mode': ('persistence_mode', _flag),
    'addressing_mode': ('addressing_mode', _word(ADDRESSING_MODES)),
    'accounting.mode': ('accounting_mode', _flag),
    'accounting.buffer_size': ('accounting_buffer_size', _count),
    'driver_model.current': ('driver_model', _DRIVER_MODEL),
    'driver_model.pending': ('driver_model_pending', _DRIVER_MODEL),
    'vbios_version': ('vbios_version', _text),
    'inforom.img': ('inforom_version', _text),
    'inforom.oem': ('inforom_oem', _text),
    'inforom.ecc': ('inforom_ecc', _text),
    'inforom.pwr': ('inforom_power', _text),
    'inforom.checksum_validation': ('inforom_valid', _flag),
    'gpu_recovery_action': ('recovery_action', _word(RECOVERY_ACTIONS)),
    'reset_status.reset_required': ('reset_required', _flag),
    'reset_status.drain_and_reset_recommended': ('drain_and_reset_recommended', _flag),
    'gom.current': ('gpu_operation_mode', _word(GPU_OPERATION_MODES)),
    'fan.speed': ('fan_speed', _count),
    'pstate': ('performance_state', _count),
    'clocks_event_reasons.supported': ('supported_clock_event_reasons', _hexadecimal),
    'memory.total': ('memory_total', _size),
    'memory.reserved': ('memory_reserved', _size),
    'memory.used': ('memory_used', _size),
    'memory.free': ('memory_free', _size),
    'compute_mode': ('compute_mode', _word(COMPUTE_MODES)),
    'compute_cap': ('compute_capability', _pattern(r'\d{1,2}\.\d{1,2}')),
    'utilization.gpu': ('gpu_utilization', _count),
    'utilization.memory': ('memory_utilization', _count),
    'utilization.encoder': ('encoder_utilization', _count),
    'utilization.decoder': ('decoder_utilization', _count),
    'utilization.jpeg': ('jpeg_utilization', _count),
    'utilization.ofa': ('ofa_utilization', _count),
    'encoder.stats.sessionCount': ('encoder_sessions', _count),
    'encoder.stats.averageFps': ('encoder_fps', _count),
    'encoder.stats.averageLatency': ('encoder_latency', _count),
    'dramEncryption.mode.current': ('dram_encryption', _flag),
    'ecc.mode.current': ('ecc_mode', _flag),
    'ecc.mode.pending': ('ecc_mode_pending', _flag),
    'retired_pages.single_bit_ecc.count': ('retired_single_bit', _count),
    'retired_pages.double_bit.count': ('retired_double_bit', _count),
    'retired_pages.pending': ('retired_pending', _flag),
    'remapped_rows.correctable': ('remapped_correctable', _count),
    'remapped_rows.correctable_inactive': ('inactive_remapped_correctable', _count),
    'remapped_rows.uncorrectable': ('remapped_uncorrectable', _count),
    'remapped_rows.uncorrectable_inactive': ('inactive_remapped_uncorrectable', _count),
    'remapped_rows.pending': ('remapped_pending', _flag),
    'remapped_rows.failure': ('remapped_failure', _flag),
    'temperature.gpu': ('temperature', _count),
    'temperature.gpu.tlimit': ('temperature_margin', _margin),
    'temperature.memory': ('memory_temperature', _count),
    'power.draw': ('power_usage', _amount),
    'power.draw.average': ('average_power', _amount),
    'power.draw.instant': ('instant_power', _amount),
    'power.limit': ('power_limit', _amount),
    'enforced.power.limit': ('enforced_power_limit', _amount),
    'power.default_limit': ('default_power_limit', _amount),
    'power.min_limit': ('min_power_limit', _amount),
    'power.max_limit': ('max_power_limit', _amount),
    'module.power.draw.average': ('module_power', _amount),
    'module.power.draw.instant': ('module_power', _amount),
    'module.power.limit': ('module_power_limit', _amount),
    'edpp_multiplier': ('edpp_multiplier', _amount),
    'clocks.current.graphics': ('graphics_clock', _count),
    'clocks.current.sm': ('sm_clock', _count),
    'clocks.current.memory': ('memory_clock', _count),
    'clocks.current.video': ('video_clock', _count),
    'clocks.applications.graphics': ('application_graphics_clock', _count),
    'clocks.applications.memory': ('application_memory_clock', _count),
    'clocks.default_applications.graphics': ('default_application_graphics_clock', _count),
    'clocks.default_applications.memory': ('default_application_memory_clock', _count),
    'clocks.max.graphics': ('max_graphics_clock', _count),
    'clocks.max.sm': ('max_sm_clock', _count),
    'clocks.max.memory': ('max_memory_clock', _count),
    'mig.mode.current': ('mig_mode', _flag),
    'mig.mode.pending': ('mig_mode_pending', _flag),
    'gsp.mode.current': ('gsp_mode', _flag),
    'gsp.mode.default': ('gsp_mode_default', _flag),
    'c2c.mode': ('c2c_mode', _flag),
    'protected_memory.total': ('protected_memory', _size),
    'fabric.state': ('fabric_state', _word(FABRIC_STATES)),
    'fabric.cliqueId': ('fabric_clique', _count),
    'platform.slot_number': ('slot_number', _count),
    'platform.tray_index': ('tray_index', _count),
    'platform.host_id': ('host_id', _count),
    'platform.peer_type': ('peer_type', _word(PEER_TYPES)),
    'platform.module_id': ('module_id', _count),
    **EXTRA,
}

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
    for name, (key, convert) in NAMES.items():
        text = gpu.texts.get(name)
        value = None if text is None or is_missing(text) else convert(text.strip())
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
        yield 'fabric_cluster', _text(cluster)
    serial = texts.get('platform.chassis_serial_number')
    guid = texts.get('platform.gpu_fabric_guid', '')
    if serial is not None and not is_missing(texts.get('platform.module_id')):
        # The driver knows the platform, even if it has no serial number.
        yield 'chassis_serial', '""' if is_missing(serial) else _text(serial)
        yield 'fabric_guid', _text(guid if re.fullmatch(r'0x[0-9a-fA-F]{1,16}', guid) else '0x0')


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


def _process_lines(position: int, gpu: CapturedGpu, process: CapturedProcess) -> Iterator[str]:
    pid = _count(process.pid)
    if pid is None or int(pid) >= 2**32:
        return
    yield ''
    yield '[[process]]'
    name = process.name if process.name.strip() else 'unknown'
    yield f'command = [{_text(name)}]'
    yield f'gpus = [{position}]'
    yield f'pid = {pid}'
    yield 'state = "listed"'
    yield f'type = "{process.type if process.type in ("C", "G", "C+G", "M") else "C"}"'
    memory = None if is_missing(process.memory) else _size(process.memory)
    yield f'memory = {memory or _text("N/A")}'
    for number, mig in enumerate(gpu.migs):
        instances = mig.get('gpu_instance_id'), mig.get('compute_instance_id')
        if instances == (process.gpu_instance, process.compute_instance):
            yield f'mig = {_count(mig.get("index", "")) or number}'
            return
