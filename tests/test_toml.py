"""TOML documents: values, lines of keys, and messages about mistakes."""

from __future__ import annotations

from typing import Sequence

import pytest

from nvitop.basics.toml import Part, TomlDocument, TomlError, suggestion

TEXT = """\
title = "x"
[keys]
up = ["k"]
"page up" = ["b"]
window.width = 3

[[gpu]]
name = "first"
[[gpu]]
fan = { mean = 3 }
[[gpu.mig]]
index = 0
[[gpu.mig]]
index = 1
[[gpu]]
[[gpu.mig]]
index = 2
"""


@pytest.mark.parametrize(
    ('path', 'line'),
    [
        (['title'], 1),
        (['keys'], 2),
        (['keys', 'up'], 3),
        (['keys', 'page up'], 4),
        (['keys', 'window'], 5),
        (['keys', 'window', 'width'], 5),
        (['gpu', 0, 'name'], 8),
        (['gpu', 1], 9),
        (['gpu', 1, 'fan', 'mean'], 10),
        (['gpu', 1, 'mig', 1, 'index'], 14),
        (['gpu', 2, 'mig', 0, 'index'], 17),
        (['gpu', 2, 'unknown'], 15),
        (['unknown'], 0),
    ],
)
def test_line_of_a_key_is_found(path: Sequence[Part], line: int) -> None:
    assert TomlDocument(TEXT).line_of(path) == line
    # A byte order mark is ignored.
    assert TomlDocument(f'\ufeff{TEXT}').line_of(path) == line


@pytest.mark.parametrize(
    ('text', 'line'),
    [('a = 1\nb =\n', 2), ('a = 1\n[[gpu]\n', 2), ('a = [1,\n', 1), ('a = 1\na = 2\n', 2)],
)
def test_syntax_error_names_its_line(text: str, line: int) -> None:
    with pytest.raises(TomlError, match=r'^not valid TOML: ') as caught:
        TomlDocument(text)
    assert caught.value.line == line
    assert '(at ' not in str(caught.value)


def test_similar_words_are_suggested() -> None:
    assert suggestion('temprature', ['fan', 'temperature']) == "; did you mean 'temperature'?"
    assert suggestion('x', ['fan', 'temperature']) == ''
