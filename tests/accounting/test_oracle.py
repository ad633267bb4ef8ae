"""Recordings, their reports and the counters of the exporter agree with a brute-force accountant."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nvitop.accounting.shares import divide
from nvitop.exporter.pages import DELAY_SECONDS, UsageCounters
from nvitop.health import device_states
from nvitop.recording.store import RecordingError
from nvitop.sampling.types import JobSample, Sample
from nvitop.usage.recordings import read_report
from tests.accounting.oracle import Account, account
from tests.recording.virtual_clock import START, SimpleMachine, mig, record

SM = 'gpu_sm_utilization_percent'
LONGEST = 2.5 * 10.0
processes = st.fixed_dictionaries(
    {
        'username': st.sampled_from(('ann', 'ann', 'bob', None)),
        'status': st.sampled_from((*['running'] * 5, 'gone', 'foreign', 'zombie')),
        'type': st.sampled_from((*['C'] * 4, 'G', 'C+G', 'M')),
        'gpu_memory_bytes': st.sampled_from((*[1 << 30] * 4, 3 << 30, 3 << 30, None, 0, 1 << 20)),
        SM: st.sampled_from((0, 0, 0, 4, 5, 40, 90, None)),
        'gpu_idle_seconds': st.sampled_from((600.0, 600.0, 599.0, None)),
        'command': st.sampled_from(('a', 'b')),
        'is_outdated': st.sampled_from((*[False] * 5, True)),
    }
).map(lambda values: {**values, **({} if values[SM] == 0 else {'gpu_idle_seconds': None})})
devices = st.fixed_dictionaries(
    {
        'gpu_utilization_percent': st.sampled_from((0, 0, 0, 4, 5, 9, 10, 90, None)),
        'memory_used_bytes': st.sampled_from((0, 0, 3 << 30, 80 << 30, None)),
        'status': st.sampled_from((*['ok'] * 5, 'lost')),
    }
)


@st.composite
def histories(draw: st.DrawFn) -> list[Sample]:
    """Draw the samples of a machine with any GPUs, MIG devices, processes and jobs."""
    machine = SimpleMachine(draw(st.integers(1, 2)))
    gpus = machine.devices
    samples = []
    for _ in range(draw(st.integers(2, 6))):
        machine.devices = list(gpus)
        for index, gpu in enumerate(gpus):
            machine.set(index, **draw(devices))
            for at in range(draw(st.sampled_from((*[0] * 5, 1, 3)))):
                profile = draw(st.sampled_from(('1g.10gb', '1c.3g.40gb', '3g.40gb', '')))
                machine.devices.append(mig(gpu, at, profile))
        machine.processes = []
        for pid in range(draw(st.sampled_from((0, 1, 2, 3, 4, 6)))):
            machine.run(
                pid, draw(st.sampled_from([0, *range(len(machine.devices))])), **draw(processes)
            )
        given_gpus = tuple(draw(st.sampled_from(((), (0,), (1,), (0, 1)))))
        sample = machine.sample(draw(st.sampled_from((1.0, 10.0, 25.0, 40.0))))
        samples.append(sample._replace(jobs=(JobSample('slurm', '7', 'dave', gpus=given_gpus),)))
    return samples


def flat(sums: Account) -> dict[tuple[str, str], float]:
    """Return the sums that are not zero."""
    return {
        (user, kind): s for user, kinds in sums.items() for kind, s in kinds.items() if s > 0.01
    }


@settings(max_examples=100, deadline=None)
@given(histories())
def test_reports_agree_with_the_accountant(samples: list[Sample]) -> None:
    truth = account(samples, LONGEST)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / 'a.db'
        record(path, samples)
        try:
            until = samples[-1].timestamp + 60
            report = read_report([str(path)], START - 60, until, ('user',))
        except RecordingError:
            assert not truth  # nothing was observed
            return
    names = {'(unknown)': '?', '(free)': ''}
    found: Account = {
        names.get(row.key[0], row.key[0]): {
            'used': row.sums.used,
            'held': row.sums.held_idle,
            'allocated': row.sums.allocated,
            'free': row.sums.free,
        }
        for row in report.rows
        if row.key[0] != '(unobserved)'
    }
    assert flat(found) == pytest.approx(flat(truth), abs=0.1)
    period = report.until - report.since
    assert report.total.seconds == pytest.approx(report.gpus * period, abs=0.1)


@settings(max_examples=100, deadline=None)
@given(histories())
def test_counters_agree_with_the_accountant(samples: list[Sample]) -> None:
    counters = UsageCounters(LONGEST)
    without_jobs = [sample._replace(jobs=()) for sample in samples]
    last = samples[-1]
    later = DELAY_SECONDS + 10
    end = last._replace(timestamp=last.timestamp + later, monotonic=last.monotonic + later)
    for sample in (*samples, end):
        counters.add(sample)
    found: Any = {}
    for holder, use in counters.totals().items():
        user = dict(holder).get('user', '')
        kind = 'used' if user else 'free'
        user = '?' if user == '(unknown)' else user
        found[user] = {kind: use['seconds'], 'held': use['held_idle_seconds']}
    assert flat(found) == pytest.approx(flat(account(without_jobs, LONGEST)), abs=0.1)


@settings(max_examples=100, deadline=None)
@given(histories())
def test_a_device_has_held_time_exactly_while_it_is_shown_as_held(samples: list[Sample]) -> None:
    for sample in samples:
        states = device_states(sample)
        for divided in divide(sample):
            if divided.is_leaf and divided.shares:
                held = sum(s.part for s in divided.shares if s.key.user and not s.is_used)
                allocated = sum(s.part for s in divided.shares if s.is_allocated)
                is_held = states[divided.device.key].word == 'held'
                assert (held - allocated > 0) == is_held
