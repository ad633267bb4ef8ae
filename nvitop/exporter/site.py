# SPDX-License-Identifier: Apache-2.0
"""The paths that the exporter serves."""

from __future__ import annotations

import html
import threading
from typing import TYPE_CHECKING, Mapping, Sequence

from nvitop.exporter.access import Access, TooManyPasswords
from nvitop.exporter.exposition import accepts_gzip, negotiate
from nvitop.exporter.server import Response
from nvitop.version import __version__

if TYPE_CHECKING:
    from nvitop.exporter.pages import Pages

HEALTHY_PATH, READY_PATH = '/-/healthy', '/-/ready'
_LANDING = """\
<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>nvitop exporter</title></head>
<body>
<h1>nvitop exporter</h1>
<p>Version {version}. Names: {names}.</p>
<ul>
<li><a href="{path}">Metrics</a></li>
<li><a href="{healthy}">Health</a>: this program runs</li>
<li><a href="{ready}">Readiness</a>: values have been read</li>
</ul>
</body>
</html>
"""


class Site:
    """Responds to requests.

    Args:
        pages: Makes the pages with metrics.
        path: Path of the metrics.
        names: Names of the dialects, for people.
        access: Who may read, and the headers of responses.
        max_requests: Maximum number of requests at the same time; others get status 503.
    """

    def __init__(
        self,
        pages: Pages,
        path: str,
        names: Sequence[str],
        access: Access,
        max_requests: int = 40,
    ) -> None:
        self._pages = pages
        self._path = path
        self._access = access
        self._slots = threading.BoundedSemaphore(max_requests)
        self._landing = _LANDING.format(
            version=html.escape(__version__),
            names=html.escape(', '.join(names)),
            path=html.escape(path),
            healthy=HEALTHY_PATH,
            ready=READY_PATH,
        ).encode()

    def respond(self, target: str, headers: Mapping[str, str]) -> Response:
        """Return the response to a request for a path."""
        response = self._refusal(headers) or self._limited(target.partition('?')[0], headers)
        return response._replace(headers=(*response.headers, *self._access.config.headers))

    def _refusal(self, headers: Mapping[str, str]) -> Response | None:
        """Return the response to a client without a valid password; ``None`` if it may read."""
        try:
            if self._access.allows(headers.get('authorization', '')):
                return None
        except TooManyPasswords:
            return _busy('too many passwords to check')
        challenge = ('WWW-Authenticate', 'Basic realm="nvitop", charset="UTF-8"')
        return Response(b'unauthorized\n', status=401, headers=(challenge,))

    def _limited(self, path: str, headers: Mapping[str, str]) -> Response:
        if not self._slots.acquire(blocking=False):
            return _busy('too many requests')
        try:
            return self._respond(path, headers)
        finally:
            self._slots.release()

    def _respond(self, path: str, headers: Mapping[str, str]) -> Response:
        if path == self._path:
            has_sample = self._pages.has_sample
            return self._metrics(headers) if has_sample else _busy('no sample yet')
        if path == '/':
            return Response(self._landing, 'text/html; charset=utf-8')
        if path == HEALTHY_PATH:
            return Response(b'nvitop exporter is healthy\n')
        if path == READY_PATH:
            if self._pages.has_sample:
                return Response(b'nvitop exporter is ready\n')
            return Response(b'no sample yet\n', status=503)
        return Response(f'not found; metrics are at {self._path}\n'.encode(), status=404)

    def _metrics(self, headers: Mapping[str, str]) -> Response:
        media = negotiate(headers.get('accept', ''))
        is_compressed = accepts_gzip(headers.get('accept-encoding', ''))
        more = [('Vary', 'Accept, Accept-Encoding')]
        if is_compressed:
            more.append(('Content-Encoding', 'gzip'))
        body = self._pages.page(media, is_compressed=is_compressed)
        return Response(body, media.name, headers=tuple(more))


def _busy(reason: str) -> Response:
    return Response(f'{reason}\n'.encode(), status=503, headers=(('Retry-After', '1'),))
