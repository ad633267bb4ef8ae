# SPDX-License-Identifier: Apache-2.0
"""The words of a filter: ``train user:ann job:"slurm 42"``. Pure."""

from __future__ import annotations

import re

#: A word in quotes, with its prefix, may have spaces; while it is typed, it ends with the text.
_WORD = re.compile(r'[A-Za-z]+[:=]".*?(?:"(?=\s|$)|$)|\S+', re.DOTALL)


def filter_words(text: str) -> list[str]:
    """Return the words of a filter, with their prefixes and quotes."""
    return _WORD.findall(text)


def split_word(word: str) -> tuple[str, str, str]:
    """Return the prefix of a word in lower case, ``:`` or ``=``, and the rest; ``''`` without a prefix."""
    found = re.fullmatch(r'([A-Za-z]+)([:=])(.*)', word, re.DOTALL)
    return (found.group(1).lower(), found.group(2), found.group(3)) if found else ('', '', word)


def exact_word(prefix: str, name: str) -> str:
    """Return the word that matches only this whole name: ``'user:"al"'``."""
    return f'{prefix}:"{name}"'


def name_in_quotes(word: str) -> str | None:
    """Return the name inside the quotes of a word without its prefix; ``None`` if it has no quotes."""
    if not word.startswith('"'):
        return None
    return word[1:-1] if len(word) > 1 and word.endswith('"') else word[1:]
