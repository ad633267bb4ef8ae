# SPDX-License-Identifier: Apache-2.0
"""A simulated CUDA driver: what nvitop calls, and the rules of ``CUDA_VISIBLE_DEVICES``."""

from __future__ import annotations

import os
import re
from typing import Callable, Mapping, Sequence

from nvitop.simulation.abi import DriverError, number, target
from nvitop.simulation.driver.nvml import Driver
from nvitop.simulation.world import Node, World

SUCCESS = 0
INVALID_VALUE = 1
NOT_INITIALIZED = 3
NO_DEVICE = 100
INVALID_DEVICE = 101
_INDEX = re.compile(r'\s*(\d+)\s*$')


def enumerate_devices(world: World, environment: Mapping[str, str]) -> list[Node]:
    """List the devices that CUDA shows to a process with this environment, in CUDA's order.

    ``CUDA_VISIBLE_DEVICES`` is valid up to the first entry that names no device. If a device is
    named twice, there are no devices. If there is a MIG device, it is the only one.
    """
    gpus = [node for node in world.present() if not node.value('lost')]
    if environment.get('CUDA_DEVICE_ORDER', 'FASTEST_FIRST') != 'PCI_BUS_ID':
        gpus.sort(key=_speed, reverse=True)
    wanted = environment.get('CUDA_VISIBLE_DEVICES')
    named = gpus if wanted is None else _named(gpus, wanted.split(','), world.seconds())
    devices: list[Node] = []
    for node in named:
        if node.mig is not None:
            return [node]
        migs = _migs(node, world.seconds())
        if migs:
            return migs[:1]
        if not node.value('mig_mode'):
            devices.append(node)
    return devices


def _speed(node: Node) -> tuple[float, int]:
    return (
        float(node.value('cuda_compute_capability') or 0),
        (node.value('cores') or 0) * (node.value('max_sm_clock') or 0),
    )


def _migs(node: Node, t: float) -> list[Node]:
    return [mig for mig in node.migs if mig.exists(t)] if node.value('mig_mode') else []


def _named(gpus: Sequence[Node], entries: Sequence[str], t: float) -> list[Node]:
    nodes: list[Node] = []
    by_index: bool | None = None
    for entry in entries:
        match = _INDEX.match(entry)
        if by_index is None:
            by_index = match is not None
        node = None
        if match and by_index:
            index = int(match.group(1))
            node = gpus[index] if index < len(gpus) else None
        elif not match and not by_index:
            node = _by_uuid(gpus, entry.strip(), t)
        if node is None:
            break
        if node in nodes:
            return []
        nodes.append(node)
    return nodes


def _by_uuid(gpus: Sequence[Node], text: str, t: float) -> Node | None:
    """The device whose UUID starts with *text*; :data:`None` if several do."""
    if not text.startswith(('GPU-', 'MIG-')):
        return None
    matches: list[Node] = []
    for gpu in gpus:
        for node in (gpu, *_migs(gpu, t)):
            names = (node.value('uuid'), node.legacy_uuid() or '')
            matches.extend(node for name in names if name.startswith(text))
    return matches[0] if len(matches) == 1 else None


class _Context:
    """State of the CUDA driver: the devices that ``cuInit`` found."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.devices: list[Node] | None = None

    def device(self, ordinal: object) -> Node:
        if self.devices is None:
            raise DriverError(NOT_INITIALIZED)
        which = number(ordinal)
        if not 0 <= which < len(self.devices):
            raise DriverError(INVALID_DEVICE)
        return self.devices[which]

    def visible_uuids(self, value: str | None, order: str | None) -> list[str]:
        """UUIDs that a process with these two variables would see. nvitop need not start one."""
        variables = {'CUDA_VISIBLE_DEVICES': value, 'CUDA_DEVICE_ORDER': order}
        environment = {name: text for name, text in variables.items() if text is not None}
        nodes = enumerate_devices(self.world, environment)
        return [node.value('uuid') for node in nodes]

    # Each method below is a function of the driver with the same name.

    def cuInit(self, flags: object) -> None:
        """Read the environment at every call, unlike the real driver."""
        if number(flags) != 0:
            raise DriverError(INVALID_VALUE)
        self.devices = enumerate_devices(self.world, os.environ)
        if not self.devices:
            raise DriverError(NO_DEVICE)

    def cuDriverGetVersion(self, version: object) -> None:
        target(version).value = self.world.scenario.cuda_version

    def cuDeviceGetCount(self, count: object) -> None:
        if self.devices is None:
            raise DriverError(NOT_INITIALIZED)
        target(count).value = len(self.devices)

    def cuDeviceGet(self, device: object, ordinal: object) -> None:
        self.device(ordinal)
        target(device).value = number(ordinal)

    def cuDeviceGetUuid(self, uuid: object, device: object) -> None:
        """Return the UUID of the GPU, even for a MIG device."""
        _fill_uuid(uuid, self.device(device).gpu)

    def cuDeviceGetUuid_v2(self, uuid: object, device: object) -> None:
        _fill_uuid(uuid, self.device(device))


def _fill_uuid(uuid: object, node: Node) -> None:
    raw = bytes.fromhex(node.value('uuid').split('-', 1)[1].replace('-', ''))
    out = target(uuid)
    if hasattr(out, 'bytes'):  # CUuuid, a struct of one array
        out = out.bytes
    for i, byte in enumerate(raw):
        out[i] = byte if not isinstance(out[i], bytes) else raw[i : i + 1]


def cuda_driver(world: World) -> Driver:
    context = _Context(world)
    functions: dict[str, Callable[..., object]] = {
        name: _bind(world, name, getattr(context, name))
        for name in vars(_Context)
        if name.startswith('cu')
    }
    world.faults.know(functions)
    functions['visible_uuids'] = context.visible_uuids
    return Driver(functions)


def _bind(world: World, name: str, body: Callable[..., None]) -> Callable[..., int]:
    def call(*arguments: object) -> int:
        try:
            world.faults.count(name)
            world.faults.apply(name, None, world.seconds())
            body(*arguments)
        except DriverError as error:
            return error.code
        return SUCCESS

    call.__name__ = call.__qualname__ = name
    return call
