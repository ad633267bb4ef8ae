# SPDX-License-Identifier: Apache-2.0
"""Jobs of Slurm on this machine: their users, accounts and partitions, and the GPUs that they were given.

The control groups of this machine, or the processes on GPUs, name the jobs. ``scontrol show job``
describes each of them once.
Neither needs root, unless Slurm keeps jobs private (``PrivateData=jobs``).
"""

from __future__ import annotations

import glob
import os
import re
import shutil
import subprocess
import threading
import time
from typing import Callable, Iterable, NamedTuple, Sequence

#: Where control groups of version 2 and 1 have a directory for each job.
_GROUPS = ('system.slice/*slurmstepd.scope/job_*', '*/slurm*/uid_*/job_*')
#: Time (seconds) between two looks at the control groups, and limit of a command.
LOOK_SECONDS = 15.0
COMMAND_SECONDS = 10.0
#: Maximum number of jobs and of GPUs of a job.
MOST_JOBS = 1000
MOST_GPUS = 256

_FIELD = re.compile(r'(?:^|\s)(JobId|UserId|Account|Partition)=(\S*)')
#: The GPUs of a job on some nodes: ``Nodes=gpu[07-08] CPU_IDs=0-3 Mem=0 GRES=gpu:h100:2(IDX:0-1)``.
_NODES = re.compile(r'\sNodes=(\S+)\s+CPU_IDs=\S*\s+Mem=\S*\s+GRES=(\S*)')
_GPUS = re.compile(r'(?:^|,)gpu(?::[^:,()]+)?:\d+\(IDX:([\d,-]+)\)')


class Job(NamedTuple):
    """A job on this machine."""

    id: str
    user: str
    account: str
    partition: str
    #: Numbers of its GPUs on this machine, as Slurm counts them; empty if it has none.
    gpus: tuple[int, ...]


def parse_job(text: str, node: str) -> Job | None:
    """Return the job in a line of ``scontrol show job -d -o``; ``None``: it is not one.

    >>> parse_job('JobId=42 UserId=ann(1000) Account=ml Partition=gpu', 'gpu07')
    Job(id='42', user='ann', account='ml', partition='gpu', gpus=())
    """
    fields: dict[str, str] = {}
    for name, value in _FIELD.findall(text):
        fields.setdefault(name, '' if value in ('(null)', 'N/A') else value)
    if not fields.get('JobId', '').isdecimal():
        return None
    gpus: list[int] = []
    for nodes, resources in _NODES.findall(text):
        if node in expand_nodes(nodes):
            gpus += [gpu for numbers in _GPUS.findall(resources) for gpu in _numbers(numbers)]
    user = fields.get('UserId', '').partition('(')[0]
    account, partition = fields.get('Account', ''), fields.get('Partition', '')
    return Job(fields['JobId'], user, account, partition, tuple(gpus))


def expand_nodes(text: str) -> set[str]:
    """Return the names in a list of nodes.

    >>> sorted(expand_nodes('login,gpu[07-09,12]'))
    ['gpu07', 'gpu08', 'gpu09', 'gpu12', 'login']
    """
    nodes: set[str] = set()
    for prefix, numbers, suffix in re.findall(r'([^,\[\]]+)(?:\[([\d,-]+)\]([^,\[\]]*))?', text):
        if not numbers:
            nodes.add(prefix)
        for part in filter(None, numbers.split(',')):
            first, _, last = part.partition('-')
            count = min(int(last or first) - int(first) + 1, 1 << 16)
            nodes.update(
                f'{prefix}{int(first) + number:0{len(first)}}{suffix}' for number in range(count)
            )
    return nodes


def _numbers(text: str) -> list[int]:
    """Return the numbers in ``'0-1,3'``."""
    numbers: list[int] = []
    for part in filter(None, text.split(',')):
        first, _, last = part.partition('-')
        numbers += range(int(first), int(last or first) + 1)[:MOST_GPUS]
    return numbers


def job_ids(root: str = '/sys/fs/cgroup') -> set[str]:
    """Return the numbers of the jobs that have control groups."""
    paths = (path for pattern in _GROUPS for path in glob.iglob(os.path.join(root, pattern)))
    numbers = {os.path.basename(path)[len('job_') :] for path in paths}
    return {number for number in sorted(numbers)[:MOST_JOBS] if number.isdecimal()}


def _show(job: str) -> str:
    """Return what Slurm says about a job, ``''`` if it does not."""
    command = shutil.which('scontrol')
    if command is None:
        return ''
    try:
        done = subprocess.run(
            [command, 'show', 'job', '-d', '-o', job],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return ''
    return done.stdout.decode('utf-8', 'replace')


class SlurmJobs:
    """The jobs on this machine, read in the background: Slurm may respond slowly."""

    def __init__(
        self,
        node: str,
        *,
        ids: Callable[[], set[str]] = job_ids,
        show: Callable[[str], str] = _show,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._node = node.partition('.')[0]
        self._ids = ids
        self._show = show
        self._clock = clock
        self._due = float('-inf')
        self._jobs: dict[str, Job | None] = {}
        #: Jobs of processes; Slurm may run without control groups.
        self._running: set[str] = set()
        self._thread: threading.Thread | None = None

    def read(self, running: Iterable[str] = ()) -> Sequence[Job]:
        """Return the jobs that are known; look for others in the background at intervals.

        ``running`` are the jobs of processes.
        """
        before, self._running = self._running, {job for job in running if job.isdecimal()}
        if not self._running <= before:
            self._due = float('-inf')  # stays due while an earlier look is not finished
        if self._clock() >= self._due and (self._thread is None or not self._thread.is_alive()):
            self._due = self._clock() + LOOK_SECONDS
            self._thread = threading.Thread(target=self.look, name='nvitop-slurm', daemon=True)
            self._thread.start()
        return [job for job in list(self._jobs.values()) if job is not None]

    def look(self) -> None:
        """Look for jobs that began or ended."""
        ids = self._ids() | self._running
        jobs = {number: job for number, job in self._jobs.items() if number in ids}
        for number in ids - jobs.keys():
            jobs[number] = parse_job(self._show(number), self._node)
        self._jobs = jobs
