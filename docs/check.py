"""Check the built pages for broken links and invalid HTML: ``python -m docs.check FOLDER``."""

from __future__ import annotations

import pathlib
import sys
from html.parser import HTMLParser
from typing import Iterator
from urllib.parse import unquote, urlsplit

#: Elements without an end tag.
VOID = {'area', 'base', 'br', 'col', 'hr', 'img', 'input', 'link', 'meta', 'source', 'wbr'}


class Page(HTMLParser):
    """Links, ids and errors of a page."""

    def __init__(self, path: pathlib.Path) -> None:
        super().__init__()
        self.path = path
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.errors: list[str] = []
        self._open: list[str] = []
        self._names: set[str] = set()
        self.feed(path.read_text(encoding='utf-8'))
        self.errors += [f'<{tag}> is not closed' for tag in self._open]
        for needed in ('title', 'description'):
            if needed not in self._names:
                self.errors.append(f'no {needed}')

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record links and ids; check attributes."""
        values = {name: value or '' for name, value in attrs}
        if values.get('id') in self.ids:
            self.errors.append(f'duplicate id {values["id"]!r}')
        self.ids.add(values.get('id', ''))
        self.links += [values[name] for name in ('href', 'src') if name in values]
        if tag == 'img' and not values.get('alt'):
            self.errors.append(f'no alt text: {values.get("src")}')
        self._names.add(values.get('name', '') if tag == 'meta' else tag)
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Handle ``<tag/>``, which needs no end tag."""
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        """Check that tags are nested."""
        if not self._open or self._open[-1] != tag:
            self.errors.append(f'unexpected </{tag}> in line {self.getpos()[0]}')
        else:
            self._open.pop()


def broken_links(page: Page, pages: dict[pathlib.Path, Page]) -> Iterator[str]:
    """Yield the internal links of a page without a target."""
    for link in page.links:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        path = (page.path.parent / unquote(parts.path)).resolve() if parts.path else page.path
        target = pages.get(path)
        is_missing = not path.exists()
        if is_missing or (target and parts.fragment and unquote(parts.fragment) not in target.ids):
            yield link


def main() -> int:
    """Check all pages below the folder; return the exit status."""
    folder = pathlib.Path(sys.argv[1]).resolve()
    pages = {path: Page(path) for path in sorted(folder.rglob('*.html'))}
    errors = []
    for path, page in pages.items():
        name = path.relative_to(folder)
        errors += [f'{name}: {error}' for error in page.errors]
        errors += [f'{name}: broken link {link}' for link in broken_links(page, pages)]
    print('\n'.join(errors) or f'Checked the links and HTML of {len(pages)} pages')
    return 1 if errors or not pages else 0


if __name__ == '__main__':
    sys.exit(main())
