# SPDX-License-Identifier: Apache-2.0
"""Identity of this machine, and where it keeps data."""

from __future__ import annotations

import hashlib
import os
import sys

from nvitop.platforms import folders


def machine_hash() -> str:
    """Hash of the machine ID, which distinguishes machines of equal names; ``''`` if there is none."""
    text = _read('/etc/machine-id')
    # systemd asks programs not to publish the ID itself.
    return hashlib.sha256(f'nvitop {text}'.encode()).hexdigest()[:16] if text else ''


def boot_id() -> str:
    """ID of this start of the system, ``''`` if it has none. PIDs are unique only within a start."""
    return _read('/proc/sys/kernel/random/boot_id')


def state_folder() -> str:
    """Folder for data that programs keep: of the system for root, otherwise of the user."""
    if sys.platform != 'linux':
        return str(folders().user_data_dir('nvitop', appauthor=False))
    if os.geteuid() == 0:
        return '/var/lib/nvitop'
    state = os.environ.get('XDG_STATE_HOME', '')
    if not os.path.isabs(state):
        state = os.path.expanduser('~/.local/state')
    return os.path.join(state, 'nvitop')


def default_recording() -> str:
    """Return the path of the recording of this machine."""
    return os.path.join(state_folder(), 'record.db')


def _read(path: str) -> str:
    try:
        with open(path, encoding='ascii', errors='replace') as file:
            return file.read(100).strip()
    except OSError:
        return ''
