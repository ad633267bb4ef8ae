"""Make the links on the package page absolute: ``python tools/set_repository.py URL TAG``.

The workflow *Release* runs it before it builds, because only then the address of the repository is
known. It changes README.md and pyproject.toml in place.
"""

from __future__ import annotations

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).parent.parent


def absolute_links(text: str, url: str, tag: str) -> str:
    """Return Markdown with absolute links to the files and images of a repository."""
    text = re.sub(r'(!\[[^]]*\]\()(?!\w+:)', rf'\1{url}/raw/{tag}/', text)
    return re.sub(r'((?<!!)\[[^]]*\]\()(?!\w+:|#)', rf'\1{url}/blob/{tag}/', text)


def project_urls(url: str, tag: str) -> str:
    """Return the table of links for pyproject.toml."""
    pages = {
        'Repository': url,
        'Documentation': f'{url}/blob/{tag}/docs/index.md',
        'Changelog': f'{url}/blob/{tag}/CHANGELOG.md',
        'Issues': f'{url}/issues',
    }
    lines = [f'{name} = "{address}"' for name, address in pages.items()]
    return '\n'.join(['[project.urls]', *lines, '', ''])


def main() -> None:
    """Change both files."""
    url, tag = sys.argv[1:]
    readme, project = ROOT / 'README.md', ROOT / 'pyproject.toml'
    text = readme.read_text(encoding='utf-8')
    readme.write_text(absolute_links(text, url.rstrip('/'), tag), encoding='utf-8')
    text = project.read_text(encoding='utf-8')
    before, heading, after = text.partition('[project.scripts]')
    text = before + project_urls(url.rstrip('/'), tag) + heading + after
    project.write_text(text, encoding='utf-8')


if __name__ == '__main__':
    main()
