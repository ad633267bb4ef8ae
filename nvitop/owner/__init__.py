# SPDX-License-Identifier: Apache-2.0
"""Owners of processes: batch job, pod, container, systemd unit, notebook, session.

:func:`parse_cgroup` needs nothing but text. :func:`read_owner` reads a process of this machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvitop.basics.lazy import lazy_names

if TYPE_CHECKING:
    from nvitop.owner.cgroup import parse_cgroup
    from nvitop.owner.names import NameLookup
    from nvitop.owner.reading import read_owner
    from nvitop.owner.types import Layer, Owner, OwnerReading
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            'nvitop.owner.cgroup': 'parse_cgroup',
            'nvitop.owner.names': 'NameLookup',
            'nvitop.owner.reading': 'read_owner',
            'nvitop.owner.types': 'Layer Owner OwnerReading',
        },
    )

__all__ = ['Layer', 'NameLookup', 'Owner', 'OwnerReading', 'parse_cgroup', 'read_owner']
