"""Errors that the driver announces: their table, findings, the kernel log, recordings."""

from __future__ import annotations

import json
import os
import pathlib
import sys
import time
from typing import Any

import pytest

from nvitop import simulation
from nvitop.health import findings, health_status, kernel_log
from nvitop.health.command import main
from nvitop.health.kernel_log import LoggedError, parse_kernel_log, read_kernel_log
from nvitop.health.xid import ACTIONS, XIDS, action_of, xid_of
from nvitop.recording.events import EventDetector
from nvitop.sampling.types import DeviceEvent, DeviceInfo, DeviceKey, DeviceSample, Problem, Sample
from tests.command_run import CommandRun

KEY = DeviceKey(3, -1, 'GPU-3')
GPU = DeviceSample(KEY, DeviceInfo(KEY, 3))
LOG = pathlib.Path(__file__).parent / 'kernel.log'


def sample_of(*events: DeviceEvent, now: float = 1000.0, **values: Any) -> Sample:
    return Sample(now, devices=(GPU._replace(**values),), events=events)


def xid(code: int, at: float = 1000.0, **values: Any) -> DeviceEvent:
    return DeviceEvent(KEY, 'xid', code, at, at, **values)


def test_numbers_have_the_severity_of_the_catalog() -> None:
    assert all(xid.words and xid.action in ACTIONS for xid in XIDS.values())
    assert len(XIDS) > 90
    severities = {
        'critical': (46, 48, 62, 64, 74, 79, 95, 109, 119, 120),
        'warning': (94, 144, 999),
        'info': (13, 31, 43, 45, 63, 160, 162),
    }
    for severity, codes in severities.items():
        assert [action_of(code).severity for code in codes] == [severity] * len(codes)
    assert xid_of(123456).action == 'support'
    assert [xid_of(code).action for code in (94, 145, 154)] == ['restart', 'fabric', 'cause']


def test_xid_154_has_the_action_of_its_text() -> None:
    for text, action in (
        ('changed to (Node Reboot Required)', 'reboot'),
        ('changed to (GPU Reset Required)', 'reset'),
        ('changed to (Drain P2P)', 'drain'),
        ('changed to (Drain and Reset)', 'reset'),
        ('changed to (None)', 'none'),
        ('', 'cause'),
    ):
        assert action_of(154, text) == ACTIONS[action]


def test_the_most_severe_event_is_named_and_a_number_counts_once() -> None:
    events = (xid(31, 980.0, times=10_000), xid(95, 970.0), xid(13, 990.0))
    (finding,) = findings(sample_of(*events))
    assert (finding.kind, finding.severity, finding.since) == ('xid', 'critical', 970.0)
    assert finding.words == 'Xid 95: uncontained memory error'
    assert finding.action.endswith('nvidia-smi --gpu-reset -i 3')
    texts = finding.evidence.split('; ')
    assert [text.split(' at ')[0] for text in texts] == [
        'Xid 13',
        'Xid 31 10000 times, last',
        'Xid 95',
    ]
    both = (DeviceEvent(KEY, 'unavailable', 0, 999.0, 999.0), xid(79, 998.0))
    assert findings(sample_of(*both))[0].words == 'Xid 79: GPU has fallen off the bus'
    assert findings(sample_of(both[0]))[0].severity == 'critical'


@pytest.mark.parametrize(
    ('event', 'age', 'status'),
    [
        (xid(79), 1e6, 'critical'),
        (xid(79, is_over=True), 1.0, 'ok'),
        (xid(94), 600.0, 'warning'),
        (xid(94), 601.0, 'ok'),
        (xid(13), 1.0, 'ok'),
    ],
)
def test_critical_events_matter_until_the_gpu_recovers_and_others_for_ten_minutes(
    event: DeviceEvent, age: float, status: str
) -> None:
    assert health_status(findings(sample_of(event, now=1000.0 + age))) == status


def test_one_fault_is_one_finding() -> None:
    (lost,) = findings(sample_of(xid(79), status='lost', reason='GPU is lost'))
    assert (lost.kind, lost.evidence) == ('lost', 'Xid 79: GPU has fallen off the bus')
    (reset,) = findings(sample_of(xid(119), recovery_action='GPU Reset'))
    assert (reset.kind, reset.severity) == ('xid', 'critical')
    assert reset.evidence.endswith('; recovery action: GPU Reset')


@pytest.mark.parametrize(
    ('events', 'severity', 'words'),
    [
        ((), 'critical', 'uncorrected memory errors'),
        ((xid(94),), 'warning', 'contained memory errors'),
        ((xid(94), xid(63)), 'warning', 'contained memory errors'),
        ((xid(94), xid(95)), 'critical', 'uncorrected memory errors'),
        ((xid(48),), 'critical', 'uncorrected memory errors'),
    ],
)
def test_memory_errors_remapping_and_xids_do_not_contradict_each_other(
    events: tuple[DeviceEvent, ...], severity: str, words: str
) -> None:
    values = {'total_volatile_uncorrected_ecc_errors': 1, 'remapped_rows_pending': True}
    (finding,) = findings(sample_of(*events, **values))
    assert (finding.kind, finding.severity, finding.words) == ('memory_errors', severity, words)
    assert finding.evidence.endswith('; a memory row will be remapped at the next reset')
    assert ('Xid' in finding.evidence) == bool(events)
    assert 'not affected' not in finding.action


def test_lines_of_the_kernel_log() -> None:
    found = parse_kernel_log(LOG.read_text().splitlines(), boot=1000.0)
    assert [tuple(error) for error in found] == [
        (1060.0001, '0000:cb:00', 13, 'xid', ''),
        (1063.0, '0000:cb:00', 13, 'xid', ''),
        (1070.0, '0000:10:1c', 63, 'xid', ''),
        (1080.0, '0000:3d:00', 79, 'xid', ''),
        (1090.0, '0000:c1:00', 28006, 'nvswitch', 'Non-fatal'),
        (1091.0, '0000:03:00', 31, 'xid', ''),
        (1094.0, '0000:07:00', 94, 'xid', ''),
        (1095.0, '0000:0b:00', 79, 'xid', ''),
        (1096.0, '0009:01:00', 149, 'xid', ''),
        (1097.0, '0000:18:00', 154, 'xid', 'changed to (GPU Reset Required)'),
        (1099.000002, '0000:99:00', 79, 'xid', ''),
        (1102.0, '0000:3b:00', 0, 'init failed', ''),
        (1103.0, 'kernel number 0', 0, 'gsp timeout', ''),
        (1104.0, 'kernel number 2', 0, 'gsp timeout', ''),
    ]


#: 2026-11-24 03:13:20.5 in UTC, three hours ahead, and in the local time of the test.
MOMENT = 1795490000.5
LOCAL = time.localtime(MOMENT)


@pytest.mark.parametrize(
    ('start', 'moment'),
    [
        ('[   12.500000] ', 112.5),
        ('kern  :warn  : [   12.500000] ', 112.5),
        ('[   12.500000] node07 kernel: ', 112.5),
        ('4,1017,12500000,-;', 112.5),
        ('1795490000.5 node07 kernel: ', MOMENT),
        (time.strftime('[%a %b %e %H:%M:%S %Y] ', LOCAL), MOMENT - 0.5),
        (time.strftime('kern  :err   : [%a %b %e %H:%M:%S %Y] ', LOCAL), MOMENT - 0.5),
        (time.strftime('%Y-%m-%dT%H:%M:%S,500000 ', LOCAL), MOMENT),
        ('2026-11-24T03:13:20,500000+00:00 ', MOMENT),
        ('2026-11-24T06:13:20+0300 node07 kernel: ', MOMENT - 0.5),
        ('2026-11-24T06:13:20.500000+0300 node07 kernel: ', MOMENT),
        ('2026-11-24T06:13:20.5+03:00 node07 kernel: ', MOMENT),
        ('2026-11-24T03:13:20.5Z node07 kernel: ', MOMENT),
        ('Tue 2026-11-24 03:13:20 UTC node07 kernel: ', MOMENT - 0.5),
        (time.strftime('%b %d %H:%M:%S node07 kernel: ', LOCAL), MOMENT - 0.5),
        (time.strftime('%b %e %H:%M:%S node07 kernel: [   12.5] ', LOCAL), MOMENT - 0.5),
        ('', 0.0),
        ('node07 kernel: ', 0.0),
        ('[  +0.000003] ', 0.0),
        ('Foo 99 99:99:99 node07 kernel: ', 0.0),
    ],
)
def test_clocks_of_logs(start: str, moment: float) -> None:
    line = f'{start}NVRM: Xid (PCI:0000:3d:00): 79, pid=0, at 2020-01-01 00:00:00'
    (error,) = parse_kernel_log([line], boot=100.0, now=MOMENT + 3600)
    assert error[:3] == (moment, '0000:3d:00', 79)


def test_a_time_without_a_year_is_not_in_the_future() -> None:
    line = 'Dec 31 23:00:00 node07 kernel: NVRM: Xid (PCI:0000:3d:00): 79'
    (error,) = parse_kernel_log([line], now=MOMENT)
    assert time.localtime(error.time).tm_year == 2025


def test_lines_of_the_journal_as_json() -> None:
    text = 'NVRM: Xid (PCI:0000:3d:00): 79, pid=0'
    entries = [
        {'__REALTIME_TIMESTAMP': str(int(MOMENT * 1e6)), 'MESSAGE': text},
        {'__REALTIME_TIMESTAMP': '1795490010000000', 'MESSAGE': [*text.encode(), 7]},
        {'MESSAGE': None, 'other': text},
    ]
    lines = [json.dumps(entry, separators=(',', ':')) for entry in entries]
    assert [error.time for error in parse_kernel_log([*lines, '{' + text])] == [
        MOMENT,
        1795490010.0,
        0.0,
    ]


def test_errors_from_before_the_start_of_the_system_or_a_time_are_left_out(
    tmp_path: pathlib.Path,
) -> None:
    log = tmp_path / 'log'
    now = time.time()
    log.write_text(
        '1000000000.0 node07 kernel: NVRM: Xid (PCI:0000:5a:00): 95\n'
        f'{now - 7200} node07 kernel: NVRM: Xid (PCI:0000:5a:00): 62\n'
        'NVRM: Xid (PCI:0000:5a:00): 64\n'
    )
    assert [error.code for error in read_kernel_log(str(log), 0.0)] == [95, 62, 64]
    assert [error.code for error in read_kernel_log(str(log), now - 9000)] == [62, 64]
    assert [error.code for error in read_kernel_log(str(log), now - 60)] == [64]
    assert 95 not in [error.code for error in read_kernel_log(str(log))]


@pytest.mark.parametrize(
    'head',
    ['[999999999.0] ', '[Sat Jan  1 00:00:00 2099] ', '2099-01-01T00:00:00 ', '9999999999.0 '],
)
def test_a_time_that_is_yet_to_come_is_unknown(head: str) -> None:
    (error,) = parse_kernel_log([f'{head}NVRM: Xid (PCI:0000:5a:00): 94'], boot=1e9, now=1.8e9)
    assert error.time == 0.0


def run_with_log(log: pathlib.Path, text: str, *arguments: str) -> CommandRun:
    log.write_text(text)
    return CommandRun(main, '--kernel-log', str(log), *arguments)


#: Exit status, line of the log, and how the output begins.
LOGGED = """
2  NVRM: Xid (PCI:0000:5a:00): 95, pid=0  |  GPU 3: critical: Xid 95: uncontained
0  NVRM: Xid (PCI:0000:5a:00): 31, pid=0  |  ok: 8 GPUs
1  NVRM: Xid (PCI:0000:5a:00): 94, pid=0  |  GPU 3: warning: Xid 94: contained
2  NVRM: Xid (PCI:0000:ff:00): 79, pid=0  |  GPU 0000:ff:00: critical: Xid 79:
0  NVRM: Xid (PCI:0000:ff:00): 31, pid=0  |  ok: 8 GPUs
2  NVRM: GPU 0000:5a:00.0: RmInitAdapter failed! (0x26)  |  GPU 3: critical: could
2  NVRM: RmInitAdapter failed! (0x26:0xffff:1266)  |  GPU unknown: critical: could
2  NVRM: _kgspRpcRecvPoll: GPU0 GSP heartbeat timeout  |  GPU kernel number 0: crit
2  nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30  |  NVSwitch 0000:c1:00: critical: NVSwitch error 20034 (fatal)
1  nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 28006, Non-fatal, Link 46  |  NVSwitch 0000:c1:00: warning: NVSwitch error 28006 (non-fatal)
2  NVRM: Xid (PCI:0000:5a:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)  |  GPU 3: critical: Xid 154: recovery action changed
"""


def test_errors_of_the_kernel_log_are_findings(tmp_path: pathlib.Path) -> None:
    log = tmp_path / 'log'
    start = time.strftime('%Y-%m-%dT%H:%M:%S+00:00 node07 kernel: ', time.gmtime())
    with simulation.machine('half-busy', processes='none'):
        for row in LOGGED.strip().splitlines():
            status, _, rest = row.partition('  ')
            text, _, expected = rest.partition('  |  ')
            ran = run_with_log(log, f'{start}{text}\n')
            shown = ran.out.partition(' of 8 GPUs\n')[2] or ran.out  # after the counts
            assert (str(ran.status), shown[: len(expected)]) == (status, expected)
        gone = run_with_log(log, f'{start}NVRM: Xid (PCI:0000:ff:00): 79\n', '--format=json').out
        (finding,) = json.loads(gone)['findings']
        assert (finding['gpu'], finding['pci_bus_id']) == (None, '0000:ff:00.0')
        assert run_with_log(log, f'{start}NVRM: Xid (PCI:0000:ff:00): 79\n', '-o', '2').status == 0


def test_an_undated_error_is_not_one_of_now(tmp_path: pathlib.Path) -> None:
    with simulation.machine('half-busy', processes='none') as machine:
        warning = run_with_log(tmp_path / 'log', 'NVRM: Xid (PCI:0000:5a:00): 94\n')
        assert (warning.status, warning.out) == (0, 'ok: 8 GPUs\n')
        critical = 'NVRM: Xid (PCI:0000:5a:00): 95\n'
        assert run_with_log(tmp_path / 'log', critical).status == 0  # the GPU works
        machine.set(gpu=3, recovery_action='gpu-reset')
        ran = run_with_log(tmp_path / 'log', critical)
        assert '  Xid 95 at an unknown time; recovery action: GPU Reset\n' in ran.out


@pytest.mark.parametrize(
    ('values', 'is_over'),
    [
        ({'recovery_action': 'None'}, True),
        ({}, True),  # older drivers name no action
        ({'recovery_action': 'GPU Reset'}, False),
        ({'status': 'lost'}, False),
    ],
)
def test_an_old_error_is_over_once_the_gpu_works(values: dict[str, Any], is_over: bool) -> None:
    gpu = GPU._replace(info=GPU.info._replace(bus_id='00000000:5A:00.0'), **values)
    logged = [LoggedError(1.0, '0000:5a:00', 95), LoggedError(2.0, '0000:5a:00', 95)]
    sample = Sample(1e10, devices=(gpu,))
    (event,) = kernel_log.with_logged_events(sample, logged).events
    assert event == DeviceEvent(KEY, 'xid', 95, 1.0, 2.0, 2, is_over)
    others = [LoggedError(1.0, '0000:c1:00', 20034, 'nvswitch', 'Fatal')]
    others += [LoggedError(1.0, 'kernel number 0', 0, 'gsp timeout')]
    events = kernel_log.with_logged_events(sample, others).events
    assert [event.is_over for event in events] == [is_over, is_over]
    gone = [LoggedError(1.0, '0000:ff:00', 79)]
    assert not kernel_log.with_logged_events(sample, gone).events[0].is_over
    asked = sample._replace(problems=(Problem(KEY, 'processes', 'reset', 'reset needed'),))
    (event,) = kernel_log.with_logged_events(asked, logged).events
    assert not event.is_over


@pytest.mark.skipif(os.name != 'posix', reason='needs POSIX')
def test_a_log_that_cannot_be_read_is_unknown(tmp_path: pathlib.Path) -> None:
    path = tmp_path / 'none'
    with simulation.machine('half-busy', processes='none'):
        ran = CommandRun(main, '--kernel-log', str(path))
    assert (ran.status, ran.out) == (3, f'unknown: cannot read {path}: No such file or directory\n')


@pytest.mark.parametrize('form', ['text', 'nagios', 'npd', 'json'])
def test_a_log_that_cannot_be_read_hides_no_critical_finding(
    tmp_path: pathlib.Path, form: str
) -> None:
    with simulation.machine('half-busy', processes='none') as machine:
        machine.set(gpu=1, lost=True)
        machine.set(gpu=2, remapped_rows_pending=True)
        words = ('--fail-on=critical', '--format', form, '--kernel-log', str(tmp_path / 'none'))
        ran = CommandRun(main, *words)
        warnings = CommandRun(main, *words, '--only=2')
    assert ran.status == (1 if form == 'npd' else 2)
    first = ran.out.splitlines()[0]
    if form == 'json':
        verdict = json.loads(ran.out)
        assert (verdict['status'], verdict['gpus']) == ('critical', 8)
        assert 'cannot read' in verdict['error']
    elif form == 'text':
        assert first == '1 critical of 8 GPUs'
        assert 'GPU 1: critical: lost\n' in ran.out
        assert ran.out.splitlines()[-1].startswith('unknown: cannot read ')
    else:
        assert 'GPU 1 lost' in first
    assert warnings.status == (2 if form == 'npd' else 3)
    assert 'cannot read' in warnings.out


@pytest.mark.skipif(sys.platform != 'linux', reason='needs /dev/kmsg')
def test_records_of_the_device_are_read_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[bytes | OSError] = [
        b'4,1,60000000,-;NVRM: Xid (PCI:0000:3d:00): 79, pid=0\n SUBSYSTEM=pci\n',
        BrokenPipeError(),
        b'4,2,61000000,-;\xff\n',
        BlockingIOError(),
    ]

    def read(_descriptor: int, _size: int) -> bytes:
        answer = answers.pop(0)
        if isinstance(answer, OSError):
            raise answer
        return answer

    monkeypatch.setattr(os, 'read', read)
    monkeypatch.setattr(time, 'time', lambda: 5000.0)
    monkeypatch.setattr(time, 'monotonic', lambda: 1000.0)
    (error,) = read_kernel_log('/dev/null')
    assert error[:3] == (4060.0, '0000:3d:00', 79)
    assert not answers


def test_events_of_recordings() -> None:
    detector = EventDetector(1.0)
    detector.compare(sample_of())
    texts = [
        [event.text for event in detector.compare(sample_of(*events, now=now))]
        for now, events in (
            (1001.0, (xid(79),)),
            (1002.0, (xid(79),)),
            (1003.0, (xid(79, times=4),)),
        )
    ]
    words = 'GPU 3: Xid 79: GPU has fallen off the bus'
    assert texts == [[words], [], [f'{words} (3 times)']]
