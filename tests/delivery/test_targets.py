"""What runs the Makefile's targets: help, .ci/run, the workflows and the documents name only real ones."""

from __future__ import annotations

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parent.parent.parent
MAKEFILE = (ROOT / 'Makefile').read_text(encoding='utf-8')
#: Target → what `make help` says of it.
HELP = dict(re.findall(r'^([a-z][a-z-]*):.*?## (.+)$', MAKEFILE, re.MULTILINE))


def test_every_target_is_explained() -> None:
    assert set(re.findall(r'^\.PHONY: (.+)$', MAKEFILE, re.MULTILINE)) == set(HELP)


@pytest.mark.parametrize(
    'path',
    [
        '.ci/run',
        '.github/PULL_REQUEST_TEMPLATE.md',
        '.github/workflows/ci.yml',
        '.github/workflows/release.yml',
        '.pre-commit-config.yaml',
        'CONTRIBUTING.md',
        'README.md',
        'docs/testing.md',
    ],
)
def test_only_targets_that_there_are_are_called(path: str) -> None:
    text = (ROOT / path).read_text(encoding='utf-8')
    called = re.findall(r'(?:^|`|: |"|&& )make ([a-z][a-z-]*)', text, re.MULTILINE)
    assert called
    assert set(called) <= set(HELP)


def test_the_workflow_runs_what_is_in_its_list() -> None:
    text = (ROOT / '.github/workflows/ci.yml').read_text(encoding='utf-8')
    listed = re.search(r'target: \[(.+)\]', text)
    assert listed is not None
    assert set(listed.group(1).split(', ')) <= set(HELP)
