# SPDX-License-Identifier: Apache-2.0
"""Settings of ``nvitop fleet``: arguments over environment over the table ``[fleet]``. Pure."""

from __future__ import annotations

import base64
import urllib.parse
from typing import Any, Mapping, NamedTuple

from nvitop.basics.toml import suggestion
from nvitop.basics.units import read_duration
from nvitop.fleet.queries import LABEL, Scope
from nvitop.fleet.types import FleetError

#: Default limit (seconds) of a request.
TIMEOUT = 10.0
#: Default minimum time (seconds) between requests.
INTERVAL = 5.0
#: Limits of both.
MIN_SECONDS, MAX_SECONDS = 1, 3600
_DURATIONS = frozenset({'interval', 'timeout'})


class Settings(NamedTuple):
    """Server, login and queries."""

    url: str = ''
    match: str = ''
    host_label: str = ''
    interval: float = INTERVAL
    timeout: float = TIMEOUT
    #: File with a header on each line; a line without a colon is a bearer token.
    headers_file: str = ''
    #: Machines to read over ssh if there is no server.
    hosts: tuple[str, ...] = ()
    #: ``user:password`` of the URL.
    login: str = ''

    @property
    def scope(self) -> Scope:
        """Scope of the queries."""
        match = self.match.strip()
        match = match[1:-1] if match.startswith('{') and match.endswith('}') else match
        return Scope(match.strip(' ,'), self.host_label)

    def request_headers(self) -> dict[str, str]:
        """Return the headers that log in. The file is read each time, because tokens change."""
        headers = {}
        if self.login:
            headers['Authorization'] = f'Basic {base64.b64encode(self.login.encode()).decode()}'
        if self.headers_file:
            headers.update(_read_headers(self.headers_file))
        return headers


class SettingsError(ValueError):
    """A setting is invalid. The text is shown to the user."""


#: Variable of the environment → setting.
VARIABLES = {'PROMETHEUS_URL': 'url', 'PROMETHEUS_HEADERS_FILE': 'headers_file'}
#: Keys of the configuration file.
KEYS = tuple(field.replace('_', '-') for field in Settings._fields if field != 'login')


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
        if name == 'hosts':
            if not isinstance(value, list) or not all(isinstance(host, str) for host in value):
                raise SettingsError(f'[fleet]: hosts must be a list of names, not {value!r}')
            value = tuple(value)
        elif name not in _DURATIONS and not isinstance(value, str):
            raise SettingsError(f'[fleet]: {key} must be a text, not {value!r}')
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
    place = parts.netloc.rpartition('@')
    url = f'{parts.scheme}://{place[2].lower()}{path}'
    return settings._replace(url=url, login=urllib.parse.unquote(place[0]))


def has_login(url: str) -> bool:
    """Return whether a URL contains a user name or password: other users can see arguments."""
    return '@' in url.partition('://')[2].partition('/')[0]


def _read_headers(path: str) -> dict[str, str]:
    """Return the headers of a file. Raises FleetError."""
    headers = {}
    try:
        with open(path, encoding='utf-8') as file:
            lines = [line.strip() for line in file]
    except (OSError, UnicodeDecodeError) as error:
        words = getattr(error, 'strerror', None) or 'not a text'
        raise FleetError(f'{path} cannot be read: {words}', 'check headers-file') from None
    for number, line in enumerate(lines, 1):
        name, colon, value = line.partition(':')
        if not (line.isascii() and line.isprintable()) or (colon and not name.strip()):
            raise FleetError(f'{path}:{number}: not a header such as "Name: value"')
        if colon:
            headers[name.strip()] = value.strip()
        elif line:
            headers['Authorization'] = f'Bearer {line}'
    return headers
