# SPDX-License-Identifier: Apache-2.0
"""The output of ``nvidia-smi -q -x`` as a capture.

It may come from anybody: size, depth and number of elements are limited, entities are refused, and
nothing outside of the file is read.
"""

from __future__ import annotations

import pathlib
import re
from typing import BinaryIO, Iterator, Mapping, NamedTuple
from xml.etree import ElementTree as ET

from nvitop.simulation.capture import MIG_SIZES, Capture, CapturedGpu, is_missing
from nvitop.simulation.scenario import ScenarioError
from nvitop.simulation.schema import CLOCK_EVENT_REASONS

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

#: Metric → path of its element within ``<gpu>``, or several, the preferred one first: those of newer
#: drivers. ``@id`` is the attribute. The first value that is available counts.
PATHS: dict[str, str] = {
    **{
        name: name
        for name in (
            'serial', 'uuid', 'display_active', 'persistence_mode', 'vbios_version', 'fan_speed',
            'performance_state', 'compute_mode', 'edpp_multiplier', 'minor_number', 'board_id',
            'board_part_number',
        )
    },
    'name': 'product_name',
    'bus_id': 'pci/pci_bus_id | @id',
    'pci_base_class': 'pci/pci_base_class',
    'pci_subclass': 'pci/pci_sub_class',
    'pci_device_id': 'pci/pci_device_id',
    'pci_subsystem_id': 'pci/pci_sub_system_id',
    'pcie_link_generation': 'pci/pci_gpu_link_info/pcie_gen/current_link_gen | pci/pci_gpu_link_info/pcie_gen/device_current_link_gen',
    'max_pcie_link_generation': 'pci/pci_gpu_link_info/pcie_gen/max_link_gen',
    'gpu_max_pcie_link_generation': 'pci/pci_gpu_link_info/pcie_gen/max_device_link_gen',
    'pcie_link_width': 'pci/pci_gpu_link_info/link_widths/current_link_width',
    'max_pcie_link_width': 'pci/pci_gpu_link_info/link_widths/max_link_width',
    'display_mode': 'display_attached | display_mode',
    'memory_addressing': 'addressing_mode',
    'accounting': 'accounting_mode',
    'accounting_buffer_size': 'accounting_mode_buffer_size',
    'current_driver_model': 'driver_model/current_dm',
    'driver_model_pending': 'driver_model/pending_dm',
    'inforom_image_version': 'inforom_version/img_version',
    'inforom_oem_version': 'inforom_version/oem_object',
    'inforom_ecc_version': 'inforom_version/ecc_object',
    'inforom_power_version': 'inforom_version/pwr_object',
    'recovery_action': 'gpu_recovery_action',
    'reset_required': 'gpu_reset_status/reset_required',
    'drain_and_reset_recommended': 'gpu_reset_status/drain_and_reset_recommended',
    'operation_mode': 'gpu_operation_mode/current_gom',
    'memory_total': 'fb_memory_usage/total',
    'memory_reserved': 'fb_memory_usage/reserved',
    'memory_used': 'fb_memory_usage/used',
    'memory_free': 'fb_memory_usage/free',
    'gpu_utilization': 'utilization/gpu_util',
    'memory_utilization': 'utilization/memory_util',
    'encoder_utilization': 'utilization/encoder_util',
    'decoder_utilization': 'utilization/decoder_util',
    'jpeg_utilization': 'utilization/jpeg_util',
    'ofa_utilization': 'utilization/ofa_util',
    'encoder_session_count': 'encoder_stats/session_count',
    'encoder_average_fps': 'encoder_stats/average_fps',
    'encoder_average_latency': 'encoder_stats/average_latency',
    'dram_encryption': 'dram_encryption_mode/current_dram_encryption',
    'ecc': 'ecc_mode/current_ecc',
    'ecc_pending': 'ecc_mode/pending_ecc',
    'retired_pages_single_bit_ecc': 'retired_pages/multiple_single_bit_retirement/retired_count',
    'retired_pages_double_bit_ecc': 'retired_pages/double_bit_retirement/retired_count',
    'retired_pages_pending': 'retired_pages/pending_retirement | retired_pages/pending_blacklist',
    'remapped_rows_correctable': 'remapped_rows/remapped_row_corr',
    'inactive_remapped_rows_correctable': 'remapped_rows/remapped_row_corr_inactive',
    'remapped_rows_uncorrectable': 'remapped_rows/remapped_row_unc',
    'inactive_remapped_rows_uncorrectable': 'remapped_rows/remapped_row_unc_inactive',
    'remapped_rows_pending': 'remapped_rows/remapped_row_pending',
    'remapped_rows_failure': 'remapped_rows/remapped_row_failure',
    'temperature': 'temperature/gpu_temp',
    'temperature_margin': 'temperature/gpu_temp_tlimit',
    'memory_temperature': 'temperature/memory_temp',
    'power_usage': 'gpu_power_readings/power_draw | gpu_power_readings/average_power_draw | gpu_power_readings/instant_power_draw',
    'average_power_usage': 'gpu_power_readings/average_power_draw',
    'instant_power_usage': 'gpu_power_readings/instant_power_draw',
    'power_limit': 'gpu_power_readings/requested_power_limit | gpu_power_readings/power_limit',
    'enforced_power_limit': 'gpu_power_readings/current_power_limit | gpu_power_readings/enforced_power_limit',
    'default_power_limit': 'gpu_power_readings/default_power_limit',
    'min_power_limit': 'gpu_power_readings/min_power_limit',
    'max_power_limit': 'gpu_power_readings/max_power_limit',
    'module_average_power_usage': 'module_power_readings/average_power_draw | module_power_readings/power_draw',
    'module_instant_power_usage': 'module_power_readings/instant_power_draw | module_power_readings/power_draw',
    'module_power_limit': 'module_power_readings/requested_power_limit',
    'module_enforced_power_limit': 'module_power_readings/current_power_limit',
    'module_default_power_limit': 'module_power_readings/default_power_limit',
    'module_min_power_limit': 'module_power_readings/min_power_limit',
    'module_max_power_limit': 'module_power_readings/max_power_limit',
    'graphics_clock': 'clocks/graphics_clock',
    'sm_clock': 'clocks/sm_clock',
    'memory_clock': 'clocks/mem_clock',
    'video_clock': 'clocks/video_clock',
    'application_graphics_clock': 'applications_clocks/graphics_clock',
    'application_memory_clock': 'applications_clocks/mem_clock',
    'default_application_graphics_clock': 'default_applications_clocks/graphics_clock',
    'default_application_memory_clock': 'default_applications_clocks/mem_clock',
    'max_graphics_clock': 'max_clocks/graphics_clock',
    'max_sm_clock': 'max_clocks/sm_clock',
    'max_memory_clock': 'max_clocks/mem_clock',
    'mig_mode': 'mig_mode/current_mig',
    'mig_mode_pending': 'mig_mode/pending_mig',
    'c2c_mode': 'c2c_mode | gpu_c2c_mode',
    'protected_memory_total': 'cc_protected_memory_usage/total',
    'fabric_state': 'fabric/state',
    'fabric_clique_id': 'fabric/cliqueId',
    'fabric_cluster_uuid': 'fabric/clusterUuid',
    'fabric_bandwidth': 'fabric/health/bandwidth',
    'fabric_route_recovery': 'fabric/health/route_recovery_in_progress',
    'fabric_route_unhealthy': 'fabric/health/route_unhealthy',
    'fabric_access_timeout_recovery': 'fabric/health/access_timeout_recovery',
    'fabric_incorrect_configuration': 'fabric/health/incorrect_configuration',
    'fabric_health_summary': 'fabric/health/summary',
    'chassis_serial_number': 'platformInfo/chassis_serial_number',
    'gpu_fabric_guid': 'platformInfo/gpu_fabric_guid',
    'slot_number': 'platformInfo/slot_number',
    'tray_index': 'platformInfo/tray_index',
    'host_id': 'platformInfo/host_id',
    'peer_type': 'platformInfo/peer_type',
    'platform_module_id': 'platformInfo/module_id',
    'brand': 'product_brand',
    'architecture': 'product_architecture',
    'multi_gpu_board': 'multigpu_board',
    'bar1_memory_total': 'bar1_memory_usage/total',
    'bar1_memory_used': 'bar1_memory_usage/used',
    'pcie_replays': 'pci/replay_counter',
    'pcie_tx_throughput': 'pci/tx_util',
    'pcie_rx_throughput': 'pci/rx_util',
    'max_video_clock': 'max_clocks/video_clock',
    'temperature_shutdown_threshold': 'temperature/gpu_temp_max_threshold',
    'temperature_slowdown_threshold': 'temperature/gpu_temp_slow_threshold',
    'max_temperature_threshold': 'temperature/gpu_temp_max_gpu_threshold',
    'max_memory_temperature_threshold': 'temperature/gpu_temp_max_mem_threshold',
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
            yield f'total_{ending}', f'{old}/total'
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


class _Gpu(NamedTuple):
    """Texts of one ``<gpu>`` by path, and those of its MIG devices and processes."""

    texts: dict[str, str]
    migs: list[dict[str, str]]
    processes: list[dict[str, str]]


class _RefusedError(Exception):
    """The file is not accepted; the text is the reason."""


def _read_gpu(element: ET.Element) -> _Gpu:
    gpu = _Gpu({'@id': element.get('id', '')}, [], [])
    _read_texts(element, '', 1, gpu.texts, {'mig_device': gpu.migs, 'process_info': gpu.processes})
    return gpu


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
        gpus = [_captured(_read_gpu(element)) for element in root.findall('gpu')]
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


def _captured(gpu: _Gpu) -> CapturedGpu:
    texts = _named(gpu.texts, PATHS)
    _share_ecc_totals(texts)
    reasons = {
        CLOCK_EVENT_REASONS[name]: text == 'Active'
        for name, text in _named(gpu.texts, REASON_PATHS).items()
        if not is_missing(text)
    }
    if reasons:
        active = sum(bit for bit, is_active in reasons.items() if is_active)
        texts['clock_event_reasons'] = f'{active:#018x}'
        texts['supported_clock_event_reasons'] = f'{sum(reasons):#018x}'
    return CapturedGpu(texts, [_named(mig, MIG_PATHS) for mig in gpu.migs], gpu.processes)
