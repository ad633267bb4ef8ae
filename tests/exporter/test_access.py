"""TLS, client certificates and passwords."""

from __future__ import annotations

import base64
import contextlib
import http.client
import os
import pathlib
import shutil
import ssl
import subprocess
import threading

import bcrypt
import pytest

from nvitop.exporter import access as access_module
from nvitop.exporter.access import Access, TlsFiles, WebConfig, parse_web_config, read_web_config
from nvitop.exporter.server import WebServer
from nvitop.exporter.site import Site
from tests.clock import Clock
from tests.exporter.serving import get, make_certificate, make_site, serving
from tests.waiting import PATIENCE, wait_until


@pytest.fixture(scope='module')
def certificates(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A directory with certificates of a server and a client that sign themselves."""
    if shutil.which('openssl') is None:
        pytest.skip('NOT TESTED: openssl is not installed')
    directory = tmp_path_factory.mktemp('certificates')
    for name in ('server', 'client'):
        make_certificate(directory, name)
    return directory


def files(directory: pathlib.Path, **more: object) -> TlsFiles:
    made = TlsFiles(str(directory / 'server.pem'), str(directory / 'server.key'))
    return made._replace(**more)  # type: ignore[arg-type]


def secure_get(address: tuple[str, int], directory: pathlib.Path, client: str = '') -> int:
    context = ssl.create_default_context(cafile=str(directory / 'server.pem'))
    if client:
        context.load_cert_chain(directory / f'{client}.pem', directory / f'{client}.key')
    connection = http.client.HTTPSConnection(*address, timeout=PATIENCE, context=context)
    with contextlib.closing(connection):
        connection.request('GET', '/-/healthy')
        with connection.getresponse() as response:
            return response.status


def test_tls(certificates: pathlib.Path) -> None:
    site, _ = make_site()
    access = Access(WebConfig(files(certificates)), on_problem=pytest.fail)
    with serving(WebServer(site.respond, tls=access.tls)) as address:
        assert secure_get(address, certificates) == 200
        with pytest.raises((OSError, http.client.HTTPException)):
            get(address, '/-/healthy')


@pytest.mark.parametrize('where', ['file', 'directory'])
def test_client_certificates(
    certificates: pathlib.Path, tmp_path: pathlib.Path, where: str
) -> None:
    site, _ = make_site()
    if where == 'file':
        tls = files(certificates, client_ca_file=str(certificates / 'client.pem'))
    else:
        command = ['openssl', 'x509', '-noout', '-hash', '-in', str(certificates / 'client.pem')]
        name = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        shutil.copy(certificates / 'client.pem', tmp_path / f'{name.strip()}.0')
        tls = files(certificates, client_ca_path=str(tmp_path))
    tls = tls._replace(client_check=ssl.CERT_REQUIRED)
    access = Access(WebConfig(tls), on_problem=pytest.fail)
    with serving(WebServer(site.respond, tls=access.tls)) as address:
        assert secure_get(address, certificates, 'client') == 200
        for other in ('', 'server'):
            with pytest.raises((OSError, http.client.HTTPException)):
                secure_get(address, certificates, other)


def test_new_certificates_are_used_and_broken_ones_reported(
    certificates: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    for path in certificates.iterdir():
        shutil.copy(path, tmp_path)
    clock = Clock()
    problems: list[str] = []
    access = Access(WebConfig(files(tmp_path)), on_problem=problems.append, clock=clock)
    first = access.tls()
    (tmp_path / 'server.pem').write_text('broken')
    assert access.tls() is first
    clock.turn(2.0)
    assert access.tls() is first
    assert 'the previous settings stay in force' in problems[0]
    shutil.copy(certificates / 'client.pem', tmp_path / 'server.pem')
    shutil.copy(certificates / 'client.key', tmp_path / 'server.key')
    clock.turn(2.0)
    assert access.tls() is not first


def basic(text: str) -> str:
    """Return the header that logs in with ``USER:PASSWORD``."""
    return f'Basic {base64.b64encode(text.encode()).decode()}'


def test_passwords() -> None:
    hashed = bcrypt.hashpw(b'secret', bcrypt.gensalt(4)).decode()
    site, _ = make_site(WebConfig(users={'ada': hashed}, headers=(('X-Frame-Options', 'deny'),)))

    with serving(WebServer(site.respond)) as address:
        status, _, headers = get(address, '/metrics')
        assert status == 401
        assert headers['WWW-Authenticate'].startswith('Basic')
        assert headers['X-Frame-Options'] == 'deny'
        for _ in range(2):
            assert get(address, '/metrics', Authorization=basic('ada:secret'))[0] == 200
        wrong = [
            'ada:',
            'ada:secret2',
            'bob:secret',
            ':secret',
            'ada',
            'ada:a\0',
            'ada:' + 'x' * 99,
        ]
        for text in [*map(basic, wrong), 'Basic !', 'Basic', 'Bearer x']:
            assert get(address, '/metrics', Authorization=text)[0] == 401, text


class SlowBcrypt:
    """Checks that end when a test allows it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.checked: list[bytes] = []
        self.most_at_once = 0
        self.go_on = threading.Event()
        self._running = 0
        monkeypatch.setattr(bcrypt, 'checkpw', self._check)

    def _check(self, password: bytes, hashed: bytes) -> bool:
        self._running += 1
        self.most_at_once = max(self.most_at_once, self._running)
        self.checked.append(password)
        assert self.go_on.wait(PATIENCE)
        self._running -= 1
        return password == b'secret'


def start_login(
    slow: SlowBcrypt, site: Site, password: str, statuses: dict[str, int]
) -> threading.Thread:
    """Log in from a thread, and wait until the password is being checked or waits for that."""
    waiting = site._access._checker._waiting
    checked = len(slow.checked)

    def log_in() -> None:
        headers = {'authorization': basic(f'ada:{password}')}
        statuses[password] = site.respond('/metrics', headers).status

    thread = threading.Thread(target=log_in)
    thread.start()
    wait_until(
        lambda: (
            password in statuses
            or len(slow.checked) > checked
            or any(one[0] == password.encode() for one in list(waiting))
        ),
        password,
    )
    return thread


def test_right_password_waits_only_for_the_one_being_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slow = SlowBcrypt(monkeypatch)
    site, _ = make_site(WebConfig(users={'ada': '$2b$'}), max_requests=1)
    statuses: dict[str, int] = {}
    threads = [start_login(slow, site, 'wrong1', statuses)]
    wait_until(lambda: slow.checked, 'the check of the first password')
    threads += [start_login(slow, site, text, statuses) for text in ('wrong2', 'wrong3', 'secret')]
    slow.go_on.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert statuses.pop('secret') == 200
    assert set(statuses.values()) == {401}
    assert slow.checked == [b'wrong1', b'secret', b'wrong3', b'wrong2']
    assert slow.most_at_once == 1


def test_known_password_does_not_wait_for_wrong_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access_module, '_MAX_WAITING', 2)
    slow = SlowBcrypt(monkeypatch)
    site, _ = make_site(WebConfig(users={'ada': '$2b$'}), max_requests=1)
    statuses: dict[str, int] = {}
    slow.go_on.set()
    start_login(slow, site, 'secret', statuses).join(PATIENCE)
    slow.go_on.clear()
    threads = [start_login(slow, site, 'wrong1', statuses)]
    wait_until(lambda: len(slow.checked) == 2, 'the check of a wrong password')
    threads += [start_login(slow, site, f'wrong{number}', statuses) for number in range(2, 5)]
    wait_until(lambda: 'wrong2' in statuses, 'the refusal of the oldest one that waits')
    assert statuses == {'secret': 200, 'wrong2': 503}
    assert site.respond('/metrics', {'authorization': basic('ada:secret')}).status == 200
    slow.go_on.set()
    for thread in threads:
        thread.join(PATIENCE)


def test_web_configuration_file(tmp_path: pathlib.Path) -> None:
    path = tmp_path / 'web.yml'
    path.write_text(
        'tls_server_config:\n  cert_file: server.pem\n  key_file: server.key\n'
        '  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: /ca.pem\n'
        '  min_version: TLS13\n'
        'http_server_config:\n  headers:\n    X-Frame-Options: deny\n'
    )
    config = read_web_config(str(path))
    assert config.headers == (('X-Frame-Options', 'deny'),)
    assert config.tls == TlsFiles(
        os.path.join(tmp_path, 'server.pem'),
        os.path.join(tmp_path, 'server.key'),
        '/ca.pem',
        client_check=ssl.CERT_REQUIRED,
        minimum=ssl.TLSVersion.TLSv1_3,
    )


@pytest.mark.parametrize(
    ('content', 'words'),
    [
        ([], 'expected names and values'),
        ({'tls_config': {}}, "did you mean 'tls_server_config'?"),
        ({'tls_server_config': {'cert_file': 'a'}}, 'key_file is missing'),
        (
            {'tls_server_config': {'cert_file': 'a', 'key_file': 'b', 'client_auth_type': 'x'}},
            'client_auth_type must be one of',
        ),
        (
            {'tls_server_config': {'cert_file': 'a', 'key_file': 'b', 'client_ca_file': 'c'}},
            'need each other',
        ),
        ({'http_server_config': {'headers': {'a': 'b\r\nc'}}}, 'invalid header'),
        ({'basic_auth_users': {'ada': 'secret'}}, 'bcrypt'),
    ],
)
def test_invalid_settings_are_explained(content: object, words: str) -> None:
    with pytest.raises(ValueError, match=r'web\.yml') as caught:
        parse_web_config(content, 'web.yml')
    assert words in str(caught.value)
