# SPDX-License-Identifier: Apache-2.0
"""The output of ``nvidia-smi -q -x`` as a capture.

It may come from anybody: size, depth and number of elements are limited, entities are refused, and
nothing outside of the file is read.
"""

from __future__ import annotations

import pathlib
import re
from typing import BinaryIO, Iterator, Mapping
from xml.etree import ElementTree as ET

from nvitop.simulation.capture import MIG_SIZES, Capture, CapturedGpu, is_missing
from nvitop.simulation.scenario import ScenarioError
from nvitop.simulation.schema import CLOCK_EVENT_REASONS, GPU_KEYS

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
    root = ET.fromstring(text)
    if root.tag != ROOT:
        raise _RefusedError(f'it begins with <{root.tag[:40]}>, not with <{ROOT}>')
    count = len(root.findall('gpu'))
    if not count:
        raise _RefusedError('it has no <gpu>')
    if count > MAX_GPUS:
        raise _RefusedError(f'it has more than {MAX_GPUS} GPUs')
    return root


def read_xml(file: BinaryIO, path: pathlib.Path) -> Capture:
    """Read the output of ``nvidia-smi -q -x`` from an open file.

    Raises:
        ScenarioError: The file is something else; the message names *path*.
        OSError: It cannot be read.
    """
    try:
        root = _parse(file)
        gpus = [_captured(element) for element in root.findall('gpu')]
    except _RefusedError as error:
        message = f'{path}: not the output of "nvidia-smi -q -x": {error}'
        raise ScenarioError(message) from error
    except ET.ParseError as error:
        message = f'{path}: damaged, or not the output of "nvidia-smi -q -x": {error}'
        raise ScenarioError(message) from error
    driver, cuda = (root.findtext(f'{name}_version') or '' for name in ('driver', 'cuda'))
    return Capture(driver.strip(), cuda.strip(), gpus)


def _named(elements: Mapping[str, str], all_paths: Mapping[str, str]) -> dict[str, str]:
    """Texts by name, of the elements that the file has."""
    texts: dict[str, str] = {}
    for name, paths in all_paths.items():
        found = [elements[path] for path in paths.split(' | ') if path in elements]
        if found:
            texts[name] = next((text for text in found if not is_missing(text)), found[0])
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
