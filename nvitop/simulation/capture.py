# SPDX-License-Identifier: Apache-2.0
"""What was read on a real machine, as a scenario.

A capture holds texts by the names of metrics, which are those of the keys of a scenario. Texts that
a capture does not have, or that mean "not available", are N/A in the scenario.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Sequence

from nvitop.basics.metrics import EXTENDED_METRICS, METRICS
from nvitop.simulation.schema import CLOCK_EVENT_REASONS, GPU_KEYS, ScenarioKey

#: Texts for values that are not available. nvidia-smi puts some of them in brackets.
_MISSING = re.compile(
    r'\[?(N/A|Not Supported|Not Found|Unknown Error|GPU is lost|ERR!|No Permission|'
    r'Insufficient Permissions|Requested functionality has been deprecated|'
    r'Not available in WDDM driver model|Unknown|error \d.*|N/A: .*)\]?|'
)
_NUMBER = re.compile(r'-?[0-9]+(?:\.[0-9]+)?')
#: Units that the simulation refuses above: far above any hardware.
_MOST = 1e15
#: SMs of a MIG slice, by the architecture of the GPU.
_SMS_PER_SLICE = {'Ampere': 14, 'Hopper': 16}
#: Units of a MIG device by their names in scenarios and captures.
MIG_ENGINES = ('multiprocessor', 'copy', 'decoder', 'encoder', 'jpeg', 'ofa')
MIG_SIZES = (
    'memory_total', 'memory_reserved', 'memory_used', 'memory_free', 'bar1_memory_total', 'bar1_memory_used',
)  # fmt: skip


class CapturedGpu(NamedTuple):
    """A GPU and what runs on it."""

    texts: Mapping[str, str]
    #: MIG devices: ``index gpu_instance_id compute_instance_id sram_errors``, :data:`MIG_ENGINES`
    #: and :data:`MIG_SIZES`.
    migs: Sequence[Mapping[str, str]] = ()
    #: Processes: ``pid process_name used_memory type gpu_instance_id compute_instance_id``.
    processes: Sequence[Mapping[str, str]] = ()


class Capture(NamedTuple):
    """A machine."""

    driver_version: str
    cuda_version: str
    gpus: Sequence[CapturedGpu]


#: Returns a value as in a scenario file, ``None`` if the text is something else.
Converter = Callable[[str], Any]


def is_missing(text: str | None) -> bool:
    """Whether a text means that the value is not available."""
    return text is None or _MISSING.fullmatch(text.strip()) is not None


def _number(text: str) -> int | float | None:
    match = _NUMBER.search(text)
    if match is None or abs(float(match[0])) > _MOST:
        return None
    value = float(match[0])
    return int(value) if value == int(value) else value


def _amount(text: str) -> float | None:
    number = _number(text)
    return None if number is None or number < 0 else number


def _count(text: str) -> int | None:
    number = _number(text)
    return number if isinstance(number, int) and number >= 0 else None


def _margin(text: str) -> int | None:
    number = _number(text)
    return number if isinstance(number, int) and abs(number) <= 250 else None


def _size(text: str) -> str | None:
    number = _count(text)
    unit = (text.split() or [''])[-1]
    return None if number is None else f'{number} {unit if unit in ("B", "KiB", "GiB") else "MiB"}'


def _rate(text: str) -> str | None:
    number = _count(text)
    return None if number is None else f'{number} KiB'


def _hexadecimal(text: str) -> int | None:
    return int(text, 16) if re.fullmatch(r'(0x)?[0-9A-Fa-f]{1,16}', text) else None


def _bus_id(text: str) -> str | None:
    match = re.fullmatch(r'([0-9A-Fa-f]{4,8})(:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])', text)
    return None if match is None else f'{match[1]:0>8}{match[2]}'


def _flag(text: str) -> bool | None:
    words = {
        **dict.fromkeys(('enabled', 'yes', 'active', 'valid', 'supported', 'true'), True),
        **dict.fromkeys(
            ('disabled', 'no', 'not active', 'invalid', 'not supported', 'false'), False
        ),
    }
    return words.get(text.strip().lower())


def _reasons(text: str) -> list[str]:
    mask = _hexadecimal(text) or 0
    return [word for word, bit in CLOCK_EVENT_REASONS.items() if bit & mask]


def _matching(pattern: str) -> Converter:
    return lambda text: text if re.fullmatch(pattern, text) else None


def _convert(key: ScenarioKey, text: str) -> Any:
    if key.name in _BY_KEY:
        return _BY_KEY[key.name](text)
    if key.words is None:
        return _BY_KIND[key.kind](text)
    word = text.lower().replace(' ', '-').replace('_', '-')
    word = _OTHER_WORDS.get(word, word)
    return word if word in key.words else None


#: Kind of a key → converter, unless the key has its own. Words depend on the key.
_BY_KIND: Mapping[str, Converter] = {
    **dict.fromkeys(('count', '%', '°C', 'MHz'), _count),
    **dict.fromkeys(('W', 'J'), _amount),
    'text': str,
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
    'bus_id': _bus_id,
    'cuda_compute_capability': _matching(r'\d{1,2}\.\d{1,2}'),
    'edpp_multiplier': _amount,
    'clock_event_reasons': _reasons,
    'fabric_cluster_uuid': _matching('-?'.join(['[0-9a-fA-F]{4}'] * 8)),
    'gpu_fabric_guid': _matching('0x[0-9a-fA-F]{1,16}'),
}  # fmt: skip
#: Words of nvidia-smi that have another name in scenarios.
_OTHER_WORDS = {'tcc': 'wdm', 'ada-lovelace': 'ada'}
_PROFILE = _matching(r'(\d+c\.)?\d+g\.\d+gb(\+.*)?')
#: Start of names in nvidia-smi → key that holds their counts by the rest of the name.
_COUNTS = {
    'ecc.errors.': 'ecc_counts',
    'remapped_rows.histogram.': 'remapping_banks',
    'clocks_event_reasons_counters.': 'clock_event_times',
}
_VIOLATION = '_violation_time'
#: Metric → position in the health mask of the fabric, and the numbers of its words.
_FABRIC_FLAG = {'true': 1, 'false': 2}
FABRIC_CONFIGURATIONS = {
    'none': 1, 'incorrect system guid': 2, 'incorrect chassis serial number': 3, 'no partition': 4,
    'insufficient nvlinks': 5, 'incompatible gpu firmware': 6, 'invalid location': 7,
    'invalid gpu state': 8,
}  # fmt: skip
FABRIC_HEALTH: Mapping[str, tuple[int, Mapping[str, int]]] = {
    'fabric_bandwidth': (0, {'degraded': 1, 'full': 2}),
    'fabric_route_recovery': (2, _FABRIC_FLAG),
    'fabric_route_unhealthy': (4, _FABRIC_FLAG),
    'fabric_access_timeout_recovery': (6, _FABRIC_FLAG),
    'fabric_incorrect_configuration': (8, FABRIC_CONFIGURATIONS),
}


def _count_names() -> Iterator[tuple[str, tuple[str, str]]]:
    for metric in (*METRICS, *EXTENDED_METRICS):
        for prefix, key in _COUNTS.items():
            if (metric.query or '').startswith(prefix):
                yield metric.name, (key, (metric.query or '')[len(prefix) :])
        if metric.name.endswith(_VIOLATION):  # nvidia-smi does not report it
            yield metric.name, ('clock_event_times', metric.name[: -len(_VIOLATION)])


#: Metric → key that holds its count, and its name there.
_COUNT_NAMES = dict(_count_names())


def scenario_values(capture: Capture, description: str) -> dict[str, Any]:
    """Return the content of the scenario file for a capture."""
    versions = {'version': capture.driver_version, 'cuda': capture.cuda_version}
    driver: dict[str, Any] = {'complete': True}
    for key, version in versions.items():
        is_version = re.fullmatch(r'[0-9]{1,6}(\.[0-9]{1,6})+', version)
        driver[key] = version if is_version else 'N/A'
    uuids = [gpu.texts.get('uuid') for gpu in capture.gpus]
    gpus = []
    for uuid, gpu in zip(uuids, capture.gpus):
        values = _gpu_values(gpu)
        # Masked files give all GPUs the same UUID; then each gets one of its own.
        if not is_missing(uuid) and uuids.count(uuid) > 1:
            values.pop('uuid', None)
        gpus.append(values)
    processes = [
        _process_values(position, gpu, process)
        for position, gpu in enumerate(capture.gpus)
        for process in gpu.processes
    ]
    return {
        'description': description,
        'driver': driver,
        'gpu': gpus,
        'process': [values for values in processes if values],
    }


def _gpu_values(gpu: CapturedGpu) -> dict[str, Any]:
    values: dict[str, Any] = {'model': 'none', 'uuid': 'N/A', 'bus_id': 'N/A'}
    for key in GPU_KEYS:
        text = gpu.texts.get(key.name)
        if text is None or is_missing(text) or key.name in _COUNT_NAMES:
            continue
        value = _convert(key, text.strip())
        if value is not None:
            values[key.name] = value
    if any(text.strip('[]').endswith('GPU is lost') for text in gpu.texts.values()):
        values['lost'] = True
    values.update(_counts(gpu.texts))
    values.update(_fabric_and_platform(gpu.texts))
    if 'mig_mode' in values:
        highest = max((_count(mig.get('index', '')) or 0 for mig in gpu.migs), default=0)
        values['max_mig_devices'] = max(7, highest + 1)
    if gpu.migs:
        values['mig'] = [_mig_values(gpu, mig, number) for number, mig in enumerate(gpu.migs)]
    return values


def _counts(texts: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {'ecc_counts': {}}
    for name, text in texts.items():
        if name in _COUNT_NAMES and not is_missing(text):
            key, label = _COUNT_NAMES[name]
            count = {'Yes': 1, 'No': 0}.get(text, _count(text))
            if count is not None:
                values.setdefault(key, {})[label] = count
    return values


def _fabric_and_platform(texts: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    mask = 0
    for name, (shift, words) in FABRIC_HEALTH.items():
        mask |= words.get(texts.get(name, '').lower(), 0) << shift
    yield 'fabric_health', mask
    if not is_missing(texts.get('platform_module_id')):
        # The driver knows the platform, even if it has no serial number.
        serial, guid = texts.get('chassis_serial_number', ''), texts.get('gpu_fabric_guid', '')
        yield 'chassis_serial_number', '' if is_missing(serial) else serial
        yield 'gpu_fabric_guid', _BY_KEY['gpu_fabric_guid'](guid) or '0x0'


def _mig_values(gpu: CapturedGpu, mig: Mapping[str, str], number: int) -> dict[str, Any]:
    counts = {name: _count(text) for name, text in mig.items()}
    gigabytes = math.ceil((_count(mig.get('memory_total', '')) or 0) / 1024)
    # The profile, from the share of the GPU.
    slices = max(1, counts.get('copy') or 1)
    units = counts.get('multiprocessor') or 0
    per_slice = _SMS_PER_SLICE.get(gpu.texts.get('architecture', ''), 16)
    compute = min(slices, max(1, units // per_slice)) if units else slices
    prefix = f'{compute}c.' if compute < slices else ''
    values: dict[str, Any] = {
        'profile': _PROFILE(mig.get('profile', '')) or f'{prefix}{slices}g.{gigabytes}gb',
        'index': counts.get('index') or number,
        'gpu_instance_id': counts.get('gpu_instance_id') or number,
        'compute_instance_id': counts.get('compute_instance_id') or 0,
    }
    engines = {name: counts[name] for name in MIG_ENGINES if counts.get(name)}
    if engines:
        values['engines'] = engines
    if counts.get('sram_errors') is not None:
        values['ecc_counts'] = {'uncorrected.volatile.sram': counts['sram_errors']}
    return {**values, **{name: _size(mig.get(name, '')) or 'N/A' for name in MIG_SIZES}}


def _process_values(
    position: int, gpu: CapturedGpu, process: Mapping[str, str]
) -> dict[str, Any] | None:
    pid = _count(process.get('pid', ''))
    if pid is None or pid >= 2**32:
        return None
    name, kind, memory = (process.get(key, '') for key in ('process_name', 'type', 'used_memory'))
    values: dict[str, Any] = {
        'command': [name if name.strip() else 'unknown'],
        'gpus': [position],
        'pid': pid,
        'state': 'listed',
        'type': kind if kind in ('C', 'G', 'C+G', 'M') else 'C',
        'memory': (None if is_missing(memory) else _size(memory)) or 'N/A',
    }
    ids = ('gpu_instance_id', 'compute_instance_id')
    for number, mig in enumerate(gpu.migs):
        if [mig.get(key) for key in ids] == [process.get(key, '') for key in ids]:
            index = _count(mig.get('index', ''))
            return {**values, 'mig': number if index is None else index}
    return values


def toml_text(values: Mapping[str, Any], comment: str = '') -> str:
    """Return the text of a scenario file with this content."""
    lines = [f'# {line}'.rstrip() for line in comment.splitlines()]
    return '\n'.join([*lines, *_toml_lines(values, '')]) + '\n'


def _toml_lines(values: Mapping[str, Any], path: str) -> Iterator[str]:
    indent = '  ' * (path.count('.') - 1)
    for name, value in values.items():
        if not _is_tables(value) and (path or not isinstance(value, dict)):
            yield f'{indent}{name} = {_toml_value(value)}'
    for name, value in values.items():
        if _is_tables(value):
            for table in value:
                yield ''
                yield f'{"  " * path.count(".")}[[{path}{name}]]'
                yield from _toml_lines(table, f'{path}{name}.')
        elif not path and isinstance(value, dict):
            yield from ('', f'[{name}]', *_toml_lines(value, f'{name}.'))


def _is_tables(value: object) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def _toml_value(value: object) -> str:
    if isinstance(value, dict):
        items = (f'{json.dumps(name)} = {_toml_value(item)}' for name, item in value.items())
        return f'{{ {", ".join(items)} }}' if value else '{}'
    return json.dumps(value).replace('\x7f', '\\u007f')
