# SPDX-License-Identifier: Apache-2.0
"""Modes of a GPU, and its MIG devices."""

from __future__ import annotations

from nvitop.api.libnvml._errors import INVALID_ARGUMENT, NOT_FOUND, NOT_SUPPORTED
from nvitop.simulation.abi import DriverError, fill_handle, fill_number, number, target
from nvitop.simulation.driver.symbols import GPU, NODE, SYSTEM, Symbols
from nvitop.simulation.scenario import Mig
from nvitop.simulation.world import Node, World

SYMBOLS = Symbols()
SYMBOLS.add_numbers(
    GPU,
    {
        'nvmlDeviceGetDisplayMode': 'display_mode',
        'nvmlDeviceGetDisplayActive': 'display_active',
        'nvmlDeviceGetPersistenceMode': 'persistence_mode',
        'nvmlDeviceGetComputeMode': 'compute_mode',
        'nvmlDeviceGetAccountingBufferSize': 'accounting_buffer_size',
        'nvmlDeviceGetAccountingMode': 'accounting_mode',
        # The current and the pending mode.
        'nvmlDeviceGetDriverModel': 'driver_model driver_model_pending',
        'nvmlDeviceGetDriverModel_v2': 'driver_model driver_model_pending',
        'nvmlDeviceGetMigMode': 'mig_mode mig_mode_pending',
        'nvmlDeviceGetGpuOperationMode': 'gpu_operation_mode gpu_operation_mode',
        'nvmlDeviceGetGspFirmwareMode': 'gsp_mode gsp_mode_default',
        'nvmlDeviceGetEccMode': 'ecc_mode ecc_mode_pending',
    },
)
SYMBOLS.add_structs(
    GPU,
    {
        'nvmlDeviceGetAddressingMode': {'value': 'addressing_mode'},
        'nvmlDeviceGetC2cModeInfoV': {'isC2cEnabled': 'c2c_mode'},
    },
)


@SYMBOLS.add(GPU)
def nvmlDeviceGetDramEncryptionMode(node: Node, current: object, pending: object) -> None:
    """``(device, versioned struct *, versioned struct *)``."""
    target(current).encryptionState = target(pending).encryptionState = node.read('dram_encryption')


@SYMBOLS.add(GPU)
def nvmlDeviceGetVgpuCapabilities(node: Node, capability: object, out: object) -> None:
    """``(device, capability, unsigned *)``: even capabilities are supported."""
    fill_number(out, node.read('vgpu_host') and number(capability) % 2 == 0)


@SYMBOLS.add(SYSTEM)
def nvmlGetVgpuDriverCapabilities(world: World, capability: object, out: object) -> None:
    """``(capability, unsigned *)``: even capabilities are supported if a GPU is a vGPU host."""
    if not any(node.value('vgpu_host') for node in world.present()):
        raise DriverError(NOT_SUPPORTED)
    fill_number(out, number(capability) % 2 == 0)


# MIG


@SYMBOLS.add(NODE)
def nvmlDeviceIsMigDeviceHandle(node: Node, is_mig: object) -> None:
    """``(device, unsigned *)``."""
    fill_number(is_mig, node.mig is not None)


@SYMBOLS.add(GPU)
def nvmlDeviceGetMaxMigDeviceCount(node: Node, count: object) -> None:
    """``(device, unsigned *)``: 0 if the GPU does not support MIG."""
    supported = node.value('mig_mode') is not None
    fill_number(count, node.read('max_mig_devices') if supported else 0)


@SYMBOLS.add(GPU)
def nvmlDeviceGetMigDeviceHandleByIndex(node: Node, index: object, device: object) -> None:
    """``(device, index, handle *)``: *not found* for an index without a device, since indices have gaps."""
    if node.value('mig_mode') is None:
        raise DriverError(NOT_SUPPORTED)
    wanted = number(index)
    if not 0 <= wanted < node.read('max_mig_devices'):
        raise DriverError(INVALID_ARGUMENT)
    t = node.world.seconds()
    for mig in node.migs:
        if mig.index() == wanted and mig.exists(t):
            fill_handle(device, mig.address)
            return
    raise DriverError(NOT_FOUND)


@SYMBOLS.add(NODE)
def nvmlDeviceGetDeviceHandleFromMigDeviceHandle(node: Node, device: object) -> None:
    """``(MIG device, handle *)``."""
    if node.mig is None:
        raise DriverError(INVALID_ARGUMENT)
    fill_handle(device, node.gpu.address)


def _mig_of(node: Node) -> Mig:
    if node.mig is None:
        raise DriverError(NOT_SUPPORTED)
    return node.mig


@SYMBOLS.add(NODE)
def nvmlDeviceGetGpuInstanceId(node: Node, instance: object) -> None:
    """``(MIG device, unsigned *)``."""
    fill_number(instance, _mig_of(node).gpu_instance)


@SYMBOLS.add(NODE)
def nvmlDeviceGetComputeInstanceId(node: Node, instance: object) -> None:
    """``(MIG device, unsigned *)``."""
    fill_number(instance, _mig_of(node).compute_instance)


@SYMBOLS.add(NODE, 'nvmlDeviceGetAttributes', 'nvmlDeviceGetAttributes_v2')
def attributes(node: Node, out: object) -> None:
    """``(MIG device, struct *)``: the resources of its profile."""
    mig, struct = _mig_of(node), target(out)
    compute, gpu = mig.compute_slices, mig.gpu_slices
    engines = mig.engines or {
        'multiprocessor': (node.gpu.value('multiprocessors') or 0) // 7 * compute,
        'copy': gpu,
        'decoder': gpu,
        'jpeg': gpu,
        'ofa': int(gpu == 7),
    }
    struct.multiprocessorCount = engines.get('multiprocessor', 0)
    struct.sharedCopyEngineCount = engines.get('copy', 0)
    struct.sharedDecoderCount = engines.get('decoder', 0)
    struct.sharedEncoderCount = engines.get('encoder', 0)
    struct.sharedJpegCount = engines.get('jpeg', 0)
    struct.sharedOfaCount = engines.get('ofa', 0)
    struct.gpuInstanceSliceCount = gpu
    struct.computeInstanceSliceCount = compute
    struct.memorySizeMB = node.read('memory_total') >> 20
