"""Fifty queries of the kind that dashboards and alert rules for dcgm-exporter have.

``{`` begins a selector, to which the test adds the machine.
"""

from __future__ import annotations

_SELECTED = '{instance=~".+", gpu=~".+", Hostname=~".+", modelName=~".+"}'
#: Query → name of the machine that has data, or the words of the documentation that say why none has.
DCGM_QUERIES = {
    # dashboard 12239, which selects by instance and gpu
    **{
        query.replace('{}', _SELECTED): 'dgx-h100'
        for query in (
            'DCGM_FI_DEV_GPU_TEMP{}',
            'avg(DCGM_FI_DEV_GPU_TEMP{})',
            'DCGM_FI_DEV_POWER_USAGE{}',
            'sum(DCGM_FI_DEV_POWER_USAGE{})',
            'DCGM_FI_DEV_SM_CLOCK{} * 1000000',
            'DCGM_FI_DEV_GPU_UTIL{}',
            'DCGM_FI_DEV_FB_USED{}',
            'DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{}',
        )
    },
    # utilization, memory, energy, links
    'DCGM_FI_DEV_MEM_CLOCK{}': 'dgx-h100',
    'DCGM_FI_DEV_MEMORY_TEMP{} > 0': 'dgx-h100',
    'rate(DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{}[1m]) / 1000': 'dgx-h100',
    'DCGM_FI_DEV_MEM_COPY_UTIL{}': 'dgx-h100',
    'DCGM_FI_DEV_ENC_UTIL{} + DCGM_FI_DEV_DEC_UTIL{}': 'dgx-h100',
    'DCGM_FI_DEV_FB_USED{} / (DCGM_FI_DEV_FB_USED{} + DCGM_FI_DEV_FB_FREE{})': 'dgx-h100',
    'DCGM_FI_DEV_FB_USED{} / DCGM_FI_DEV_FB_TOTAL{}': 'dgx-h100',
    'DCGM_FI_DEV_FB_RESERVED{}': 'dgx-h100',
    'DCGM_FI_DEV_FB_USED_PERCENT{} <= 1': 'dgx-h100',
    'increase(DCGM_FI_DEV_PCIE_REPLAY_COUNTER{}[1m])': 'dgx-h100',
    'DCGM_FI_PROF_PCIE_TX_BYTES{} + DCGM_FI_PROF_PCIE_RX_BYTES{}': 'dgx-h100',
    'DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL{}': 'dgx-h100',
    'DCGM_FI_PROF_NVLINK_TX_BYTES{} + DCGM_FI_PROF_NVLINK_RX_BYTES{}': 'dgx-h100',
    # profiling
    'DCGM_FI_PROF_GR_ENGINE_ACTIVE{} <= 1': 'dgx-h100',
    'DCGM_FI_PROF_SM_ACTIVE{} * DCGM_FI_PROF_SM_OCCUPANCY{}': 'dgx-h100',
    'DCGM_FI_PROF_DRAM_ACTIVE{}': 'dgx-h100',
    'DCGM_FI_PROF_PIPE_FP16_ACTIVE{}': 'dgx-h100',
    'DCGM_FI_PROF_PIPE_FP32_ACTIVE{}': 'dgx-h100',
    'DCGM_FI_PROF_PIPE_FP64_ACTIVE{}': 'dgx-h100',
    'avg by (GPU_I_PROFILE, GPU_I_ID) (DCGM_FI_PROF_GR_ENGINE_ACTIVE{GPU_I_ID!=""})': 'pods',
    'DCGM_FI_PROF_GR_ENGINE_ACTIVE{GPU_I_ID!="", modelName=~".*A100.*"}': 'profiling and the utilization of MIG devices before Hopper',
    # health
    'DCGM_FI_DEV_XID_ERRORS{} > 0': 'broken',
    'DCGM_EXP_XID_ERRORS_COUNT{} > 0': 'counts within a window',
    'DCGM_FI_DEV_ECC_SBE_VOL_TOTAL{} > 0': 'faults',
    'DCGM_FI_DEV_ECC_DBE_VOL_TOTAL{} > 0': 'faults',
    'DCGM_FI_DEV_ECC_SBE_AGG_TOTAL{} > 0': 'faults',
    'DCGM_FI_DEV_ECC_DBE_AGG_TOTAL{} > 0': 'faults',
    'DCGM_FI_DEV_RETIRED_SBE{} + DCGM_FI_DEV_RETIRED_DBE{} + DCGM_FI_DEV_RETIRED_PENDING{}': 'old-driver',
    'DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS{} + DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS{} > 0': 'faults',
    'DCGM_FI_DEV_ROW_REMAP_PENDING{} > 0 or DCGM_FI_DEV_ROW_REMAP_FAILURE{} > 0': 'faults',
    'DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL{} + DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL{} > 0': 'faults',
    'DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL{} + DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL{} > 0': 'faults',
    'DCGM_FI_DEV_GPU_NVLINK_ERRORS{}': 'needs the DCGM service',
    # what lowers the clocks
    'rate(DCGM_FI_DEV_POWER_VIOLATION{}[1m]) + rate(DCGM_FI_DEV_THERMAL_VIOLATION{}[1m])': 'dgx-h100',
    'DCGM_FI_DEV_SYNC_BOOST_VIOLATION{} + DCGM_FI_DEV_BOARD_LIMIT_VIOLATION{} + DCGM_FI_DEV_LOW_UTIL_VIOLATION{} + DCGM_FI_DEV_RELIABILITY_VIOLATION{}': 'dgx-h100',
    'DCGM_FI_DEV_CLOCK_THROTTLE_REASONS{} > 1': 'faults',
    'DCGM_FI_DEV_POWER_USAGE{} / DCGM_FI_DEV_POWER_MGMT_LIMIT{} <= 1': 'dgx-h100',
    # owners
    'sum by (namespace, pod) (DCGM_FI_DEV_GPU_UTIL{pod!="", namespace="serving", container="vllm"})': 'cluster-node',
    'DCGM_FI_DEV_FB_USED{hpc_job!="", GPU_I_ID=""}': 'cluster-node',
    'max by (pod) (DCGM_FI_DEV_FB_USED{pod!="", GPU_I_ID!=""})': 'pods',
    'DCGM_FI_DEV_GPU_UTIL{pod="", hpc_job=""}': 'cluster-node',
    # others
    'DCGM_FI_DEV_VGPU_LICENSE_STATUS{}': 'licenses of vGPUs',
}  # fmt: skip
assert len(DCGM_QUERIES) == 50, len(DCGM_QUERIES)
