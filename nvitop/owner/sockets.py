# SPDX-License-Identifier: Apache-2.0
"""Asks Docker and Podman for the name of a container, through their sockets.

Users of these sockets can become root, so they are used only if the user asks for it.
"""

from __future__ import annotations

import json
import re
import socket
import time

#: Maximum time (seconds) of a request, whatever the other side sends.
TIMEOUT_SECONDS = 0.5
_MAX_BYTES = 1 << 20
_is_name = re.compile(r'/?([A-Za-z0-9][A-Za-z0-9_.-]{0,254})', re.ASCII).fullmatch


def container_name(path: str, container_id: str) -> str | None:
    """Return the name of a container; ``None`` if the socket does not have it."""
    try:
        body = _request(path, f'/containers/{container_id}/json')
        described = json.loads(body) if body else None
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(described, dict) or described.get('Id') != container_id:
        return None
    match = _is_name(str(described.get('Name')))
    return match[1] if match else None


def _request(path: str, target: str) -> bytes | None:
    """Return the body of an HTTP response; ``None`` if it is not a success."""
    family = getattr(socket, 'AF_UNIX', None)  # Windows does not have it
    if family is None:
        return None
    deadline = time.monotonic() + TIMEOUT_SECONDS
    response = b''
    with socket.socket(family, socket.SOCK_STREAM) as connection:
        connection.settimeout(TIMEOUT_SECONDS)
        connection.connect(path)
        connection.sendall(f'GET {target} HTTP/1.0\r\nHost: localhost\r\n\r\n'.encode())
        while len(response) < _MAX_BYTES:
            connection.settimeout(max(0.001, deadline - time.monotonic()))
            chunk = connection.recv(1 << 16)
            if not chunk:
                break
            response += chunk
            if time.monotonic() > deadline:
                return None
    head, _, body = response.partition(b'\r\n\r\n')
    return body if re.match(rb'HTTP/1\.\d 200 ', head) else None
