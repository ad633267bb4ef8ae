"""Queries of public dashboards and alert rules for dcgm-exporter, with the values that they must have.

The truth is constant: two H100 and an A100 that is divided into two MIG devices. A real Prometheus
evaluates the queries over ten minutes of pages of the exporter.
"""

from __future__ import annotations

import os
import re
import shutil
from typing import Any, Iterator

import pytest

from nvitop.exporter.dialects import Observation, SeriesOptions
from nvitop.exporter.families import make_families, render
from nvitop.owner.types import Layer, make_owner
from nvitop.sampling.types import DeviceEvent, DeviceKey, DeviceSample, HostSample, Sample
from tests.fleet.servers import prometheus, query
from tests.sampling.fakes import device_sample, process_sample

if 'NVITOP_PROMETHEUS' not in os.environ:
    pytest.skip('NOTHING WAS SCRAPED (make test-exporter)', allow_module_level=True)
if not shutil.which('prometheus') or not shutil.which('promtool'):
    pytest.skip('NOTHING WAS SCRAPED: Prometheus is not installed', allow_module_level=True)

_GIB = 1 << 30
_START, _STEP, _COUNT = 1_700_000_000, 60, 11
_END = _START + _STEP * (_COUNT - 1)
#: What the variables of dashboards select.
_ALL = '{instance=~".+", gpu=~".+", Hostname=~".+", modelName=~".+"}'

#: Query → its values, sorted. ``[]``: a documented difference.
QUERIES: dict[str, list[float]] = {
    # dashboards 12239, 15117 and 23382
    'DCGM_FI_DEV_GPU_TEMP{}': [35, 50, 50, 60],
    'avg(DCGM_FI_DEV_GPU_TEMP{GPU_I_ID=""})': [47.5],
    'max by (gpu) (DCGM_FI_DEV_GPU_TEMP{})': [35, 50, 60],
    'DCGM_FI_DEV_MEMORY_TEMP{GPU_I_ID=""}': [40, 70],
    'DCGM_FI_DEV_POWER_USAGE{}': [75, 200, 200, 400],
    'sum(max by (UUID) (DCGM_FI_DEV_POWER_USAGE{}))': [675],
    'sum(DCGM_FI_DEV_POWER_USAGE{GPU_I_ID=""})': [475],
    'DCGM_FI_DEV_SM_CLOCK{gpu="0"} * 1000000': [1.98e9],
    'DCGM_FI_DEV_MEM_CLOCK{gpu="0"}': [2619],
    'DCGM_FI_DEV_GPU_UTIL{}': [0, 80],
    'avg by (Hostname) (DCGM_FI_DEV_GPU_UTIL{})': [40],
    'count(DCGM_FI_DEV_GPU_UTIL{} == 0)': [1],
    'DCGM_FI_DEV_MEM_COPY_UTIL{}': [0, 50],
    'DCGM_FI_DEV_ENC_UTIL{gpu="0"} + DCGM_FI_DEV_DEC_UTIL{gpu="0"}': [5],
    'DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{gpu="0"}': [0.6],
    # memory
    'DCGM_FI_DEV_FB_USED{}': [1024, 5120, 10240, 40960],
    'sum(DCGM_FI_DEV_FB_USED{})': [57344],
    'sum by (gpu) (DCGM_FI_DEV_FB_USED{})': [1024, 15360, 40960],
    'DCGM_FI_DEV_FB_FREE{gpu="0"}': [38912],
    'DCGM_FI_DEV_FB_RESERVED{gpu="0"}': [2048],
    'sum(DCGM_FI_DEV_FB_TOTAL{})': [204800],
    'DCGM_FI_DEV_FB_USED{gpu="0"} / DCGM_FI_DEV_FB_TOTAL{gpu="0"}': [0.5],
    'DCGM_FI_DEV_FB_USED{} / (DCGM_FI_DEV_FB_USED{} + DCGM_FI_DEV_FB_FREE{})': [0.012821, 0.25, 0.5, 0.512821],
    'DCGM_FI_DEV_FB_USED_PERCENT{}': [0.012821, 0.25, 0.5, 0.512821],
    'sum by (GPU_I_PROFILE) (DCGM_FI_DEV_FB_USED{GPU_I_ID!=""})': [15360],
    'DCGM_FI_DEV_FB_USED{GPU_I_ID="1", GPU_I_PROFILE="3g.40gb"}': [5120],
    # energy, links
    'rate(DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu="0"}[5m]) / 1000': [400],
    'increase(DCGM_FI_DEV_PCIE_REPLAY_COUNTER{gpu="0"}[5m])': [5],
    'DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL{gpu="0"}': [3.072],
    'DCGM_FI_PROF_NVLINK_TX_BYTES{gpu="0"} + DCGM_FI_PROF_NVLINK_RX_BYTES{gpu="0"}': [3_072_000],
    'DCGM_FI_PROF_PCIE_TX_BYTES{gpu="0"} + DCGM_FI_PROF_PCIE_RX_BYTES{gpu="0"}': [307_200],
    # profiling
    'DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu="0"}': [0.9],
    'DCGM_FI_PROF_SM_ACTIVE{gpu="0"} * DCGM_FI_PROF_SM_OCCUPANCY{gpu="0"}': [0.4],
    'DCGM_FI_PROF_DRAM_ACTIVE{gpu="0"}': [0.3],
    'DCGM_FI_PROF_PIPE_FP16_ACTIVE{gpu="0"}': [0.1],
    'DCGM_FI_PROF_PIPE_FP32_ACTIVE{gpu="0"}': [0.2],
    'DCGM_FI_PROF_PIPE_FP64_ACTIVE{gpu="0"}': [0.05],
    'avg by (GPU_I_PROFILE, GPU_I_ID) (DCGM_FI_PROF_GR_ENGINE_ACTIVE{GPU_I_ID!=""})': [],
    # health
    'DCGM_FI_DEV_XID_ERRORS{} > 0': [79],
    'DCGM_FI_DEV_XID_ERRORS{err_code="79", err_msg=~".*off the bus"}': [79],
    'count by (gpu) (DCGM_FI_DEV_XID_ERRORS{GPU_I_ID!=""})': [2],
    'DCGM_EXP_XID_ERRORS_COUNT{}': [],
    'DCGM_FI_DEV_ECC_SBE_VOL_TOTAL{gpu="0"}': [3],
    'DCGM_FI_DEV_ECC_DBE_VOL_TOTAL{gpu="0"}': [1],
    'DCGM_FI_DEV_ECC_SBE_AGG_TOTAL{gpu="0"}': [4],
    'DCGM_FI_DEV_ECC_DBE_AGG_TOTAL{gpu="0"} > 0': [2],
    'DCGM_FI_DEV_RETIRED_SBE{} + DCGM_FI_DEV_RETIRED_DBE{}': [5],
    'DCGM_FI_DEV_RETIRED_PENDING{} > 0': [1],
    'DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS{gpu="0"}': [1],
    'DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS{gpu="0"}': [2],
    'DCGM_FI_DEV_ROW_REMAP_PENDING{} > 0 or DCGM_FI_DEV_ROW_REMAP_FAILURE{} > 0': [1],
    'DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL{} + DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL{}': [11],
    'DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL{} + DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL{}': [5],
    'DCGM_FI_DEV_GPU_NVLINK_ERRORS{}': [],
    'DCGM_FI_DEV_FABRIC_MANAGER_STATUS{gpu="0"} == 3': [3],
    # limits, and what lowers the clocks
    'rate(DCGM_FI_DEV_POWER_VIOLATION{gpu="0"}[5m])': [5e8],
    'rate(DCGM_FI_DEV_THERMAL_VIOLATION{gpu="0"}[5m])': [2.5e8],
    'DCGM_FI_DEV_SYNC_BOOST_VIOLATION{gpu="0"} + DCGM_FI_DEV_BOARD_LIMIT_VIOLATION{gpu="0"}': [3000],
    'DCGM_FI_DEV_LOW_UTIL_VIOLATION{gpu="0"} + DCGM_FI_DEV_RELIABILITY_VIOLATION{gpu="0"}': [7000],
    'DCGM_FI_DEV_CLOCK_THROTTLE_REASONS{} > 1': [4],
    'DCGM_FI_DEV_POWER_USAGE{gpu="0"} / DCGM_FI_DEV_POWER_MGMT_LIMIT{gpu="0"}': [0.571429],
    'DCGM_FI_DEV_ENFORCED_POWER_LIMIT{gpu="0"}': [650],
    'DCGM_FI_DEV_GPU_MAX_OP_TEMP{gpu="0"} - DCGM_FI_DEV_GPU_TEMP{gpu="0"}': [27],
    'DCGM_FI_DEV_MEM_MAX_OP_TEMP{gpu="0"}': [95],
    'DCGM_FI_DEV_SLOWDOWN_TEMP{gpu="0"} < DCGM_FI_DEV_SHUTDOWN_TEMP{gpu="0"}': [90],
    'DCGM_FI_DEV_APP_SM_CLOCK{gpu="0"}': [1755],
    'DCGM_FI_DEV_MAX_SM_CLOCK{gpu="0"}': [1980],
    'DCGM_FI_DEV_PCIE_LINK_GEN{gpu="0"} * DCGM_FI_DEV_PCIE_LINK_WIDTH{gpu="0"}': [80],
    # modes
    'DCGM_FI_DEV_COUNT{gpu="0"}': [3],
    'max by (gpu) (DCGM_FI_DEV_MIG_MODE{})': [0, 0, 1],
    'DCGM_FI_DEV_ECC_CURRENT{gpu="0"}': [1],
    'DCGM_FI_DEV_PERSISTENCE_MODE{gpu="0"}': [1],
    'DCGM_FI_DEV_COMPUTE_MODE{gpu="0"}': [3],
    'DCGM_FI_DEV_PSTATE{gpu="0"}': [0],
    # owners
    'sum by (namespace, pod) (DCGM_FI_DEV_GPU_UTIL{pod!="", namespace="serving", container="vllm"})': [80],
    'DCGM_FI_DEV_FB_USED{hpc_job="42"}': [1024],
    'max by (pod) (DCGM_FI_DEV_FB_USED{pod!="", GPU_I_ID!=""})': [10240],
    'count(DCGM_FI_DEV_FB_USED{pod="", hpc_job=""})': [1],
    # others
    'count by (DCGM_FI_DRIVER_VERSION, device, pci_bus_id) (DCGM_FI_DEV_FB_USED{gpu="0"})': [1],
    'DCGM_FI_DEV_VGPU_LICENSE_STATUS{}': [],
}  # fmt: skip


def truth(minute: int) -> Sample:
    """Return the machine, some minutes after the start."""
    names: dict[str, Any] = {'name': 'H100', 'bus_id': '00000000:1B:00.0'}
    busy = device_sample(
        0,
        temperature_celsius=60,
        memory_temperature_celsius=70,
        power_usage_mw=400_000,
        power_limit_mw=700_000,
        enforced_power_limit_mw=650_000,
        sm_clock_mhz=1980,
        memory_clock_mhz=2619,
        gpu_utilization_percent=80,
        memory_utilization_percent=50,
        encoder_utilization_percent=2,
        decoder_utilization_percent=3,
        memory_used_bytes=40 * _GIB,
        memory_free_bytes=38 * _GIB,
        memory_reserved_bytes=2 * _GIB,
        total_energy_joules=400.0 * 60 * minute,
        pcie_replays=minute,
        nvlink_total_tx_throughput_kib_per_s=1000,
        nvlink_total_rx_throughput_kib_per_s=2000,
        pcie_tx_throughput_kib_per_s=100,
        pcie_rx_throughput_kib_per_s=200,
        gpm_graphics_active_percent=90.0,
        gpm_sm_active_percent=80.0,
        gpm_sm_occupancy_percent=50.0,
        gpm_tensor_active_percent=60.0,
        gpm_dram_active_percent=30.0,
        total_volatile_corrected_ecc_errors=3,
        total_volatile_uncorrected_ecc_errors=1,
        total_aggregate_corrected_ecc_errors=4,
        total_aggregate_uncorrected_ecc_errors=2,
        retired_pages_single_bit_ecc=2,
        retired_pages_double_bit_ecc=3,
        remapped_rows_uncorrectable=1,
        remapped_rows_correctable=2,
        remapped_rows_pending=True,
        remapped_rows_failure=False,
        fabric_state='Completed',
        clock_event_reasons=('sw_power_cap',),
        pcie_link_generation=5,
        pcie_link_width=16,
        mig_mode='Disabled',
        persistence_mode='Enabled',
        compute_mode='Exclusive Process',
        performance_state='P0',
        extended=(
            ('gpm_fp16_active', 10.0),
            ('gpm_fp32_active', 20.0),
            ('gpm_fp64_active', 5.0),
            ('retired_pages_pending', True),
            ('nvlink_crc_flit_errors', 5),
            ('nvlink_crc_data_errors', 6),
            ('nvlink_replay_errors', 2),
            ('nvlink_recovery_errors', 3),
            ('sw_power_cap_time', 30_000_000 * minute),
            ('thermal_violation_time', 15_000_000 * minute),
            ('sync_boost_time', 1),
            ('board_limit_violation_time', 2),
            ('low_utilization_violation_time', 3),
            ('reliability_violation_time', 4),
            ('application_graphics_clock', 1755),
            ('ecc', 'Enabled'),
        ),
    )
    busy = busy._replace(
        info=busy.info._replace(
            **names,
            memory_total_bytes=80 * _GIB,
            max_temperature_threshold_celsius=87,
            max_memory_temperature_threshold_celsius=95,
            temperature_slowdown_threshold_celsius=90,
            temperature_shutdown_threshold_celsius=92,
            max_sm_clock_mhz=1980,
        )
    )
    free = device_sample(
        1,
        temperature_celsius=35,
        memory_temperature_celsius=40,
        power_usage_mw=75_000,
        gpu_utilization_percent=0,
        memory_utilization_percent=0,
        memory_used_bytes=1 * _GIB,
        memory_free_bytes=77 * _GIB,
        memory_reserved_bytes=2 * _GIB,
        mig_mode='Disabled',
    )
    free = free._replace(info=free.info._replace(**names, memory_total_bytes=80 * _GIB))
    divided = device_sample(
        2,
        temperature_celsius=50,
        power_usage_mw=200_000,
        memory_used_bytes=15 * _GIB,
        memory_free_bytes=25 * _GIB,
        mig_mode='Enabled',
    )
    divided = divided._replace(
        info=divided.info._replace(name='A100', memory_total_bytes=40 * _GIB)
    )
    instances = []
    for number, size in ((1, 5), (2, 10)):
        key = DeviceKey(2, number - 1, f'MIG-{number}')
        instance = DeviceSample(key, divided.info._replace(key=key))._replace(
            memory_used_bytes=size * _GIB, memory_free_bytes=(20 - size) * _GIB
        )
        info = instance.info._replace(
            mig_profile='3g.40gb', gpu_instance_id=number, memory_total_bytes=20 * _GIB
        )
        instances.append(instance._replace(info=info))
    owners = (
        (busy, make_owner((Layer('pod', 'a', 'serving/chat'), Layer('containerd', '2', 'vllm')))),
        (free, make_owner((Layer('slurm', '42'),))),
        (instances[1], make_owner((Layer('pod', 'b', 'ml/train'),))),
    )
    processes = []
    for device, owner in owners:
        process = process_sample(1, gpu_memory_bytes=1)
        processes.append(process._replace(owner=owner, key=process.key._replace(device=device.key)))
    return Sample(
        1.0,
        driver_version='580.65.06',
        host=HostSample(hostname='node1'),
        devices=(busy, free, divided, *instances),
        processes=tuple(processes),
        events=(DeviceEvent(busy.key, 'xid', 79),),
    )


def series() -> Iterator[str]:
    lines: dict[str, list[str]] = {}
    for minute in range(_COUNT):
        observation = Observation(truth(minute), SeriesOptions(owners=True))
        for line in render(make_families(['dcgm'], observation)).splitlines():
            if line[0] != '#':
                text = f'{line} {_START + _STEP * minute}\n'.replace('{', '{instance="n:9400",', 1)
                lines.setdefault(line.partition('{')[0], []).append(text)
    for rows in lines.values():
        yield from rows
    yield '# EOF\n'


@pytest.fixture(scope='module')
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with prometheus(tmp_path_factory.mktemp('dcgm'), series()) as url:
        yield url


@pytest.mark.parametrize(('expression', 'expected'), QUERIES.items())
def test_queries_of_dashboards_have_the_values_of_the_machine(
    url: str, expression: str, expected: list[float]
) -> None:
    text = expression.replace('{}', _ALL)
    text = re.sub(r'(\})(\[\w+\])?', rf'\1\2 @ {_END}', text)
    rows: list[Any] = query(url, text)
    values = sorted(float(row['value'][1]) for row in rows)
    assert values == pytest.approx(expected, rel=1e-3)
