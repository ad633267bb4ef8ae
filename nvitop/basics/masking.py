# SPDX-License-Identifier: Apache-2.0
"""Hiding secrets in environment variables and command lines, and shortening command lines.

A secret is recognized by the name of its option or variable, by its place in a URL, by the option of
a known program, or by its own shape.
"""

from __future__ import annotations

import functools
import os
import re

#: Shown in place of every secret, whatever its length.
MASK = '••••••••'
#: A word of a shell-quoted command line.
WORD = re.compile(r"""(?:[^\s'"\\]|\\.|'[^']*'|"(?:[^"\\]|\\.)*"|['"\\])+""", re.DOTALL)

_SECRET_WORDS = ('SECRET', 'PASSWORD', 'PASSWD', 'PASSPHRASE', 'CREDENTIAL', 'STOREPASS')
_SECRET_ENDS = (
    *('_KEY', 'APIKEY', 'AUTHKEY', 'API_KEYS', '_PASS', '_PWD', '_AUTH', '_COOKIE', 'KEYPASS'),
    *('PASSIN', 'REQUIREPASS', '_BEARER'),
)
#: Words before TOKEN and KEY in the names of options that hold no secret: ``--max-token``.
_HARMLESS_BEFORE = frozenset(
    [
        *('MAX', 'MIN', 'NUM', 'PER', 'PAD', 'EOS', 'BOS', 'UNK', 'SEP', 'CLS', 'MASK'),
        *('SPECIAL', 'STOP', 'START', 'END', 'NEXT', 'FIRST', 'LAST', 'IMAGE', 'TEXT', 'AUDIO'),
        *('VIDEO', 'PRIMARY', 'FOREIGN', 'PUBLIC', 'SORT', 'PARTITION', 'LABEL', 'INPUT'),
        *('OUTPUT', 'TARGET', 'GROUP', 'METRIC', 'CACHE', 'INDEX', 'ROW', 'COLUMN', 'FEATURE'),
        *('LOSS', 'DATA'),
    ]
)
#: ``TOKEN`` at the end of a name, or before one of the words that do not change its meaning.
_TOKEN = re.compile(r'TOKEN(?:_(?:VALUE|STRING))?$|(?:AUTH|ACCESS|API)_?TOKENS$')
_NAME = re.compile(r'([-+]*)([A-Za-z_][\w.-]*)')
_CAMEL = re.compile(r'(?<=[a-z])(?=[A-Z])')

#: Programs → options whose value is a secret, apart or joined: ``-p secret``, ``-psecret``.
_OPTIONS = {
    **dict.fromkeys(
        ['sshpass', 'mongo', 'mongosh', 'cqlsh', 'rabbitmqadmin', 'xfreerdp', 'rdesktop'], ('-p',)
    ),
    **dict.fromkeys(['redis-cli', 'valkey-cli'], ('-a',)),
    **dict.fromkeys(['ldapsearch', 'ldapadd', 'ldapmodify', 'ldapdelete', 'ldapwhoami'], ('-w',)),
    **dict.fromkeys(
        ['sqlcmd', 'bcp', 'isql', 'mosquitto_pub', 'mosquitto_sub', 'ipmitool', 'zip', 'unzip'],
        ('-P',),
    ),
    **dict.fromkeys(['snmpget', 'snmpwalk'], ('-A', '-X', '-c')),
    'curl': ('-b', '--cookie'),
    'keytool': ('-storepass', '-keypass'),
    'openssl': ('-k', '-K'),
    'wandb': ('--relogin',),
    'ssh-keygen': ('-N', '-P'),
    'x11vnc': ('-passwd',),
    'nmcli': (
        *('password', 'wifi-sec.psk', '802-11-wireless-security.psk', '802-1x.password'),
        *('wifi-sec.wep-key0', '802-11-wireless-security.wep-key0'),
    ),
    # What these run has options of its own.
    **dict.fromkeys(['ssh', 'scp', 'rsync'], ()),
}
#: Programs whose ``-pSECRET`` is a password; the word after a separate ``-p`` is the name of a database.
_JOINED = dict.fromkeys(
    [
        *('mysql', 'mysqldump', 'mysqladmin', 'mysqlimport', 'mysqlcheck'),
        *('mariadb', 'mariadb-dump', '7z', '7za'),
    ],
    ('-p',),
)
#: Programs whose command ``login`` takes secrets with options that mean ports in other commands.
_LOGIN_PROGRAMS = frozenset(
    ['docker', 'podman', 'buildah', 'skopeo', 'nerdctl', 'helm', 'az', 'oc', 'singularity']
)
#: Options whose value is a name, a colon or percent sign, and a secret; ``-a`` of HTTPie.
_LOGINS = frozenset(
    ('-u', '-U', '--user', '--proxy-user', '--auth', '--username', '--creds', '--cert')
)
_LOGIN = re.compile(r"""^(['"]?(?!\d+[:%])[^\s:%/'"]+[:%])(?!//)[^'"]+""")
#: Programs with commands whose next word is a secret.
_COMMANDS = {
    *((program, 'login') for program in ('comet', 'vault', 'wandb')),
    *(('ngrok', command) for command in ('authtoken', 'add-authtoken')),
    *(('aws', name) for name in ('aws_secret_access_key', 'aws_session_token')),
}

#: Secrets by their place or shape; the group is kept before the mask.
_SHAPES = tuple(
    re.compile(pattern)
    for pattern in (
        r'([A-Za-z][A-Za-z0-9+.-]*://[^\s:/@\'"]*:)[^\s@\'"]+(?=@)',
        r'(https?://)[\w-]{20,}(?=@)',
        r'(rtmps?://[^\s/]+/[^\s/]+/)[^\s\'"]+',
        r'(https://(?:hooks\.slack\.com/services|discord(?:app)?\.com/api/webhooks)/)[^\s\'"]+',
        r'([Aa]uthorization["\']?\s*[:=]\s*["\']?(?:[A-Za-z]+ )?)[^\s\'",]+',
        r'(\b(?:Bearer|bearer|Basic) )[\w.~+/=-]{6,}',
        r'((?:[Xx]-)?(?:[Aa]pi|[Aa]uth|[Pp]rivate|[Aa]ccess)-?(?:[Kk]ey|[Tt]oken)\s*:\s*)[^\s\'",]+',
        r'((?:[Ss]et-)?[Cc]ookie: *)[^\'"]+',
        r'([?&;](?:sig|signature|X-Amz-Signature|X-Goog-Signature|token|access_token|key)=)[^&\s\'"]+',
        r'(\bpass:)[^\s\'"]+',
        r'(^/p:)\S+',
        r'()\b(?:gh[opusr]_|github_pat_|glpat-|hf_|r8_|npm_|dop_v1_|nvapi-|pypi-|tskey-)[\w-]{6,}',
        r'()\bsk-[\w-]{6,}',
        r'()\bxox[abeoprs]-[\w-]{6,}',
        r'()\b(?:AKIA|ASIA)[0-9A-Z]{12,}',
        r'()\bAIza[\w-]{30,}',
        r'()\b\d{8,10}:[\w-]{35}\b',
        r'()\bAGE-SECRET-KEY-\w+',
        r'()\bSG\.[\w-]{10,}\.[\w-]{10,}',
        r'()\beyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?',
        r'(-----BEGIN [A-Z ]*PRIVATE KEY-----).+',
    )
)
#: A pair in the text of an argument, such as JSON or YAML: ``"password": "x"``.
#: A quote may be escaped, or be within quotes of a shell: ``'"'"'``.
_PAIR = re.compile(
    r"""([A-Za-z_][\w.-]*)((?:'"'"'|\\?["'])?\s*[:=]\s*(?:'"'"'|\\?["'])?)([^\s"',;&}\\]+)"""
)


def is_secret(name: str) -> bool:
    """Whether the name of a variable or option looks as if its value were a secret."""
    name = _CAMEL.sub('_', name).upper().replace('-', '_').replace('.', '_')
    if any(word in name for word in _SECRET_WORDS):
        return True
    words = name.split('_')
    before = words[-2] if len(words) > 1 else ''
    if before in _HARMLESS_BEFORE:
        return False
    return bool(_TOKEN.search(name)) or name.endswith(_SECRET_ENDS) or name in ('PASS', 'PW')


@functools.lru_cache(maxsize=4096)
def mask_command(command: str) -> str:
    """Hide values in a command line that look secret: ``--token=x``, ``-H 'X-Api-Key: x'``."""
    words = WORD.findall(command)
    masked = [_mask_word(word) for word in words]
    for at in _passwords_of_htpasswd(words):
        masked[at] = MASK
    program, has_login = '', 'login' in words
    for at, word in enumerate(words):
        base = os.path.basename(word.strip('\'"'))
        if at == 0 or base in _OPTIONS or base in _JOINED or base in _LOGIN_PROGRAMS:
            program = base
        if _hides_next(program, word, has_login) and at + 1 < len(words):
            if not words[at + 1].startswith('--'):
                masked[at + 1] = MASK
        elif (
            not word.startswith('--') and len(word) > 2 and _is_joined(program, word[:2], has_login)
        ):
            masked[at] = f'{word[:2]}{MASK}'
        elif program not in _LOGIN_PROGRAMS or has_login:
            option, equals, value = masked[at].partition('=')
            is_login = option in _LOGINS or (option == '-a' and program in ('http', 'https'))
            if is_login and equals:
                masked[at] = f'{option}={_mask_login(value)}'
            elif is_login and at + 1 < len(words):
                masked[at + 1] = _mask_login(masked[at + 1])
            elif program == 'curl' and word[:2] in ('-u', '-U'):
                masked[at] = f'{word[:2]}{_mask_login(masked[at][2:])}'
    return command if masked == words else ' '.join(masked)


def _passwords_of_htpasswd(words: list[str]) -> list[int]:
    """Return the places of a password that follows a file and a user: ``htpasswd -b FILE ann x``."""
    if not words or os.path.basename(words[0]) != 'htpasswd':
        return []
    flags = ''.join(word for word in words if word.startswith('-'))
    places = [at for at, word in enumerate(words[1:], 1) if not word.startswith('-')]
    return places[1 if 'n' in flags else 2 :] if 'b' in flags else []


def _hides_next(program: str, word: str, has_login: bool) -> bool:
    name = _NAME.fullmatch(word.strip('\'"'))
    if name is not None and name[1] and is_secret(name[2]):
        return True
    is_login = has_login and program in _LOGIN_PROGRAMS and word == '-p'
    return is_login or word in _OPTIONS.get(program, ()) or (program, word) in _COMMANDS


def _is_joined(program: str, option: str, has_login: bool) -> bool:
    """Whether a secret follows an option in the same word."""
    is_login = has_login and program in _LOGIN_PROGRAMS and option == '-p'
    return is_login or option in _JOINED.get(program, ()) or option in _OPTIONS.get(program, ())


def _mask_login(word: str) -> str:
    return _LOGIN.sub(rf'\1{MASK}', word)


def _mask_word(word: str) -> str:
    """Hide secrets within a word, which may be a quoted command line or JSON."""
    is_text = word[:1] in ('"', "'") and word[-1:] == word[:1] and ' ' in word
    name, equals, value = word.partition('=')
    match = _NAME.fullmatch(name.strip('\'"'))
    if not is_text and match is not None and equals and value and is_secret(match[2]):
        return f'{name}={MASK}'
    for shape in _SHAPES:
        word = shape.sub(rf'\1{MASK}', word)
    word = _PAIR.sub(_mask_pair, word)
    return f'{word[0]}{mask_command(word[1:-1])}{word[0]}' if is_text else word


def _mask_pair(match: re.Match[str]) -> str:
    name, between, value = match.groups()
    is_quoted_key = name == 'key' and between[0] == '=' and between[-1] in '"\''  # in Python
    if (is_secret(name) or is_quoted_key) and not value.startswith('//'):
        return f'{name}{between}{MASK}'
    return f'{name}{between}{_PAIR.sub(_mask_pair, value)}'


#: Maximum length (characters) of a short command.
MAX_SHORT = 80

#: Programs that run a script, whose name is kept with theirs.
_INTERPRETER = re.compile(r'(python|pypy|perl|ruby|node|bash|sh|zsh|java|Rscript|julia)[\d.]*')


def short_command(command: str | None, name: str | None) -> str:
    """Return the name of a program, and of the script or module that it runs: ``python3 train.py``."""
    return _shortened((command or '')[:1000]) or (name or '')[:MAX_SHORT]


@functools.lru_cache(maxsize=4096)  # the same processes run at each sample
def _shortened(command: str) -> str:
    words = WORD.findall(mask_command(command))
    if not words:
        return ''
    program = _file_name(words[0])
    if not _INTERPRETER.fullmatch(program):
        return program[:MAX_SHORT]
    for at, word in enumerate(words[1:], 1):
        if word in ('-m', '-jar') and at + 1 < len(words):
            return f'{program} {word} {_file_name(words[at + 1])}'[:MAX_SHORT]
        if word in ('-c', '-e', '-'):
            break
        if not word.startswith('-'):
            return f'{program} {_file_name(word)}'[:MAX_SHORT]
    return program[:MAX_SHORT]


def _file_name(word: str) -> str:
    return os.path.basename(word.strip('\'"').rstrip('/')) or word
