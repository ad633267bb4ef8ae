# SPDX-License-Identifier: Apache-2.0
"""TLS, client certificates, and passwords. Files are read again when they change."""

from __future__ import annotations

import base64
import binascii
import collections
import hashlib
import os
import queue
import ssl
import threading
import time
from typing import Any, Callable, Mapping, NamedTuple, Sequence

from nvitop.basics.toml import suggestion

#: Minimum time (seconds) between two checks of files for changes.
_CHECK_SECONDS = 1.0
#: Maximum number of passwords that wait to be checked.
_MAX_WAITING = 128
#: bcrypt ignores what follows, and new releases refuse it.
_MAX_PASSWORD_BYTES = 72
#: ``client_auth_type`` → how Python's TLS checks clients. RequireAnyClientCert is not possible.
_CLIENT_CHECKS = {
    'NoClientCert': ssl.CERT_NONE,
    'VerifyClientCertIfGiven': ssl.CERT_OPTIONAL,
    'RequireAndVerifyClientCert': ssl.CERT_REQUIRED,
}
_TLS_VERSIONS = {'TLS12': ssl.TLSVersion.TLSv1_2, 'TLS13': ssl.TLSVersion.TLSv1_3}
#: Section of the web configuration file → its keys.
_SECTIONS: dict[str, tuple[str, ...]] = {
    'tls_server_config': (
        'cert_file',
        'key_file',
        'client_auth_type',
        'client_ca_file',
        'min_version',
        'max_version',
    ),
    'http_server_config': ('headers', 'http2'),
    'basic_auth_users': (),
}


class TlsFiles(NamedTuple):
    """Files and rules for TLS."""

    certificate: str
    key: str
    client_ca_file: str | None = None
    client_ca_path: str | None = None
    client_check: ssl.VerifyMode = ssl.CERT_NONE
    minimum: ssl.TLSVersion = ssl.TLSVersion.TLSv1_2
    maximum: ssl.TLSVersion = ssl.TLSVersion.MAXIMUM_SUPPORTED

    def context(self) -> ssl.SSLContext:
        """Read the files.

        Raises:
            ValueError: A file is invalid; the text names it.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version, context.maximum_version = self.minimum, self.maximum
        try:
            context.load_cert_chain(self.certificate, self.key)
        except (OSError, ValueError) as error:
            names = f'{self.certificate} and {self.key}'
            raise ValueError(f'cannot use certificate and key {names}: {_cause(error)}') from error
        if self.client_ca_file or self.client_ca_path:
            try:
                context.load_verify_locations(self.client_ca_file, self.client_ca_path)
            except (OSError, ValueError) as error:
                name = self.client_ca_file or self.client_ca_path
                raise ValueError(
                    f'cannot use client certificates of {name}: {_cause(error)}'
                ) from error
        context.verify_mode = self.client_check
        return context


def _cause(error: Exception) -> str:
    """Return the cause of a failure in one line, without the names of files."""
    return ' '.join(str(getattr(error, 'strerror', None) or error).split())


class WebConfig(NamedTuple):
    """Settings of the web server."""

    tls: TlsFiles | None = None
    #: User → bcrypt hash of the password.
    users: Mapping[str, str] = {}
    #: Headers of all responses.
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def files(self) -> tuple[str, ...]:
        """Files that are read again when they change."""
        tls = self.tls
        names = () if tls is None else (tls.certificate, tls.key, tls.client_ca_file)
        return tuple(name for name in names if name)


def read_web_config(path: str) -> WebConfig:
    """Read a web configuration file in the format of other exporters (``web-config.yml``).

    Raises:
        ValueError: It cannot be read or has unknown settings, or a package is missing.
    """
    try:
        import yaml
    except ImportError:
        raise ValueError('a web configuration file needs the package PyYAML') from None
    try:
        with open(path, encoding='utf-8') as file:
            content = yaml.safe_load(file)
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise ValueError(f'cannot read {path}: {_cause(error)}') from None
    return parse_web_config(content, path)


def parse_web_config(content: object, path: str) -> WebConfig:
    """Return the settings in the content of a web configuration file.

    Args:
        content: What the file contains.
        path: Its name: names of other files are relative to its directory.

    Raises:
        ValueError: Unknown or invalid settings.
    """
    sections = _section(content, tuple(_SECTIONS), path)
    tls = sections.get('tls_server_config')
    server = _section(
        sections.get('http_server_config'), _SECTIONS['http_server_config'], f'{path}: http'
    )
    headers = _section(server.get('headers'), (), f'{path}: headers')
    users = _section(sections.get('basic_auth_users'), (), f'{path}: basic_auth_users')
    if users:
        _require_bcrypt(users, path)
    return WebConfig(
        None if not tls else _tls_files(tls, path),
        {str(user): str(hashed) for user, hashed in users.items()},
        tuple((_header(name, path), _header(value, path)) for name, value in headers.items()),
    )


def _section(content: object, keys: Sequence[str], where: str) -> Mapping[str, Any]:
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise ValueError(f'{where}: expected names and values')
    for key in content:
        if keys and key not in keys:
            raise ValueError(f'{where}: unknown setting {key!r}{suggestion(str(key), keys)}')
    return content


def _header(text: object, path: str) -> str:
    if not isinstance(text, str) or not text.isascii() or not text.isprintable():
        raise ValueError(f'{path}: invalid header {text!r}')
    return text


def _bcrypt() -> Any:
    import bcrypt  # optional

    return bcrypt


def _require_bcrypt(users: Mapping[str, Any], path: str) -> None:
    try:
        bcrypt = _bcrypt()
    except ImportError:
        raise ValueError(f'{path}: basic_auth_users needs the package bcrypt') from None
    for user, hashed in users.items():
        try:
            bcrypt.checkpw(b'', str(hashed).encode())
        except ValueError:
            raise ValueError(f'{path}: the password of {user!r} is not a bcrypt hash') from None


def _tls_files(content: object, path: str) -> TlsFiles:
    where = f'{path}: tls_server_config'
    keys = _section(content, _SECTIONS['tls_server_config'], where)
    for key in ('cert_file', 'key_file'):
        if not keys.get(key):
            raise ValueError(f'{where}: {key} is missing')

    def file(key: str) -> str | None:
        name = keys.get(key)
        return None if name is None else os.path.join(os.path.dirname(path), str(name))

    def choice(key: str, choices: Mapping[str, Any], default: Any) -> Any:
        word = keys.get(key)
        if word is not None and word not in choices:
            raise ValueError(f'{where}: {key} must be one of {", ".join(choices)}, not {word!r}')
        return default if word is None else choices[word]

    ca_file = file('client_ca_file')
    check = choice('client_auth_type', _CLIENT_CHECKS, ssl.CERT_NONE)
    if (check is ssl.CERT_NONE) != (ca_file is None):
        raise ValueError(f'{where}: client_auth_type and client_ca_file need each other')
    return TlsFiles(
        str(file('cert_file')),
        str(file('key_file')),
        ca_file,
        client_check=check,
        minimum=choice('min_version', _TLS_VERSIONS, ssl.TLSVersion.TLSv1_2),
        maximum=choice('max_version', _TLS_VERSIONS, ssl.TLSVersion.MAXIMUM_SUPPORTED),
    )


class TooManyPasswords(Exception):
    """More than the maximum number of passwords wait to be checked."""


class _PasswordChecker:
    """Checks passwords in a thread, one at a time, the last one first.

    Wrong passwords use at most one core, and those that wait do not delay a right one.
    """

    def __init__(self) -> None:
        #: Password, hash, and where the result goes; ``None``: too many others wait.
        self._waiting: collections.deque[tuple[bytes, str, queue.SimpleQueue[bool | None]]] = (
            collections.deque()
        )
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name='nvitop-passwords', daemon=True)
        self._is_started = False

    def check(self, password: bytes, hashed: str) -> bool:
        """Return whether a password has this hash.

        Raises:
            TooManyPasswords: Too many later ones wait.
        """
        answer: queue.SimpleQueue[bool | None] = queue.SimpleQueue()
        with self._changed:
            self._waiting.append((password, hashed, answer))
            if len(self._waiting) > _MAX_WAITING:
                self._waiting.popleft()[-1].put(None)
            if not self._is_started:
                self._is_started = True
                self._thread.start()
            self._changed.notify()
        is_right = answer.get()
        if is_right is None:
            raise TooManyPasswords
        return is_right

    def _run(self) -> None:
        bcrypt = _bcrypt()
        while True:
            with self._changed:
                while not self._waiting:
                    self._changed.wait()
                password, hashed, answer = self._waiting.pop()
            answer.put(b'\0' not in password and bcrypt.checkpw(password, hashed.encode()))


class Access:
    """The current settings. If a changed file is invalid, the previous settings stay.

    Args:
        default: The settings without a web configuration file.
        path: The web configuration file, if there is one.
        on_problem: Gets the text of each problem.

    Raises:
        ValueError: The settings cannot be used.
    """

    def __init__(
        self,
        default: WebConfig,
        path: str | None = None,
        *,
        on_problem: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._default = default
        self._path = path
        self._on_problem = on_problem
        self._clock = clock
        self._lock = threading.Lock()
        self._checker = _PasswordChecker()
        #: Digests of right passwords with their users: bcrypt takes a tenth of a second.
        self._known: set[bytes] = set()
        self._load()

    def _load(self) -> None:
        config = self._default if self._path is None else read_web_config(self._path)
        context = config.tls.context() if config.tls is not None else None
        self.config, self._context = config, context
        self._known = set()
        self._seen = self._times()
        self._next_check = self._clock() + _CHECK_SECONDS

    def _times(self) -> list[tuple[int, int]]:
        return [_change_of(name) for name in (self._path, *self.config.files) if name]

    def _refresh(self) -> None:
        with self._lock:
            if self._clock() < self._next_check:
                return
            self._next_check = self._clock() + _CHECK_SECONDS
            seen = self._times()
            if seen == self._seen:
                return
            self._seen = seen
            try:
                self._load()
            except ValueError as error:
                self._on_problem(f'{error}; the previous settings stay in force')

    def tls(self) -> ssl.SSLContext:
        """Return the context for a new connection."""
        self._refresh()
        assert self._context is not None
        return self._context

    def allows(self, authorization: str) -> bool:
        """Return whether the header ``Authorization`` has a known user and their password.

        Raises:
            TooManyPasswords: Too many later ones wait to be checked.
        """
        self._refresh()
        users = self.config.users
        if not users:
            return True
        user, password = _credentials(authorization)
        # Check some hash in any case, so that the time does not reveal whether the user exists.
        hashed = users.get(user) or next(iter(users.values()))
        known = self._known
        digest = hashlib.sha256(b'\0'.join((user.encode(), hashed.encode(), password))).digest()
        if digest in known:
            return True
        is_right = self._checker.check(password, hashed) and user in users
        if is_right:
            known.add(digest)
        return is_right


def _credentials(authorization: str) -> tuple[str, bytes]:
    scheme, _, encoded = authorization.partition(' ')
    if scheme.lower() != 'basic':
        return '', b''
    try:
        user, _, password = base64.b64decode(encoded, validate=True).partition(b':')
    except (binascii.Error, ValueError):
        return '', b''
    return user.decode('utf-8', 'replace'), password[:_MAX_PASSWORD_BYTES]


def _change_of(path: str) -> tuple[int, int]:
    try:
        status = os.stat(path)
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_ino
