"""The tree screen."""

from __future__ import annotations

import pytest

from nvitop.gui.render.style import Role
from nvitop.gui.state.events import Resized
from nvitop.gui.state.update import update
from nvitop.gui.view.frame import draw_frame
from nvitop.sampling.history import History
from tests.gui.drawing import lines_on, state_on
from tests.gui.samples import SAMPLES, with_families

pytestmark = pytest.mark.usefixtures('utc')


def test_tree_shows_parents_above_children_and_their_devices() -> None:
    lines = lines_on('h100x8', 120, 40, 't')
    assert lines[0].startswith('Process tree (16)')
    assert [word in lines[1] for word in ('PID', 'DEVICE', 'NLWP', 'COMMAND')] == [True] * 4
    parent = next(i for i, line in enumerate(lines) if 'torchrun' in line)
    assert 'Host' in lines[parent]
    assert '└─ torchrun' in lines[parent]
    assert '├─ /usr/bin/python3' in lines[parent + 1]
    assert 'GPU 0' in lines[parent + 1]


def test_selected_line_stays_visible_at_every_size() -> None:
    state = state_on('processes200', 80, 50, 't', 'End')
    for height in (50, 20, 6, 40):
        state, _ = update(state, Resized(80, height))
        buffer = draw_frame(state, History())
        roles = [style.role for y in range(height) for _, _, style in buffer.row(y)]
        assert Role.SELECTED_TREE in roles


def test_empty_tree_shows_the_reason() -> None:
    assert 'Looking for processes ...' in lines_on('nothing-yet', 80, 24, 't')[2]
    assert 'No match: 16 processes' in lines_on('h100x8', 80, 24, 't', '\\', '#')[2]


@pytest.mark.parametrize(
    ('key', 'named'), [('U', 'GPU usage by user (1)'), ('t', 'Process tree (7)')]
)
def test_users_and_tree_name_gpus_whose_processes_are_unknown(key: str, named: str) -> None:
    first, second, *_ = SAMPLES['mig'].devices
    parts = [device._replace(status='lost') for device in SAMPLES['mig'].devices]
    sixteen = [device._replace(status='lost') for device in SAMPLES['gpus16'].devices[::2]]
    for devices, text, width in (
        (SAMPLES['lost'].devices, ', not readable on GPU 1,2', 80),
        ([first._replace(status='timed out')], ', not readable on GPU 0', 80),
        (parts[1:2], f', not readable on GPU {second.key.label}', 80),
        # Not the MIG devices of a GPU in addition to the GPU.
        (parts[:2], ', not readable on GPU 0', 80),
        (sixteen, ', 8 GPUs unknown', 40),
    ):
        sample = with_families(SAMPLES['lost'])._replace(devices=tuple(devices))
        assert lines_on(sample, width, 24, key)[0].split('  ')[0] == f'{named}{text}'
