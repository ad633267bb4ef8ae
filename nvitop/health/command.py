# SPDX-License-Identifier: Apache-2.0
"""The command line of ``nvitop health``, and the formats of its verdict."""

from __future__ import annotations

import argparse
import functools
import json
import sys
import time
from typing import Callable, Iterable, Iterator, NamedTuple, Sequence

from nvitop.basics.text import printable
from nvitop.basics.units import iso_time, parse_duration, parse_time
from nvitop.console import lifecycle
from nvitop.console.arguments import (
    ArgumentParser,
    Extend,
    add_devices,
    add_general,
    duration,
    one_of,
    separated,
    whole_number,
)
from nvitop.console.driver import simulate
from nvitop.console.lifecycle import CommandFailure, write_output
from nvitop.console.messages import painted, print_message, wrapped
from nvitop.health.check import HealthCheck, check_health
from nvitop.health.kernel_log import KMSG, read_kernel_log
from nvitop.health.rules import (
    NEARLY_HOT_CELSIUS,
    health_status,
    importance,
    is_wrong,
    worst_findings,
)
from nvitop.health.types import KINDS, Finding
from nvitop.platforms import stuck_calls
from nvitop.sampling.types import Sample

#: Version of the structure of the JSON text.
SCHEMA = 1
#: Verdict → exit status.
STATUSES = {'ok': 0, 'warning': 1, 'critical': 2, 'unknown': 3}
#: Maximum length of the output for the node problem detector, its own default.
NPD_BYTES = 80
PROGRAM = 'nvitop health'
#: Default time limit in seconds: the node problem detector ends a plugin after 5 s.
TIMEOUT_SECONDS = 4.0
#: Part of the time limit (seconds) that is left for starting and printing.
_OWN_SECONDS = 1.0
_EXAMPLES = """\
nvitop health
nvitop health --expect 8 --fail-on critical
nvitop health -o 0 1 --format nagios
nvitop health --format json --ignore pcie_link,slow
"""
_EXIT_STATUS = {
    '0': 'all is well (npd: the same)',
    '1': 'a warning (npd: any finding)',
    '2': 'a critical finding (npd: unknown)',
    '3': 'unknown: no driver, no response, unreadable values, or invalid arguments',
}


class Verdict(NamedTuple):
    """A check and what it means for the exit status."""

    check: HealthCheck
    #: Findings that count, the most severe first.
    wrong: tuple[Finding, ...]
    status: str

    @property
    def worst(self) -> tuple[Finding, ...]:
        """The most severe finding of each device, the most severe first."""
        return tuple(worst_findings(self.wrong).values())


def judge(check: HealthCheck, *, ignored: Iterable[str] = (), fail_on: str = 'warning') -> Verdict:
    """Return the verdict about a check.

    Args:
        check: The check.
        ignored: Kinds of findings that do not count.
        fail_on: With ``'critical'``, findings of lower severity do not count. It remains unknown if
            the driver does not work.
    """
    wrong = [f for f in check.findings if is_wrong(f) and f.kind not in ignored]
    if fail_on == 'critical':
        wrong = [finding for finding in wrong if finding.severity == 'critical']
    wrong.sort(key=importance)
    status = 'unknown' if check.error else health_status(wrong)
    if check.log_error and status != 'critical':
        status = 'unknown'
    return Verdict(check, tuple(wrong), 'critical' if check.is_unusable else status)


def format_text(verdict: Verdict) -> str:
    """Return how many GPUs something is wrong with, then each of them with its findings, the worst first.

    It is wrapped and colored if standard output is a terminal.
    """
    check = verdict.check
    #: Lines, each with the severities and the GPU to paint in it.
    lines: list[tuple[str, Sequence[str]]] = []
    if check.error:
        lines = [(f'{verdict.status}: {check.error}', (verdict.status,))]
    elif not verdict.wrong and not check.log_error:
        lines = [(f'ok: {_gpus(check.gpus)}{_asleep(check)}', ())]
    elif verdict.wrong:
        lines = [_counts(verdict)]
    groups: dict[object, list[Finding]] = {}
    for finding in verdict.wrong:
        groups.setdefault((_is_listed(finding), finding.device), []).append(finding)
    for first, *others in groups.values():
        subject = _subject(first)
        line = f'{subject}: {first.severity}: {first.words}'
        lines.append((line, (subject, first.severity)))
        lines += ((line, ()) for line in _details(first))
        for finding in others:
            line = f'  also {finding.severity}: {finding.words}'
            lines.append((line, (finding.severity,)))
            lines += ((f'  {line}', ()) for line in _details(finding))
    if check.log_error:
        lines.append((f'unknown: {check.log_error}', ('unknown',)))
    text = ''
    for line, words in lines:
        shown = wrapped(printable(line), sys.stdout)
        for word in words:
            look = '' if word == 'unknown' else word if word in STATUSES else 'title'
            shown = shown.replace(word, painted(word, look), 1)
        text += f'{shown}\n'
    return text


def _counts(verdict: Verdict) -> tuple[str, Sequence[str]]:
    """Return how many GPUs have each severity; those that are missing count too, MIG devices do not."""
    worst: dict[object, str] = {}
    for finding in verdict.wrong:
        device = finding.device
        worst.setdefault(device.physical_index if _is_listed(finding) else device, finding.severity)
    severities = [*dict.fromkeys(worst.values())]
    counts = ', '.join(f'{[*worst.values()].count(severity)} {severity}' for severity in severities)
    check = verdict.check
    return f'{counts} of {_gpus(max(check.gpus, check.expected))}{_asleep(check)}', severities


def format_json(verdict: Verdict) -> str:
    check = verdict.check
    sample = check.sample
    data = {
        'schema': SCHEMA,
        'timestamp': iso_time(sample.timestamp),
        'hostname': sample.host.hostname,
        'driver_version': sample.driver_version,
        'simulated': sample.simulated or None,
        'status': verdict.status,
        'exit_status': STATUSES[verdict.status],
        'error': check.error or check.log_error or None,
        'gpus': check.gpus,
        'expected_gpus': check.expected,
        'findings': [
            {
                'kind': finding.kind,
                'severity': finding.severity,
                'gpu': finding.device.physical_index if _is_listed(finding) else None,
                'mig': finding.device.mig_index if finding.device.is_mig else None,
                'uuid': (_is_listed(finding) and finding.device.uuid) or None,
                'serial': finding.serial,
                'pci_bus_id': finding.bus_id,
                'words': finding.words,
                'evidence': finding.evidence,
                'action': finding.action or None,
                'since': iso_time(finding.since),
                'counts': finding in verdict.wrong,
            }
            for finding in sorted(check.findings, key=importance)
        ],
    }
    return json.dumps(data, indent=2) + '\n'


def format_nagios(verdict: Verdict) -> str:
    """Return one line with performance data, as in the guidelines of the monitoring plugins."""
    text = _summary(verdict).replace('|', '/')
    data = '' if verdict.check.error else f' | {" ".join(_performance(verdict))}'
    return f'GPU {verdict.status.upper()} - {text}{data}\n'


def format_npd(verdict: Verdict) -> str:
    """Return one line of at most 80 bytes."""
    text = _summary(verdict).encode('ascii', 'replace').decode()
    return f'{text if len(text) <= NPD_BYTES else f"{text[: NPD_BYTES - 3]}..."}\n'


#: Name of a format → the function that writes it.
FORMATS: dict[str, Callable[[Verdict], str]] = {
    'text': format_text,
    'json': format_json,
    'nagios': format_nagios,
    'npd': format_npd,
}


def exit_status(verdict: Verdict, form: str) -> int:
    """Return the exit status. The node problem detector has only 0, 1 (a problem) and 2 (unknown)."""
    if form == 'npd':
        return {'ok': 0, 'unknown': 2}.get(verdict.status, 1)
    return STATUSES[verdict.status]


def _summary(verdict: Verdict) -> str:
    check = verdict.check
    if check.error:
        return printable(check.error)
    words = [f'{_subject(finding)} {finding.words}' for finding in verdict.worst]
    if check.log_error:
        words.insert(0 if verdict.status == 'unknown' else len(words), check.log_error)
    return printable('; '.join(words) or f'{_gpus(check.gpus)} healthy{_asleep(check)}')


def _performance(verdict: Verdict) -> Iterator[str]:
    """Yield values with their warning and critical ranges."""
    check = verdict.check
    yield f'gpus={check.gpus};;{check.expected}:;0'
    severities = [finding.severity for finding in verdict.worst]
    for severity in ('critical', 'warning', 'unknown'):
        yield f'{severity}={severities.count(severity)};;;0;{check.expected}'
    for device in check.sample.devices:
        now, limit = device.temperature_celsius, device.info.temperature_slowdown_threshold_celsius
        if not device.key.is_mig and now is not None:
            # A value above a limit is wrong, in the rules also one that is equal.
            limits = '' if limit is None else f';{limit - NEARLY_HOT_CELSIUS - 1};{limit - 1}'
            yield f'gpu{device.key.label}_temperature={now}{limits}'


def _details(finding: Finding) -> Iterator[str]:
    yield from (f'  {text}' for text in (finding.evidence, finding.action) if text)


def _is_listed(finding: Finding) -> bool:
    """Return whether the finding is about a GPU that the driver lists."""
    return finding.device.physical_index >= 0


def _subject(finding: Finding) -> str:
    if finding.kind == 'nvswitch':
        return f'NVSwitch {finding.device.uuid}'
    return f'GPU {finding.device.label}'


def _gpus(count: int) -> str:
    return '1 GPU' if count == 1 else f'{count} GPUs'


def _asleep(check: HealthCheck) -> str:
    """Return how many GPUs sleep, ``''`` if none does: nothing is known about them."""
    count = sum(device.status == 'asleep' for device in check.sample.devices)
    return f' ({count} asleep)' if count else ''


def _since(text: str) -> float:
    now = time.time()
    try:
        return now - parse_duration(text)
    except ValueError:
        return parse_time(text, now)


def _expected(text: str) -> int | None:
    return None if text == 'auto' else whole_number(0, 1024)(text)


def make_parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog=PROGRAM,
        usage=['nvitop health [OPTION ...]'],
        description='Check the GPUs once, for people, schedulers and monitoring systems.',
        examples=_EXAMPLES,
        exit_status=_EXIT_STATUS,
        error_status=STATUSES['unknown'],
    )
    add_general(parser)
    group = parser.add_argument_group('check')
    add_devices(group, '-o', '-i', '--only', '--id', more='; a missing one is critical')
    add = group.add_argument
    add(
        '--expect',
        type=_expected,
        metavar='N',
        help='require N GPUs, and a loaded driver; auto: those on the PCI bus (default: auto)',
    )
    add(
        '--fail-on',
        choices=('warning', 'critical'),
        default='warning',
        help='ignore findings that are less severe (default: warning)',
    )
    add(
        '--ignore',
        nargs='+',
        action=Extend,
        type=separated(one_of('kind', KINDS)),
        default=(),
        metavar='KIND',
        help='ignore these kinds of findings, such as pcie_link',
    )
    add(
        '--timeout',
        type=duration(0.1, 3600.0),
        default=TIMEOUT_SECONDS,
        metavar='TIME',
        help='finish within TIME, such as 5 or 500ms, even if the driver hangs '
        f'(default: {TIMEOUT_SECONDS:g}s)',
    )
    add(
        '--kernel-log',
        nargs='?',
        const=KMSG,
        metavar='FILE',
        help='add errors since the driver was loaded from the kernel log, or from a FILE with the '
        'output of dmesg or journalctl -k, or of syslog; usually only root may read the log',
    )
    add(
        '--since',
        type=_since,
        metavar='TIME',
        help='with --kernel-log: leave out older errors; TIME is a time such as "2026-11-22 14:05" '
        'or a duration such as 2h (default: since the system was started)',
    )
    parser.add_argument_group('output').add_argument(
        '--format',
        choices=tuple(FORMATS),
        default='text',
        help='write text, JSON, a line for Nagios, or a line for the node problem detector '
        '(default: text)',
    )
    return parser


def main(arguments: list[str]) -> int:
    """Run ``nvitop health`` with the arguments after that word; return the exit status."""
    options = make_parser().parse(arguments)
    return lifecycle.run(PROGRAM, functools.partial(_run, options))


def _run(options: argparse.Namespace) -> int:
    status = STATUSES['unknown']
    try:
        simulate(options.demo)
        if stuck_calls.problem:
            print_message(PROGRAM, 'warning', stuck_calls.problem)
        verdict = judge(_check(options), ignored=options.ignore, fail_on=options.fail_on)
        status = exit_status(verdict, options.format)
        write_output(FORMATS[options.format](verdict))
    except BrokenPipeError:  # the caller reads the status only
        pass
    except CommandFailure as failure:
        raise CommandFailure(str(failure), STATUSES['unknown']) from failure
    return status


def _check(options: argparse.Namespace) -> HealthCheck:
    deadline = time.monotonic() + options.timeout - _OWN_SECONDS
    try:
        path, since = options.kernel_log, options.since
        logged, log_error = [], ''
        try:
            logged = [] if path is None else read_kernel_log(path, since)
        except OSError as error:
            log_error = f'cannot read {error.filename or "the kernel log"}: {error.strerror}'
        made = check_health(
            options.only,
            logged=logged,
            expected=options.expect,
            timeout=max(deadline - time.monotonic(), options.timeout / 2),
        )
        return made._replace(log_error=log_error)
    except Exception as error:  # the caller needs a verdict whatever happens
        return HealthCheck(Sample(0.0), error=f'internal error: {type(error).__name__}: {error}')
