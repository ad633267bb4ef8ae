"""The simulated NVML through the binding: identity, values, links, process lists, MIG devices."""

from __future__ import annotations

import ctypes
import inspect
from typing import Any, Callable

import pynvml
import pytest

from nvitop import simulation
from nvitop.simulation.simulated_system import FIRST_FIXED_PID
from tests.simulation.conftest import handle, needs, text

Start = Callable[..., simulation.Machine]

#: Arguments of the getters of the binding after the handle.
ARGUMENTS: dict[str, Any] = {
    'sensor': 0, 'threshold': 0, 'type': 0, 'id': 0, 'counter': 0, 'link': 0, 'fan': 0,
    'errorType': 0, 'counterType': 0, 'locationType': 0, 'fieldIds': [91, 82], 'pid': 1,
    'infoRomObject': 0, 'memoryClockMHz': 877, 'sourceFilter': 0, 'encoderQueryType': 0,
    'capability': 0, 'index': 0, 'timeStamp': 0, 'version': 0x1000018, 'mode': 0, 'cpuSetSize': 2,
    'nodeSetSize': 1, 'scope': 0, 'apiType': 0, 'sampling_type': 0, 'perfPolicyType': 0,
    'encoderQuery_type': 0, 'device2': None, 'p2pIndex': 0, 'level': 0, 'moduleId': None,
    'profileId': 0, 'profile': 0, 'count': 0, 'clockType': 0, 'pstate': 0, 'sensorindex': 0,
}  # fmt: skip


PCIE_COUNT_TX_BYTES = 197
REFUSALS = (
    pynvml.NVMLError,
    getattr(pynvml, 'NVMLLibraryMismatchError', pynvml.NVMLError),  # in newer bindings
)


def getters() -> list[str]:
    """Functions of the binding that take a device and arguments from the table above."""
    names = []
    for name in dir(pynvml):
        function = getattr(pynvml, name)
        if name.startswith(('nvmlDeviceGet', 'nvmlDeviceIs')) and callable(function):
            first, *others = inspect.signature(function).parameters or ['']
            if first in ('handle', 'device') and set(others) <= set(ARGUMENTS):
                names.append(name)
    return names


@pytest.mark.parametrize('scenario', ['dgx-h100', 'mig', 'workstation', 'spark', 'old-driver'])
def test_every_getter_of_the_binding_returns_or_raises_an_nvml_error(
    start: Start, scenario: str
) -> None:
    start(scenario)
    answered = 0
    for name in getters():
        function = getattr(pynvml, name)
        arguments = [ARGUMENTS[key] for key in list(inspect.signature(function).parameters)[1:]]
        device = handle()
        arguments = [device if key is None else key for key in arguments]
        try:
            function(device, *arguments)
            answered += 1
        except REFUSALS:
            pass
    assert answered >= 35


def test_gpus_are_found_by_index_uuid_and_bus_id(start: Start) -> None:
    start()
    assert pynvml.nvmlDeviceGetCount() == 8
    uuids = set()
    for index in range(8):
        uuid = text(pynvml.nvmlDeviceGetUUID(handle(index)))
        bus_id = text(pynvml.nvmlDeviceGetPciInfo(handle(index)).busId)
        serial = text(pynvml.nvmlDeviceGetSerial(handle(index)))
        for found in (
            handle(index),
            pynvml.nvmlDeviceGetHandleByUUID(uuid.encode()),
            pynvml.nvmlDeviceGetHandleByPciBusId(bus_id.encode()),
            pynvml.nvmlDeviceGetHandleByPciBusId(bus_id[4:].lower().encode()),
            pynvml.nvmlDeviceGetHandleByPciBusId(bus_id[9:].encode()),
            pynvml.nvmlDeviceGetHandleBySerial(serial.encode()),
        ):
            assert pynvml.nvmlDeviceGetIndex(found) == index
        uuids.add(uuid)
    assert len(uuids) == 8
    with pytest.raises(pynvml.NVMLError_InvalidArgument):
        handle(8)
    with pytest.raises(pynvml.NVMLError_NotFound):
        pynvml.nvmlDeviceGetHandleByUUID(b'GPU-00000000-0000-0000-0000-000000000000')
    with pytest.raises(pynvml.NVMLError_NotFound):
        pynvml.nvmlDeviceGetHandleByPciBusId(b'0000:FF:00.0')


def test_traffic_counters_grow_at_the_reported_throughput(start: Start) -> None:
    machine = start()
    fields = [
        (pynvml.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, 0),
        (pynvml.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX, 0xFFFFFFFF),
        PCIE_COUNT_TX_BYTES,
    ]

    def read() -> list[int]:
        values = pynvml.nvmlDeviceGetFieldValues(handle(), fields)
        assert [value.nvmlReturn for value in values] == [0, 0, 0]
        return [value.value.ullVal for value in values]

    first = read()
    machine.advance(0.02)
    second = read()
    one_link, all_links, pcie = ((b - a) / 0.02 for a, b in zip(first, second))
    assert all_links == pytest.approx(18 * one_link, rel=0.01)
    throughput = pynvml.nvmlDeviceGetPcieThroughput(handle(), pynvml.NVML_PCIE_UTIL_TX_BYTES)
    assert pcie / 1000 == pytest.approx(throughput, rel=0.02)


@needs('nvmlGpmMetricsGet')
def test_gpm_metrics_are_means_between_two_samples(start: Start) -> None:
    machine = start('[[gpu]]\n[[process]]\ncommand = ["a"]\nsm = { steps = [[0, 0], [5, 80]] }\n')
    with pytest.raises(pynvml.NVMLError_InvalidArgument):
        pynvml.nvmlGpmMetricsGet(pynvml.c_nvmlGpmMetricsGet_t(version=1))
    assert pynvml.nvmlGpmQueryDeviceSupport(handle()).isSupportedDevice
    samples = [pynvml.nvmlGpmSampleAlloc() for _ in range(2)]
    for sample in samples:
        pynvml.nvmlGpmSampleGet(handle(), sample)
        machine.advance(10.0)
    metrics = pynvml.c_nvmlGpmMetricsGet_t(version=1, numMetrics=3)
    metrics.sample1, metrics.sample2 = samples
    wanted = [
        pynvml.NVML_GPM_METRIC_GRAPHICS_UTIL,
        pynvml.NVML_GPM_METRIC_PCIE_TX_PER_SEC,
        pynvml.NVML_GPM_METRIC_NVJPG_7_UTIL,
    ]
    for i, metric in enumerate(wanted):
        metrics.metrics[i].metricId = metric
    pynvml.nvmlGpmMetricsGet(metrics)
    assert metrics.metrics[0].value == pytest.approx(40.0)
    assert metrics.metrics[0].metricInfo.unit == b'%'
    assert metrics.metrics[1].value > 0
    assert [metrics.metrics[i].nvmlReturn for i in range(3)] == [0, 0, 3]
    for sample in samples:
        pynvml.nvmlGpmSampleFree(sample)
    with pytest.raises(pynvml.NVMLError_InvalidArgument):
        pynvml.nvmlGpmSampleFree(samples[0])


def test_calls_before_initialization_fail(start: Start) -> None:
    start()
    pynvml.nvmlShutdown()
    for call in (pynvml.nvmlDeviceGetCount, pynvml.nvmlShutdown, pynvml.nvmlSystemGetDriverVersion):
        with pytest.raises(pynvml.NVMLError_Uninitialized):
            call()
    assert text(pynvml.nvmlErrorString(pynvml.NVML_ERROR_GPU_IS_LOST)) == 'GPU is lost'
    pynvml.nvmlInit()
    assert text(pynvml.nvmlSystemGetDriverVersion()) == '580.65.06'


GIB = 2**30
PIDS = [FIRST_FIXED_PID + i for i in range(3)]


class InfoV2(ctypes.Structure):
    _fields_ = [
        ('pid', ctypes.c_uint),
        ('usedGpuMemory', ctypes.c_ulonglong),
        ('gi', ctypes.c_uint),
        ('ci', ctypes.c_uint),
    ]


def list_processes(
    machine: simulation.Machine, name: str, layout: Any, device: Any = None
) -> list[Any]:
    """Query a list like libnvml: first its size, then with a larger array."""
    call = machine.driver.__dict__[f'nvmlDeviceGet{name}']
    device = device or handle()
    count = ctypes.c_uint(0)
    code = call(device, ctypes.byref(count), None)
    while code == 7:
        count.value = 2 * count.value + 5
        array = (layout * count.value)()
        code = call(device, ctypes.byref(count), array)
        if code == 0:
            return list(array[: count.value])
    assert (code, count.value) == (0, 0)
    return []


def test_list_grows_between_two_calls(start: Start) -> None:
    machine = start('[[gpu]]\n' + '[[process]]\ncommand = ["a"]\n' * 12)
    machine.grow(10)
    call = machine.driver.__dict__['nvmlDeviceGetComputeRunningProcesses_v3']
    count = ctypes.c_uint(0)
    assert (call(handle(), ctypes.byref(count), None), count.value) == (7, 2)
    count.value = 9
    assert (call(handle(), ctypes.byref(count), (InfoV2 * 9)()), count.value) == (7, 12)
    assert len(list_processes(machine, 'ComputeRunningProcesses_v3', InfoV2)) == 12
    machine.grow(2)
    assert (call(handle(), ctypes.byref(ctypes.c_uint(0)), None)) == 0  # the first call finds none


# MIG


def mig(gpu: int, index: int) -> Any:
    return pynvml.nvmlDeviceGetMigDeviceHandleByIndex(handle(gpu), index)


def mig_indices(gpu: int) -> list[int]:
    found = []
    for index in range(pynvml.nvmlDeviceGetMaxMigDeviceCount(handle(gpu))):
        try:
            mig(gpu, index)
        except pynvml.NVMLError_NotFound:
            continue
        found.append(index)
    return found


def test_mig_devices_have_gaps_and_change_with_time(start: Start) -> None:
    machine = start('mig')
    assert pynvml.nvmlDeviceGetMigMode(handle(0)) == [1, 1]
    assert mig_indices(0) == [0, 2]
    machine.advance(60.0)
    assert mig_indices(0) == [0, 1, 2]
    middle = mig(0, 1)
    assert text(pynvml.nvmlDeviceGetName(middle)) == 'NVIDIA A100-SXM4-80GB MIG 2g.20gb'
    machine.advance(240.0)
    assert mig_indices(0) == [0, 2]
    with pytest.raises(pynvml.NVMLError_InvalidArgument):
        pynvml.nvmlDeviceGetName(middle)
    machine.set(gpu=0, mig_mode=False)
    assert mig_indices(0) == []
    assert mig_indices(2) == []
