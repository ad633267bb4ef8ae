"""How Sphinx makes the pages: ``make docs``."""

from __future__ import annotations

import builtins
import importlib
import json
import pathlib
import pkgutil
import re
import sys
from typing import TYPE_CHECKING, Collection

from docutils.nodes import Text
from sphinx.addnodes import pending_xref
from sphinx.ext.napoleon import GoogleDocstring
from sphinx.pycode import ModuleAnalyzer

ROOT = pathlib.Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from docs.query_schema import make_schema  # noqa: E402 - Sphinx runs this file, from anywhere
from nvitop.version import __version__  # noqa: E402 - Sphinx runs this file, from anywhere
from tests.callbacks import frameworks  # noqa: E402 - the same

if TYPE_CHECKING:
    from docutils.nodes import Element, document
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

# Keras and Lightning themselves would be several GB.
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

#: Names of other packages. Their inventories would have to be fetched from the network.
nitpick_ignore_regex = [
    (r'py:.*', r'(ctypes|datetime|enum|functools|logging|os|psutil|pynvml|re|threading|types)\..*'),
    (r'py:.*', r'timedelta|print|None|SummaryWriter|MisconfigurationException'),
    # Variables and aliases of types.
    (r'py:.*', r'D|M|(nvitop\.api\.caching\.)?_T|Filter|Index|Reason|Value'),
    # How samples are taken is nobody's interface.
    (r'py:class', r'nvitop\.sampling\.lanes\.Lane'),
]

html_theme = 'furo'
html_title = f'nvitop {__version__}'
html_static_path = ['static']
html_css_files = ['nvitop.css']
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False


#: Modules whose classes live in files of their own, under the path by which they are known.
PACKAGES = ('device', 'process', 'collector', 'libnvml')


def gather_comments(app: Sphinx, config: object) -> None:
    """Let comments on attributes be found where a class says it lives; keep the order of files."""
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
    """Where a name is documented that a docstring calls by another of its paths."""
    error = re.match(r'(CUDAError|cudaError|NVMLError)_\w+$', name)
    tail = name.removeprefix('nvitop.').removeprefix('api.')
    kinds = re.sub(r'^(Physical|Mig|Cuda)Device\.', 'Device.', tail)  # what all of them have
    for wanted in (tail, error.group(1) if error else kinds):
        found = [full for full in known if full.endswith(f'.{wanted}')]
        if found and not hasattr(builtins, name):
            return min(found, key=len)
    return None


def resolve(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, text: Element
) -> Element | None:
    """Link a name to where it is documented: nvitop.NA and NVMLError to their modules."""
    if node.get('refdomain') != 'py':
        return None
    domain = env.domains.python_domain
    name = home_of(node['reftarget'], domain.objects)
    if name is None:
        return None
    return domain.resolve_xref(env, node['refdoc'], app.builder, 'obj', name, node, text)


def forget_links_to_type(app: Sphinx, document: document) -> None:
    """``type[...]`` is Python's, not one of the attributes called ``type``."""
    for node in list(document.findall(pending_xref)):
        if node.get('reftarget') == 'type':
            node.replace_self(Text('type'))


def leave_out_what_python_says(
    app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """A field of a NamedTuple without a comment has nothing to say."""
    if lines and lines[0].startswith('Alias for field number'):
        lines.clear()


def publish_query_schema(app: Sphinx, error: Exception | None) -> None:
    """Write the JSON Schema of ``nvitop query`` next to the pages."""
    if error is None:
        path = pathlib.Path(app.outdir) / 'query.schema.json'
        path.write_text(json.dumps(make_schema(), indent=2) + '\n', encoding='utf-8')


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    # Comments on attributes are sentences: what stands before a colon in them is no type.
    GoogleDocstring._parse_attribute_docstring = GoogleDocstring._consume_to_end
    app.connect('config-inited', gather_comments)
    app.connect('missing-reference', resolve)
    app.connect('doctree-read', forget_links_to_type)
    app.connect('autodoc-process-docstring', leave_out_what_python_says)
    app.connect('build-finished', publish_query_schema)
