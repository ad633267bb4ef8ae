"""The rule by which GPUs are divided: its example, and cases that the accountant does not draw."""

from __future__ import annotations

from typing import Any

import pytest

from nvitop.accounting.shares import divide
from tests.recording.virtual_clock import SimpleMachine, mig, percent


def parts_of(machine: SimpleMachine) -> dict[tuple[str, bool], float]:
    """Return the parts of GPUs by user and whether they are used."""
    parts: dict[tuple[str, bool], float] = {}
    for device in divide(machine.sample()):
        for share in device.shares:
            key = share.key.user, share.is_used
            parts[key] = parts.get(key, 0.0) + share.part
    return {key: part for key, part in parts.items() if part}


def one_gpu(*processes: dict[str, Any], **values: Any) -> SimpleMachine:
    """Return a machine with one GPU and these processes."""
    machine = SimpleMachine(1)
    machine.set(0, **values)
    for pid, process in enumerate(processes, 1):
        machine.run(pid, **process)
    return machine


def test_the_example_of_the_rule() -> None:
    machine = SimpleMachine(1)
    machine.devices += [
        mig(machine.devices[0], 0, '4g.40gb'),
        mig(machine.devices[0], 1, '2g.20gb'),
    ]
    machine.run(1, 1, **percent('ann', 60))
    machine.run(2, 1, **percent('bob', 20))
    machine.run(3, 2, **percent('carol', 0))
    machine.set(0, gpu_utilization_percent=None)
    assert parts_of(machine) == pytest.approx(
        {
            ('ann', True): 4 / 7 * 3 / 4,
            ('bob', True): 4 / 7 / 4,
            ('carol', False): 2 / 7,
            ('', False): 1 / 7,
        }
    )


@pytest.mark.parametrize(
    ('processes', 'values', 'parts'),
    [
        # A process without known memory may be the one that uses the GPU.
        (
            [percent('ann', 0, gpu_memory_bytes=None)],
            {'gpu_utilization_percent': 90, 'memory_used_bytes': 61 << 30},
            {('ann', True): 1},
        ),
        ([percent('ann', 0, gpu_encoder_utilization_percent=40)], {}, {('ann', True): 1}),
        # The notebook holds the GPU, next to a small process that decodes a video.
        (
            [
                percent('carol', 0, gpu_memory_bytes=40 << 30),
                percent('dave', 3, gpu_decoder_utilization_percent=79, gpu_memory_bytes=4 << 30),
                percent('dave', 0, gpu_memory_bytes=4 << 30, command='python3'),
            ],
            {'gpu_utilization_percent': 3},
            {('carol', False): 40 / 48, ('dave', True): 4 / 48, ('dave', False): 4 / 48},
        ),
        # One command of a user runs twice, and most of its memory is idle.
        (
            [percent('ann', 0, gpu_memory_bytes=2 << 30), percent('ann', 3)],
            {'gpu_utilization_percent': 3},
            {('ann', False): 1},
        ),
        # Of some, the memory is unknown.
        (
            [percent('ann', 0, gpu_memory_bytes=None), percent('bob', 0)],
            {'gpu_utilization_percent': 0},
            {('ann', False): 1 / 2, ('bob', False): 1 / 2},
        ),
        # Most memory belongs to no process of the list: whose it is, and what it does, is unknown.
        (
            [percent('ann', 0)],
            {'gpu_utilization_percent': 0, 'memory_used_bytes': 61 << 30},
            {('?', True): 1},
        ),
        # One command has at most the whole GPU.
        (
            [percent('ann', 80), percent('ann', 80), percent('bob', 25)],
            {},
            {('ann', True): 0.8, ('bob', True): 0.2},
        ),
        (
            [percent('ann', 0, type='G', gpu_memory_bytes=2 << 30)],
            {'gpu_utilization_percent': 0, 'memory_used_bytes': 2 << 30},
            {('', False): 1},
        ),
    ],
)
def test_parts_of_a_gpu(
    processes: list[dict[str, Any]], values: dict[str, Any], parts: dict[tuple[str, bool], float]
) -> None:
    assert parts_of(one_gpu(*processes, **values)) == pytest.approx(parts)


def test_the_memory_of_an_unknown_holder_is_what_no_process_shows() -> None:
    machine = one_gpu(
        percent('ann', 0, type='G', gpu_memory_bytes=1 << 30), memory_used_bytes=61 << 30
    )
    (device,) = divide(machine.sample())
    assert [(share.key.user, share.memory_bytes) for share in device.shares] == [('?', 60 << 30)]


def test_memory_of_another_compute_instance_is_not_that_of_an_unknown_process() -> None:
    machine = SimpleMachine(1)
    for index in range(2):
        device = mig(machine.devices[0], index, '1c.4g.40gb')
        info = device.info._replace(gpu_instance_id=1)
        machine.devices.append(device._replace(info=info, memory_used_bytes=11 << 30))
    machine.run(1, 1, gpu_memory_bytes=11 << 30)
    assert parts_of(machine) == pytest.approx({('ann', True): 1 / 7, ('', False): 6 / 7})


@pytest.mark.parametrize(
    ('name', 'profile', 'part'),
    [
        ('NVIDIA A30', '2g.12gb', 2 / 4),
        ('NVIDIA H100 80GB HBM3', '1g.10gb+me', 1 / 7),
        ('NVIDIA H100 80GB HBM3', None, 1 / 7),
        ('NVIDIA RTX PRO 6000 Blackwell Server Edition', '1g.24gb', 1 / 4),
    ],
)
def test_slices_of_a_gpu(name: str, profile: str | None, part: float) -> None:
    machine = SimpleMachine(1)
    machine.set(0, info=machine.devices[0].info._replace(name=name))
    machine.devices.append(mig(machine.devices[0], 0, profile or ''))
    machine.run(1, 1)
    assert parts_of(machine)['ann', True] == pytest.approx(part)
