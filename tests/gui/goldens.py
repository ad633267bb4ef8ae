"""Golden screens: drawings stored as text that a person can read and compare.

A row of text begins with ``|``. If it has styles, a row that begins with ``:`` follows, with one
character for the style of each cell: the letter of the role in ``LETTERS``, in upper case if bold,
or another character for any other style. The legend at the end explains the characters that occur.
"""

from __future__ import annotations

import pathlib
import types

from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.theme import PLAIN, Role, Style
from nvitop.gui.render.width import cell_width

FOLDER = pathlib.Path(__file__).parent.parent / 'golden'
USED: set[str] = set()
UPDATE = types.SimpleNamespace(enabled=False)

#: Role and its letter.
_ROLES = """
    TEXT=t DIM=d BORDER=b TITLE=q HEADING=n UTILIZATION=c MEMORY=m OTHER=s SENT=r HELD=h UNKNOWN=u
    IDLE=/ TRACK=. ERROR=e WARNING=w KEY=k USER=p ROOT=a BADGE=o SELECTED=x TAGGED=v
    INPUT=i
"""
LETTERS = {Role[pair[:-2]]: pair[-1] for pair in _ROLES.split()}
_OTHERS = '123456789!#$%&*+-=?@^~αβγδεζηθλμξπρστφχψω'


def assert_golden(name: str, buffer: Buffer) -> None:
    assert_golden_text(name, golden_text(buffer))


def assert_golden_text(name: str, drawn: str) -> None:
    USED.add(name)
    path = FOLDER / f'{name}.txt'
    if UPDATE.enabled:
        FOLDER.mkdir(exist_ok=True)
        path.write_text(drawn, encoding='utf-8')
        return
    assert path.exists(), (
        f'golden screen {name} does not exist; check this, then run pytest --update-golden\n{drawn}'
    )
    assert drawn.splitlines() == path.read_text(encoding='utf-8').splitlines()


def unused() -> list[str]:
    """Return the names of golden screens that no test has compared."""
    return sorted({path.stem for path in FOLDER.glob('*.txt')} - USED)


def golden_text(buffer: Buffer) -> str:
    letters: dict[Style, str] = {}
    rows = [f'{buffer.width} x {buffer.height}']
    for y, line in enumerate(buffer.lines()):
        rows.append(f'|{line}'.rstrip() if buffer.width else '|')
        styles = _style_row(buffer, y, letters)
        if styles:
            rows.append(f':{styles}')
    legend = [f'{letter} {_describe(style)}' for style, letter in letters.items()]
    return '\n'.join([*rows, *sorted(legend)]) + '\n'


def _style_row(buffer: Buffer, y: int, letters: dict[Style, str]) -> str:
    row = ''
    for x, text, style in buffer.row(y):
        cells = cell_width(text)
        if style == PLAIN:
            continue
        if style not in letters:
            letters[style] = _letter(style, letters)
        row += ' ' * (x - len(row)) + letters[style] * cells
    return row


def _letter(style: Style, taken: dict[Style, str]) -> str:
    if style.back is not None and style == Style(back=style.back):
        return LETTERS[style.back]
    letter = LETTERS.get(style.role, '')
    if letter and style == Style(style.role):
        return letter
    if letter.isalpha() and style == Style(style.role, bold=True):
        return letter.upper()
    return next(other for other in _OTHERS if other not in taken.values())


def _describe(style: Style) -> str:
    flags = [name for name in Style._fields[1:-1] if getattr(style, name)]
    if style.back is not None:
        flags.append(f'on {style.back.name.lower()}')
    return ' '.join([style.role.name.lower().replace('_', ' '), *flags])
