"""Containers: PIDs of another namespace that exist here too, /proc of a container, no cgroups read."""

from __future__ import annotations

import os
import pathlib
import pickle
import subprocess
import sys
from typing import Iterator

import psutil
import pytest

from nvitop import Device, ResourceMetricCollector, cli, simulation, take_snapshots
from nvitop.api.libnvml._session import Session
from nvitop.api.process import procfs
from nvitop.api.process.linux import memory_total
from nvitop.gui.effect_runner import read_environment
from nvitop.gui.signals import differs, send_signal
from nvitop.sampling import source as source_module
from nvitop.sampling.source import LiveSource
from nvitop.sampling.types import Demand, ProcessSample
from tests.faults.programs import Ran
from tests.sampling.fakes import Clock

ROOT = pathlib.Path(__file__).parent.parent.parent

pytestmark = pytest.mark.skipif(sys.platform != 'linux', reason='needs /proc')

OTHER_NAMESPACE = 'pid:[4026532461]'
#: PIDs that the driver gives; of all but the last there is a process here.
ON_GPU, NOT_ON_GPU, UNREADABLE, ELSEWHERE = 4242, 4343, 4444, 4545
#: What each has open.
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
    """A /proc as in a container: its own namespace, 4 GiB of memory."""
    (tmp_path / 'self' / 'ns').mkdir(parents=True)
    (tmp_path / 'self' / 'ns' / 'pid').symlink_to(OTHER_NAMESPACE)
    # Everybody remembers when the machine started.
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
        (folder / 'statm').write_text('9 2097152 1 1 0 1 0\n')  # more than the container has
        (folder / 'status').write_text('Name:\tpython3\nUid:\t0\t0\t0\t0\n')
        if pid in OPEN:
            (folder / 'fd').mkdir()
            for number, target in enumerate(OPEN[pid]):
                (folder / 'fd' / str(number)).symlink_to(target)
    monkeypatch.setattr(psutil, 'PROCFS_PATH', str(tmp_path))
    # The processes are as real as their files.
    monkeypatch.setattr(source_module, '_simulated', lambda: '')
    monkeypatch.setattr(Session, 'has_real_library', True)
    memory_total.cache_clear()
    yield tmp_path
    memory_total.cache_clear()


def machine() -> simulation.Machine:
    text = '[[gpu]]\nmodel = "H100"\n' + ''.join(
        f'[[process]]\ncommand = ["{name}"]\nmemory = "1 GiB"\n' for name in 'abcd'
    )
    pids = [ON_GPU, NOT_ON_GPU, UNREADABLE, ELSEWHERE]
    return simulation.machine(simulation.parse_scenario(text, name='container'), processes=pids)


def sampled() -> dict[int, ProcessSample]:
    clock = Clock()
    live = LiveSource(clock=clock, sleep=clock.turn)
    with machine():
        for _ in range(2):  # what is measured again is still the same
            sample = live.sample(Demand(host_processes=True))
            clock.turn(10.0)
    assert {p.pid for p in sample.host_processes} >= {ON_GPU, NOT_ON_GPU}
    return {process.key.pid: process for process in sample.processes}


def test_a_pid_that_means_another_process_here_is_not_taken_for_it(proc: pathlib.Path) -> None:
    processes = sampled()
    assert {pid: process.status for pid, process in processes.items()} == {
        ON_GPU: 'running',
        NOT_ON_GPU: 'foreign',
        UNREADABLE: 'running',  # nothing says that it is not
        ELSEWHERE: 'foreign',
    }
    assert processes[ON_GPU].command == 'python3 work.py'
    stranger = processes[NOT_ON_GPU]
    assert (stranger.command, stranger.username, stranger.host_memory_bytes) == (None, None, None)
    assert not stranger.is_own


def test_nobody_signals_or_looks_into_the_process_that_has_the_pid_here(proc: pathlib.Path) -> None:
    key = sampled()[NOT_ON_GPU].key
    assert differs(key, lambda pid: key.start_time) == 'unseen'
    killed: list[int] = []
    key = key._replace(pid=os.getpid())  # a process that exists, of which nothing was known
    said = send_signal(key, 'SIGTERM', kill=lambda pid, number: killed.append(pid))
    assert (said.outcome, killed) == ('unseen', [])
    assert read_environment(key.pid, key.start_time).variables == ()


def test_the_library_takes_no_process_here_for_the_one_that_the_driver_means(
    proc: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signalled: list[tuple[int, int]] = []

    def kill(pid: int, number: int) -> None:
        if not (proc / str(pid)).exists():
            raise ProcessLookupError
        signalled.append((pid, number))

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
        stranger = processes[NOT_ON_GPU]
        assert device.processes()[NOT_ON_GPU] is stranger
        assert stranger.gpu_memory() == 1 << 30
        for process in (stranger.host, pickle.loads(pickle.dumps(stranger.host)), stranger):
            for act in (process.kill, process.terminate, process.suspend, process.name):
                with pytest.raises(psutil.NoSuchProcess):
                    act()
        # The roots of a collector are processes of this namespace.
        collector = ResourceMetricCollector(root_pids={NOT_ON_GPU, ON_GPU})
        with collector.context('job'):
            metrics = collector.collect()
    assert {key.split('/')[1] for key in metrics if '/pid:' in key} == {f'pid:{ON_GPU}'}
    assert [number for _, number in signalled if number] == []


def test_on_a_machine_without_containers_every_pid_is_what_it_is(
    proc: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    namespace = proc / 'self' / 'ns' / 'pid'
    namespace.unlink()
    namespace.symlink_to(procfs.INITIAL_PID_NAMESPACE)
    looked: list[int] = []
    monkeypatch.setattr('nvitop.sampling.process.uses_gpu', looked.append)
    processes = sampled()
    assert looked == []
    assert processes[NOT_ON_GPU].status == 'running'
    assert processes[ELSEWHERE].status == 'gone'


def test_a_report_has_the_memory_that_proc_tells(proc: pathlib.Path) -> None:
    with machine():
        said = Ran(cli.main, '-1', '--no-config')
    assert said.status == 0
    assert '3.00GiB' in said.out
    assert said.out.count('Process of Another PID Namespace') == 2
    assert 'another PID namespace' in said.err
    widths = {len(line) for line in said.out.splitlines()[1:] if line[:1] in '│╞╒╘├'}
    assert len(widths) == 1  # also with 200 % of the memory


def test_a_process_that_is_ending_has_nothing_open(proc: pathlib.Path) -> None:
    assert procfs.uses_gpu(ON_GPU) is True
    assert procfs.uses_gpu(NOT_ON_GPU) is False
    assert procfs.uses_gpu(UNREADABLE) is None
    for file in (proc / str(ON_GPU) / 'fd').iterdir():
        file.unlink()
    assert procfs.uses_gpu(ON_GPU) is None


_WATCHED = """
import sys
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == 'open' else None)
from nvitop import cli, select, simulation, take_snapshots, ResourceMetricCollector
with simulation.machine('dgx-h100'):
    cli.main(['-1', '--no-config'])
    cli.main(['query', '--all'])
    select.main(['-f', '1GiB'])
    take_snapshots()
    ResourceMetricCollector().activate('x')
print([path for path in opened if 'cgroup' in path], file=sys.stderr)
"""


def test_no_cgroup_is_read() -> None:
    done = subprocess.run(
        [sys.executable, '-c', _WATCHED],
        cwd=ROOT,
        env={'PYTHONPATH': str(ROOT), 'PATH': os.environ['PATH'], 'PYTHONIOENCODING': 'utf-8'},
        capture_output=True,
        text=True,
        encoding='utf-8',
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1] == '[]', done.stderr
