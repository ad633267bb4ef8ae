# SPDX-License-Identifier: GPL-3.0-only
"""Messages after a report: problems of its sample, and what to do about them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from nvitop.api import libnvml
from nvitop.console.messages import Message
from nvitop.console.terminal import is_watched
from nvitop.gui.state.ranges import devices_text
from nvitop.gui.state.summary import count_problems, problem_lines
from nvitop.health import findings, is_wrong

if TYPE_CHECKING:
    from nvitop.console.options import Options
    from nvitop.sampling.types import DeviceKey, Sample


def warnings_about(sample: Sample, *, driver_responds: bool = True) -> list[Message]:
    """Return problems of a sample as messages; a driver that does not respond is not queried again."""
    messages = [Message('warning', text) for text in _wrong_devices(sample)]
    messages += [Message('warning', text) for text in _failed_queries(sample)]
    if any(process.status == 'foreign' for process in sample.processes):
        text = (
            'some processes belong to another PID namespace, so only their PIDs are known\n'
            'In a container, start it with --pid=host.'
        )
        messages.append(Message('hint', text))
    missing = libnvml.missing_functions_report() if driver_responds else ''
    reports = (missing, libnvml.explain_binding())
    messages += [Message('warning', text) for text in reports if text]
    if is_watched():
        text = 'run nvitop without watch: the monitor refreshes itself'
        messages.append(Message('error', text))
    return messages


def _wrong_devices(sample: Sample) -> list[str]:
    """Return what is wrong with devices, the same problem of several devices once.

    Implausible values are left out: they are among the queries that failed.
    """
    gpus = {device.key.physical_index for device in sample.devices if not device.key.is_mig}
    groups: dict[tuple[str, str, str], list[DeviceKey]] = {}
    for finding in filter(is_wrong, findings(sample)):
        if finding.kind == 'implausible':
            continue
        if not finding.device.is_mig or finding.device.physical_index not in gpus:
            key = (finding.words, finding.evidence, finding.action)
            groups.setdefault(key, []).append(finding.device)
    return [
        f'{devices_text(devices)}: {words}: {evidence}\n{action}.'
        for (words, evidence, action), devices in groups.items()
    ]


def _failed_queries(sample: Sample) -> list[str]:
    """Return queries that failed, by subject and reason, without those that a device does not support."""
    kinds = ('error', 'impossible')
    failed = [p for p in sample.problems if p.kind in kinds and p.device]
    failed = [p for p in failed if p.what != 'status']  # reported for the device
    names: dict[tuple[str, str], list[str]] = {}
    for line in problem_lines(count_problems((), failed, 0.0)):
        names.setdefault((line.subject, line.reason), []).append(line.what)
    return [f'{subject}: {", ".join(n)}: {reason}' for (subject, reason), n in names.items()]


def explain_no_device(sample: Sample, options: Options) -> str:
    """Explain why a sample has no device, and what to do."""
    reasons = [
        problem.reason
        for problem in sample.problems
        if problem.subject == 'driver' and problem.is_failure
    ]
    if reasons:
        return f'no GPU can be read: {reasons[0]}\n{libnvml.advise_on_failure()}'
    if options.only_visible and options.only is None:
        value = os.environ.get('CUDA_VISIBLE_DEVICES', '')
        return (
            f'CUDA_VISIBLE_DEVICES is {value!r}, which names no GPU of this machine\n'
            'Omit --only-visible to show all GPUs.'
        )
    return (
        'no GPU found: the driver works but reports none\n'
        'Check whether the system sees the card (lspci -d 10de:), and whether a container was '
        'started with --gpus all.'
    )
