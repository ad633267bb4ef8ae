# SPDX-License-Identifier: Apache-2.0
"""Properties of devices and processes as label texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nvitop.api.metrics import METRICS
from nvitop.masking import mask_command
from nvitop.printable import printable

if TYPE_CHECKING:
    from typing import Iterator, Mapping

    from nvitop.exporter.tables import Labels, SeriesOptions
    from nvitop.sampling.types import DeviceSample, ProcessSample, Sample

#: Maximum length of a label: names of processes and users are untrusted input.
MAX_LABEL_LENGTH = 128
#: Label text for an unknown user or command.
UNKNOWN = '(unknown)'
#: Metrics whose values are label texts.
TEXT_METRICS = tuple(metric for metric in METRICS if metric.kind == 'str')


def label_value(value: object) -> str:
    """Return a value as a label text: printable, and of limited length."""
    text = printable(str(value)[: MAX_LABEL_LENGTH + 1])
    return text if len(text) <= MAX_LABEL_LENGTH else f'{text[: MAX_LABEL_LENGTH - 1]}…'


def device_properties(
    sample: Sample, device: DeviceSample, gpu: DeviceSample | None, options: SeriesOptions
) -> dict[str, str]:
    """Return the known properties of a device as label texts.

    Keys are the names of text metrics, and:

    - ``index``, ``label``, ``device_file``: ``'0'``, ``'0'`` or ``'0:1'``, ``'nvidia0'``;
    - ``uuid``: of the device; ``gpu_uuid``, ``gpu_name``: of the GPU, also for a MIG device;
    - ``bare_uuid``: the UUID of the GPU in lower case without ``GPU-``;
    - ``mig_index``, ``mig_uuid``, ``mig_profile``, ``gpu_instance_id``, ``compute_instance_id``:
      of MIG devices only;
    - ``hostname``, ``driver_version``, ``cuda_version``, ``numa_node``.

    Args:
        sample: The sample that contains the device.
        device: The GPU or MIG device.
        gpu: The GPU of a MIG device, ``None`` if it is not known.
        options: The name of the host, if it is replaced.
    """
    key, info = device.key, device.info
    parent = gpu.info if gpu is not None else info
    gpu_uuid = gpu.key.uuid if gpu is not None else ('' if key.is_mig else key.uuid)
    found: dict[str, Any] = {
        metric.name: getattr(info if metric.tier == 'static' else device, metric.field)
        for metric in TEXT_METRICS
    }
    found.update(
        index=key.physical_index,
        label=key.label,
        device_file=f'nvidia{key.physical_index}',
        uuid=key.uuid or None,
        gpu_uuid=gpu_uuid or None,
        bare_uuid=bare_uuid(gpu_uuid) or None,
        gpu_name=parent.name,
        bus_id=parent.bus_id,
        numa_node=info.numa_node,
        hostname=options.hostname or sample.host.hostname or None,
        driver_version=sample.driver_version,
        cuda_version=sample.cuda_driver_version,
    )
    if key.is_mig:
        found.update(
            mig_index=key.mig_index,
            mig_uuid=key.uuid or None,
            mig_profile=info.mig_profile,
            gpu_instance_id=info.gpu_instance_id,
            compute_instance_id=info.compute_instance_id,
        )
    return {name: label_value(value) for name, value in found.items() if value is not None}


def described_devices(
    sample: Sample, options: SeriesOptions
) -> Iterator[tuple[DeviceSample, dict[str, str]]]:
    """Yield all devices of a sample with their properties, even if they do not respond."""
    gpus = {d.key.physical_index: d for d in sample.devices if not d.key.is_mig}
    for device in sample.devices:
        gpu = gpus.get(device.key.physical_index)
        yield device, device_properties(sample, device, gpu, options)


def texts_of(labels: Labels, properties: Mapping[str, str]) -> dict[str, str]:
    """Return label names and texts, without properties that are unknown."""
    return {name: properties[key] for name, key in labels.items() if key in properties}


def bare_uuid(uuid: str) -> str:
    """Return a UUID in lower case without the prefix ``GPU-``."""
    return uuid.lower()[4:] if uuid[:4].upper() == 'GPU-' else uuid.lower()


def process_properties(process: ProcessSample, options: SeriesOptions) -> dict[str, str]:
    """Return the known properties of a process as label texts.

    Keys are ``pid``, ``user``, ``name``, ``type`` and ``status``; ``command_line`` if the options ask
    for it; and ``command``: the command line, or else the name.
    """
    has_command = options.commands and process.command is not None
    command_line = mask_command(process.command or '') if has_command else None
    found: Mapping[str, Any] = {
        'pid': process.key.pid,
        'user': user_of(process),
        'name': process.name,
        'type': process.type,
        'status': process.status,
        'command_line': command_line,
        'command': (command_line if options.commands else process.name) or UNKNOWN,
        **owner_properties(process),
    }
    return {name: label_value(value) for name, value in found.items() if value is not None}


def owner_properties(process: ProcessSample) -> dict[str, str]:
    """Return kind, ID and name of the owner as label texts; empty if unknown."""
    owner = process.owner
    if owner is None or not owner.kind:
        return {}
    texts = {'owner_kind': owner.kind, 'owner_id': owner.id, 'owner_name': owner.name or ''}
    return {name: label_value(text) for name, text in texts.items()}


def user_of(process: ProcessSample) -> str:
    """Return the user of a process as a label text."""
    return label_value(process.username) if process.username else UNKNOWN
