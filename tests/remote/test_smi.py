"""Machines without nvitop: what nvidia-smi and ps print."""

from __future__ import annotations

import os
import pathlib
import time
from typing import Callable

import pytest

from nvitop.remote.smi import SmiError, read_smi
from nvitop.remote.source import RemoteSource
from nvitop.sampling.types import Demand, Sample
from tests.remote.conftest import until

pytestmark = pytest.mark.skipif(os.name != 'posix', reason='needs a POSIX shell')

CAPTURES = pathlib.Path(__file__).parent.parent / 'captures' / 'xml'
T4 = CAPTURES / 'tesla-t4__515.105.01.xml'
MIG = CAPTURES / 'a100-sxm4-80gb__535.54.03__mig.xml'
PS = '    1 root   900 0.0 10240 /sbin/init\n{pid} ann      60 98.5 2097152 python3 train.py --name "a b"\n'


def read(xml: bytes, ps: str = '') -> Sample:
    return read_smi(xml, ps, timestamp=1000.0, monotonic=5.0, host='gpu01')


@pytest.mark.parametrize('path', sorted(CAPTURES.iterdir()), ids=lambda path: path.stem)
def test_every_capture_has_what_a_row_shows(path: pathlib.Path) -> None:
    sample = read(path.read_bytes())
    assert any(device.status == 'ok' for device in sample.devices)
    for device in sample.devices:
        if device.status == 'lost':
            continue
        assert device.memory_used_bytes is not None
        assert 0 <= device.memory_used_bytes <= (device.info.memory_total_bytes or 0)
        assert device.memory_percent is not None
        if not device.key.is_mig:
            assert device.info.name
            assert 0 < (device.temperature_celsius or 0) < 100
            assert 1000 < (device.power_usage_mw or 0) < 1_200_000
    assert all(process.username is None for process in sample.processes)


def test_processes_have_users_and_commands_from_ps() -> None:
    first, second = read(T4.read_bytes()).processes
    assert (first.status, first.username, first.running_time_seconds) == ('foreign', None, None)
    processes = read(T4.read_bytes(), PS.format(pid=second.key.pid)).processes
    (known,) = (process for process in processes if process.username)
    assert known.key == (second.key.pid, 940.0, second.key.device)
    assert known.command == 'python3 train.py --name "a b"'
    assert (known.cpu_percent, known.host_memory_bytes) == (98.5, 2 << 30)
    assert known.gpu_memory_bytes == second.gpu_memory_bytes
    # nvidia-smi does not print it: it is unknown, not 0.
    assert known.gpu_sm_utilization_percent is None


def test_mig_devices_have_memory_of_their_own() -> None:
    gpu, *slices = read(MIG.read_bytes()).devices
    assert [device.key.mig_index for device in slices] == [0, 1, 2, 3]
    assert gpu.gpu_utilization_percent is None
    assert 0 < (slices[0].info.memory_total_bytes or 0) < (gpu.info.memory_total_bytes or 0)


def test_other_text_is_refused() -> None:
    for text in (b'', b'<?xml?>', b'NVIDIA-SMI has failed', T4.read_bytes()[:5000]):
        with pytest.raises(SmiError, match='gpu01'):
            read(text)


def test_a_machine_without_nvitop_is_read_with_nvidia_smi(
    stand_in: Callable[[str], None], tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = {'nvitop': 'echo nvitop 1.7.2', 'nvidia-smi': f'cat {T4}'}
    for name, script in programs.items():
        (tmp_path / 'programs' / name).write_text(f'#!/bin/sh\n{script}\n')
        (tmp_path / 'programs' / name).chmod(0o755)
    stand_in('exec sh -c "$*"')
    monkeypatch.setattr('nvitop.remote.source.SMI_SECONDS', 0.2)
    source = RemoteSource('gpu01', ['query', '--samples'], or_smi=True)
    began = time.time()
    try:
        sample = until(source, lambda sample: sample.sequence >= 2, Demand())
        assert [device.info.name for device in sample.devices] == ['Tesla T4']
        assert (sample.host.hostname, source.origin.trouble) == ('gpu01', '')
        assert sample.timestamp >= began
    finally:
        source.close()


def test_a_machine_with_neither_says_what_to_install(
    stand_in: Callable[[str], None], tmp_path: pathlib.Path
) -> None:
    (tmp_path / 'bare').mkdir()
    (tmp_path / 'bare' / 'sh').symlink_to('/bin/sh')
    stand_in(f'PATH={tmp_path}/bare exec sh -c "$*"')
    source = RemoteSource('gpu01', ['query', '--samples'], or_smi=True)
    try:
        until(source, lambda _: source.origin.trouble, Demand())
        assert 'neither nvitop 2 nor nvidia-smi' in source.origin.trouble
        assert 'ssh gpu01 pipx install nvitop' in source.origin.trouble
    finally:
        source.close()
