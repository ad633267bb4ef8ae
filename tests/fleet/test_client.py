"""Requests, logins, and every kind of invalid response."""

from __future__ import annotations

import contextlib
import gzip
import http.server
import io
import json
import shutil
import socket
import ssl
import threading
import urllib.parse
from typing import TYPE_CHECKING, Iterator, NamedTuple

import pytest

from nvitop.fleet import client as client_module
from nvitop.fleet.client import Client, SettingsError, from_environment, from_table, make_settings
from nvitop.fleet.source import PrometheusSource
from nvitop.fleet.types import Fleet, FleetError
from nvitop.gui.fleet import command
from tests.exporter.serving import make_certificate
from tests.waiting import PATIENCE

if TYPE_CHECKING:
    import pathlib

HTML = (('Content-Type', 'text/html'),)


class Received(NamedTuple):
    """A request."""

    target: str
    headers: dict[str, str]
    form: dict[str, str]


class Reply(NamedTuple):
    """A response: status, body, and headers."""

    status: int = 200
    body: bytes = b''
    headers: tuple[tuple[str, str], ...] = (('Content-Type', 'application/json'),)
    #: The body is shorter than announced.
    cut: bool = False
    compressed: bool = False


def result(*rows: tuple[dict[str, str], str], **more: object) -> bytes:
    """Return the JSON of a response with these rows."""
    result = [{'metric': labels, 'value': [1.0, value]} for labels, value in rows]
    data = {'resultType': 'vector', 'result': result}
    return json.dumps({'status': 'success', 'data': data, **more}).encode()


def one_host(**more: object) -> bytes:
    labels = {'__name__': 'nvitop_gpu_utilization_ratio', 'instance': 'gpu01:9101', 'uuid': 'GPU-1'}
    return result((labels, '0.5'), **more)


class FakeServer:
    """The replies that are still to be given, and the requests so far."""

    def __init__(self) -> None:
        self.replies: list[Reply] = []
        self.received: list[Received] = []
        self.url = ''

    def next_reply(self) -> Reply:
        """Return the next reply; the last one is repeated."""
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


@contextlib.contextmanager
def fake_server(certificate: str = '', key: str = '') -> Iterator[FakeServer]:
    """Run a fake server for the block, with TLS if it has a certificate (files)."""
    fake = FakeServer()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = 'HTTP/1.1'

        def do_POST(self) -> None:
            length = int(self.headers['Content-Length'])
            form = dict(urllib.parse.parse_qsl(self.rfile.read(length).decode()))
            fake.received.append(Received(self.path, dict(self.headers.items()), form))
            reply = fake.next_reply()
            body = gzip.compress(reply.body) if reply.compressed else reply.body
            with contextlib.suppress(OSError):
                self.send_response(reply.status)
                for name, value in reply.headers:
                    self.send_header(name, value)
                if reply.compressed:
                    self.send_header('Content-Encoding', 'gzip')
                self.send_header('Content-Length', str(len(body) + 100 * reply.cut))
                self.end_headers()
                self.wfile.write(body)
            self.close_connection = self.close_connection or reply.cut

        def log_message(self, format: str, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler) as server:
        server.daemon_threads = True
        scheme = 'http'
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate, key)
            server.socket = context.wrap_socket(server.socket, server_side=True)
            scheme = 'https'
        fake.url = f'{scheme}://127.0.0.1:{server.server_address[1]}'
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield fake
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeServer]:
    for name in ('http_proxy', 'https_proxy', 'HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY'):
        monkeypatch.delenv(name, raising=False)
    with fake_server() as running:
        yield running


def read(settings: dict[str, object]) -> Fleet:
    made = make_settings({'timeout': 30, **settings})
    return PrometheusSource(Client(made), made.scope).read()


def asked(server: FakeServer, *replies: Reply, **settings: object) -> Fleet:
    server.replies = list(replies)
    return read({'url': server.url, **settings})


UNUSABLE = {
    'login page': (Reply(200, b'<!doctype html><form>', HTML), 'web page, perhaps to log in'),
    '401': (Reply(401, b'Unauthorized'), 'requires a login (401)'),
    'wrong path': (Reply(404, b'404 page not found'), 'no Prometheus API at this URL'),
    'bad query': (
        Reply(400, b'{"status":"error","errorType":"bad_data","error":"parse \\u001b[31merror"}'),
        'rejects the query (400: parse',
    ),
    'execution': (
        Reply(422, b'{"status":"error","errorType":"execution","error":"too many samples"}'),
        'too many samples); select fewer hosts',
    ),
    'cut JSON': (Reply(body=one_host()[:-20]), 'not valid JSON'),
    'cut body': (Reply(body=one_host(), cut=True), 'cut off'),
    'text': (Reply(body=b'hello'), 'not JSON'),
    'other JSON': (Reply(body=b'{"status":"success","data":{}}'), 'not one of Prometheus'),
    'deep JSON': (Reply(body=b'{"a":' * 100_000), 'not valid JSON'),
    'number with 5,000 digits': (
        Reply(body=result(({}, '1')).replace(b'1.0', b'9' * 5000)),
        'not valid JSON',
    ),
    'damaged gzip': (Reply(body=b'no gzip', headers=(('Content-Encoding', 'gzip'),)), 'cut off'),
    'login elsewhere': (
        Reply(302, headers=(('Location', 'https://login.example/start?secret=1'),)),
        'redirects to https://login.example/start;',
    ),
    'another path': (Reply(307, headers=(('Location', '/x/api/v1/query'),)), '/x; use that URL'),
    'exporter': (Reply(501, b'<!DOCTYPE HTML>'), 'not an exporter'),
}


@pytest.mark.parametrize('name', UNUSABLE)
def test_unusable_response_is_one_line(server: FakeServer, name: str) -> None:
    reply, words = UNUSABLE[name]
    with pytest.raises(FleetError) as caught:
        asked(server, reply)
    assert words in caught.value.line
    assert caught.value.line.isprintable()


def test_too_large_response_is_not_read(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert client_module.MAX_RESPONSE == 64 << 20
    monkeypatch.setattr(client_module, 'MAX_RESPONSE', 1 << 20)
    with pytest.raises(FleetError, match='larger than 1 MB'):
        asked(server, Reply(body=b' ' * (1 << 24), compressed=True))


def test_timeout_limits_a_server_that_sends_a_header_byte_by_byte(
    server: FakeServer,
) -> None:
    """Each byte would start the timeout of a socket again."""
    is_over = threading.Event()
    with socket.create_server(('127.0.0.1', 0)) as listener:

        def drip() -> None:
            connection, _ = listener.accept()
            with connection, contextlib.suppress(OSError):
                connection.sendall(b'HTTP/1.1 200 OK\r\nX: ')
                while not is_over.wait(0.05):
                    connection.sendall(b'a')

        thread = threading.Thread(target=drip)
        thread.start()
        url = f'http://127.0.0.1:{listener.getsockname()[1]}'
        giving_up = threading.Timer(PATIENCE, is_over.set)
        giving_up.start()
        with pytest.raises(FleetError, match=r'within 0\.3 s'):
            Client(make_settings({'url': url})._replace(timeout=0.3)).query('up')
        assert not is_over.is_set()
        is_over.set()
        giving_up.cancel()
        thread.join()


@pytest.mark.parametrize(
    ('url', 'words'),
    [
        ('http://127.0.0.1:9', 'no server at http://127.0.0.1:9'),
        ('http://no-such-host.invalid', 'unknown host'),
        ('https://{place}', 'no secure connection'),
    ],
)
def test_unreachable_server_is_explained(server: FakeServer, url: str, words: str) -> None:
    place = server.url.partition('//')[2]
    with pytest.raises(FleetError, match=words):
        read({'url': url.format(place=place)})


@pytest.mark.skipif(shutil.which('openssl') is None, reason='NOT INSTALLED: openssl')
def test_certificate_is_checked(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_certificate(tmp_path, 'server')
    certificate, key = str(tmp_path / 'server.pem'), str(tmp_path / 'server.key')
    with fake_server(certificate, key) as server:
        with pytest.raises(FleetError, match='is not trusted') as caught:
            asked(server, Reply(body=one_host()))
        assert 'SSL_CERT_FILE' in caught.value.hint
        monkeypatch.setenv('SSL_CERT_FILE', certificate)
        assert asked(server, Reply(body=one_host())).hosts


def test_warnings_and_partial_responses_are_kept(server: FakeServer) -> None:
    fleet = asked(server, Reply(body=one_host(warnings=['store 3 \x1b is down'], isPartial=True)))
    assert fleet.warnings[0] == 'store 3 � is down'
    assert 'partial' in fleet.warnings[1]


def test_rows_that_are_not_valid_are_left_out(server: FakeServer) -> None:
    rows = ({'a': 'x'}, 'NaN'), ({'a': 'y'}, '1e999'), ({'a': 'z'}, 'nonsense')
    body = json.loads(result(*rows))
    body['data']['result'] += [7, {'metric': {'a': 1}, 'value': [1, '2']}, {'metric': {}}]
    server.replies = [Reply(body=json.dumps(body).encode())]
    response = Client(make_settings({'url': server.url})).query('x')
    assert [one.labels['a'] for one in response.series] == ['x', 'y']


def test_logins_come_from_the_url_and_a_file_of_headers(
    server: FakeServer, tmp_path: pathlib.Path
) -> None:
    server.replies = [Reply(body=one_host())]
    url = server.url.replace('://', '://u:p%40@')
    read(from_environment({'PROMETHEUS_URL': url}))
    file = tmp_path / 'headers'
    for text in ('X-Scope-OrgID: team-a\nfirst\n', 'Authorization: Basic dTpw\n'):
        file.write_text(text)
        read(from_environment({'PROMETHEUS_URL': url, 'PROMETHEUS_HEADERS_FILE': str(file)}))
    logins = [request.headers['Authorization'] for request in server.received]
    assert logins == ['Basic dTpwQA==', 'Bearer first', 'Basic dTpw']
    assert server.received[1].headers['X-Scope-Orgid'] == 'team-a'
    for text, words in ((': x', ':1: not a header'), ('a: b\n\u20ac', ':2: not a header')):
        file.write_text(text, encoding='utf-8')
        with pytest.raises(FleetError, match=words):
            read({'url': url, 'headers_file': str(file)})
    with pytest.raises(FleetError, match='cannot be read: No such file'):
        read({'url': url, 'headers_file': str(tmp_path / 'missing')})


def test_wrong_settings_are_explained() -> None:
    with pytest.raises(SettingsError, match="unknown key 'mach'; did you mean 'match'"):
        from_table({'mach': ''})
    with pytest.raises(SettingsError, match="unknown key 'xyz'; use url, match, "):
        from_table({'xyz': ''})
    with pytest.raises(SettingsError, match='expected http://HOST:PORT'):
        make_settings({'url': 'ftp://x'})
    for url in ('ftp://me:secret@x', 'http://me:secret@x:y', 'http://me:secret@\u20ac'):
        with pytest.raises(SettingsError, match='invalid URL') as caught:
            make_settings({'url': url})
        assert 'secret' not in str(caught.value)
    with pytest.raises(SettingsError, match='timeout must be'):
        make_settings({'timeout': 'x'})
    assert make_settings({'url': 'prometheus:9090/graph'}).url == 'http://prometheus:9090'


def test_command_prints_hosts_and_explains_failures(
    server: FakeServer, capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path
) -> None:
    config = tmp_path / 'config.toml'
    config.write_text(f'ascii = true\n[fleet]\nurl = "{server.url}"\n')
    arguments = ['--config', str(config), '-1', '--format', 'csv']
    server.replies = [Reply(body=one_host()), Reply(body=result()), Reply(503)]
    assert command.main(arguments) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith('gpu01,1,50.0,')
    assert command.main(arguments) == 1
    assert 'does it scrape an exporter' in capsys.readouterr().err
    server.replies = [Reply(body=result()), Reply(503)]
    assert command.main(['--config', str(config), '-1']) == 1
    assert not capsys.readouterr().out  # no empty table
    assert command.main(arguments) == 1
    assert capsys.readouterr().err.count('\n') == 1
    config.write_text('[fleet')
    with pytest.raises(SystemExit):
        command.main(arguments)
    assert f'{config}:1: not valid TOML' in capsys.readouterr().err


@pytest.mark.parametrize(
    ('arguments', 'rows', 'status'),
    [
        (['--filter', 'free:4', '--sort', 'host'], ['gpu0009,8,', 'gpu0010,8,'], 0),
        (['--filter', 'user:carol gpu0', '--sort', 'util'], ['gpu0009,4,'], 0),
        (['--users', '--sort', 'held'], ['alice,', 'bob,'], 0),
        (['--gpus', '--filter', 'gpu0007 gpu:3'], ['gpu0007,3,GPU-00000006'], 0),
        (['--jobs', '--sort', 'job'], ['slurm 41005,32,0,', 'slurm 41013,23,0,'], 0),
        (['--problems'], ['critical,gpu0007,3,not responding,"Stop its '], 0),
        (['--problems', '--fail-on', 'warning'], ['critical,gpu0007,3'], 1),
        (['--filter', 'gpu0001', '--fail-on', 'critical'], ['gpu0001,8,'], 0),
        (['--filter', 'gpu0001x', '--fail-on', 'critical'], [], 1),
        (['--filter', 'gpu0001x'], [], 1),
        (['--jobs', '--filter', 'nosuch'], [], 1),
    ],
)
def test_lists_are_filtered_and_sorted(
    arguments: list[str],
    rows: list[str],
    status: int,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert command.main(['--demo', '10', '-1', '--format', 'csv', *arguments]) == status
    lines = capsys.readouterr().out.splitlines()[1:]
    assert [line[: len(row)] for line, row in zip(lines, rows)] == rows


def test_free_gpus_are_printed_for_scripts(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(['--demo', '10', '--free', '2', '--min-free-memory', '20GiB']) == 0
    assert capsys.readouterr().out == 'gpu0009:4\ngpu0009:5\n'
    assert command.main(['--demo', '10', '--free', '1', '--min-free-memory', '81GiB']) == 1
    capsys.readouterr()
    assert command.main(['--demo', '10', '--free', '9', '--filter', 'gpu0009']) == 1
    ran = capsys.readouterr()
    assert len(ran.out.splitlines()) == 4
    assert ran.err == 'nvitop fleet: error: 9 required, 4 free\n'


def test_table_replaces_characters_that_the_output_cannot_encode(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = io.TextIOWrapper(io.BytesIO(), 'ascii')
    monkeypatch.setattr('sys.stdout', output)
    row = {'__name__': 'nvitop_gpu_utilization_ratio', 'node': 'h\u00f4te', 'uuid': 'GPU-1'}
    server.replies = [Reply(body=result((row, '0.5')))]
    assert command.main([server.url, '-1']) == 0
    output.seek(0)
    assert 'h?te' in output.read()
