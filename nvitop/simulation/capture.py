# SPDX-License-Identifier: Apache-2.0
"""What was read on a real machine, as a scenario.

A capture holds texts by the names of metrics, which are those of the keys of a scenario. Texts that
a capture does not have, or that mean "not available", are N/A in the scenario.

The output of ``nvidia-smi -q -x`` may come from anybody: size, depth and number of elements are
limited, entities are refused, and nothing outside of the file is read.
"""

from __future__ import annotations

import json
import math
import pathlib
import re
from typing import TYPE_CHECKING, Any, BinaryIO, Callable, Iterator, Mapping, NamedTuple, Sequence

from nvitop.basics.metrics import EXTENDED_METRICS, METRICS
from nvitop.simulation.scenario import ScenarioError
from nvitop.simulation.schema import CLOCK_EVENT_REASONS, GPU_KEYS, ScenarioKey

if TYPE_CHECKING:
    from xml.etree import ElementTree as ET

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
    driver_version: str
    cuda_version: str
    gpus: Sequence[CapturedGpu]


#: Returns a value as in a scenario file, ``None`` if the text is something else.
Converter = Callable[[str], Any]


def is_missing(text: str | None) -> bool:
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


#: A machine with 16 GPUs has 1 MB, 20 levels at most and 20,000 elements. Longer texts are cut.
MAX_BYTES = 16 << 20
MAX_DEPTH = 24
MAX_ELEMENTS = 100_000
MAX_GPUS = 64
MAX_PROCESSES = 5000
MAX_TEXT = 8192
ROOT = 'nvidia_smi_log'
#: Characters that a document cannot have.
_NOT_IN_XML = re.compile('[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]')
_REFERENCE = re.compile('&(?:#([0-9]{1,7});|#x([0-9a-fA-F]{1,6});|(amp|lt|gt|quot|apos);)?')
_PROCESS_NAME = re.compile(
    r'(?<=<process_name>)(?:(?!</?process_(?:name|info)>).)*(?=</process_name>)', re.DOTALL
)
#: Name of an element before R535 → its present name.
_RENAMED = {'power_readings': 'gpu_power_readings'}

#: Metric → paths of its element within ``<gpu>``. The first value that is available counts.
PATHS: dict[str, str] = {
    **{key.name: key.xml for key in GPU_KEYS if key.xml},
    'fabric_bandwidth': 'fabric/health/bandwidth',
    'fabric_route_recovery': 'fabric/health/route_recovery_in_progress',
    'fabric_route_unhealthy': 'fabric/health/route_unhealthy',
    'fabric_access_timeout_recovery': 'fabric/health/access_timeout_recovery',
    'fabric_incorrect_configuration': 'fabric/health/incorrect_configuration',
    **{
        f'remapping_banks_{name}': f'remapped_rows/row_remapper_histogram/row_remapper_histogram_{name}'
        for name in ('max', 'high', 'partial', 'low', 'none')
    },
    **{
        f'{name}_time': f'clocks_event_reasons_counters/clocks_event_reasons_counters_{element}'
        for name, element in (
            ('sw_power_cap', 'sw_power_cap'),
            ('sync_boost', 'sync_boost'),
            ('sw_thermal_slowdown', 'sw_therm_slowdown'),
            ('hw_thermal_slowdown', 'hw_therm_slowdown'),
            ('hw_power_brake_slowdown', 'hw_power_brake'),
        )
    },
}  # fmt: skip
#: Reason for low clocks → paths of its element.
REASON_PATHS = {
    reason: (
        f'clocks_event_reasons/clocks_event_reason_{element}'
        f' | clocks_throttle_reasons/clocks_throttle_reason_{element}'
    )
    for reason in CLOCK_EVENT_REASONS
    for element in (reason.replace('-', '_').replace('display_clock', 'display_clocks'),)
}


def _ecc_paths() -> Iterator[tuple[str, str]]:
    """ECC errors of GPUs since Turing, and by location of older ones."""
    bits = {
        'corrected': ('correctable', 'single_bit'),
        'uncorrected': ('uncorrectable', 'double_bit'),
    }
    locations = ('register_file', 'l1_cache', 'l2_cache', 'texture_memory', 'cbu')
    for counter in ('volatile', 'aggregate'):
        for error, (word, bit) in bits.items():
            ending = f'{counter}_{error}_ecc_errors'
            new, old = f'ecc_errors/{counter}', f'ecc_errors/{counter}/{bit}'
            yield f'dram_{ending}', f'{new}/dram_{word} | {old}/device_memory'
            yield f'device_memory_{ending}', f'{old}/device_memory | {new}/dram_{word}'
            yield f'sram_{ending}', f'{new}/sram_{word}'
            for location in locations:
                yield f'{location}_{ending}', f'{old}/{location}'
        for part in ('parity', 'secded'):
            yield f'sram_{counter}_{part}_errors', f'ecc_errors/{counter}/sram_uncorrectable_{part}'
    yield 'sram_threshold_exceeded', 'ecc_errors/aggregate/sram_threshold_exceeded'
    for part in ('microcontroller', 'l2', 'sm', 'pcie', 'other'):
        yield f'sram_{part}_errors', f'ecc_errors/aggregate_uncorrectable_sram_sources/sram_{part}'


PATHS.update(_ecc_paths())


#: Value of a MIG device → path of its element within ``<mig_device>``.
MIG_PATHS = {
    'index': 'index',
    'sram_errors': 'ecc_error_count/volatile_count/sram_uncorrectable',
    'gpu_instance_id': 'gpu_instance_id',
    'compute_instance_id': 'compute_instance_id',
    **{
        name: f'device_attributes/shared/{element}_count'
        for name, element in (
            ('multiprocessor', 'multiprocessor'), ('copy', 'copy_engine'), ('decoder', 'decoder'),
            ('encoder', 'encoder'), ('jpeg', 'jpg'), ('ofa', 'ofa'),
        )
    },
    **{name: f'fb_memory_usage/{name[7:]}' for name in MIG_SIZES if name.startswith('memory_')},
    **{name: f'bar1_memory_usage/{name[12:]}' for name in MIG_SIZES if name.startswith('bar1_')},
}  # fmt: skip


class _RefusedError(Exception):
    """The file is not accepted; the text is the reason."""


def _read_texts(
    parent: ET.Element,
    path: str,
    depth: int,
    texts: dict[str, str],
    groups: Mapping[str, list[dict[str, str]]],
) -> None:
    """Add the texts of elements without children by path; those of groups are on their own."""
    if depth > MAX_DEPTH:
        raise _RefusedError('it has too many elements')
    for element in parent:
        group = groups.get(element.tag)
        if group is not None:
            if len(group) == MAX_PROCESSES:
                raise _RefusedError(f'it has more than {MAX_PROCESSES} processes')
            group.append({})
            _read_texts(element, '', depth + 1, group[-1], groups)
            continue
        place = f'{path}{_RENAMED.get(element.tag, element.tag)}'
        if len(element):
            _read_texts(element, f'{place}/', depth + 1, texts, groups)
        else:
            texts[place] = (element.text or '').strip()[:MAX_TEXT]


def _cleaned(data: bytes) -> bytes:
    """Return the document in UTF-8, without what programs and people add to the output.

    nvidia-smi writes names of processes as they are: bytes that are no text, control characters,
    ``&``, ``<``.
    """
    encoding = 'utf-16' if data[:2] in (b'\xff\xfe', b'\xfe\xff') else 'utf-8'
    text = data.decode(encoding, 'replace')
    starts = [text.find(start) for start in ('<?xml', '<!DOCTYPE', f'<{ROOT}') if start in text]
    end = f'</{ROOT}>'
    text = text[min(starts, default=0) :]
    if end in text:
        text = text[: text.index(end) + len(end)]  # with -l, more documents follow
    text = _PROCESS_NAME.sub(lambda name: name[0].replace('<', '&lt;').replace('>', '&gt;'), text)
    text = _REFERENCE.sub(_valid_reference, _NOT_IN_XML.sub('\ufffd', text))
    return text.encode('utf-8', 'replace')


def _valid_reference(match: re.Match[str]) -> str:
    if match[3]:
        return match[0]
    if not match[1] and not match[2]:
        return '&amp;'
    code = int(match[1]) if match[1] else int(match[2], 16)
    is_valid = code < 0x110000 and not _NOT_IN_XML.match(chr(code))
    return match[0] if is_valid else '\ufffd'


def _parse(file: BinaryIO) -> ET.Element:
    from xml.etree import ElementTree as ET  # only for these files

    data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise _RefusedError(f'it is larger than {MAX_BYTES >> 20} MiB')
    if not data.strip():
        raise _RefusedError('it is empty')
    text = _cleaned(data)
    if text.count(b'<') > 2 * MAX_ELEMENTS:
        raise _RefusedError('it has too many elements')
    if re.search(rb'<!(DOCTYPE[^>]*\[|ENTITY)', text):
        raise _RefusedError('its document type has declarations')
    try:
        root = ET.fromstring(text)
    except ET.ParseError as error:
        raise _RefusedError(f'it is damaged: {error}') from error
    if root.tag != ROOT:
        raise _RefusedError(f'it begins with <{root.tag[:40]}>, not with <{ROOT}>')
    count = len(root.findall('gpu'))
    if not count:
        raise _RefusedError('it has no <gpu>')
    if count > MAX_GPUS:
        raise _RefusedError(f'it has more than {MAX_GPUS} GPUs')
    return root


def read_xml(file: BinaryIO, path: pathlib.Path) -> Capture:
    """Read the output of ``nvidia-smi -q -x``; a ScenarioError about anything else names *path*."""
    try:
        root = _parse(file)
        gpus = [_captured(element) for element in root.findall('gpu')]
    except _RefusedError as error:
        message = f'{path}: not the output of "nvidia-smi -q -x": {error}'
        raise ScenarioError(message) from error
    driver, cuda = (root.findtext(f'{name}_version') or '' for name in ('driver', 'cuda'))
    return Capture(driver.strip(), cuda.strip(), gpus)


def _named(elements: Mapping[str, str], all_paths: Mapping[str, str]) -> dict[str, str]:
    """Texts by name, of the elements that the file has."""
    texts: dict[str, str] = {}
    for name, paths in all_paths.items():
        present = [elements[path] for path in paths.split(' | ') if path in elements]
        if present:
            texts[name] = next((text for text in present if not is_missing(text)), present[0])
    return texts


def _share_ecc_totals(texts: dict[str, str]) -> None:
    """Add the totals that newer files leave out."""
    for error in ('corrected', 'uncorrected'):
        for counter in ('volatile', 'aggregate'):
            total = f'total_{counter}_{error}_ecc_errors'
            if not is_missing(texts.get(total, '')):
                continue
            parts = [f'{place}_{counter}_{error}_ecc_errors' for place in ('dram', 'sram')]
            if error == 'uncorrected':
                parts += [f'sram_{counter}_{part}_errors' for part in ('parity', 'secded')]
            counts = [texts.get(part, '') for part in parts]
            known = [int(count) for count in counts if count.isdecimal()]
            if known:
                texts[total] = str(sum(known))


def _captured(element: ET.Element) -> CapturedGpu:
    by_path = {'@id': element.get('id', '')}
    migs: list[dict[str, str]] = []
    processes: list[dict[str, str]] = []
    _read_texts(element, '', 1, by_path, {'mig_device': migs, 'process_info': processes})
    texts = _named(by_path, PATHS)
    _share_ecc_totals(texts)
    reasons = {
        CLOCK_EVENT_REASONS[name]: text == 'Active'
        for name, text in _named(by_path, REASON_PATHS).items()
        if not is_missing(text)
    }
    if reasons:
        active = sum(bit for bit, is_active in reasons.items() if is_active)
        texts['clock_event_reasons'] = f'{active:#018x}'
        texts['supported_clock_event_reasons'] = f'{sum(reasons):#018x}'
    return CapturedGpu(texts, [_named(mig, MIG_PATHS) for mig in migs], processes)
