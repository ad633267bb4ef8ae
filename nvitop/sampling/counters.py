# SPDX-License-Identifier: Apache-2.0
"""Energy counters are believed only as far as the power of the GPU allows. Pure."""

from __future__ import annotations

from typing import Iterable

from nvitop.basics.metrics import METRICS
from nvitop.sampling.types import DeviceKey, DeviceSample, Problem

#: A GPU may exceed its power limit for a moment, and the counter may be read late (seconds).
OVERSHOOT = 1.5
LATE_SECONDS = 5.0
#: Power (watts) that no GPU of unknown power exceeds.
UNKNOWN_WATTS = 2000.0

_ENERGY = next(metric for metric in METRICS if metric.field == 'total_energy_joules')


def most_joules(device: DeviceSample, seconds: float) -> float:
    """Return the energy that a GPU may have used in some seconds at most."""
    known = (device.power_limit_mw, device.info.max_power_limit_mw, device.power_usage_mw)
    watts = max((mw / 1000 for mw in known if mw is not None), default=UNKNOWN_WATTS)
    return OVERSHOOT * watts * (seconds + LATE_SECONDS)


class EnergyCounters:
    """Drops the energy counters that jump by more than a GPU can use."""

    def __init__(self) -> None:
        #: Counter when last read, and when that was.
        self._read: dict[DeviceKey, tuple[float, float]] = {}

    def check(
        self, devices: Iterable[DeviceSample], now: float
    ) -> tuple[tuple[DeviceSample, ...], list[Problem]]:
        """Return the devices without impossible counters, and what was dropped.

        ``now``: time on the monotonic clock. The counter is believed again at its next reading.
        """
        checked, problems = [], []
        for device in devices:
            counter = device.total_energy_joules
            if counter is not None:
                before, then = self._read.get(device.key, (counter, now))
                self._read[device.key] = counter, now
                if counter - before > most_joules(device, now - then):
                    reason = f'{counter - before:,.0f} J in {now - then:.1f} s is implausible'
                    problems.append(Problem(device.key, _ENERGY.name, reason, 'impossible'))
                    device = device._replace(total_energy_joules=None)
            checked.append(device)
        return tuple(checked), problems
