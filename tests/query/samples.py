"""A fixed sample: two GPUs, one of them with a MIG device, a lost GPU, unusual processes."""

from __future__ import annotations

from datetime import datetime

from nvitop.sampling.types import (
    DeviceInfo,
    DeviceKey,
    DeviceSample,
    HostSample,
    ProcessKey,
    ProcessSample,
    Sample,
)

MIB, GIB = 1 << 20, 1 << 30
#: Local time.
MOMENT = datetime(2024, 1, 2, 3, 4, 5, 678000)
TIMESTAMP = MOMENT.timestamp()
ISO = MOMENT.astimezone().isoformat(timespec='milliseconds')

WHOLE = DeviceKey(0, -1, 'GPU-0')
SPLIT = DeviceKey(1, -1, 'GPU-1')
SLICE = DeviceKey(1, 2, 'MIG-1')
LOST = DeviceKey(2, -1, 'GPU-2')

DEVICES = (
    DeviceSample(
        WHOLE,
        DeviceInfo(
            WHOLE,
            0,
            'NVIDIA H100',
            uuid='GPU-0',
            bus_id='00000001:1B:03.0',
            minor_number=2,
            serial='1320',
            cuda_compute_capability='9.0',
            memory_total_bytes=80 * GIB,
            max_power_limit_mw=700_000,
        ),
        memory_used_bytes=1234 * MIB + 700_000,
        memory_free_bytes=70 * GIB,
        memory_percent=1.5,
        gpu_utilization_percent=97,
        sm_clock_mhz=1980,
        temperature_celsius=44,
        power_usage_mw=68_236,
        compute_mode='Exclusive Process',
        current_driver_model='WDM',
        performance_state='P0',
        clock_event_reasons=('sw_power_cap', 'display_clock_setting', '0x800'),
        total_energy_joules=1234.56789,
        pcie_tx_throughput_kib_per_s=512,
        remapped_rows_pending=True,
        extended=(
            ('ecc', 'Enabled'),
            ('driver_model_pending', 'WDM'),
            ('supported_clock_event_reasons', ('gpu_idle', 'reliability')),
            ('sw_power_cap_time', 5000),
            ('instant_power_usage', 68_236),
            ('protected_memory_total', 1 << 30),
            ('temperature_margin', -6),
            ('retired_pages_pending', False),
            ('pci_device_id', '0x233010DE'),
        ),
    ),
    DeviceSample(
        SPLIT,
        DeviceInfo(SPLIT, 1, 'NVIDIA A100', uuid='GPU-1', memory_total_bytes=40 * GIB),
        memory_used_bytes=0,
        clock_event_reasons=(),
        remapped_rows_pending=False,
    ),
    DeviceSample(
        SLICE,
        DeviceInfo(
            SLICE,
            1,
            'NVIDIA A100 MIG 1g.5gb',
            uuid='MIG-1',
            gpu_instance_id=9,
            compute_instance_id=0,
            mig_profile='1g.5gb',
        ),
        memory_used_bytes=5 * GIB,
    ),
    DeviceSample(LOST, DeviceInfo(LOST, 2), status='lost', reason='GPU is lost'),
)
PROCESSES = (
    ProcessSample(
        ProcessKey(4242, TIMESTAMP - 60, WHOLE),
        type='C',
        username='ada',
        name='python3',
        command='/usr/bin/python3 -c \'a, b = "x"\n\'',
        gpu_memory_bytes=1000 * MIB,
        gpu_sm_utilization_percent=55,
        cpu_percent=101.25,
        running_time_seconds=60.0,
    ),
    ProcessSample(
        ProcessKey(5, -1.0, WHOLE), type='G', status='gone', gpu_memory_bytes=None, username=None
    ),
    ProcessSample(
        ProcessKey(6, TIMESTAMP, SLICE),
        type='M',
        username='+ada',
        name='=cmd',
        command='=HYPERLINK',
        gpu_instance_id=9,
    ),
)
SAMPLE = Sample(
    timestamp=TIMESTAMP,
    driver_version='580.65.06',
    cuda_driver_version='13.0',
    host=HostSample(hostname='dgx-01'),
    devices=DEVICES,
    processes=PROCESSES,
)
