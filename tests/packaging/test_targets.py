"""``.ci/run``, the workflows and the documents name only targets of the Makefile."""

from __future__ import annotations

import pathlib
import re

ROOT = pathlib.Path(__file__).parent.parent.parent
MAKEFILE = (ROOT / 'Makefile').read_text(encoding='utf-8')
#: Target → its line in ``make help``.
HELP = dict(re.findall(r'^([a-z][a-z-]*):.*?## (.+)$', MAKEFILE, re.MULTILINE))


def test_help_lists_every_target() -> None:
    assert set(re.findall(r'^\.PHONY: (.+)$', MAKEFILE, re.MULTILINE)) == set(HELP)


def test_named_targets_exist() -> None:
    programs = ['.ci/run', '.github/workflows/ci.yml', '.github/workflows/release.yml']
    texts = ['.github/PULL_REQUEST_TEMPLATE.md', '.pre-commit-config.yaml', 'README.md']
    pages = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob('docs/**/*.md'))
    for path in (*programs, *texts, 'CONTRIBUTING.md', *pages):
        text = (ROOT / path).read_text(encoding='utf-8')
        called = re.findall(r'(?:^|`|: |"|&& )make ([a-z][a-z-]*)', text, re.MULTILINE)
        assert called or path not in programs
        assert set(called) <= set(HELP), path


def test_workflow_has_a_job_for_each_suite() -> None:
    suites = re.search(r'^SUITES := ((?:.+\\\n)*.+)', MAKEFILE, re.MULTILINE)
    text = (ROOT / '.github/workflows/ci.yml').read_text(encoding='utf-8')
    listed = re.search(r' target:\n((?: +- .+\n)+)', text)
    assert suites is not None
    assert listed is not None
    named = suites.group(1).replace('\\', '').split()
    assert re.findall(r'- (\S+)', listed.group(1)) == named
    table = (ROOT / 'CONTRIBUTING.md').read_text(encoding='utf-8').partition('## Checks')[2]
    assert set(re.findall(r'^\| `make ([\w-]+)`', table, re.MULTILINE)) == set(named)
    assert set(named) <= set(HELP)
