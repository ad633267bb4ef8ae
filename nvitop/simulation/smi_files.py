# SPDX-License-Identifier: Apache-2.0
"""The output of ``nvidia-smi -q -x`` as a capture.

It may come from anybody: size, depth and number of elements are limited, entities are refused, and
nothing outside of the file is read.
"""

from __future__ import annotations

import pathlib
from typing import BinaryIO, Iterator, Mapping, NamedTuple
from xml.parsers import expat

from nvitop.simulation.capture import (
    FABRIC_HEALTH,
    NAMES,
    Capture,
    CapturedGpu,
    is_missing,
)
from nvitop.simulation.scenario import ScenarioError
from nvitop.simulation.schema import CLOCK_EVENT_REASONS

#: A machine with 16 GPUs has 1 MB, 20 levels at most and 20,000 elements.
MAX_BYTES = 16 << 20
MAX_DEPTH = 24
MAX_ELEMENTS = 100_000
MAX_GPUS = 64
MAX_PROCESSES = 5000
MAX_TEXT = 8192
#: Number of bytes that are parsed at a time.
CHUNK = 64 << 10
ROOT = 'nvidia_smi_log'
#: Name of an element before R535 → its present name.
_RENAMED = {'power_readings': 'gpu_power_readings'}

#: Name of nvidia-smi → paths, for what makes up keys of several values.
PATHS: dict[str, str] = {
    **{name: path for name, (_, path) in NAMES.items() if path},
    'platform.chassis_serial_number': 'platformInfo/chassis_serial_number',
    'platform.gpu_fabric_guid': 'platformInfo/gpu_fabric_guid',
    'pci.bus': 'pci/pci_bus',
    'pci.device': 'pci/pci_device',
    'pci.domain': 'pci/pci_domain',
    **{
        f'remapped_rows.histogram.{name}': (
            f'remapped_rows/row_remapper_histogram/row_remapper_histogram_{name}'
        )
        for name in ('max', 'high', 'partial', 'low', 'none')
    },
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


class _Gpu(NamedTuple):
    """Texts of one ``<gpu>`` by path, and those of its MIG devices and processes."""

    texts: dict[str, str]
    migs: list[dict[str, str]]
    processes: list[dict[str, str]]


class _Handlers:
    """Handlers of the parser. Texts of elements without children are kept by path, within limits."""

    def __init__(self) -> None:
        self.machine: dict[str, str] = {}
        self.gpus: list[_Gpu] = []
        #: Names of the open elements.
        self._open: list[str] = []
        #: Texts by path of the open groups, and the number of open elements that a path leaves out.
        self._groups = [(self.machine, 1)]
        self._count = 0
        self._text = ''
        self._is_leaf = True

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        self._count += 1
        if self._count > MAX_ELEMENTS or len(self._open) >= MAX_DEPTH:
            raise _RefusedError('it has too many elements')
        if not self._open and name != ROOT:
            raise _RefusedError(f'it begins with <{name[:40]}>, not with <{ROOT}>')
        self._open.append(_RENAMED.get(name, name))
        self._text = ''
        self._is_leaf = True
        if len(self._open) == 2 and name == 'gpu':
            if len(self.gpus) == MAX_GPUS:
                raise _RefusedError(f'it has more than {MAX_GPUS} GPUs')
            self.gpus.append(_Gpu({}, [], []))
            self._groups.append((self.gpus[-1].texts, 2))
        elif name in ('mig_device', 'process_info') and self.gpus:
            gpu = self.gpus[-1]
            items = gpu.migs if name == 'mig_device' else gpu.processes
            if len(items) == MAX_PROCESSES:
                raise _RefusedError(f'it has more than {MAX_PROCESSES} processes')
            items.append({})
            self._groups.append((items[-1], len(self._open)))

    def data(self, text: str) -> None:
        if len(self._text) + len(text) > MAX_TEXT and text.strip():
            raise _RefusedError(f'<{self._open[-1][:40]}> has more than {MAX_TEXT} characters')
        self._text = (self._text + text)[:MAX_TEXT]

    def end(self, name: str) -> None:
        texts, depth = self._groups[-1]
        if self._is_leaf and len(self._open) > depth:
            texts['/'.join(self._open[depth:])] = self._text.strip()
        self._is_leaf = False
        self._open.pop()
        if len(self._open) < depth:
            self._groups.pop()


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
    texts = _named(gpu.texts, PATHS)
    _share_ecc_totals(texts)
    return CapturedGpu(texts, [_named(mig, MIG_PATHS) for mig in gpu.migs], gpu.processes)
