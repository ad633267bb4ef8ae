# SPDX-License-Identifier: Apache-2.0
"""The driver itself: initialization, versions, and lookup of devices."""

from __future__ import annotations

from nvitop.api.libnvml._errors import INVALID_ARGUMENT, NOT_FOUND, NOT_SUPPORTED, UNINITIALIZED
from nvitop.simulation.abi import (
    NVML_ERRORS,
    DriverError,
    check_version,
    fill_handle,
    fill_number,
    fill_text,
    number,
    target,
    text_of,
)
from nvitop.simulation.driver.symbols import ALWAYS, LOOKUP, NODE, SYSTEM, Symbols
from nvitop.simulation.world import Node, World

SYMBOLS = Symbols()
_ERROR_TEXTS = {code: text.encode() for code, text in NVML_ERRORS.values()}


def error_string(code: object) -> bytes:
    """Return the text of nvmlErrorString, a ``const char *``."""
    value = number(code)
    return b'Success' if value == 0 else _ERROR_TEXTS.get(value, b'Unknown Error')


@SYMBOLS.add(ALWAYS, 'nvmlInit', 'nvmlInit_v2', 'nvmlInitWithFlags')
def initialize(world: World, flags: object = 0) -> None:
    """Count one more initialization."""
    world.init_count += 1


@SYMBOLS.add(ALWAYS, 'nvmlShutdown')
def shut_down(world: World) -> None:
    """Count one initialization less."""
    if world.init_count <= 0:
        raise DriverError(UNINITIALIZED)
    world.init_count -= 1


def _version_of(world: World) -> str:
    version = world.scenario.driver_version
    if not version:
        raise DriverError(NOT_SUPPORTED)
    return version


@SYMBOLS.add(SYSTEM)
def nvmlSystemGetDriverVersion(world: World, version: object, length: object) -> None:
    """``(char *, length)``."""
    fill_text(version, length, _version_of(world))


@SYMBOLS.add(SYSTEM)
def nvmlSystemGetNVMLVersion(world: World, version: object, length: object) -> None:
    """``(char *, length)``: the major version of CUDA, then the driver version."""
    major = world.scenario.cuda_version // 1000
    fill_text(version, length, f'{major}.{_version_of(world)}')


@SYMBOLS.add(SYSTEM, 'nvmlSystemGetCudaDriverVersion', 'nvmlSystemGetCudaDriverVersion_v2')
def cuda_driver_version(world: World, version: object) -> None:
    """``(int *)``: 12040 is 12.4."""
    if not world.scenario.cuda_version:
        raise DriverError(NOT_SUPPORTED)
    fill_number(version, world.scenario.cuda_version)


@SYMBOLS.add(SYSTEM)
def nvmlSystemGetDriverBranch(world: World, info: object, length: object) -> None:
    """``(versioned struct *, length)``."""
    struct = target(info)
    check_version(struct, 0x1000054)
    struct.branch = f'r{_version_of(world).split(".")[0]}_00'.encode()


@SYMBOLS.add(SYSTEM)
def nvmlSystemGetProcessName(world: World, pid: object, name: object, length: object) -> None:
    """``(pid, char *, length)``."""
    wanted = number(pid)
    for task in world.tasks:
        if world.pid_of(task) == wanted:
            fill_text(name, length, task.spec.command[0])
            return
    raise DriverError(NOT_FOUND)


@SYMBOLS.add(SYSTEM)
def nvmlSystemGetHicVersion(world: World, count: object, entries: object) -> None:
    """``(unsigned *, struct *)``: no host interface cards."""
    fill_number(count, 0)


@SYMBOLS.add(SYSTEM, 'nvmlUnitGetCount', 'nvmlGetExcludedDeviceCount')
def no_others(world: World, count: object) -> None:
    """``(unsigned *)``: no units and no excluded devices."""
    fill_number(count, 0)


@SYMBOLS.add(SYSTEM, 'nvmlDeviceGetCount', 'nvmlDeviceGetCount_v2')
def device_count(world: World, count: object) -> None:
    """``(unsigned *)``."""
    fill_number(count, len(world.present()))


@SYMBOLS.add(LOOKUP, 'nvmlDeviceGetHandleByIndex', 'nvmlDeviceGetHandleByIndex_v2')
def handle_by_index(world: World, index: object, device: object) -> None:
    """``(index, handle *)``."""
    nodes = world.present()
    wanted = number(index)
    if not 0 <= wanted < len(nodes):
        raise DriverError(INVALID_ARGUMENT)
    _give(nodes[wanted], device)


@SYMBOLS.add(LOOKUP)
def nvmlDeviceGetHandleByUUID(world: World, uuid: object, device: object) -> None:
    """``(const char *, handle *)``: a GPU or a MIG device, also as ``MIG-GPU-…/gi/ci``."""
    _give(_node_by_uuid(world, text_of(uuid)), device)


@SYMBOLS.add(LOOKUP)
def nvmlDeviceGetHandleByUUIDV(world: World, uuid: object, device: object) -> None:
    """``(versioned struct *, handle *)``: the UUID as text or as 16 bytes."""
    struct = target(uuid)
    if struct.type == 1:
        _give(_node_by_uuid(world, text_of(struct.value.str)), device)
        return
    wanted = bytes(struct.value.bytes).hex()
    found = (n for n in _nodes(world) if n.value('uuid')[4:].replace('-', '') == wanted)
    _give(next(found, None), device)


@SYMBOLS.add(LOOKUP, 'nvmlDeviceGetHandleByPciBusId', 'nvmlDeviceGetHandleByPciBusId_v2')
def handle_by_bus_id(world: World, bus_id: object, device: object) -> None:
    """``(const char *, handle *)``: the domain may be short or missing."""
    wanted = _bus_parts(text_of(bus_id))
    found = (node for node in world.present() if _bus_parts(node.value('bus_id')) == wanted)
    _give(next(found, None), device)


@SYMBOLS.add(LOOKUP)
def nvmlDeviceGetHandleBySerial(world: World, serial: object, device: object) -> None:
    """``(const char *, handle *)``."""
    wanted = text_of(serial)
    _give(next((n for n in world.present() if n.value('serial') == wanted), None), device)


@SYMBOLS.add(NODE)
def nvmlDeviceGetIndex(node: Node, index: object) -> None:
    """``(device, unsigned *)``."""
    fill_number(index, node.index())


def _give(node: Node | None, device: object) -> None:
    if node is None:
        raise DriverError(NOT_FOUND)
    node.check()
    fill_handle(device, node.address)


def _nodes(world: World) -> list[Node]:
    nodes = list(world.present())
    t = world.seconds()
    return [*nodes, *(mig for node in nodes for mig in node.migs if mig.exists(t))]


def _node_by_uuid(world: World, uuid: str) -> Node | None:
    found = (node for node in _nodes(world) if uuid in (node.value('uuid'), _legacy_uuid(node)))
    return next(found, None)


def _legacy_uuid(node: Node) -> str | None:
    if node.mig is None:
        return None
    return f'MIG-{node.gpu.value("uuid")}/{node.mig.gpu_instance}/{node.mig.compute_instance}'


def _bus_parts(text: str) -> tuple[int, ...]:
    """Domain, bus, device and function. ``00000000:1B:00.0`` and ``1b:0.0`` are equal."""
    try:
        parts = [int(part, 16) for part in text.replace('.', ':').split(':')]
    except ValueError:
        raise DriverError(INVALID_ARGUMENT) from None
    return tuple([0] * (4 - len(parts)) + parts)
