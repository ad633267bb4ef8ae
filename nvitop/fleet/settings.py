# SPDX-License-Identifier: Apache-2.0
"""Settings of ``nvitop fleet``: arguments over environment over the table ``[fleet]``. Pure."""

from __future__ import annotations

import base64
import netrc
import urllib.parse
from typing import Any, Mapping, NamedTuple

from nvitop.basics.times import read_duration
from nvitop.basics.toml import suggestion
from nvitop.fleet.queries import LABEL, Scope
from nvitop.fleet.types import FleetError

#: Default limit (seconds) of a request.
TIMEOUT = 10.0
#: Default minimum time (seconds) between requests.
INTERVAL = 5.0
#: Limits of both.
MIN_SECONDS, MAX_SECONDS = 1, 3600
_DURATIONS = frozenset({'interval', 'timeout'})
#: Keys whose values are no texts, and what they are.
_TABLES: dict[str, tuple[type, str]] = {
    'headers': (dict, 'a table of texts'),
    'hosts': (list, 'a list of names'),
}


class Settings(NamedTuple):
    """Server, login and queries."""

    url: str = ''
    match: str = ''
    host_label: str = ''
    interval: float = INTERVAL
    timeout: float = TIMEOUT
    bearer_token: str = ''
    bearer_token_file: str = ''
    username: str = ''
    password: str = ''
    password_file: str = ''
    ca_file: str = ''
    client_certificate: str = ''
    client_key: str = ''
    org_id: str = ''
    headers: tuple[tuple[str, str], ...] = ()
    #: Machines to read over ssh if there is no server.
    hosts: tuple[str, ...] = ()

    @property
    def scope(self) -> Scope:
        """Scope of the queries."""
        match = self.match.strip()
        match = match[1:-1] if match.startswith('{') and match.endswith('}') else match
        return Scope(match.strip(' ,'), self.host_label)

    def request_headers(self, hostname: str) -> dict[str, str]:
        """Return the headers that log in. Files are read each time, because tokens change."""
        headers = dict(self.headers)
        if self.org_id:
            headers['X-Scope-OrgID'] = self.org_id
        token = read_secret(self.bearer_token_file) if self.bearer_token_file else self.bearer_token
        if token:
            headers['Authorization'] = f'Bearer {token}'
        elif self.username:
            password = read_secret(self.password_file) if self.password_file else self.password
            headers['Authorization'] = basic_login(self.username, password)
        elif 'Authorization' not in headers:
            login = _netrc_login(hostname)
            if login:
                headers['Authorization'] = login
        return headers


class SettingsError(ValueError):
    """A setting is invalid. The text is shown to the user."""


#: Variable of the environment → setting.
VARIABLES = {
    f'PROMETHEUS_{field.upper()}': field
    for field in (
        *('url', 'bearer_token', 'bearer_token_file', 'username', 'password', 'password_file'),
        *('ca_file', 'client_certificate', 'client_key', 'org_id'),
    )
}
#: Keys of the configuration file. Secrets have none; they belong in separate files.
KEYS = tuple(
    field.replace('_', '-')
    for field in Settings._fields
    if field not in ('bearer_token', 'password')
)


def from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the settings of the environment. Empty variables do not count."""
    return {field: environ[name].strip() for name, field in VARIABLES.items() if environ.get(name)}


def from_table(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of the table ``[fleet]``. Raises SettingsError."""
    settings: dict[str, Any] = {}
    for key, value in table.items():
        name = key.replace('_', '-')
        if name not in KEYS:
            hint = suggestion(name, KEYS) or '; known keys: ' + ', '.join(KEYS)
            raise SettingsError(f'[fleet]: unknown key {key!r}{hint}')
        kind, words = _TABLES.get(name, (str, 'a text'))
        texts = value.values() if isinstance(value, dict) else value
        if name.replace('-', '_') not in _DURATIONS and not (
            isinstance(value, kind) and all(isinstance(text, str) for text in texts)
        ):
            raise SettingsError(f'[fleet]: {key} must be {words}, not {value!r}')
        if name in _TABLES:
            value = tuple(value.items() if isinstance(value, dict) else value)
        settings[name.replace('-', '_')] = value
    return settings


def make_settings(*layers: Mapping[str, Any]) -> Settings:
    """Return the settings of layers, later ones over earlier ones. Raises SettingsError."""
    values = {name: value for layer in layers for name, value in layer.items() if value is not None}
    for name in values.keys() & _DURATIONS:
        try:
            values[name] = read_duration(values[name], MIN_SECONDS, MAX_SECONDS)
        except ValueError as error:
            raise SettingsError(f'{name.replace("_", "-")} {error}') from None
    settings = Settings(**values)
    if settings.host_label and not LABEL.fullmatch(settings.host_label):
        raise SettingsError(
            f'--host-label must be the name of a label, not {settings.host_label!r}'
        )
    for name, text in settings.headers:
        if not name.isprintable() or not text.isprintable() or ':' in name or not name:
            raise SettingsError(f'invalid header {name!r}')
    return _without_login(settings) if settings.url else settings


def _without_login(settings: Settings) -> Settings:
    """Return the settings with user name and password of the URL moved out of it."""
    url = settings.url if '://' in settings.url else f'http://{settings.url}'
    try:
        parts = urllib.parse.urlsplit(url)
        is_valid = parts.port is None or bool(parts.port)
    except ValueError as error:
        raise SettingsError(f'invalid URL {settings.url!r}: {error}') from None
    if not is_valid or parts.scheme not in ('http', 'https') or not parts.hostname:
        raise SettingsError(f'invalid URL {settings.url!r}; expected http://HOST:PORT')
    if not url.isascii() or not url.isprintable() or ' ' in url:
        raise SettingsError(f'invalid URL {settings.url!r}: only ASCII characters are allowed')
    path = parts.path.rstrip('/')
    for suffix in ('/api/v1/query', '/api/v1', '/graph'):
        if path.endswith(suffix):
            path = path[: -len(suffix)]
    settings = settings._replace(
        url=f'{parts.scheme}://{parts.netloc.rpartition("@")[2].lower()}{path}'
    )
    if parts.username and not settings.username:
        unquote = urllib.parse.unquote
        login = (unquote(parts.username), unquote(parts.password or ''))
        settings = settings._replace(username=login[0], password=login[1])
    return settings


def has_login(url: str) -> bool:
    """Return whether a URL contains a user name or password: other users can see arguments."""
    return '@' in url.partition('://')[2].partition('/')[0]


def basic_login(username: str, password: str) -> str:
    """Return the value of the header ``Authorization`` for a user name and password."""
    return 'Basic ' + base64.b64encode(f'{username}:{password}'.encode()).decode('ascii')


def read_secret(path: str) -> str:
    """Return the first line of a file. Raises FleetError."""
    try:
        with open(path, encoding='utf-8') as file:
            line = file.readline().strip()
    except (OSError, UnicodeDecodeError) as error:
        words = getattr(error, 'strerror', None) or 'not a text'
        raise FleetError(
            f'{path} cannot be read: {words}', 'check the file with the secret'
        ) from None
    if not line.isprintable():
        raise FleetError(f'{path} does not contain a token', 'check the file with the secret')
    return line


def _netrc_login(hostname: str) -> str:
    try:
        login = netrc.netrc().authenticators(hostname)
    except (OSError, netrc.NetrcParseError):
        return ''
    return basic_login(login[0] or '', login[2] or '') if login and login[2] else ''
