# SPDX-License-Identifier: Apache-2.0
"""Computed values of a GPU: utilization causes heat, power, clocks and traffic."""

from __future__ import annotations

import math
from typing import Callable, Mapping

from nvitop.simulation.scenario import Signal, Value
from nvitop.simulation.schema import CLOCK_EVENT_REASONS, GPU_KEYS, RECOVERY_ACTIONS
from nvitop.simulation.world import MIB, Node, Rule, Task

#: Bytes/s of traffic for each percent of SM utilization.
PCIE_TX_PER_PERCENT = 14.0e6
PCIE_RX_PER_PERCENT = 31.0e6
NVLINK_PER_PERCENT = 55.0e6
#: The temperature follows the mean utilization of this time (seconds).
HEAT_SECONDS = 20.0
#: Reasons for low clocks that a GPU can report, as a bitmask.
SUPPORTED_CLOCK_EVENT_REASONS = 0x1FF


def _number(node: Node, name: str, t: float) -> float:
    return float(node.value_at(name, t) or 0)


def _same_as(name: str) -> Rule:
    return lambda node, t: node.value_at(name, t)


def _bus_id(node: Node, t: float) -> Value:
    place, row = node.spec.position % 10, node.spec.position // 10
    return f'00000000:{0x1B + 0x15 * place:02X}:{row:02X}.0'


def _memory_used(node: Node, t: float) -> Value:
    tasks = (task.memory(t) or 0 for task in node.in_memory() if task.runs(t))
    # Each GPU instance has its memory base once, however many compute instances share it.
    instances = {
        part.mig.gpu_instance_id: _number(part, 'memory_base', t)
        for part in node.migs
        if part.mig is not None and part.exists(t)
    }
    return round(_number(node, 'memory_base', t) + sum(tasks) + sum(instances.values()))


def _memory_free(node: Node, t: float) -> Value:
    used: float | None = node.value_at('memory_used', t)
    if used is None:
        return None
    rest = _number(node, 'memory_total', t) - _number(node, 'memory_reserved', t) - used
    return round(max(0.0, rest))


def _bar1_used(node: Node, t: float) -> Value:
    total = _number(node, 'bar1_memory_total', t)
    return round(min(total, MIB * (1 + 4 * sum(task.runs(t) for task in node.in_memory()))))


def _percent(value: float) -> int:
    return round(min(100.0, max(0.0, value)))


def _utilization(load: Callable[[Task, float], float]) -> Rule:
    """The utilization by all processes, which the driver does not report in MIG mode."""

    def rule(node: Node, t: float) -> Value:
        if node.value_at('mig_mode', t):
            return None
        return _percent(sum(load(task, t) for task in node.tasks if task.runs(t)))

    return rule


def _is_idle(node: Node, t: float) -> bool:
    is_used = any(
        task.runs(t) and ('C' in task.spec.type or task.spec.type == 'M') for task in node.tasks
    )
    return not is_used and node.sm(t) < 1.0


def _sm_clock(node: Node, t: float) -> Value:
    top: float | None = node.value_at('max_sm_clock', t)
    if top is None:
        return None
    if _is_idle(node, t):
        return round(_number(node, 'idle_clock', t))
    # Power grows faster than the clock, so a low power limit costs less than its share.
    limit, usual = node.value_at('enforced_power_limit', t), node.value_at('default_power_limit', t)
    capped = math.sqrt(min(1.0, limit / usual)) if limit and usual else 1.0
    return 15 * round(top * capped * (1.0 - 0.12 * node.sm(t) / 100.0) / 15)


def _video_clock(node: Node, t: float) -> Value:
    clock, top = node.value_at('sm_clock', t), node.value_at('max_sm_clock', t)
    video = node.value_at('max_video_clock', t)
    return None if clock is None or video is None else 15 * round(video * clock / top / 15)


def _application_clock(name: str) -> Rule:
    return lambda node, t: (
        node.value_at(name, t) if node.value_at('applications_clocks', t) else None
    )


def _while_encoding(value: int) -> Rule:
    return lambda node, t: value if node.value_at('encoder_utilization', t) else 0


def _temperature_margin(node: Node, t: float) -> Value:
    die = node.value_at('temperature', t)
    slowdown = node.value_at('temperature_slowdown_threshold', t)
    return None if slowdown is None or die is None else slowdown - die


def _is_action(word: str) -> Rule:
    def rule(node: Node, t: float) -> Value:
        action = node.value_at('recovery_action', t)
        return None if action is None else action == RECOVERY_ACTIONS[word]

    return rule


def _supported_reasons(node: Node, t: float) -> Value:
    is_known = node.value_at('clock_event_reasons', t) is not None
    return SUPPORTED_CLOCK_EVENT_REASONS if is_known else None


def _memory_clock(node: Node, t: float) -> Value:
    idle = node.value_at('idle_memory_clock', t)
    clock: Value = (
        idle if idle is not None and _is_idle(node, t) else node.value_at('max_memory_clock', t)
    )
    return clock


def _temperature(node: Node, t: float) -> Value:
    idle, hot = _number(node, 'idle_temperature', t), _mean(node, 'hot_temperature', t)
    load = node.sm_integral(t - HEAT_SECONDS, t) / HEAT_SECONDS
    # Cards in the middle of a chassis are warmer than those at its ends.
    return round(idle + (hot - idle) * load / 100.0 + (0, 1, 3, 2)[node.spec.position % 4])


def _mean(node: Node, name: str, t: float) -> float:
    """The mean of a given value over the last ``HEAT_SECONDS``."""
    value = node.scenario_value(name, t)
    if not isinstance(value, Signal):
        return _number(node, name, t)
    return (value.integral(t) - value.integral(t - HEAT_SECONDS)) / HEAT_SECONDS


def _memory_temperature(node: Node, t: float) -> Value:
    die = node.value_at('temperature', t)
    return None if die is None else die + 8


def _fan_speed(node: Node, t: float) -> Value:
    die = node.value_at('temperature', t)
    if not node.value_at('fan_count', t) or die is None:
        return None
    return 30 if die < 50 else min(100, 30 + 2 * (die - 50))


def _busy_power(node: Node, t: float) -> Value:
    limit = node.value_at('power_limit', t)
    return None if limit is None else round(0.96 * limit)


def _watts_per_percent(node: Node, t: float) -> float:
    idle, busy = _number(node, 'idle_power', t), _number(node, 'busy_power', t)
    return max(0.0, busy - idle) / 100.0


def _power_usage(node: Node, t: float) -> Value:
    power = _number(node, 'idle_power', t) + _watts_per_percent(node, t) * node.sm(t)
    limit = node.value_at('enforced_power_limit', t)
    return round(power if limit is None else min(power, limit))


def _performance_state(node: Node, t: float) -> Value:
    return round(_number(node, 'idle_performance_state', t)) if _is_idle(node, t) else 0


def _clock_event_reasons(node: Node, t: float) -> Value:
    reasons = 0
    if _is_idle(node, t):
        reasons |= CLOCK_EVENT_REASONS['gpu-idle']
    limit = node.value_at('enforced_power_limit', t)
    power = node.value_at('power_usage', t)
    if limit and power and power >= 0.93 * limit:
        reasons |= CLOCK_EVENT_REASONS['sw-power-cap']
    heat = node.value_at('temperature', t)
    slowdown = node.value_at('temperature_slowdown_threshold', t)
    if heat is not None and slowdown is not None and heat >= slowdown:
        reasons |= CLOCK_EVENT_REASONS['hw-slowdown'] | CLOCK_EVENT_REASONS['hw-thermal-slowdown']
    return reasons


def _traffic(per_percent: float) -> Rule:
    return lambda node, t: round(per_percent * node.sm(t))


def energy_mj(node: Node, t: float) -> int | None:
    """Energy in mJ since the driver was loaded: the initial value plus power × time."""
    begin = node.value_at('total_energy', t)
    if begin is None:
        return None
    total = node.total_of_rate(
        'power_usage', t, sm_factor=_watts_per_percent(node, t), idle=_number(node, 'idle_power', t)
    )
    return None if total is None else round(begin + total)


def bytes_moved(node: Node, name: str, t: float) -> float | None:
    """Bytes moved since the start by ``pcie_tx_throughput``, ``pcie_rx_throughput``, ``nvlink_tx`` or ``nvlink_rx``."""
    return node.total_of_rate(name, t, sm_factor=TRAFFIC[name])


TRAFFIC = {
    'pcie_tx_throughput': PCIE_TX_PER_PERCENT,
    'pcie_rx_throughput': PCIE_RX_PER_PERCENT,
    'nvlink_tx': NVLINK_PER_PERCENT,
    'nvlink_rx': NVLINK_PER_PERCENT,
}

#: Computed keys of a GPU.
GPU_RULES: Mapping[str, Rule] = {
    **{key.name: _same_as(key.same_as) for key in GPU_KEYS if key.same_as},
    'uuid': lambda node, t: f'GPU-{node.world.uuid("gpu", node.spec.position)}',
    'bus_id': _bus_id,
    'minor_number': lambda node, t: node.spec.position,
    'board_id': lambda node, t: int(str(node.value_at('bus_id', t)).split(':')[1], 16) << 8,
    'memory_used': _memory_used,
    'memory_free': _memory_free,
    'bar1_memory_used': _bar1_used,
    'gpu_utilization': _utilization(Task.sm),
    'memory_utilization': _utilization(Task.memory_utilization),
    'encoder_utilization': _utilization(lambda task, t: task.spec.encoder.value(t)),
    'decoder_utilization': _utilization(lambda task, t: task.spec.decoder.value(t)),
    'jpeg_utilization': _utilization(lambda task, t: 0.0),
    'ofa_utilization': _utilization(lambda task, t: 0.0),
    'encoder_session_count': _while_encoding(1),
    'encoder_average_fps': _while_encoding(60),
    'encoder_average_latency': _while_encoding(2100),
    'application_graphics_clock': _application_clock('max_graphics_clock'),
    'application_memory_clock': _application_clock('max_memory_clock'),
    'default_application_graphics_clock': _application_clock('max_graphics_clock'),
    'default_application_memory_clock': _application_clock('max_memory_clock'),
    'sm_clock': _sm_clock,
    'memory_clock': _memory_clock,
    'video_clock': _video_clock,
    'temperature': _temperature,
    'memory_temperature': _memory_temperature,
    'fan_speed': _fan_speed,
    'busy_power': _busy_power,
    'power_usage': _power_usage,
    'temperature_margin': _temperature_margin,
    'clock_event_reasons': _clock_event_reasons,
    'supported_clock_event_reasons': _supported_reasons,
    'reset_required': _is_action('gpu-reset'),
    'drain_and_reset_recommended': _is_action('drain-and-reset'),
    'platform_module_id': lambda node, t: node.spec.position + 1,
    'performance_state': _performance_state,
    **{name: _traffic(per_percent) for name, per_percent in TRAFFIC.items()},
}

#: Computed keys of a MIG device.
MIG_RULES: Mapping[str, Rule] = {
    'uuid': lambda node, t: f'MIG-{node.world.uuid("mig", *node.key)}',
    'memory_used': _memory_used,
    'memory_free': _memory_free,
    'bar1_memory_total': lambda node, t: round(_number(node.gpu, 'bar1_memory_total', t) / 8),
    'bar1_memory_used': _bar1_used,
}
