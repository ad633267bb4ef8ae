"""Sphinx configuration: ``make docs``."""

from __future__ import annotations

import builtins
import html
import importlib
import json
import pathlib
import pkgutil
import re
import sys
from typing import TYPE_CHECKING, Collection

from docutils.nodes import Text, entry, thead
from sphinx.addnodes import pending_xref
from sphinx.ext.napoleon import GoogleDocstring
from sphinx.pycode import ModuleAnalyzer
from sphinx.writers.html5 import HTML5Translator

ROOT = pathlib.Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from docs.query_schema import make_schema  # noqa: E402 - after the change of sys.path
from nvitop.version import __version__  # noqa: E402 - after the change of sys.path
from tests.callbacks import frameworks  # noqa: E402 - after the change of sys.path

if TYPE_CHECKING:
    from docutils.nodes import Element, document
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

# Stand-ins: the real frameworks are several GB.
sys.modules.update(frameworks.modules())

project = 'nvitop'
author = 'The nvitop authors'
release = version = __version__

extensions = ['myst_parser', 'sphinx.ext.autodoc', 'sphinx.ext.napoleon']
exclude_patterns = ['_build']
myst_heading_anchors = 4
suppress_warnings = ['myst.xref_missing_inventory']

autodoc_member_order = 'bysource'
autodoc_default_options = {'members': True}
autodoc_typehints = 'signature'
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 80
toc_object_entries_show_parents = 'hide'
napoleon_google_docstring = True
napoleon_numpy_docstring = False

#: Names of other packages, whose inventories would have to be downloaded.
nitpick_ignore_regex = [
    (
        r'py:.*',
        r'(ctypes|datetime|enum|functools|logging|os|psutil|pynvml|re|shlex|threading|types)\..*',
    ),
    (r'py:.*', r'timedelta|print|None|SummaryWriter|MisconfigurationException'),
    # Type variables and aliases.
    (r'py:.*', r'D|M|(nvitop\.api\.caching\.)?_T|Field|Filter|Index|Reason|CellValue|Value'),
    (r'py:class', r'C|DeviceStatus|ProblemKind|ProcessStatus|Severity|Subject|TagBuffer|Tags'),
    # Tables without a page of their own.
    (r'py:data', r'ATTRIBUTES|COLORS|HIGHLIGHTS|KINDS|WHATS|nvitop\.api\.metrics\.METRICS'),
    # Internal classes in signatures.
    (
        r'py:class',
        r'Metric|nvitop\.sampling\.(types|watchdog)\.\w+|nvitop\.owner\.names\.NameLookup',
    ),
    (
        r'py:class',
        r'(Network|Disk|Filesystem)Sample|ParentProcess|Finding|DeviceSelector|UsedDevice|Watchdog',
    ),
    (r'py:class', r'nvitop\.api\._cuda_binding\.CodedError|DeviceEvent|ClaimSample'),
    (
        r'py:class',
        r'nvitop\.api\.device\.device\.[CDM]|nvitop\.api\.process\.gpuprocess\.UsedDevice',
    ),
    (r'py:class', r'nvitop\.api\.libnvml\._structures\.\w+'),
]

smartquotes_action = 'qe'  # not dashes: options begin with two hyphens

html_theme = 'furo'
html_title = f'nvitop {__version__}'
html_static_path = ['static']
html_css_files = ['nvitop.css']
html_favicon = 'static/favicon.svg'
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False


#: Packages whose public classes are defined in their submodules.
PACKAGES = ('device', 'process', 'collector', 'libnvml')


def gather_comments(app: Sphinx, config: object) -> None:
    """Find attribute comments of classes in submodules, and keep the order of the sources."""
    for package in PACKAGES:
        module = importlib.import_module(f'nvitop.{package}')
        analyzer = ModuleAnalyzer.for_module(module.__name__)
        analyzer.analyze()
        for found in pkgutil.iter_modules(module.__path__, f'{module.__name__}.'):
            part = ModuleAnalyzer.for_module(found.name)
            part.analyze()
            for key, comment in part.attr_docs.items():
                analyzer.attr_docs.setdefault(key, comment)
        for kind in (getattr(module, name) for name in module.__all__ if name[0].isupper()):
            for base in getattr(kind, '__mro__', ()):
                for name in vars(base):
                    full = f'{kind.__name__}.{name}'
                    analyzer.tagorder.setdefault(full, len(analyzer.tagorder))
        ModuleAnalyzer.cache['module', f'nvitop.{package}'] = analyzer


def home_of(name: str, known: Collection[str]) -> str | None:
    """Return the documented path of a name that a docstring calls by another path."""
    error = re.match(r'(CUDAError|cudaError|NVMLError)_\w+$', name)
    tail = name.removeprefix('nvitop.').removeprefix('api.')
    kinds = re.sub(r'^(Physical|Mig|Cuda)Device\.', 'Device.', tail)  # inherited by all kinds
    for wanted in (tail, error.group(1) if error else kinds):
        found = [full for full in known if full.endswith(f'.{wanted}')]
        if found and not hasattr(builtins, name):
            return min(found, key=len)
    return None


def resolve(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, text: Element
) -> Element | None:
    """Link a name to its documented path, e.g. ``nvitop.NA`` to its module."""
    if node.get('refdomain') != 'py':
        return None
    domain = env.domains.python_domain
    name = home_of(node['reftarget'], domain.objects)
    if name is None:
        return None
    return domain.resolve_xref(env, node['refdoc'], app.builder, 'obj', name, node, text)


def unlink_type(app: Sphinx, document: document) -> None:
    """Do not link the ``type`` in ``type[...]`` to attributes called ``type``."""
    for node in list(document.findall(pending_xref)):
        if node.get('reftarget') == 'type':
            node.replace_self(Text('type'))


def drop_default_docstrings(
    app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """Drop the docstring that Python gives to the fields of named tuples."""
    if lines and lines[0].startswith('Alias for field number'):
        lines.clear()


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
    # Attribute comments are sentences; a word before a colon is not a type.
    GoogleDocstring._parse_attribute_docstring = GoogleDocstring._consume_to_end
    app.connect('build-finished', publish_query_schema)
    app.set_translator('html', Translator)
    app.connect('config-inited', gather_comments)
    app.connect('html-page-context', describe_page)
    app.connect('missing-reference', resolve)
    app.connect('doctree-read', unlink_type)
    app.connect('autodoc-process-docstring', drop_default_docstrings)
