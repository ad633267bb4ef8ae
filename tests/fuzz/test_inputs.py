"""Malformed files, variables and arguments: a clear error or a correct result, never a crash."""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nvitop import simulation
from nvitop.console.config import format_config, parse_config
from nvitop.console.option_table import parse_arguments
from nvitop.console.options import merge
from nvitop.query.command import parse as parse_query_arguments
from nvitop.select.command import TOO_FEW
from nvitop.select.command import main as select
from nvitop.simulation import ScenarioError
from tests.command_run import CommandRun
from tests.fuzz.input_count import examples
from tests.gui.random_samples import RandomSamples

CHOICES = {'theme': ('auto', 'dark', 'light'), 'columns': ('pid', 'user', 'command')}
TEXTS = st.one_of(
    st.text(max_size=30),
    st.integers(0, 1 << 32).map(lambda seed: RandomSamples(seed).text()[:2000]),
)


def words(text: str) -> st.SearchStrategy[str]:
    known = st.sampled_from(text.split())
    return st.one_of(known, known, TEXTS, st.tuples(known, TEXTS).map(''.join))


def assert_is_readable(message: str, *, lines: int = 1) -> None:
    """Check that a message is short and has no control characters."""
    assert message.strip()
    assert message.strip().count('\n') < lines, message
    kinds = {unicodedata.category(char) for char in set(message) - {'\n'}}
    assert not kinds & {'Cc', 'Cf', 'Cs', 'Zl', 'Zp'}, message


# Files

CONFIGURATION = format_config(merge({}), CHOICES)
VALUES = st.recursive(
    st.one_of(
        st.booleans().map(lambda flag: str(flag).lower()),
        st.integers().map(str),
        st.floats().map(str),
        st.sampled_from(['"dark"', '"1:0"', "'pid'", '[10, 75]', '1979-05-27', '{}', 'nan', '""']),
        TEXTS.map(lambda text: '"""' + text.replace('\\', '') + '"""'),
    ),
    lambda inner: st.lists(inner, max_size=3).map(lambda items: f'[{", ".join(items)}]'),
    max_leaves=4,
)


def lines_of(names: list[str]) -> st.SearchStrategy[str]:
    """TOML files in which these names have arbitrary values."""
    line = st.tuples(st.one_of(st.sampled_from(names), st.text('abz_-.', min_size=1)), VALUES)
    return st.lists(line.map(' = '.join), max_size=6).map('\n'.join)


SETTINGS = [
    line.lstrip('# ').partition(' =')[0] for line in CONFIGURATION.splitlines() if ' = ' in line
]


@examples(30)
@given(st.one_of(lines_of(SETTINGS), st.text(max_size=200)))
@example('interval = 1e999')
@example('interval = -0.0')
def test_configuration_file_is_accepted_or_explained(text: str) -> None:
    config = parse_config(text, 'nvitop.basics.toml', CHOICES)
    for problem in config.problems:
        assert str(problem).startswith('nvitop.basics.toml')
        assert_is_readable(str(problem))
    # The accepted settings have the same meaning after writing and reading them.
    options = merge(config.layer)
    again = parse_config(format_config(options, CHOICES), 'again.toml', CHOICES)
    assert again.problems == ()
    assert merge(again.layer) == options


SCENARIO = """\
description = "one" seed = 3 [driver] version = "570.1" [[gpu]] count = 2 model = "H100"
temperature = {base = 40, swing = 5, period = 10} lost = true [[gpu.mig]] profile = "1g.10gb"
[[process]] command = ["python", "x"] gpu = 0 gpus = [0, 1] memory = "2GiB" user = "alice"
[[event]] at = 3 [[fault]] function = "nvmlDeviceGetName" error = "GPU_IS_LOST" after = 2
"""


@examples(60)
@given(st.lists(words(SCENARIO), max_size=14).map('\n'.join))
@example('[[gpu]]\ncount = 2\n[[gpu.mig]]\nprofile = 3')
def test_scenario_file_is_accepted_or_explained(text: str) -> None:
    message = ''
    try:
        simulation.parse_scenario(text, name='fuzz', source='fuzz.toml')
    except ScenarioError as error:
        message = str(error)
    if message:
        assert message.startswith('fuzz.toml')
        assert_is_readable(message)


# Arguments


NVITOP = words("""
    -1 --once -m auto full --monitor --interval 1 0.5 nan inf -1e9 --ascii -U --colorful --light --theme dark
    --gpu-util-thresh 10 75 --mem-util-thresh 80 20 -o 0 1:0 --only -ov -c -C -g -G -u alice --user -p 1 4294967296 --pid
    --readonly --config x --no-config --print-config --demo dgx-h100 -- -h --help -V --version
""")
QUERY = words("""
    --gpu --gpu=name,index --gpu= --processes --processes=pid,command --all --mig -i 0 1:0 GPU- 00000000:01:00.0 --id
    --format csv json jsonl table --format=csv,noheader,nounits --format=xml,, -l 1 -l 0 -lms 5 nan --loop=inf
    --query-gpu=index,memory.used --query-compute-apps=pid --help-query-gpu --list -h -- index,nam pwoer.draw
""")
SELECT = words("""
    -n 1 2 99 0 -1 -c --min-count -C --max-count --count -f 4GiB 20% -1GiB 1e400 --min-free-memory -t 4.5G -G 50 nan 101
    --max-gpu-utilization -M --tol 10 --account-as-free alice -i 0,1 --inherit -O index uuid json -s ; --sep -0 --newline -S -h -- -V
""")


@pytest.mark.parametrize('program', ['nvitop', 'query'])
@examples(30)
@given(data=st.data())
def test_arguments_are_parsed(program: str, data: st.DataObject) -> None:
    arguments = data.draw(st.lists(NVITOP if program == 'nvitop' else QUERY, max_size=6))
    parse = parse_arguments_only if program == 'nvitop' else parse_query_arguments
    assert_exits_properly(CommandRun(lambda given: parse(given) and 0, *arguments))


def parse_arguments_only(arguments: list[str]) -> int:
    """The part of the command before it uses the driver."""
    invocation = parse_arguments(arguments)
    merge(invocation.layer)
    return 0


@examples(20)
@given(st.lists(SELECT, max_size=6))
@example(['-s\ud8a5'])
@example(['-n', '50'])
def test_arguments_of_nvisel_are_parsed(arguments: list[str]) -> None:
    with simulation.machine('mig', processes='none'):
        assert_exits_properly(CommandRun(select, *arguments), expected=(0, 1, 2, TOO_FEW))


def assert_exits_properly(ran: CommandRun, *, expected: tuple[int, ...] = (0, 2)) -> None:
    assert (ran.status or 0) in expected
    assert 'Traceback' not in ran.err
    if ran.status == 2:
        assert ran.out == ''
        # The message is the last line, after the usage.
        assert 'error: ' in ran.err.splitlines()[-1]
        assert_is_readable(ran.err.splitlines()[-1])


@pytest.mark.parametrize('text', ['\x1b[31m', 'a\nb', '\u202e', '\ud800'])
def test_messages_about_hostile_arguments_are_safe_to_print(text: str) -> None:
    calls: tuple[Any, ...] = (parse_arguments_only, select, parse_query_arguments)
    for call in calls:
        for arguments in ([text], ['-o', text], ['--format', text], ['-n', text]):
            ran = CommandRun(call, *arguments)
            assert ran.status == 2
            assert_is_readable(ran.err.splitlines()[-1])
