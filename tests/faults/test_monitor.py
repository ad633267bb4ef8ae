"""The running monitor on a machine whose driver disappears for a while."""

from __future__ import annotations

import os
import pathlib

import pytest

if os.name != 'posix':
    pytest.skip('needs POSIX', allow_module_level=True)

from tests.e2e.program import DEMO, Program

_SCENARIO = '[[gpu]]\nmodel = "H100"\n' + ''.join(
    f'[[fault]]\ncall = "{call}"\nerror = "DRIVER_NOT_LOADED"\nfrom = 3\nuntil = 6\n'
    for call in ('nvmlDeviceGet*', 'nvmlInit*')
)


@pytest.mark.slow
def test_driver_disappears_and_comes_back(tmp_path: pathlib.Path) -> None:
    path = tmp_path / 'machine.toml'
    path.write_text(_SCENARIO, encoding='utf-8')
    with Program((*DEMO, str(path), '--interval=0.3')) as program:
        program.wait_for('Driver Not Loaded')
        program.wait_until_gone('/700 W')
        program.press('!', 'Problems: [1-9]')
        program.press('q', '/700 W')
        program.wait_until_gone('Driver Not Loaded')
        assert program.leave() == 0
