# SPDX-License-Identifier: Apache-2.0
"""Hiding secrets in environment variables and command lines."""

from __future__ import annotations

import re

#: Shown in place of every secret, whatever its length.
MASK = '••••••••'
#: A word of a shell-quoted command line.
WORD = re.compile(r"""(?:[^\s'"\\]|\\.|'[^']*'|"(?:[^"\\]|\\.)*"|['"\\])+""", re.DOTALL)

_SECRET_WORDS = ('TOKEN', 'SECRET', 'PASSWORD', 'PASSWD', 'PASSPHRASE', 'CREDENTIAL')
_SECRET_ENDS = ('_KEY', 'APIKEY', '_PASS', '_PWD')
_NAME = re.compile(r'(-*)([A-Za-z_][\w.-]*)')


def is_secret(name: str) -> bool:
    """Whether the name of a variable or option looks as if its value were a secret."""
    name = name.upper()
    return name.endswith(_SECRET_ENDS) or any(word in name for word in _SECRET_WORDS)


def mask_command(command: str) -> str:
    """Hide values in a command line that look secret: ``--token=x``, ``--api-key x``, ``PASSWD=x``."""
    words = WORD.findall(command)
    masked = []
    hides_next = False
    for word in words:
        name, equals, value = word.partition('=')
        found = _NAME.fullmatch(name.strip('\'"'))
        secret = found is not None and is_secret(found.group(2).replace('-', '_'))
        if secret and value:
            masked.append(f'{name}={MASK}')
        elif hides_next and not word.startswith('-'):
            masked.append(MASK)
        else:
            masked.append(word)
        hides_next = secret and not equals and found is not None and bool(found.group(1))
    return command if masked == words else ' '.join(masked)
