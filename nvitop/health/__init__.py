# SPDX-License-Identifier: Apache-2.0
"""What is wrong with the devices of a sample, how severe it is, and what to do."""

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

__all__ = [
    'KINDS',
    'RULE_METRICS',
    'SEVERITIES',
    'Finding',
    'Severity',
    'findings',
    'headline',
    'health_status',
    'importance',
    'is_wrong',
    'worst_findings',
]
