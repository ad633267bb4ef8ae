# SPDX-License-Identifier: Apache-2.0
"""What devices of a sample are doing; what is wrong with them, how severe it is, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Iterable

from nvitop.health import rules
from nvitop.health.rules import (
    RULE_METRICS,
    headline,
    health_status,
    importance,
    is_wrong,
    worst_findings,
)
from nvitop.health.states import (
    BUSY_PERCENT,
    HELD_RULE,
    HELD_SECONDS,
    DeviceState,
    claim_of_unused,
    device_states,
    holders,
    state_of_values,
    word_of,
)
from nvitop.health.types import KINDS, SEVERITIES, Finding, Severity
from nvitop.health.xid import event_words

if TYPE_CHECKING:
    from nvitop.sampling.types import Sample

__all__ = [
    'BUSY_PERCENT',
    'HELD_RULE',
    'HELD_SECONDS',
    'KINDS',
    'RULE_METRICS',
    'SEVERITIES',
    'DeviceState',
    'Finding',
    'Severity',
    'claim_of_unused',
    'device_states',
    'event_words',
    'findings',
    'headline',
    'health_status',
    'holders',
    'importance',
    'is_wrong',
    'state_of_values',
    'word_of',
    'worst_findings',
]


def findings(
    sample: Sample | None = None, earlier: Iterable[Finding] = (), before: Sample | None = None
) -> tuple[Finding, ...]:
    """Return what is wrong with devices, by device, the most severe first.

    A value that the device does not have, or that this user may not read, leads to no finding.

    >>> for finding in findings():
    ...     print(finding.device.label, finding.severity, finding.words)

    Args:
        sample: The sample, in which :data:`RULE_METRICS` should be measured, and ``'serial'`` to
            name boards; ``None``: measured now.
        earlier: Findings of the sample before, whose times are kept.
        before: An earlier sample, to see how fast counters grow.
    """
    if sample is None:
        from nvitop.sampling.source import take_sample  # samples of others need no driver

        sample = take_sample(metrics=(*rules.CHECK_METRICS, 'serial'))
    return rules.findings(sample, earlier, before)
