"""Containers: PIDs of another namespace that exist here too, and /proc of a container."""

from __future__ import annotations

import os
import pathlib
import pickle
import re
import sys
from typing import Iterator

import psutil
import pytest

from nvitop import Device, ResourceMetricCollector, cli, simulation, take_snapshots
from nvitop.api.libnvml._session import Session
from nvitop.api.process import procfs
from nvitop.api.process.observed import memory_total
from nvitop.gui.effects import read_environment, send_signal
from nvitop.sampling.source import LiveSource
from nvitop.sampling.types import Demand, ProcessSample
from tests.api.machines import machine as make_machine
from tests.clock import Clock
from tests.command_run import CommandRun
from tests.programs import run_python

pytestmark = pytest.mark.skipif(sys.platform != 'linux', reason='needs /proc')

OTHER_NAMESPACE = 'pid:[4026532461]'
#: PIDs that the driver reports. All but the last one, which no process has, exist in the container.
ON_GPU, NOT_ON_GPU, UNREADABLE, ELSEWHERE = 4242, 4343, 4444, 4194303
#: PID → open files.
OPEN = {
    ON_GPU: ('/dev/null', '/dev/nvidiactl', '/dev/nvidia0'),
    NOT_ON_GPU: ('/dev/null', '/var/log/nvim.log', 'socket:[123]'),
}
_STAT = (
    '{pid} (python3) S 1 {pid} {pid} 0 -1 4194560 9 0 0 0 50 25 0 0 20 0 3 0 {ticks}'
    + ' 0' * 32
    + '\n'
)


@pytest.fixture
def proc(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[pathlib.Path]:
    """The /proc of a container: its own PID namespace, and 4 GiB of memory."""
    (tmp_path / 'self' / 'ns').mkdir(parents=True)
    (tmp_path / 'self' / 'ns' / 'pid').symlink_to(OTHER_NAMESPACE)
    # The boot time must not change, because it is cached.
    booted = int(procfs.read_boot_time())
    (tmp_path / 'stat').write_text(f'cpu  10 0 10 80 0 0 0 0 0 0\nbtime {booted}\n')
    sizes = {'MemTotal': 4 << 20, 'MemFree': 1 << 20, 'MemAvailable': 1 << 20}
    lines = [f'{name}: {kib} kB' for name, kib in {**sizes, 'SwapTotal': 0, 'SwapFree': 0}.items()]
    (tmp_path / 'meminfo').write_text('\n'.join(lines) + '\n')
    for pid in (ON_GPU, NOT_ON_GPU, UNREADABLE):
        folder = tmp_path / str(pid)
        folder.mkdir()
        (folder / 'stat').write_text(_STAT.format(pid=pid, ticks=pid))
        (folder / 'cmdline').write_bytes(b'python3\0work.py\0')
        (folder / 'statm').write_text('9 2097152 1 1 0 1 0\n')  # more memory than the container has
        (folder / 'status').write_text('Name:\tpython3\nUid:\t0\t0\t0\t0\n')
        if pid in OPEN:
            (folder / 'fd').mkdir()
            for number, target in enumerate(OPEN[pid]):
                (folder / 'fd' / str(number)).symlink_to(target)
    monkeypatch.setattr(psutil, 'PROCFS_PATH', str(tmp_path))
    # Treat the simulated processes as real ones.
    monkeypatch.setattr(Session, 'has_real_library', True)
    memory_total.cache_clear()
    yield tmp_path
    memory_total.cache_clear()


def machine() -> simulation.Machine:
    text = '[[gpu]]\nmodel = "H100"\n' + ''.join(
        f'[[process]]\ncommand = ["{name}"]\nmemory = "1 GiB"\n' for name in 'abcd'
    )
    pids = [ON_GPU, NOT_ON_GPU, UNREADABLE, ELSEWHERE]
    return make_machine(text, processes=pids)


def sampled() -> dict[int, ProcessSample]:
    clock = Clock()
    live = LiveSource(clock=clock, sleep=clock.turn)
    with machine():
        for _ in range(2):  # a second sample has the same result
            sample = live.sample(Demand(host_processes=True))
            clock.turn(10.0)
    parents = {process.pid: process.parent_pid for process in sample.host_processes}
    assert parents[NOT_ON_GPU] is None or not procfs.in_pid_namespace()
    assert parents[ON_GPU] == 1
    return {process.key.pid: process for process in sample.processes}


def test_pid_of_another_namespace_is_not_a_local_process(proc: pathlib.Path) -> None:
    processes = sampled()
    assert {pid: process.status for pid, process in processes.items()} == {
        ON_GPU: 'running',
        NOT_ON_GPU: 'foreign',
        UNREADABLE: 'running',  # cannot be excluded
        ELSEWHERE: 'foreign',
    }
    assert processes[ON_GPU].command == 'python3 work.py'
    foreign = processes[NOT_ON_GPU]
    assert (foreign.command, foreign.username, foreign.host_memory_bytes) == (None, None, None)
    assert not foreign.is_own


def test_running_time_is_unknown_if_the_sandbox_hides_start_times(proc: pathlib.Path) -> None:
    (proc / str(ON_GPU) / 'stat').write_text(_STAT.format(pid=ON_GPU, ticks=0))
    processes = sampled()
    assert processes[ON_GPU].running_time_seconds is None
    assert processes[UNREADABLE].running_time_seconds is not None


def test_local_process_with_the_same_pid_is_not_signaled_or_read(proc: pathlib.Path) -> None:
    key = sampled()[NOT_ON_GPU].key
    killed: list[int] = []
    # The second one exists, but was never seen.
    for each in (key, key._replace(pid=os.getpid())):
        result = send_signal(each, 'SIGTERM', kill=lambda pid, number: killed.append(pid))
        assert (result.outcome, killed) == ('unseen', [])
    key = key._replace(pid=os.getpid())
    assert read_environment(key.pid, key.start_time).variables == ()


def test_library_does_not_confuse_a_local_process_with_one_on_the_gpu(
    proc: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signaled: list[tuple[int, int]] = []

    def kill(pid: int, number: int) -> None:
        if not (proc / str(pid)).exists():
            raise ProcessLookupError
        signaled.append((pid, number))

    monkeypatch.setattr(os, 'kill', kill)
    with machine():
        device = Device(0)
        processes = device.processes()
        assert {pid for pid, process in processes.items() if process.is_foreign()} == {
            NOT_ON_GPU,
            ELSEWHERE,
        }
        commands = {p.pid: p.command for p in take_snapshots().gpu_processes}
        assert commands[ON_GPU] == 'python3 work.py'
        assert commands[NOT_ON_GPU] == 'No Such Process'
        foreign = processes[NOT_ON_GPU]
        assert device.processes()[NOT_ON_GPU] is foreign
        assert foreign.gpu_memory() == 1 << 30
        for process in (foreign.host, pickle.loads(pickle.dumps(foreign.host)), foreign):
            for act in (process.kill, process.terminate, process.suspend, process.name):
                with pytest.raises(psutil.NoSuchProcess):
                    act()
        # The root processes of a collector are in this namespace.
        collector = ResourceMetricCollector(root_pids={NOT_ON_GPU, ON_GPU})
        with collector.context('job'):
            metrics = collector.collect()
    assert {key.split('/')[1] for key in metrics if '/pid:' in key} == {f'pid:{ON_GPU}'}
    assert [number for _, number in signaled if number] == []


def test_pids_are_trusted_outside_containers(
    proc: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    namespace = proc / 'self' / 'ns' / 'pid'
    namespace.unlink()
    namespace.symlink_to(procfs.INITIAL_PID_NAMESPACE)
    checked: list[int] = []
    monkeypatch.setattr(procfs, 'uses_gpu', checked.append)
    processes = sampled()
    assert checked == []
    assert processes[NOT_ON_GPU].status == 'running'
    assert processes[ELSEWHERE].status == 'gone'


def test_report_shows_the_memory_of_the_container(proc: pathlib.Path) -> None:
    with machine():
        result = CommandRun(cli.main, '-1', '--no-config')
    assert result.status == 0
    assert re.search(r'MEM .* 3.0/4.0 GiB', result.out)
    assert re.search(r'N/A +2 procs .* Process of A', result.out)
    assert 'another PID namespace' in result.err
    widths = {len(line) for line in result.out.splitlines()[1:] if line.startswith(tuple('│╭╰├'))}
    assert len(widths) == 1  # although a process uses 200 % of the memory


_WATCHED = """
import os, sys
from nvitop import cli, select, simulation, take_snapshots, ResourceMetricCollector
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == 'open' else None)
machine = '[[gpu]]\\nmodel = "H100"\\n[[process]]\\ncommand = ["given"]\\npid = %d' % os.getpid()
with simulation.machine(simulation.parse_scenario(machine, name='given')):
    cli.main(['query', '--gpu=all'])
    cli.main(['query', '--processes=pid,user,command'])
    select.main(['-f', '1GiB'])
    take_snapshots()
    ResourceMetricCollector().activate('x')
    nothing = [path for path in opened if path.endswith('/cgroup')]
    loaded = [name for name in sys.modules if name.startswith('nvitop.owner.')]
    cli.main(['-1', '--no-config', '--columns=pid,owner'])
once = [path for path in opened if path.endswith('/cgroup')] == [f'/proc/{os.getpid()}/cgroup']
print(nothing, loaded, once, file=sys.stderr)
"""


def test_cgroup_is_read_once_and_only_for_owners() -> None:
    done = run_python(_WATCHED)
    assert done.returncode == 0, done.stderr
    # The types are in type hints of public methods.
    assert done.stderr.splitlines()[-1] == "[] ['nvitop.owner.types'] True", done.stderr
