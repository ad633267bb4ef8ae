"""The pages about other programs agree with the code."""

from __future__ import annotations

import pathlib
import re

from nvitop.compat.pynvml_smi import NVSMI_QUERY_GPU
from nvitop.query.fields import device_table, process_table

PAGES = pathlib.Path(__file__).parent.parent.parent / 'docs' / 'migrating'
TEXT = ''.join(path.read_text(encoding='utf-8') for path in sorted(PAGES.glob('*.md')))


def test_tables_have_the_same_columns_in_all_rows() -> None:
    widths = [
        {line.replace('\\|', '').count('|') for line in block.splitlines()}
        for block in re.findall(r'(?:^\|.*\|\n)+', TEXT, re.MULTILINE)
    ]
    assert len(widths) > 4
    assert all(len(width) == 1 for width in widths)


def test_mentioned_names_are_accepted() -> None:
    mentioned = set(re.findall(r'`((?:gom|temperature|clocks|mig)\.[\w.*]+)`', TEXT))
    assert len(mentioned) > 5
    for name in mentioned:
        assert any(re.fullmatch(name.replace('*', '.*'), known) for known in NVSMI_QUERY_GPU), name


def test_mentioned_columns_exist() -> None:
    asked = re.findall(r'--(gpu|processes)=([a-z][\w.,]+)', TEXT)
    assert len(asked) >= 4
    for option, names in asked:
        (device_table() if option == 'gpu' else process_table()).find(names.strip('.,'))
    in_json = next(line for line in TEXT.splitlines() if 'in the JSON they are' in line)
    theirs, ours = (re.findall(r'`([a-z_.]+)`', part) for part in in_json.split('they are'))
    found = device_table().find([name for name in theirs if name != 'gpus'])
    assert [column.name for column in found] == ours
