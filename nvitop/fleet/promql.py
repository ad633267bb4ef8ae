# SPDX-License-Identifier: Apache-2.0
"""Build PromQL. Text from outside is always quoted, so that it cannot change a query. Pure."""

from __future__ import annotations

import re
from typing import Iterable, NamedTuple

_ESCAPES = {'\\': '\\\\', '"': '\\"', '\n': '\\n', '\r': '\\r', '\t': '\\t', '\0': '\\x00'}
#: Characters with a meaning in RE2.
_SPECIAL = frozenset('\\.+*?()|[]{}^$')
_MATCHER = re.compile(
    r'\s*(?P<label>[A-Za-z_]\w*)\s*(?P<operator>=~|!~|!=|=)\s*'
    r'(?P<value>"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\')\s*(?:,|$)',
    re.ASCII,
)
_UNESCAPES = {'n': '\n', 'r': '\r', 't': '\t'}
LABEL = re.compile(r'[A-Za-z_][A-Za-z0-9_]*')


class Matcher(NamedTuple):
    """A condition for a label: ``host=~"gpu.*"``."""

    label: str
    operator: str
    #: The text, not quoted.
    value: str

    def __str__(self) -> str:
        return f'{self.label}{self.operator}{quoted(self.value)}'


def quoted(text: str) -> str:
    """Return a text as a string of PromQL: ``'a"b'`` → ``'"a\\\\"b"'``."""
    return '"' + ''.join(_ESCAPES.get(char, char) for char in text) + '"'


def literal(text: str) -> str:
    """Return a regular expression of RE2 that matches this text only."""
    return ''.join(f'\\{char}' if char in _SPECIAL else char for char in text)


def containing(word: str) -> str:
    """Return a regular expression for texts with a word; case matters if it has an upper-case letter."""
    flag = '(?i)' if word == word.lower() else ''
    return f'{flag}.*{literal(word)}.*'


def vector(names: Iterable[str], matchers: Iterable[Matcher] = ()) -> str:
    """Return the selector of all series with one of these names that match."""
    name = '|'.join(map(literal, sorted(set(names))))
    conditions = [Matcher('__name__', '=~', name), *matchers]
    return '{' + ','.join(map(str, conditions)) + '}'


def marked(expression: str, mark: str) -> str:
    """Return an expression whose rows have the label ``nvitop_row``.

    The operator ``or`` ignores names: without different labels, it would drop rows.
    """
    return f'label_replace({expression}, "{ROW}", "{mark}", "", "")'


#: Label that names the part of a query from which a row comes.
ROW = 'nvitop_row'


def parse_selector(text: str) -> tuple[Matcher, ...]:
    """Parse conditions such as ``{cluster="a", rack=~"r[12]"}``; the braces may be left out.

    Raises:
        ValueError: The text is not a selector.
    """
    rest = text.strip()
    if rest.startswith('{') and rest.endswith('}'):
        rest = rest[1:-1].strip()
    matchers = []
    while rest:
        match = _MATCHER.match(rest)
        if match is None:
            raise ValueError(f'expected {{label="value",...}}, not {text!r}')
        value = re.sub(
            r'\\(.)', lambda found: _UNESCAPES.get(found[1], found[1]), match['value'][1:-1]
        )
        matchers.append(Matcher(match['label'], match['operator'], value))
        rest = rest[match.end() :].strip()
    return tuple(matchers)
