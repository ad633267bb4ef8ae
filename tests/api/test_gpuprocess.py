"""GpuProcess: identity, values of device and host, failsafe mode, snapshots."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import subprocess
from datetime import timedelta
from typing import Any

import psutil
import pytest

from nvitop.api.process import GpuProcess, HostProcess, procfs
from nvitop.api.utils import Snapshot
from nvitop.basics.units import NA, GiB
from tests.api.processes import FakeDevice, linux_only

HOST_GETTERS = [
    'status', 'create_time', 'running_time', 'running_time_human', 'running_time_in_seconds',
    'username', 'name', 'cpu_percent', 'memory_percent', 'host_memory', 'host_memory_human',
    'cmdline', 'command',
]  # fmt: skip
DEVICE_GETTERS = [
    'gpu_memory', 'gpu_memory_human', 'gpu_memory_percent', 'gpu_instance_id',
    'compute_instance_id', 'gpu_sm_utilization', 'gpu_memory_utilization',
    'gpu_encoder_utilization', 'gpu_decoder_utilization',
]  # fmt: skip
SNAPSHOT_FIELDS = {'pid', 'host', 'is_running', 'device', 'type', *HOST_GETTERS, *DEVICE_GETTERS}
SNAPSHOT_FIELDS -= {'create_time'}


# Identity


def test_process_has_one_object_per_device_until_it_is_unreferenced(
    child: subprocess.Popen[bytes],
) -> None:
    device = FakeDevice(0)
    process = GpuProcess(child.pid, device, gpu_memory=123, type='C')
    assert GpuProcess(child.pid, FakeDevice(0)) is process
    assert (process.pid, process.device) == (child.pid, device)
    assert process.host is HostProcess(child.pid)
    assert process != GpuProcess(child.pid, FakeDevice(1))
    assert process != process.host
    assert hash(process) == hash(GpuProcess(child.pid, device))
    assert GpuProcess(None, device).pid == os.getpid()
    assert GpuProcess.INSTANCES[child.pid, device] is process
    assert copy.copy(process) is process
    assert pickle.loads(pickle.dumps(process)) is process
    text = repr(process)
    assert text.startswith(f'GpuProcess(pid={child.pid}, gpu_memory=123B, type=C, device=')
    assert 'host=HostProcess(' in text
    del process
    gc.collect()
    assert (child.pid, device) not in GpuProcess.INSTANCES


# Values of the device


def test_values_that_are_not_given_are_kept(child: subprocess.Popen[bytes]) -> None:
    process = GpuProcess(child.pid, FakeDevice())
    assert all(getattr(process, name)() is NA for name in DEVICE_GETTERS)
    assert process.type is NA
    GpuProcess(
        child.pid, FakeDevice(), gpu_memory=GiB, gpu_instance_id=1, compute_instance_id=0, type='G'
    )
    GpuProcess(child.pid, FakeDevice())
    assert (process.gpu_memory(), process.gpu_memory_human()) == (GiB, '1024MiB')
    assert process.gpu_memory_percent() == 1.2
    assert (process.gpu_instance_id(), process.compute_instance_id()) == (1, 0)
    assert process.type == 'G'
    process.set_gpu_utilization(1, 2, 3, 4)
    process.set_gpu_utilization(gpu_memory_utilization=20)
    process.set_gpu_utilization(None, None, None, NA)
    assert process.gpu_sm_utilization() == 1
    assert process.gpu_memory_utilization() == 20
    assert process.gpu_encoder_utilization() == 3
    assert process.gpu_decoder_utilization() is NA
    for value, text in (('C', 'C'), ({'C'}, 'C'), ('GC', 'C+G'), ('M+C', 'M'), ('X', 'N/A')):
        process.type = value
        assert process.type == text
    device = process.device
    device.listed = {child.pid: GpuProcess(child.pid, device, gpu_memory=7)}
    assert (process.update_gpu_status(), process.gpu_sm_utilization()) == (7, 1)
    device.listed = {}
    assert process.update_gpu_status() is process.gpu_sm_utilization() is NA
    assert process.gpu_memory_human() is NA


# Values of the host


def test_exited_process_raises_except_in_failsafe(gone_pid: int) -> None:
    process = GpuProcess(gone_pid, FakeDevice(), gpu_memory=3)
    assert not process.is_running()
    for name in (*HOST_GETTERS, 'host_snapshot', 'as_snapshot'):
        with pytest.raises(psutil.NoSuchProcess):
            getattr(process, name)()
    with GpuProcess.failsafe():
        assert not process.is_running()
        values = {name: getattr(process, name)() for name in HOST_GETTERS}
        with GpuProcess.failsafe():
            pass
        snapshot = process.as_snapshot()
        with pytest.raises(psutil.NoSuchProcess):
            process.num_threads()
    assert values.pop('status') == snapshot.status == 'terminated'
    assert values.pop('cmdline') == snapshot.cmdline == ['No Such Process']
    assert values.pop('command') == snapshot.command == 'No Such Process'
    for name, value in values.items():
        assert value is NA, name
        assert name == 'create_time' or snapshot[name] is NA, name
    assert snapshot.gpu_memory == 3
    with pytest.raises(psutil.NoSuchProcess):
        process.name()


@linux_only
@pytest.mark.parametrize('file', ['stat', 'cmdline'])
def test_process_without_permission_is_shown_in_failsafe(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    process = GpuProcess(child.pid, FakeDevice())
    real = os.open

    def open_(path: str, *args: Any, **options: Any) -> int:
        if str(path).endswith(f'/{file}'):
            raise PermissionError
        return real(path, *args, **options)

    monkeypatch.setattr(os, 'open', open_)
    [snapshot] = GpuProcess.take_snapshots([process], failsafe=True)
    assert (snapshot.is_running, snapshot.cmdline) == (True, ['No Permissions'])
    with pytest.raises(psutil.AccessDenied):
        GpuProcess.take_snapshots([process])
    if file == 'cmdline':
        with pytest.raises(psutil.AccessDenied):
            process.cmdline()
        with GpuProcess.failsafe():
            assert process.command() == 'No Permissions'


def test_process_of_another_pid_namespace_is_foreign(
    gone_pid: int, child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = GpuProcess(gone_pid, FakeDevice(), gpu_memory=5)
    alive = GpuProcess(child.pid, FakeDevice(), gpu_memory=5)
    for is_inside in (False, True):
        monkeypatch.setattr(procfs, 'in_pid_namespace', lambda value=is_inside: value)
        assert (gone.is_foreign(), alive.is_foreign()) == (is_inside, False)
    with monkeypatch.context() as patch:
        patch.setattr(procfs, 'is_hidden', lambda pid: True)
        assert (gone.is_foreign(), gone.is_running()) == (False, True)
    gone.set_gpu_memory(NA)
    assert not gone.is_foreign()


# Snapshots


def test_snapshot_has_all_values(child: subprocess.Popen[bytes]) -> None:
    process = GpuProcess(child.pid, FakeDevice(), gpu_memory=GiB, type='C', gpu_instance_id=2)
    process.set_gpu_utilization(1, 2, 3, 4)
    snapshot = process.as_snapshot()
    assert type(snapshot).__name__ == 'GpuProcessSnapshot'
    assert set(snapshot) == SNAPSHOT_FIELDS
    assert snapshot.real is process
    assert (snapshot.pid, snapshot.device) == (child.pid, process.device)
    assert isinstance(snapshot.host, Snapshot)
    assert snapshot.host.real is process.host
    assert snapshot.is_running is True
    assert (snapshot.name, snapshot.cmdline, snapshot.command) == ('cat', ['cat'], 'cat')
    assert snapshot.running_time == timedelta(seconds=snapshot.running_time_in_seconds)
    assert snapshot.host_memory > 0
    assert (snapshot.type, snapshot.gpu_memory_percent) == ('C', 1.2)
    assert (snapshot.gpu_instance_id, snapshot.compute_instance_id) == (2, NA)
    assert (snapshot.gpu_sm_utilization, snapshot.gpu_decoder_utilization) == (1, 4)
    assert dict(pickle.loads(pickle.dumps(snapshot)))['command'] == 'cat'
    assert process.num_threads() == 1  # of the host process
    assert process.running_time_human().startswith('0:')
    for name in ('no_such_name', '_private', '__len__'):
        with pytest.raises(AttributeError):
            getattr(process, name)


class SecretProcess(GpuProcess):
    def command(self) -> str:
        return 'hidden'

    def gpu_memory(self) -> int:
        return 40 * GiB


def test_snapshots_use_overridden_methods(child: subprocess.Popen[bytes], gone_pid: int) -> None:
    plain = GpuProcess(child.pid, FakeDevice(0), gpu_memory=1)
    secret = SecretProcess(child.pid, FakeDevice(1), gpu_memory=1)
    [of_plain, of_secret] = GpuProcess.take_snapshots([plain, secret])
    assert (of_plain.command, of_secret.command) == ('cat', 'hidden')
    assert (of_plain.gpu_memory, of_secret.gpu_memory) == (1, 40 * GiB)
    assert (of_secret.gpu_memory_human, of_secret.gpu_memory_percent) == ('40.00GiB', 50.0)
    assert set(of_secret) == SNAPSHOT_FIELDS
    assert of_secret.host.command == 'hidden'
    assert secret.as_snapshot().command == secret.host_snapshot().command == 'hidden'
    exited = SecretProcess(gone_pid, FakeDevice())
    with pytest.raises(psutil.NoSuchProcess):
        exited.as_snapshot()
    [snapshot] = GpuProcess.take_snapshots([exited], failsafe=True)
    assert (snapshot.command, snapshot.name, snapshot.status) == ('hidden', NA, 'terminated')
