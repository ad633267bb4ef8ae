"""Report words and phrases that the project's texts avoid: ``python tools/check_language.py``.

Checks documents, docstrings, comments, string literals and names of functions and classes.
"""

from __future__ import annotations

import pathlib
import re
import sys
import tokenize
from typing import Iterator

ROOT = pathlib.Path(__file__).parent.parent
FOLDERS = (
    *('nvitop', 'tests', 'tools', 'benchmarks', 'examples', 'docs', 'share', '.github', '.ci'),
)
DOCUMENTS = ('.md', '.rst', '.toml', '.yml', '.yaml', '.1', '.fish', '.sh', '')
SKIPPED = (
    *('docs/_build/', 'tests/golden/', 'tools/check_language.py'),
    'share/bash-completion/',  # largely written by shtab
)

#: Pattern → what to write instead. A space matches any white space.
PHRASES = {
    r'(tells?|told|telling)': 'report, show, distinguish',
    r'(stands?|stood|standing)': 'is, appears',
    r'so (many|much) (as|of|that|\w+s)': 'the number of, at most N',
    r'(nobody|somebody|anybody|whoever|whom)': 'name the actor',
    r'(anew|once more)': 'again',
    r'any ?more': 'no longer',
    r'beside': 'next to, in addition to, compared with',
    r'of (which|whom|those that)': 'a main clause',
    r'seldom(er)?': 'rarely',
    r'that there (is|are) not': 'unknown',
    r'that (is|are) none': 'invalid',
    r'(is|are) no (?!longer|more|less)\w+': 'is not a',
    r'(is|are|be) (had|said)': 'is available, is reported',
    r'(say|says|said) so': 'shows a message, reports',
    r'of before': 'previous',
    r'mend(s|ed|ing)?': 'fix',
    r'(give|gives|gave) way': 'yield',
    r'(hold|holds|held) up': 'block',
    r'left behind': 'abandoned',
    r'(gets? well|got well|heal(s|ed|ing)?)': 'recovers',
    r'remarks?': 'note, warning',
    r'the box': 'the dialog',
    r'facts?': 'values, fields, properties',
    r'meets? (the|a|no|every) (filter|limit)': 'matches',
    r'at hand': 'available',
    r'needs must|what for': 'why',
    r'(behavi|col|fav|hon|neighb|rum|lab)our\w*': 'American spelling: -or',
    r'\w+(ialis|tilis|cognis|gnis|malis|timis|ronis|maris|ganis|aralys|nalys)(e|ed|es|ing|ation)': (
        'American spelling: -ize'
    ),
    r'(licence|centre|grey|catalogue|modelled|labelled|cancelled)\w*': 'American spelling',
}
#: Uses of these words that are fine.
ALLOWED = (
    r'stand[- ]ins?',
    r'stand-?alone',
    r'stands? for',
    r'in fact',
    r'[\'"]nobody[\'"]',  # the Unix user
    r'\Aheal\Z|heal\(\)',  # Machine.heal
    r'\Afacts\Z|\.facts\b|[\'"]facts[\'"]',  # HostProcess.facts
    r'there (is|are) no',
    r'(tell|telling|tells) \w+ (\w+ )?apart',
    r'(tell|tells) \w+ (\w+ )?from',
)
#: Words with which no docstring begins.
OPENINGS = r'\s*(What|Who|Whom|Whose|The same|So)\b'

_FLAGS = re.IGNORECASE
_ALLOWED = re.compile('|'.join(ALLOWED).replace(' ', r'\s+'), _FLAGS)
_PHRASES = [
    (re.compile(rf'\b(?:{phrase})\b'.replace(' ', r'\s+'), _FLAGS), advice)
    for phrase, advice in PHRASES.items()
]


def complaints(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line offset and a message for each phrase to avoid in a text."""
    text = _ALLOWED.sub(lambda match: re.sub(r'\S', '·', match.group()), text)
    for pattern, advice in _PHRASES:
        for match in pattern.finditer(text):
            words = ' '.join(match.group().split())
            yield text.count('\n', 0, match.start()), f'{words!r}; write: {advice}'


def texts_of(path: pathlib.Path) -> Iterator[tuple[int, str]]:
    """Yield line numbers and texts: a whole document, or what a person reads in Python code."""
    if path.suffix != '.py':
        yield 1, path.read_text(encoding='utf-8')
        return
    with tokenize.open(path) as file:
        previous = ''
        for token in tokenize.generate_tokens(file.readline):
            kind, line = tokenize.tok_name[token.type], token.start[0]
            if kind in ('COMMENT', 'STRING', 'FSTRING_MIDDLE'):
                yield line, token.string
            elif kind == 'NAME' and previous in ('def', 'class'):
                yield line, token.string.replace('_', ' ')
            previous = token.string


def check(path: pathlib.Path) -> Iterator[str]:
    """Yield one message for each phrase to avoid in a file."""
    name = path.relative_to(ROOT).as_posix()
    for line, text in texts_of(path):
        opening = re.match(rf'(?:r?"""|#:){OPENINGS}', text) if path.suffix == '.py' else None
        if opening:
            yield f'{name}:{line}: begins with {opening.group(1)!r}; begin with a noun or a verb'
        for offset, message in complaints(text):
            yield f'{name}:{line + offset}: {message}'


def files(prefixes: list[str]) -> Iterator[pathlib.Path]:
    """Yield the files to check: those below ``prefixes``, or all."""
    paths = [path for path in ROOT.iterdir() if path.is_file()]
    paths += [path for folder in FOLDERS for path in (ROOT / folder).rglob('*')]
    for path in sorted(paths):
        name = path.relative_to(ROOT).as_posix()
        is_text = path.is_file() and path.suffix in ('.py', *DOCUMENTS)
        if not is_text or name.startswith(SKIPPED) or name in ('LICENSE', 'COPYING'):
            continue
        if name.startswith('.') and '/' not in name:
            continue
        if not prefixes or name.startswith(tuple(prefixes)):
            yield path


def main() -> int:
    """Check everything, or the files below the given path prefixes."""
    found = [message for path in files(sys.argv[1:]) for message in check(path)]
    print('\n'.join(found), end='\n' * bool(found))
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
