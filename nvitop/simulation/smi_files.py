# SPDX-License-Identifier: Apache-2.0
"""The output of ``nvidia-smi -q -x`` as a capture.

It may come from anybody: size, depth and number of elements are limited, entities are refused, and
nothing outside of the file is read.
"""

from __future__ import annotations

import pathlib
from typing import BinaryIO, Iterator, Mapping
from xml.parsers import expat

from nvitop.simulation.capture import (
    FABRIC_HEALTH,
    Capture,
    CapturedGpu,
    CapturedProcess,
    is_missing,
)
from nvitop.simulation.scenario import ScenarioError
from nvitop.simulation.schema import CLOCK_EVENT_REASONS

#: A machine with 16 GPUs has 1 MB, 20 levels at most and 20,000 elements.
MAX_BYTES = 16 << 20
MAX_DEPTH = 24
MAX_ELEMENTS = 100_000
MAX_GPUS = 64
MAX_ITEMS = 5000
MAX_TEXT = 8192
#: Number of bytes that are parsed at a time.
CHUNK = 64 << 10
ROOT = 'nvidia_smi_log'
#: Elements that are skipped with all they contain: the largest part of a file.
_SKIPPED = frozenset({'supported_clocks', 'accounted_processes'})
_LISTS = {'mig_device': 'mig', 'process_info': 'process'}

#: Name of nvidia-smi, or of :data:`nvitop.simulation.capture.EXTRA` → path of its element within
#: ``<gpu>``, or several, of newer drivers first. The first one that has a value counts.
PATHS: dict[str, str] = {
    'name': 'product_name',
    'brand': 'product_brand',
    'architecture': 'product_architecture',
    'display_mode': 'display_mode',
    'display_attached': 'display_attached',
    'display_active': 'display_active',
    'persistence_mode': 'persistence_mode',
    'addressing_mode': 'addressing_mode',
    'mig.mode.current': 'mig_mode/current_mig',
    'mig.mode.pending': 'mig_mode/pending_mig',
    'accounting.mode': 'accounting_mode',
    'accounting.buffer_size': 'accounting_mode_buffer_size',
    'driver_model.current': 'driver_model/current_dm',
    'driver_model.pending': 'driver_model/pending_dm',
    'serial': 'serial',
    'uuid': 'uuid',
    'minor_number': 'minor_number',
    'vbios_version': 'vbios_version',
    'multi_gpu_board': 'multigpu_board',
    'board_id': 'board_id',
    'board_part_number': 'board_part_number',
    'inforom.img': 'inforom_version/img_version',
    'inforom.oem': 'inforom_version/oem_object',
    'inforom.ecc': 'inforom_version/ecc_object',
    'inforom.pwr': 'inforom_version/pwr_object',
    'gom.current': 'gpu_operation_mode/current_gom',
    'c2c.mode': 'c2c_mode | gpu_c2c_mode',
    'gpu_recovery_action': 'gpu_recovery_action',
    'reset_status.reset_required': 'gpu_reset_status/reset_required',
    'reset_status.drain_and_reset_recommended': 'gpu_reset_status/drain_and_reset_recommended',
    'platform.chassis_serial_number': 'platformInfo/chassis_serial_number',
    'platform.slot_number': 'platformInfo/slot_number',
    'platform.tray_index': 'platformInfo/tray_index',
    'platform.host_id': 'platformInfo/host_id',
    'platform.peer_type': 'platformInfo/peer_type',
    'platform.module_id': 'platformInfo/module_id',
    'platform.gpu_fabric_guid': 'platformInfo/gpu_fabric_guid',
    'pci.bus': 'pci/pci_bus',
    'pci.device': 'pci/pci_device',
    'pci.domain': 'pci/pci_domain',
    'pci.baseClass': 'pci/pci_base_class',
    'pci.subClass': 'pci/pci_sub_class',
    'pci.device_id': 'pci/pci_device_id',
    'pci.bus_id': 'pci/pci_bus_id',
    'pci.sub_device_id': 'pci/pci_sub_system_id',
    'pcie.link.gen.max': 'pci/pci_gpu_link_info/pcie_gen/max_link_gen',
    'pcie.link.gen.current': 'pci/pci_gpu_link_info/pcie_gen/current_link_gen',
    'pcie.link.gen.gpucurrent': 'pci/pci_gpu_link_info/pcie_gen/device_current_link_gen',
    'pcie.link.gen.gpumax': 'pci/pci_gpu_link_info/pcie_gen/max_device_link_gen',
    'pcie.link.width.max': 'pci/pci_gpu_link_info/link_widths/max_link_width',
    'pcie.link.width.current': 'pci/pci_gpu_link_info/link_widths/current_link_width',
    'pcie_replays': 'pci/replay_counter',
    'pcie_tx_throughput': 'pci/tx_util',
    'pcie_rx_throughput': 'pci/rx_util',
    'fan.speed': 'fan_speed',
    'pstate': 'performance_state',
    'memory.total': 'fb_memory_usage/total',
    'memory.reserved': 'fb_memory_usage/reserved',
    'memory.used': 'fb_memory_usage/used',
    'memory.free': 'fb_memory_usage/free',
    'bar1_memory_total': 'bar1_memory_usage/total',
    'bar1_memory_used': 'bar1_memory_usage/used',
    'protected_memory.total': 'cc_protected_memory_usage/total',
    'compute_mode': 'compute_mode',
    'utilization.gpu': 'utilization/gpu_util',
    'utilization.memory': 'utilization/memory_util',
    'utilization.encoder': 'utilization/encoder_util',
    'utilization.decoder': 'utilization/decoder_util',
    'utilization.jpeg': 'utilization/jpeg_util',
    'utilization.ofa': 'utilization/ofa_util',
    'encoder.stats.sessionCount': 'encoder_stats/session_count',
    'encoder.stats.averageFps': 'encoder_stats/average_fps',
    'encoder.stats.averageLatency': 'encoder_stats/average_latency',
    'dramEncryption.mode.current': 'dram_encryption_mode/current_dram_encryption',
    'ecc.mode.current': 'ecc_mode/current_ecc',
    'ecc.mode.pending': 'ecc_mode/pending_ecc',
    'retired_pages.single_bit_ecc.count': 'retired_pages/multiple_single_bit_retirement/retired_count',
    'retired_pages.double_bit.count': 'retired_pages/double_bit_retirement/retired_count',
    'retired_pages.pending': 'retired_pages/pending_retirement | retired_pages/pending_blacklist',
    'remapped_rows.correctable': 'remapped_rows/remapped_row_corr',
    'remapped_rows.correctable_inactive': 'remapped_rows/remapped_row_corr_inactive',
    'remapped_rows.uncorrectable': 'remapped_rows/remapped_row_unc',
    'remapped_rows.uncorrectable_inactive': 'remapped_rows/remapped_row_unc_inactive',
    'remapped_rows.pending': 'remapped_rows/remapped_row_pending',
    'remapped_rows.failure': 'remapped_rows/remapped_row_failure',
    **{
        f'remapped_rows.histogram.{name}': (
            f'remapped_rows/row_remapper_histogram/row_remapper_histogram_{name}'
        )
        for name in ('max', 'high', 'partial', 'low', 'none')
    },
    'temperature.gpu': 'temperature/gpu_temp',
    'temperature.gpu.tlimit': 'temperature/gpu_temp_tlimit',
    'temperature.memory': 'temperature/memory_temp',
    'temperature_shutdown_threshold': 'temperature/gpu_temp_max_threshold',
    'temperature_slowdown_threshold': 'temperature/gpu_temp_slow_threshold',
    'max_temperature_threshold': 'temperature/gpu_temp_max_gpu_threshold',
    'max_memory_temperature_threshold': 'temperature/gpu_temp_max_mem_threshold',
    **{
        name: ' | '.join(
            f'{group}/{element}'
            for group in ('gpu_power_readings', 'power_readings')
            for element in elements
        )
        for name, elements in {
            'power.draw': ('power_draw', 'average_power_draw', 'instant_power_draw'),
            'power.draw.average': ('average_power_draw',),
            'power.draw.instant': ('instant_power_draw',),
            'power.limit': ('requested_power_limit', 'power_limit'),
            'enforced.power.limit': ('current_power_limit', 'enforced_power_limit'),
            'power.default_limit': ('default_power_limit',),
            'power.min_limit': ('min_power_limit',),
            'power.max_limit': ('max_power_limit',),
        }.items()
    },
    'module.power.draw.average': (
        'module_power_readings/average_power_draw | module_power_readings/power_draw'
    ),
    'module.power.draw.instant': (
        'module_power_readings/instant_power_draw | module_power_readings/power_draw'
    ),
    'module.power.limit': 'module_power_readings/requested_power_limit',
    'edpp_multiplier': 'edpp_multiplier',
    'clocks.current.graphics': 'clocks/graphics_clock',
    'clocks.current.sm': 'clocks/sm_clock',
    'clocks.current.memory': 'clocks/mem_clock',
    'clocks.current.video': 'clocks/video_clock',
    'clocks.applications.graphics': 'applications_clocks/graphics_clock',
    'clocks.applications.memory': 'applications_clocks/mem_clock',
    'clocks.default_applications.graphics': 'default_applications_clocks/graphics_clock',
    'clocks.default_applications.memory': 'default_applications_clocks/mem_clock',
    'clocks.max.graphics': 'max_clocks/graphics_clock',
    'clocks.max.sm': 'max_clocks/sm_clock',
    'clocks.max.memory': 'max_clocks/mem_clock',
    'max_video_clock': 'max_clocks/video_clock',
    **{
        f'clocks_event_reasons.{name}': (
            f'clocks_event_reasons/clocks_event_reason_{element}'
            f' | clocks_throttle_reasons/clocks_throttle_reason_{element}'
        )
        for name in (reason.replace('-', '_') for reason in CLOCK_EVENT_REASONS)
        for element in (name.replace('display_clock', 'display_clocks'),)
    },
    **{
        f'clocks_event_reasons_counters.{name}': (
            f'clocks_event_reasons_counters/clocks_event_reasons_counters_{element}'
        )
        for name, element in {
            'sw_power_cap': 'sw_power_cap',
            'sync_boost': 'sync_boost',
            'sw_thermal_slowdown': 'sw_therm_slowdown',
            'hw_thermal_slowdown': 'hw_therm_slowdown',
            'hw_power_brake_slowdown': 'hw_power_brake',
        }.items()
    },
    'fabric.state': 'fabric/state',
    'fabric.cliqueId': 'fabric/cliqueId',
    'fabric.clusterUuid': 'fabric/clusterUuid',
    **{name: name.replace('.', '/') for name in FABRIC_HEALTH},
}


def _ecc_paths() -> Iterator[tuple[str, str]]:
    """ECC errors of GPUs since Turing, and by location of older ones."""
    bits = {
        'corrected': ('correctable', 'single_bit'),
        'uncorrected': ('uncorrectable', 'double_bit'),
    }
    locations = ('register_file', 'l1_cache', 'l2_cache', 'texture_memory', 'cbu', 'total')
    for counter in ('volatile', 'aggregate'):
        for error, (word, bit) in bits.items():
            name = f'ecc.errors.{error}.{counter}'
            new, old = f'ecc_errors/{counter}', f'ecc_errors/{counter}/{bit}'
            yield f'{name}.dram', f'{new}/dram_{word} | {old}/device_memory'
            yield f'{name}.device_memory', f'{old}/device_memory | {new}/dram_{word}'
            yield f'{name}.sram', f'{new}/sram_{word}'
            for location in locations:
                yield f'{name}.{location}', f'{old}/{location}'
        sram = f'ecc.errors.uncorrected.{counter}.sram'
        yield f'{sram}.parity', f'ecc_errors/{counter}/sram_uncorrectable_parity'
        yield f'{sram}.secded', f'ecc_errors/{counter}/sram_uncorrectable_secded'
    yield f'{sram}.thresholdExceeded', 'ecc_errors/aggregate/sram_threshold_exceeded'
    sources = 'ecc_errors/aggregate_uncorrectable_sram_sources'
    yield f'{sram}.mcu', f'{sources}/sram_microcontroller'
    for part in ('l2', 'sm', 'pcie', 'other'):
        yield f'{sram}.{part}', f'{sources}/sram_{part}'


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
    **{
        f'{kind}.{name}': f'{element}_memory_usage/{name}'
        for kind, element in (('memory', 'fb'), ('bar1', 'bar1'))
        for name in ('total', 'reserved', 'used', 'free')
    },
}  # fmt: skip


class _Gpu:
    """Texts of one ``<gpu>`` by path, and those of its MIG devices and processes."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.lists: dict[str, list[dict[str, str]]] = {'mig': [], 'process': []}


class _Handlers:
    """Handlers of the parser. Texts of elements without children are kept by path."""

    def __init__(self) -> None:
        self.machine: dict[str, str] = {}
        self.gpus: list[_Gpu] = []
        #: Names of the open elements, and the number of them that a new dictionary begins with.
        self._open: list[str] = []
        self._count = 0
        self._skipped = 0
        self._text: list[str] = []
        self._length = 0
        self._is_leaf = True
        self._target = self.machine
        self._base = 1

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        self._count += 1
        if self._count > MAX_ELEMENTS or len(self._open) >= MAX_DEPTH:
            raise _RefusedError('it has too many elements')
        if not self._open and name != ROOT:
            raise _RefusedError(f'it begins with <{name[:40]}>, not with <{ROOT}>')
        self._open.append(name)
        self._text = []
        self._length = 0
        self._is_leaf = True
        if self._skipped or name in _SKIPPED:
            self._skipped += 1
        elif len(self._open) == 2 and name == 'gpu':
            if len(self.gpus) == MAX_GPUS:
                raise _RefusedError(f'it has more than {MAX_GPUS} GPUs')
            self.gpus.append(_Gpu())
            self._target, self._base = self.gpus[-1].texts, 2
        elif self.gpus and name in _LISTS and self._base == 2:
            items = self.gpus[-1].lists[_LISTS[name]]
            if len(items) == MAX_ITEMS:
                raise _RefusedError(f'it has more than {MAX_ITEMS} processes')
            items.append({})
            self._target, self._base = items[-1], len(self._open)

    def data(self, text: str) -> None:
        if not self._skipped:
            self._text.append(text)
            self._length += len(text)
            if self._length > MAX_TEXT and text.strip():
                name = self._open[-1] if self._open else ROOT
                raise _RefusedError(f'<{name[:40]}> has more than {MAX_TEXT} characters')

    def end(self, name: str) -> None:
        if self._skipped:
            self._skipped -= 1
        elif len(self._open) > self._base and self._is_leaf:
            text = ''.join(self._text).strip()
            self._target['/'.join(self._open[self._base :])] = text
        self._is_leaf = False
        self._open.pop()
        if len(self._open) < self._base:
            if self._base > 2 and self.gpus:
                self._target, self._base = self.gpus[-1].texts, 2
            else:
                self._target, self._base = self.machine, 1


class _RefusedError(Exception):
    """The file is not accepted; the text is the reason."""


def _refuse_entities(*arguments: object) -> None:
    raise _RefusedError('it declares entities')


def _doctype(name: str, system: str | None, public: str | None, has_internal_subset: int) -> None:
    if has_internal_subset:
        raise _RefusedError('its document type has declarations')


def _parse(file: BinaryIO) -> _Handlers:
    reader = _Handlers()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
    parser.StartDoctypeDeclHandler = _doctype
    parser.EntityDeclHandler = _refuse_entities
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.data
    size, is_empty = 0, True
    for chunk in iter(lambda: file.read(CHUNK), b''):
        size += len(chunk)
        is_empty &= not chunk.strip()
        if size > MAX_BYTES:
            raise _RefusedError(f'it is larger than {MAX_BYTES >> 20} MiB')
        parser.Parse(chunk, False)
        if size - parser.CurrentByteIndex > 4 * CHUNK:  # expat collects what has no end yet
            raise _RefusedError('it has an element that is too large')
    if is_empty:
        raise _RefusedError('it is empty')
    parser.Parse(b'', True)
    if not reader.gpus:
        raise _RefusedError('it has no <gpu>')
    return reader


def read_xml(file: BinaryIO, path: pathlib.Path) -> Capture:
    """Read the output of ``nvidia-smi -q -x`` from an open file.

    Raises:
        ScenarioError: The file is something else; the message names *path*.
        OSError: It cannot be read.
    """
    try:
        reader = _parse(file)
    except _RefusedError as error:
        message = f'{path}: not the output of "nvidia-smi -q -x": {error}'
        raise ScenarioError(message) from error
    except (expat.ExpatError, ValueError, LookupError) as error:  # the last two: unknown encodings
        message = f'{path}: damaged, or not the output of "nvidia-smi -q -x": {error}'
        raise ScenarioError(message) from error
    machine = reader.machine
    return Capture(
        machine.get('driver_version', ''),
        machine.get('cuda_version', ''),
        [_captured(gpu) for gpu in reader.gpus],
    )


def texts_of(elements: Mapping[str, str]) -> dict[str, str]:
    """Texts by the names of nvidia-smi, of the elements that the file has."""
    texts: dict[str, str] = {}
    for name, paths in PATHS.items():
        found = [elements[path] for path in paths.split(' | ') if path in elements]
        if found:
            texts[name] = next((text for text in found if not is_missing(text)), found[0])
    _share_ecc_totals(texts)
    return texts


def _share_ecc_totals(texts: dict[str, str]) -> None:
    """Add the totals that newer files leave out."""
    for kind in ('corrected', 'uncorrected'):
        for counter in ('volatile', 'aggregate'):
            name = f'ecc.errors.{kind}.{counter}'
            if not is_missing(texts.get(f'{name}.total', '')):
                continue
            parts = ['dram', 'sram']
            if kind == 'uncorrected':
                parts += ['sram.parity', 'sram.secded']
            counts = [texts.get(f'{name}.{part}', '') for part in parts]
            known = [int(count) for count in counts if count.isdecimal()]
            if known:
                texts[f'{name}.total'] = str(sum(known))


def _captured(gpu: _Gpu) -> CapturedGpu:
    migs = [
        {name: mig[path] for name, path in MIG_PATHS.items() if path in mig}
        for mig in gpu.lists['mig']
    ]
    processes = [
        CapturedProcess(
            one.get('pid', ''),
            one.get('process_name', ''),
            one.get('used_memory', ''),
            one.get('type', 'C'),
            one.get('gpu_instance_id', ''),
            one.get('compute_instance_id', ''),
        )
        for one in gpu.lists['process']
    ]
    return CapturedGpu(texts_of(gpu.texts), migs, processes)
