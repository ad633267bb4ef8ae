"""Errors that the driver announces: their table, findings, the kernel log, the exporter, recordings."""

from __future__ import annotations

import os
import pathlib
import sys
import time
from typing import Any

import pytest

from nvitop import simulation
from nvitop.exporter.dialects import Observation
from nvitop.exporter.families import make_families
from nvitop.health import findings, health_status, kernel_log
from nvitop.health.command import main
from nvitop.health.kernel_log import LoggedXid, parse_kernel_log, read_kernel_log
from nvitop.health.xid import ACTIONS, XIDS, severity_of, xid_of
from nvitop.recording.events import EventDetector
from nvitop.sampling.types import DeviceEvent, DeviceInfo, DeviceKey, DeviceSample, Sample
from tests.command_run import CommandRun

KEY = DeviceKey(3, -1, 'GPU-3')
GPU = DeviceSample(KEY, DeviceInfo(KEY, 3))
LOG = pathlib.Path(__file__).parent / 'kernel.log'


def sample_of(*events: DeviceEvent, now: float = 1000.0, **values: Any) -> Sample:
    return Sample(now, devices=(GPU._replace(**values),), events=events)


def xid(code: int, at: float = 1000.0, **values: Any) -> DeviceEvent:
    return DeviceEvent(KEY, 'xid', code, at, at, **values)


# The table


def test_numbers_have_words_and_an_action() -> None:
    assert all(xid.words and xid.action in ACTIONS for xid in XIDS.values())
    assert len(XIDS) > 90
    assert (xid_of(79).action, severity_of(xid_of(79))) == ('reboot', 'critical')
    assert [severity_of(xid_of(code)) for code in (48, 62, 64, 74, 95, 119, 120)] == [
        'critical'
    ] * 7
    assert [severity_of(xid_of(code)) for code in (94, 109, 999)] == ['warning'] * 3
    assert [severity_of(xid_of(code)) for code in (13, 31, 43, 45, 63)] == ['info'] * 5
    assert xid_of(123456).action == 'support'
    assert [xid_of(code).action for code in (94, 145, 154)] == ['restart', 'fabric', 'cause']


# Findings


def test_an_event_is_a_finding_with_number_words_and_action() -> None:
    (finding,) = findings(sample_of(xid(79, 990.0)))
    assert finding[1:5] == (
        'xid',
        'critical',
        'Xid 79: GPU has fallen off the bus',
        finding.evidence,
    )
    assert finding.evidence.startswith('Xid 79 at ')
    assert finding.action == ACTIONS['reboot'].text
    assert finding.since == 990.0


def test_the_most_severe_event_is_named_and_a_number_counts_once() -> None:
    events = (xid(31, 980.0, times=10_000), xid(95, 970.0), xid(13, 990.0))
    (finding,) = findings(sample_of(*events))
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


def test_events_of_a_lost_gpu_are_findings() -> None:
    kinds = [finding.kind for finding in findings(sample_of(xid(79), status='lost'))]
    assert kinds == ['lost', 'xid']


# The kernel log


def test_lines_of_the_kernel_log() -> None:
    assert len(read_kernel_log(str(LOG))) == 9
    found = parse_kernel_log(LOG.read_text().splitlines(), boot=1000.0)
    assert found == [
        (1060.0001, '0000:cb:00', 13),
        (1063.0, '0000:cb:00', 13),
        (1070.0, '0000:10:1c', 63),
        (1080.0, '0000:3d:00', 79),
        (1091.0, '0000:03:00', 31),
        (1094.0, '0000:07:00', 94),
        (1095.0, '0000:0b:00', 79),
        (1096.0, '0009:01:00', 149),
        (1097.0, '0000:18:00', 154),
    ]


@pytest.mark.parametrize(
    ('start', 'time'),
    [
        ('[   12.500000] ', 112.5),
        ('kern  :warn  : [   12.500000] ', 112.5),
        ('Nov 24 03:13:20 node07 kernel: [   12.500000] ', 112.5),
        ('1795490000.5 node07 kernel: ', 1795490000.5),
        ('', 0.0),
    ],
)
def test_times_of_other_logs(start: str, time: float) -> None:
    line = f'{start}NVRM: Xid (PCI:0000:3d:00): 79, pid=0'
    assert parse_kernel_log([line], boot=100.0) == [(time, '0000:3d:00', 79)]


def test_xids_of_the_kernel_log_are_findings(tmp_path: pathlib.Path) -> None:
    log = tmp_path / 'log'
    log.write_text('NVRM: Xid (PCI:0000:5a:00): 95, pid=0\nNVRM: Xid (PCI:0000:99:00): 31\n')
    with simulation.machine('half-busy', processes='none'):
        ran = CommandRun(main, '--kernel-log', str(log))
        assert (ran.status, ran.out.split('\n')[0]) == (
            2,
            'GPU 3: critical: Xid 95: uncontained memory error',
        )
        old = Sample(
            1e10, devices=(GPU._replace(info=GPU.info._replace(bus_id='00000000:5A:00.0')),)
        )
        logged = [LoggedXid(1.0, '0000:5a:00', 95), LoggedXid(2.0, '0000:5a:00', 95)]
        (event,) = kernel_log.with_logged_events(old, logged).events
        assert event == DeviceEvent(KEY, 'xid', 95, 1.0, 2.0, 2)
        usable = old._replace(devices=(old.devices[0]._replace(recovery_action='None'),))
        (event,) = kernel_log.with_logged_events(usable, logged).events
        assert event.is_over


@pytest.mark.skipif(os.name != 'posix', reason='needs POSIX')
def test_an_unreadable_log_is_a_warning(tmp_path: pathlib.Path) -> None:
    with simulation.machine('half-busy', processes='none'):
        ran = CommandRun(main, '--kernel-log', str(tmp_path / 'none'))
    assert (ran.status, ran.out) == (0, 'ok: 8 GPUs\n')
    assert (
        ran.err
        == f'nvitop health: warning: cannot read {tmp_path / "none"}: No such file or directory\n'
    )


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
    assert read_kernel_log('/dev/null') == [(4060.0, '0000:3d:00', 79)]
    assert not answers


# Other users


def test_series_of_the_exporter() -> None:
    sample = sample_of(xid(13, times=3), xid(79, 990.0))
    found = {f.name: f.points for f in make_families(['own', 'dcgm'], Observation(sample))}
    assert [(p.labels['xid'], p.value) for p in found['nvitop_gpu_xid_errors_total']] == [
        ('13', 3.0),
        ('79', 1.0),
    ]
    seen = found['nvitop_gpu_xid_last_seen_timestamp_seconds']
    assert [(p.labels['action'], p.value) for p in seen] == [('program', 1000.0), ('reboot', 990.0)]
    assert [point.value for point in found['DCGM_FI_DEV_XID_ERRORS']] == [79.0]


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
