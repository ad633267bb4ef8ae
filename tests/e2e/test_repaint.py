"""Incremental drawing: after any events, the screen equals a complete redraw."""

from __future__ import annotations

import random
import re
import signal

import pytest

from nvitop.gui.state.bindings import BINDINGS, Action
from tests.e2e.keyboard import sequence
from tests.e2e.monitor import CLEAR
from tests.e2e.program import DEMO, Program

_KEYS = [
    key
    for each in BINDINGS
    for key in each.keys
    if each.action is not Action.QUIT and key not in ('q', 'Q', 'F10', 'Ctrl-Z')
]
_SIZES = ((104, 41), (40, 12), (80, 24), (160, 50), (60, 20), (123, 35))
_WHEEL = (64, 65, 68, 69, 80, 81)
ROUNDS = 12
#: Time (seconds) without output after which a frame is complete.
QUIET_SECONDS = 0.15
_TIME = re.compile(r'\d\d:\d\d:\d\d')


def act(program: Program, chance: random.Random) -> None:
    what = chance.random()
    if what < 0.7:
        key = chance.choice(_KEYS)
        program.type(sequence(key))
        if key == 'Esc':
            settle(program)
    elif what < 0.8:
        program.click(chance.randrange(100), chance.randrange(40))
    elif what < 0.9:
        program.resize(*chance.choice(_SIZES))
    else:
        program.scroll(chance.choice(_WHEEL))


def settle(program: Program) -> None:
    """Wait until there is no output for a while."""
    program.wait(lambda: not program.look(QUIET_SECONDS))


def seen(program: Program) -> list[str]:
    return [_TIME.sub('', line.rstrip()) for line in program.lines]


def repaint(program: Program) -> None:
    before = program.written.count(CLEAR)
    program.process.send_signal(signal.SIGCONT)
    program.wait(lambda: program.written.count(CLEAR) > before)
    settle(program)


@pytest.mark.slow
@pytest.mark.parametrize('scenario', ['dgx-h100', 'mig', 'faults'])
@pytest.mark.parametrize('seed', [1, 2])
def test_screen_equals_a_complete_redraw(scenario: str, seed: int) -> None:
    chance = random.Random(seed)
    with Program((*DEMO, scenario, '--readonly'), columns=104, rows=40) as program:
        program.wait_for('SIMULATED')
        for _ in range(ROUNDS):
            for _ in range(chance.randint(1, 8)):
                act(program, chance)
            # Retry because a sample may arrive between the two.
            for _attempt in range(8):
                settle(program)
                before = seen(program)
                repaint(program)
                if seen(program) == before:
                    break
            else:
                pytest.fail('different after each redraw:\n' + '\n'.join(before))
        assert program.process.poll() is None, program.errors()
