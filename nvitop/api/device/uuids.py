# SPDX-License-Identifier: Apache-2.0
"""The forms of UUIDs of GPUs and MIG devices."""

from __future__ import annotations

import re

_UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'

#: UUIDs of GPUs, of MIG devices, and of MIG devices before R470.
UUID_PATTERN = re.compile(
    rf'(?:(?P<gpu>GPU-{_UUID})'
    rf'|(?P<mig>MIG-{_UUID})'
    rf'|MIG-(?P<parent>GPU-{_UUID})/(?P<gpu_instance>\d+)/(?P<compute_instance>\d+))\Z'
)


def is_mig_device_uuid(uuid: str | None) -> bool:
    """Return whether a text is the UUID of a MIG device, such as ``'MIG-…'``."""
    match = UUID_PATTERN.match(uuid) if isinstance(uuid, str) else None
    return match is not None and match['gpu'] is None
