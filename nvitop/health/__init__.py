# SPDX-License-Identifier: Apache-2.0
"""What devices of a sample are doing; what is wrong with them, how severe it is, and what to do."""

from __future__ import annotations

from nvitop.health.rules import (
    KINDS,
    RULE_METRICS,
    SEVERITIES,
    Finding,
    Severity,
    findings,
    headline,
    health_status,
    importance,
    is_wrong,
    worst_findings,
)
from nvitop.health.states import BUSY_PERCENT, DeviceState, device_states, state_of_values

__all__ = [
    'BUSY_PERCENT',
    'KINDS',
    'RULE_METRICS',
    'SEVERITIES',
    'DeviceState',
    'Finding',
    'Severity',
    'device_states',
    'findings',
    'headline',
    'health_status',
    'importance',
    'is_wrong',
    'state_of_values',
    'worst_findings',
]
