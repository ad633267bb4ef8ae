"""Sphinx configuration: ``make docs``."""

from __future__ import annotations

import html
import json
import pathlib
import re
import sys
from typing import TYPE_CHECKING

from docutils.nodes import entry, thead
from sphinx.writers.html5 import HTML5Translator

ROOT = pathlib.Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from docs.query_schema import make_schema  # noqa: E402 - after the change of sys.path
from nvitop.version import __version__  # noqa: E402 - after the change of sys.path

if TYPE_CHECKING:
    from docutils.nodes import Element
    from sphinx.application import Sphinx

project = 'nvitop'
author = 'The nvitop authors'
release = version = __version__

extensions = ['myst_parser']
exclude_patterns = ['_build']
myst_heading_anchors = 3
suppress_warnings = ['myst.xref_missing_inventory']

smartquotes_action = 'qe'  # not dashes: options begin with two hyphens

html_theme = 'furo'
html_title = f'nvitop {__version__}'
html_static_path = ['static']
html_css_files = ['nvitop.css']
html_favicon = 'static/favicon.svg'
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False


def describe_page(
    app: Sphinx, page: str, template: str, context: dict[str, object], doctree: object
) -> None:
    """Add the description that search engines show."""
    title = re.sub(r'<.*?>', '', str(context.get('title', '')))
    text = f'{title}: nvitop, the NVIDIA GPU process viewer for the terminal and Python library'
    context['metatags'] = f'{context.get("metatags", "")}<meta name="description" content="{text}">'


def publish_query_schema(app: Sphinx, error: Exception | None) -> None:
    """Write the JSON Schema of ``nvitop query`` next to the pages."""
    if error is None:
        path = pathlib.Path(app.outdir) / 'query.schema.json'
        path.write_text(json.dumps(make_schema(), indent=2) + '\n', encoding='utf-8')


class Translator(HTML5Translator):
    """HTML writer for tables that fit on every screen.

    Names may break at dots, underscores and capitals. Cells of wide tables are labeled, because they
    are stacked on phones.
    """

    in_table = False
    labels: list[str]
    cell = 0

    def visit_table(self, node: Element) -> None:
        """Collect the headings of a table with more than two columns, or with long options."""
        headings = [entry.astext() for entry in next(iter(node.findall(thead))).findall(entry)]
        self.labels = headings if len(headings) > 2 or headings[0] == 'option' else []
        if self.labels:
            node['classes'].append('stacked')
        self.in_table = True
        super().visit_table(node)

    def depart_table(self, node: Element) -> None:
        """End a table."""
        self.in_table = False
        super().depart_table(node)

    def visit_row(self, node: Element) -> None:
        """Start a row."""
        self.cell = 0
        super().visit_row(node)

    def visit_entry(self, node: Element) -> None:
        """Add the heading of the column to a cell."""
        super().visit_entry(node)
        if self.labels and self.cell and node.astext():
            label = html.escape(self.labels[self.cell]) if len(self.labels) > 2 else ''
            self.body[-1] = self.body[-1].replace('<td', f'<td data-label="{label}"', 1)
        self.cell += 1

    def visit_Text(self, node: Element) -> None:
        """Write a text; add places for line breaks to names in tables."""
        start = len(self.body)
        super().visit_Text(node)
        if self.protect_literal_text and self.in_table:
            self.body[start:] = [
                re.sub(r'(?<=[._,])(?=\w)|(?<=[a-z])(?=[A-Z])', '<wbr>', text).replace(
                    'class="pre">-', 'class="pre option">-'
                )
                for text in self.body[start:]
            ]


def setup(app: Sphinx) -> None:
    """Register the handlers with Sphinx."""
    app.connect('build-finished', publish_query_schema)
    app.set_translator('html', Translator)
    app.connect('html-page-context', describe_page)
