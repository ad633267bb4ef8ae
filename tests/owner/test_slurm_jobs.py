"""Jobs of Slurm and their GPUs, from control groups and the texts of ``scontrol``."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from nvitop.owner.names import Job, SlurmJobs, expand_nodes, job_ids, parse_job
from tests.clock import Clock
from tests.waiting import PATIENCE, wait_until

#: As Slurm 22.05 and 23.11 print a job of two nodes, without the fields in between.
TEXT = (
    'JobId=42 JobName=train UserId=ann(1000) GroupId=ml(100) Account=vision QOS=normal '
    'JobState=RUNNING Partition=gpu NodeList=gpu[07-08] NumNodes=2 JOB_GRES=gpu:h100:3 '
    'Nodes=gpu07 CPU_IDs=0-3 Mem=1024 GRES=gpu:h100:2(IDX:0,2) '
    'Nodes=gpu08 CPU_IDs=0-1 Mem=1024 GRES=gpu:h100:1(IDX:1),shard:0(N/A) MinMemoryNode=1G'
)


@pytest.mark.parametrize(
    ('node', 'gpus'), [('gpu07', (0, 2)), ('gpu08', (1,)), ('gpu09', ()), ('gpu7', ())]
)
def test_job_has_the_gpus_of_this_node(node: str, gpus: tuple[int, ...]) -> None:
    assert parse_job(TEXT, node) == Job('42', 'ann', 'vision', 'gpu', gpus)
    text = 'JobId=7 UserId=bob(1) Account=(null) Nodes=a[1-3] CPU_IDs=0 Mem=0 GRES=gpu:4(IDX:0-3)'
    assert parse_job(text, 'a2') == Job('7', 'bob', '', '', (0, 1, 2, 3))


def test_lists_of_nodes_are_bounded() -> None:
    assert len(expand_nodes('n[0-99999999999]')) == 1 << 16


def test_jobs_have_control_groups_of_both_versions(tmp_path: Path) -> None:
    for path in (
        'system.slice/slurmstepd.scope/job_42/step_0',
        'system.slice/gpu07_slurmstepd.scope/job_43',
        'memory/slurm/uid_1000/job_44',
        'memory/slurm/uid_1000/job_x',
    ):
        (tmp_path / path).mkdir(parents=True)
    assert job_ids(str(tmp_path)) == {'42', '43', '44'}


@pytest.mark.skipif(os.name == 'nt', reason='the program is a shell script')
def test_scontrol_describes_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = SlurmJobs('gpu07', ids=lambda: {'42'})
    program = tmp_path / 'scontrol'
    program.write_text(f'#!/bin/sh\necho "{TEXT} $4 $5"\n')
    program.chmod(0o755)
    monkeypatch.setenv('PATH', str(tmp_path / 'missing'))
    jobs.look()
    assert list(jobs.read()) == []
    monkeypatch.setenv('PATH', f'{tmp_path}:{os.defpath}')
    jobs = SlurmJobs('gpu07', ids=lambda: {'42'})
    jobs.look()
    assert [job.user for job in jobs.read()] == ['ann']


def test_each_job_is_described_once_and_forgotten_at_its_end() -> None:
    clock, ids, asked = Clock(), {'42'}, []

    def show(job: str) -> str:
        asked.append(job)
        return TEXT if job == '42' else ''

    jobs = SlurmJobs('gpu07.example.org', ids=lambda: set(ids), show=show, clock=clock)
    wait_until(lambda: jobs.read(), 'no job')
    assert [job.id for job in jobs.read()] == ['42']
    ids.add('43')  # Slurm says nothing about it
    for _ in range(3):
        jobs.look()
    assert sorted(asked) == ['42', '43']
    wait_until(lambda: jobs.read(['44']) and '44' in asked, 'the job of a process')
    ids.clear()
    clock.turn(60)
    wait_until(lambda: not jobs.read(), 'the job is still there')


def test_a_job_that_begins_during_a_look_is_described_by_the_next() -> None:
    asked, answered = threading.Event(), threading.Event()

    def show(job: str) -> str:
        asked.set()
        answered.wait(PATIENCE)
        return TEXT if job == '42' else TEXT.replace('JobId=42', f'JobId={job}')

    jobs = SlurmJobs('gpu07.example.org', ids=lambda: {'42'}, show=show, clock=Clock())
    jobs.read()
    asked.wait(PATIENCE)
    jobs.read(['44'])  # the thread has asked for the numbers of the jobs already
    answered.set()
    wait_until(lambda: len(jobs.read(['44'])) == 2, 'the job of a process')
