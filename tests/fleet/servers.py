"""Real servers of Debian with the data of a simulated cluster."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import urllib.parse
import urllib.request
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator

from nvitop.fleet.series import quoted
from tests.waiting import PATIENCE, wait_until

if TYPE_CHECKING:
    from nvitop.fleet.types import Series


def free_port() -> int:
    with socket.socket() as found:
        found.bind(('127.0.0.1', 0))
        port: int = found.getsockname()[1]
        return port


def exposition(moments: Iterable[tuple[float, Iterable[Series]]]) -> Iterator[str]:
    """Yield series as lines of OpenMetrics."""
    lines: dict[str, list[str]] = {}
    for moment, series in moments:
        for name, labels, value in series:
            text = ','.join(f'{label}={quoted(text)}' for label, text in labels.items())
            lines.setdefault(name, []).append(f'{name}{{{text}}} {value} {moment:.3f}\n')
    for lines_of_name in lines.values():
        yield from lines_of_name
    yield '# EOF\n'


def query(url: str, expression: str) -> list[Any]:
    text = urllib.parse.urlencode({'query': expression})
    with urllib.request.urlopen(f'{url}/api/v1/query?{text}', timeout=PATIENCE) as response:
        rows: list[Any] = json.load(response)['data']['result']
        return rows


def wait_for(
    condition: Callable[[], object], what: str, process: subprocess.Popen[bytes] | None = None
) -> None:
    """Wait until a condition is true; fail if the process ends. A server may not respond yet."""

    def is_true() -> object:
        assert process is None or process.poll() is None, what
        with contextlib.suppress(OSError):
            return condition()
        return False

    wait_until(is_true, what)


@contextlib.contextmanager
def started(command: list[str], url: str, log: pathlib.Path) -> Iterator[str]:
    with log.open('wb') as file:
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT)
    try:
        wait_for(lambda: query(url, 'vector(1)'), f'a response, see {log}', process)
        yield url
    finally:
        process.terminate()
        process.wait(30)


def program(*names: str) -> str | None:
    return next((path for path in map(shutil.which, names) if path), None)


@contextlib.contextmanager
def prometheus(
    folder: pathlib.Path, series: Iterable[str] | None = None, config: str = ''
) -> Iterator[str]:
    data = folder / 'data'
    if series is not None:
        text = folder / 'series.txt'
        with text.open('w', encoding='utf-8') as file:
            file.writelines(series)
        promtool = program('promtool')
        assert promtool is not None
        make = [promtool, 'tsdb', 'create-blocks-from', 'openmetrics', str(text), str(data)]
        subprocess.run(make, check=True, stdout=subprocess.DEVNULL)
    settings = folder / 'prometheus.yml'
    settings.write_text(config or 'global: {scrape_interval: 15s}\n')
    port = free_port()
    server = program('prometheus')
    assert server is not None
    command = [
        server,
        f'--config.file={settings}',
        f'--storage.tsdb.path={data}',
        f'--web.listen-address=127.0.0.1:{port}',
        '--storage.tsdb.retention.time=10y',
        '--log.level=error',
    ]
    with started(command, f'http://127.0.0.1:{port}', folder / 'prometheus.log') as url:
        yield url


def environment(**more: str) -> dict[str, str]:
    """Return the environment without settings of servers and proxies."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith('PROMETHEUS_') and not name.lower().endswith('_proxy')
    }
    return {**kept, **more}
