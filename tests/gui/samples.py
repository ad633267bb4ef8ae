"""Stored machines: samples with fixed values, written by hand."""

from __future__ import annotations

import math
from typing import Any

from nvitop.sampling.history import History
from nvitop.sampling.types import (
    DeviceInfo,
    DeviceKey,
    DeviceSample,
    HostProcessSample,
    HostSample,
    Problem,
    ProcessKey,
    ProcessSample,
    Sample,
)
from tests.sampling.fakes import device_sample

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
#: Tue Jan 02 03:04:05 2024 UTC.
NOW = 1704164645.0

HOST = HostSample(
    hostname='dgx-01',
    username='alice',
    cpu_percent=12.5,
    cpu_count=224,
    load_average=(8.21, 7.65, 9.02),
    memory_total_bytes=2048 * GIB,
    memory_used_bytes=331 * GIB,
    memory_percent=16.2,
    swap_total_bytes=8 * GIB,
    swap_used_bytes=GIB // 2,
    swap_percent=6.25,
    uptime_seconds=12 * 86400 + 5400,
)


def gpu(index: int, name: str, **fields: Any) -> DeviceSample:
    """Return a GPU with usual values; ``fields`` are those of the sample or of its info."""
    total, used = fields.pop('total', 80 * GIB), fields.get('memory_used_bytes')
    usual: dict[str, Any] = {
        'uuid': f'GPU-{index}',
        'bus_id': f'00000000:{index * 8 + 7:02X}:00.0',
        'memory_total_bytes': total,
        'max_sm_clock_mhz': 1980,
        'max_memory_clock_mhz': 2619,
        'max_pcie_link_generation': 5,
        'max_pcie_link_width': 16,
        'nvlink_link_count': 18 if 'H100' in name else 0,
        'memory_percent': None if used is None else round(100.0 * used / total, 1),
        'sm_clock_mhz': 1410,
        'memory_clock_mhz': 2619,
        'temperature_celsius': 40,
        'memory_temperature_celsius': None if fields.get('is_unified_memory') else 65,
        'power_usage_mw': 110_000,
        'power_limit_mw': 700_000,
        'total_energy_joules': 1.2e9 * (index + 1),
        'display_active': 'Disabled',
        'persistence_mode': 'Enabled',
        'performance_state': 'P0',
        'compute_mode': 'Default',
        'mig_mode': 'Disabled',
        'total_volatile_uncorrected_ecc_errors': 0,
        'bar1_memory_total_bytes': 128 * GIB,
        'bar1_memory_used_bytes': 3 * MIB,
        'bar1_memory_percent': 0.0,
        'pcie_link_generation': 5,
        'pcie_link_width': 16,
        'pcie_tx_throughput_kib_per_s': 12_345_678 * (index % 5),
        'pcie_rx_throughput_kib_per_s': 123_456,
        'nvlink_total_tx_throughput_kib_per_s': 123_456_789,
        'nvlink_total_rx_throughput_kib_per_s': 0,
        'encoder_utilization_percent': 0,
        'decoder_utilization_percent': 3,
        'clock_event_reasons': () if fields.get('gpu_utilization_percent') else ('gpu_idle',),
    }
    return device_sample(index, name, **{**usual, **fields})


def mig(
    parent: DeviceSample, index: int, profile: str, gi: int, total: int, used: int
) -> DeviceSample:
    key = DeviceKey(parent.key.physical_index, index, f'MIG-{parent.key.physical_index}-{index}')
    info = DeviceInfo(
        key,
        key.physical_index,
        f'{parent.info.name} MIG {profile}',
        uuid=key.uuid,
        memory_total_bytes=total,
        gpu_instance_id=gi,
        compute_instance_id=0,
        mig_profile=profile,
    )
    return DeviceSample(
        key,
        info,
        memory_used_bytes=used,
        memory_percent=100.0 * used / total,
        bar1_memory_total_bytes=16383 * MIB,
        bar1_memory_used_bytes=2 * MIB,
        bar1_memory_percent=0.0,
    )


def process(device: DeviceSample, pid: int, command: str | None, **fields: Any) -> ProcessSample:
    """Return a process that has the whole utilization of its device."""
    usual: dict[str, Any] = {
        'type': 'C',
        'username': 'alice',
        'is_own': True,
        'cpu_percent': 99.7,
        'memory_percent': 1.5,
        'host_memory_bytes': 31 * GIB,
        'running_time_seconds': 3 * 3600 + 25 * 60 + 7.0,
        'gpu_memory_bytes': 10 * GIB,
        'gpu_sm_utilization_percent': device.gpu_utilization_percent,
        'gpu_memory_utilization_percent': device.memory_utilization_percent,
    }
    values = {**usual, **fields}
    memory, total = values['gpu_memory_bytes'], device.info.memory_total_bytes
    if memory is not None and total:
        values.setdefault('gpu_memory_percent', 100.0 * memory / total)
    key = ProcessKey(pid, NOW - 12_000.0, device.key)
    return ProcessSample(key, command=command, **values)


def machine(
    *devices: DeviceSample, processes: tuple[ProcessSample, ...] = (), **fields: Any
) -> Sample:
    usual: dict[str, Any] = {
        'timestamp': NOW,
        'monotonic': 1000.0,
        'sequence': 1,
        'driver_version': '550.54.15',
        'cuda_driver_version': '12.4',
        'host': HOST,
        'processes_monotonic': 1000.0,
    }
    return Sample(devices=devices, processes=processes, **{**usual, **fields})


TRAIN = 'python3 train.py --model llama-70b --lr 3e-4 --epochs 100 --data /datasets/c4'
TORCHRUN = '/usr/bin/python3 -m torch.distributed.run --nproc_per_node=8 pretrain.py'


#: GPU 1 is at its power limit, GPU 2 is too hot and has a degraded link.
_ODD: dict[int, dict[str, Any]] = {
    1: {'decoder_utilization_percent': 100, 'clock_event_reasons': ('sw_power_cap',)},
    2: {
        'pcie_link_width': 8,
        'pcie_link_down_trained': True,
        'clock_event_reasons': ('hw_thermal_slowdown', 'sw_power_cap'),
    },
}


def _h100(index: int, used_gib: float, load: int, watts: int) -> DeviceSample:
    return gpu(
        index,
        'NVIDIA H100 80GB HBM3',
        memory_used_bytes=int(used_gib * GIB),
        gpu_utilization_percent=load,
        memory_utilization_percent=load // 2,
        sm_clock_mhz=1980 if load else 345,
        temperature_celsius=34 + load * 4 // 10,
        power_usage_mw=watts * 1000,
        **_ODD.get(index, {}),
    )


def _one() -> Sample:
    a100 = gpu(
        0,
        'NVIDIA A100-SXM4-80GB',
        memory_used_bytes=int(33.5 * GIB),
        gpu_utilization_percent=64,
        memory_utilization_percent=38,
        power_usage_mw=245_000,
        power_limit_mw=400_000,
        temperature_celsius=51,
        memory_clock_mhz=1593,
    )
    return machine(a100, processes=(process(a100, 4242, TRAIN, gpu_memory_bytes=33 * GIB),))


def _h100x8() -> Sample:
    loads = [(72.4, 100, 689), (72.4, 98, 671), (71.9, 97, 664), (72.0, 99, 692)]
    loads += [(40.2, 71, 402), (12.5, 23, 188), (3.1, 4, 121), (0.5, 0, 69)]
    devices = [_h100(i, *load) for i, load in enumerate(loads)]
    others = {'is_own': False, 'cpu_percent': 101.3}
    processes = [
        process(device, 20100 + device.key.physical_index, TORCHRUN, gpu_memory_bytes=71 * GIB)
        for device in devices[:4]
    ]
    processes += [
        process(
            devices[4], 31337, 'vllm serve meta-llama/Llama-3-8B', username='bob',
            gpu_memory_bytes=40 * GIB, **others,
        ),
        process(
            devices[5], 991, 'jupyter-lab --no-browser', username='carol',
            gpu_memory_bytes=12 * GIB, running_time_seconds=6.3 * 86400, **others,
        ),
        process(
            devices[6], 1204, '/usr/lib/xorg/Xorg vt2', username='root', type='G',
            gpu_memory_bytes=48 * MIB, gpu_sm_utilization_percent=0,
            gpu_memory_utilization_percent=0, running_time_seconds=59.0,
            **{**others, 'cpu_percent': 0.3},
        ),
        process(
            devices[6], 45678, 'blender -b scene.blend', username='maximilian', type='C+G',
            gpu_memory_bytes=3 * GIB, gpu_sm_utilization_percent=4,
            gpu_memory_utilization_percent=2, **{**others, 'cpu_percent': 2371.0},
        ),
    ]  # fmt: skip
    return machine(*devices, processes=tuple(processes))


def _mig() -> Sample:
    common: dict[str, Any] = {
        'power_limit_mw': 400_000,
        'sm_clock_mhz': 1410,
        'memory_clock_mhz': 1593,
    }
    parent = gpu(
        0,
        'NVIDIA A100-SXM4-80GB',
        memory_used_bytes=(36000 + 5132 + 12) * MIB,
        mig_mode='Enabled',
        temperature_celsius=44,
        power_usage_mw=160_000,
        **common,
    )
    whole = gpu(
        1,
        'NVIDIA A100-SXM4-80GB',
        memory_used_bytes=33 * GIB,
        gpu_utilization_percent=88,
        memory_utilization_percent=20,
        temperature_celsius=63,
        power_usage_mw=305_000,
        **common,
    )
    parts = [
        mig(parent, 0, '3g.40gb', 1, 40192 * MIB, 36000 * MIB),
        mig(parent, 1, '2g.20gb', 5, 19968 * MIB, 5132 * MIB),
        mig(parent, 2, '1g.10gb+me', 13, 9856 * MIB, 12 * MIB),
    ]
    processes = (
        process(parts[0], 8706, TRAIN, gpu_memory_bytes=35000 * MIB),
        process(parts[1], 8707, 'python -u main.py', gpu_memory_bytes=2048 * MIB),
        process(parts[1], 8708, 'python -u main.py', gpu_memory_bytes=3072 * MIB),
        process(whole, 8710, 'ollama serve', gpu_memory_bytes=33 * GIB),
    )
    problems = tuple(
        Problem(part.key, 'gpu_utilization', 'Not Supported') for i, part in enumerate(parts)
    )
    return machine(parent, *parts, whole, processes=processes, problems=problems)


def _missing() -> Sample:
    key = DeviceKey(0)
    device = DeviceSample(key, DeviceInfo(key, 0, 'NVIDIA Graphics Device'))
    unknown = ProcessSample(ProcessKey(4711, -1.0, key))
    problems = (
        Problem('host', 'processes', 'PermissionError: [Errno 13] /proc/stat', 'error'),
        Problem(key, 'memory_used', 'Insufficient Permissions', 'denied'),
        Problem(key, 'gpu_utilization', 'Function Not Found'),
        Problem(key, 'temperature', 'Unknown Error', 'error'),
    )
    return Sample(
        NOW, 1000.0, 1, devices=(device,), processes=(unknown,), problems=problems,
        processes_monotonic=1000.0,
    )  # fmt: skip


def _lost() -> Sample:
    healthy = [_h100(i, 40.0, 55, 390) for i in range(4)]
    lost = DeviceSample(healthy[1].key, healthy[1].info, 'lost', 'GPU is lost')
    hung = DeviceSample(
        healthy[2].key, healthy[2].info, 'timed out', 'the driver has not answered for 12 s'
    )
    problems = (
        Problem(lost.key, 'status', 'GPU is lost', 'lost'),
        Problem(hung.key, 'status', 'no response for 3s', 'timed out'),
    )
    processes = (process(healthy[0], 100, TRAIN), process(healthy[3], 101, TRAIN))
    return machine(healthy[0], lost, hung, healthy[3], processes=processes, problems=problems)


def _workstation() -> Sample:
    common: dict[str, Any] = {
        'total': 24564 * MIB,
        'mig_mode': None,
        'total_volatile_uncorrected_ecc_errors': None,
        'persistence_mode': 'Disabled',
        'power_limit_mw': 450_000,
    }
    busy = gpu(
        0, 'NVIDIA GeForce RTX 4090', memory_used_bytes=17195 * MIB, fan_speed_percent=100,
        gpu_utilization_percent=100, memory_utilization_percent=52, display_active='Enabled',
        temperature_celsius=83, power_usage_mw=449_600, sm_clock_mhz=2745,
        memory_clock_mhz=10501, performance_state='P2', **common,
    )  # fmt: skip
    idle = gpu(
        1, 'NVIDIA GeForce RTX 4090 Laptop GPU', memory_used_bytes=13 * MIB, fan_speed_percent=0,
        gpu_utilization_percent=0, memory_utilization_percent=0, temperature_celsius=100,
        power_usage_mw=7_300, sm_clock_mhz=210, memory_clock_mhz=405, performance_state='P8',
        compute_mode='Exclusive Process', **common,
    )  # fmt: skip
    processes = (
        process(
            busy, 2201, '/usr/lib/xorg/Xorg vt2 -displayfd 3', type='G', username='root',
            is_own=False, gpu_memory_bytes=402 * MIB, gpu_sm_utilization_percent=2,
            gpu_memory_utilization_percent=1, cpu_percent=1.0, memory_percent=0.4,
        ),
        process(
            busy, 2350, '/usr/bin/gnome-shell', type='G', gpu_memory_bytes=96 * MIB,
            gpu_sm_utilization_percent=1, gpu_memory_utilization_percent=0, cpu_percent=0.7,
        ),
        process(
            busy, 120345, '"/opt/My Games/game.x86_64" -fullscreen', type='C+G',
            gpu_memory_bytes=16 * GIB, gpu_sm_utilization_percent=97,
            gpu_memory_utilization_percent=51, cpu_percent=412.5, running_time_seconds=2754.0,
        ),
    )  # fmt: skip
    host = HOST._replace(hostname='desk', load_average=(0.4, 0.35, 0.3))
    return machine(busy, idle, processes=processes, host=host)


HOSTILE_COMMAND = (
    'python3 \x1b]0;owned\x07\x1b[31m\nrm -rf\r\t\x9b2J\u202eevil\u2066 \ud800 \x00 end'
)


def _hostile() -> Sample:
    device = gpu(
        0,
        'NVIDIA \x1b[2J训练加速卡 RTX 六千 Ada 世代',
        memory_used_bytes=30 * GIB,
        gpu_utilization_percent=50,
        bus_id='00000000:\u202e01:00.0',
    )
    shares: dict[str, Any] = {'gpu_memory_bytes': 6 * GIB, 'gpu_sm_utilization_percent': 10}
    processes = tuple(
        process(device, pid, command, **{**shares, **fields})
        for pid, command, fields in (
            (5, 'python3 实验/训练.py --数据集 中文维基 --输出 结果 --轮数 一百', {}),
            (2, 'python3 テスト.py --名前 日本語のとても長い名前', {'username': '山田太郎'}),
            (3, 'run 👩‍🔬🇯🇵 e\u0301\u0301\u0301\u0301 ﷽ naïve', {'username': 'zo\u0308e'}),
            (4, HOSTILE_COMMAND, {'username': '\x1b[5mbob'}),
            (4294967295, 'x' * (1 << 20), {'username': 'a' * 300, 'cpu_percent': 123456.0}),
        )
    )
    problems = (
        Problem(4, 'command', f'OSError: {HOSTILE_COMMAND}', 'error'),
        Problem(device.key, 'name', '训练加速卡 \u202e01:00.0\x9b2J 不可能', 'impossible'),
    )
    host = HOST._replace(hostname='主机\x1b[7m', username='用户\n\u200f')
    return machine(device, processes=processes, host=host, problems=problems)


def _processes200() -> Sample:
    devices = [_h100(i, 60.0, 80, 550) for i in range(2)]
    processes = [
        process(
            devices[i // 100],
            10_000 + i,
            f'python3 worker.py --rank {i} --world-size 200',
            username=('alice', 'bob', 'carol')[i % 100 // 34],
            is_own=i % 100 < 34,
            gpu_memory_bytes=(200 + 2 * i) * MIB,
            gpu_sm_utilization_percent=i % 7 // 3,
            gpu_memory_utilization_percent=0,
            cpu_percent=float(i),
        )
        for i in range(200)
    ]
    problems = tuple(
        Problem(each.key.pid, 'command', 'the system does not respond', 'timed out')
        for each in processes[:150]
    )
    return machine(*devices, processes=tuple(processes), problems=problems)


def _odd_processes() -> Sample:
    device = _h100(0, 50.0, 42, 300)
    unknown: dict[str, Any] = {
        'cpu_percent': None,
        'memory_percent': None,
        'running_time_seconds': None,
        'username': None,
        'is_own': False,
    }
    shares: dict[str, Any] = {
        'gpu_memory_bytes': 7 * GIB,
        'gpu_sm_utilization_percent': 6,
        'gpu_memory_utilization_percent': 3,
    }
    processes = tuple(
        process(device, pid, command, **{**shares, **fields})
        for pid, command, fields in (
            (501, 'python3 alive.py', {}),
            (502, None, {'status': 'zombie', 'cpu_percent': 0.0, 'memory_percent': 0.0}),
            (503, None, {'status': 'no permission', **unknown, 'username': 'root'}),
            (504, None, {'status': 'gone', **unknown}),
            (505, None, {'status': 'foreign', **unknown}),
            (506, 'nvidia-cuda-mps-server', {'type': 'M', 'is_own': False, 'username': 'root'}),
            (507, '', {'is_own': False, 'username': 'root'}),
        )
    )
    return machine(device, processes=processes)


#: Name of the scenario → sample.
SAMPLES: dict[str, Sample] = {
    'no-gpu': machine(),
    'one': _one(),
    'h100x8': _h100x8(),
    'mig': _mig(),
    'missing': _missing(),
    'lost': _lost(),
    'workstation': _workstation(),
    'hostile': _hostile(),
    'processes200': _processes200(),
    'odd-processes': _odd_processes(),
    'simulated': _h100x8()._replace(simulated='dgx-h100'),
    'nothing-yet': Sample(timestamp=NOW),
}


def with_families(sample: Sample) -> Sample:
    """Return the sample with the ancestors and children of its processes, for the tree screen."""
    if not sample.processes:
        return sample
    ancestors = (
        (1, 0, 'root', '/sbin/init splash', 1),
        (890, 1, 'root', 'sshd: /usr/sbin/sshd -D', 1),
        (1700, 890, 'alice', '-bash', 1),
        (20099, 1700, 'alice', 'torchrun --nproc_per_node=8 pretrain.py', 12),
    )
    family = [
        HostProcessSample(
            pid, NOW - 90_000.0, parent, user, user == 'alice', command=command,
            thread_count=threads, cpu_percent=0.3, memory_percent=0.1, running_time_seconds=90_000.0,
        )
        for pid, parent, user, command, threads in ancestors
    ]  # fmt: skip
    for pid, each in {each.key.pid: each for each in sample.processes}.items():
        host = HostProcessSample(
            pid,
            each.key.start_time,
            20099 if 'python' in (each.command or '') else 1700 if each.is_own else 1,
            each.username,
            each.is_own,
            each.status,
            each.command,
            tuple(other.key.device for other in sample.processes if other.key.pid == pid),
            48,
            each.cpu_percent,
            each.memory_percent,
            each.running_time_seconds,
        )
        worker = host._replace(
            pid=500_000 + pid % 100_000, parent_pid=pid, command='pt_data_worker --queue 7',
            status='running', devices=(), thread_count=2, cpu_percent=41.0, memory_percent=0.4,
        )  # fmt: skip
        family += [host, worker] if pid % 2 else [host]
    return sample._replace(host_processes=tuple(family))


#: The environment of a process, with secret, empty, long and unusual values.
ENVIRONMENT: tuple[tuple[str, str], ...] = (
    ('AWS_SECRET_ACCESS_KEY', 'wJalrXUtnFEMI/K7MDENG'),
    ('CUDA_VISIBLE_DEVICES', '0,1,2,3'),
    ('EMPTY_TOKEN', ''),
    ('GREETING', 'こんにちは世界 e\u0301'),
    ('HF_TOKEN', 'hf_abcdefghijklmnop'),
    ('HOME', '/home/alice'),
    ('LANG', 'en_US.UTF-8'),
    ('LD_LIBRARY_PATH', ':'.join(f'/usr/local/cuda-12.{i}/lib64' for i in range(9))),
    ('LS_COLORS', 'rs=0:di=01;34:ln=01;36:mh=00:pi=40;33'),
    ('MASTER_ADDR', '10.0.0.17'),
    ('MULTI_LINE', 'first\nsecond\tthird\x1b[31mred'),
    ('OMP_NUM_THREADS', '12'),
    ('PATH', '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'),
    ('PGPASSWORD', 'hunter2'),
    ('PWD', '/home/alice/llama'),
    ('RANK', '0'),
    ('SHELL', '/bin/bash'),
    ('USER', 'alice'),
    ('WORLD_SIZE', '8'),
)


def history_of(sample: Sample, seconds: int = 300) -> History:
    """Return the history of some minutes in which values rise and fall, up to the sample."""
    history = History()
    end = int(sample.monotonic)
    for second in range(end - seconds, end + 1):
        wave = 0.55 + 0.45 * math.cos((end - second) / 23)

        def scaled(row: Any, names: str, wave: float = wave) -> Any:
            values = {name: getattr(row, name) for name in names.split()}
            return row._replace(
                **{
                    name: round(value * wave) if isinstance(value, int) else value * wave
                    for name, value in values.items()
                    if value is not None
                }
            )

        devices = [scaled(d, 'memory_percent gpu_utilization_percent') for d in sample.devices]
        names = 'cpu_percent gpu_memory_bytes host_memory_bytes gpu_sm_utilization_percent'
        history.record(
            sample._replace(
                monotonic=float(second),
                processes_monotonic=float(second - second % 2),
                devices=tuple(devices),
                host=scaled(sample.host, 'cpu_percent memory_percent'),
                processes=tuple(scaled(process, names) for process in sample.processes),
            )
        )
    return history
