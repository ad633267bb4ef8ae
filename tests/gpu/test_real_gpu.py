"""nvitop on a real GPU, compared with nvidia-smi: ``pytest -m gpu``. Skipped without a GPU."""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import sys

import pytest

from nvitop import simulation
from nvitop.api import libnvml
from nvitop.api.device import CudaDevice, Device, PhysicalDevice
from nvitop.api.process import procfs
from nvitop.api.utils import NA, MiB
from nvitop.query.fields import device_table
from tests.api.contract import check_all
from tests.gpu import program_on_gpu
from tests.gpu.nvidia_smi import COMPARED, difference, names_in_help, query, raw_value

pytestmark = pytest.mark.gpu


@pytest.fixture
def gpus() -> list[PhysicalDevice]:
    """Return the GPUs of this machine; skip the test without one."""
    if shutil.which('nvidia-smi') is None:
        pytest.skip('NOT RUN ON A REAL GPU: nvidia-smi is not installed')
    libnvml.use_library(None)
    assert simulation.simulated() == ''
    found = PhysicalDevice.all()
    if not found:
        pytest.skip('NOT RUN ON A REAL GPU: the driver lists no GPU')
    return found


def test_values_match_nvidia_smi(gpus: list[PhysicalDevice]) -> None:
    names = [metric.query for metric in COMPARED if metric.query is not None]
    differences = []
    for gpu in gpus:
        before = {metric.name: raw_value(gpu, metric) for metric in COMPARED}
        values = query(names, gpu.index)
        for metric in COMPARED:
            if metric.query in values:
                after = raw_value(gpu, metric)
                why = difference(metric, before[metric.name], values[metric.query], after)
                if why:
                    reason = gpu.unavailable_reason(metric.method)
                    differences.append(f'GPU {gpu.index} {metric.query}: {why} ({reason})')
        assert len(values) > 30
    assert not differences, '\n'.join(differences)


def test_every_name_of_nvidia_smi_is_known(gpus: list[PhysicalDevice]) -> None:
    command = ['nvidia-smi', '--help-query-gpu']
    text = subprocess.run(command, stdout=subprocess.PIPE, timeout=60, check=True).stdout
    names = names_in_help(text.decode('utf-8', 'replace'))
    assert len(names) > 100
    known = device_table().by_name
    assert [name for name in names if name not in known] == []


def test_methods_return_their_documented_types(gpus: list[PhysicalDevice]) -> None:
    for gpu in gpus:
        check_all(gpu)
        for mig in gpu.mig_devices():
            check_all(mig)
    for device in CudaDevice.all():
        check_all(device)


def test_cuda_process_is_listed_with_its_memory(gpus: list[PhysicalDevice]) -> None:
    child = subprocess.Popen(
        [sys.executable, str(pathlib.Path(program_on_gpu.__file__))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stdout.readline().strip() == b'ready'
        leaves = [leaf for gpu in gpus for leaf in gpu.to_leaf_devices()]
        processes = [process for leaf in leaves for process in leaf.processes().values()]
        if procfs.in_pid_namespace():  # the driver reports the host's PIDs
            own = [p for p in processes if p.pid == child.pid or p.is_foreign()]
        else:
            own = [p for p in processes if p.pid == child.pid]
        assert own, f'{child.pid} is not among {processes}'
        memories = [memory for p in own if isinstance(memory := p.gpu_memory(), int)]
        assert not memories or max(memories) >= 64 * MiB
        assert any('C' in process.type for process in own)
    finally:
        if child.stdin is not None:
            child.stdin.close()
        child.wait(timeout=30)


def test_uuids_and_bus_ids_find_the_same_device(gpus: list[PhysicalDevice]) -> None:
    for gpu in gpus:
        assert gpu.uuid() is not NA
        assert Device(uuid=gpu.uuid()) == gpu
        assert Device(bus_id=gpu.bus_id()) == gpu
