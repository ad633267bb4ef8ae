# SPDX-License-Identifier: GPL-3.0-only
"""Environments: which names look secret, and what is shown of their values."""

from __future__ import annotations

from nvitop.gui.state.app_state import EnvironState

#: What is shown of a secret; its length tells nothing.
MASK = '••••••••'

_SECRET_WORDS = ('TOKEN', 'SECRET', 'PASSWORD', 'PASSWD', 'PASSPHRASE', 'CREDENTIAL')
_SECRET_ENDS = ('_KEY', 'APIKEY', '_PASS', '_PWD')


def is_secret(name: str) -> bool:
    """Whether a name looks as if its value were nobody else's business."""
    name = name.upper()
    return name.endswith(_SECRET_ENDS) or any(word in name for word in _SECRET_WORDS)


def environ_lines(environ: EnvironState) -> tuple[tuple[str, str], ...]:
    """Names and values as they are shown, by name; the texts are not safe to draw yet."""
    variables = environ.variables or ()
    if environ.reveals_secrets:
        return variables
    return tuple((name, MASK if value and is_secret(name) else value) for name, value in variables)
