"""Wrong command lines: each exits with the right status and one message that says what to do."""

from __future__ import annotations

import pathlib
import shlex
from typing import Iterator

import pytest

from nvitop import cli, simulation
from nvitop.select import command as nvisel
from tests.command_run import CommandRun

#: Command line → part of its message. The status is 2; ``bad.toml`` is not valid TOML.
WRONG = """
nvitop --config none.toml -1              none.toml: file not found
nvitop --config bad.toml -1               bad.toml:1: not valid TOML
nvitop --config . -1                      cannot be read
nvitop --config wrong.toml -1             wrong.toml:1: unknown key 'them'; did you mean 'theme'?
nvitop help nosuch                        unknown command 'nosuch'; run nvitop --help for a list
nvitop dmon                               run nvitop query --gpu
nvitop -x                                 use nvitop query --all --format=json
nvitop query -q -x                        use --all --format=json
nvitop --intervall 2                      unknown option '--intervall'; did you mean '--interval'?
nvitop --demo record                      nvitop record --demo
nvitop -1 query                           'query' must be the first argument
nvitop run --wait abc true                --wait: must be a duration
nvisel -G 200                             must be a whole number from 0 to 100
nvitop --interval 0                       --interval: must be from 0.25
nvitop --columns pid,usr -1               --columns: unknown word 'usr'; did you mean 'user'?
nvitop -o x                               --id: expected an index
nvitop -o 9 -1                            unknown device '9': this machine has GPUs 0 to 7
nvitop -o 0:1 -1                          GPU 0 has no MIG devices
nvitop -C -G                              exclude each other
nvitop query --gpu memory.usd             did you mean 'memory.used'
nvitop query --gpu ''                     no field given
nvitop query --format xml                 unknown format 'xml'; use csv
nvitop query --format csv,nouint          unknown format 'nouint'; did you mean 'nounits'?
nvitop query --ssh gpu07                  run it there: ssh HOST nvitop query ...
nvitop --theme drak                       --theme: unknown value 'drak'; did you mean 'dark'?
nvitop --theme x                          --theme: unknown value 'x'; use auto, dark, light
nvitop record --demo x.db                 nvitop record --demo -o x.db
nvitop record x.csv                       'nvitop replay FILE --export csv' makes a table
nvitop replay --processes x.db            --processes needs --export csv, without --events
nvitop exporter --names dcmg              did you mean 'dcgm'?
nvitop --ssh gpu01 gpu02                  for several: nvitop fleet HOST
nvitop fleet                              use nvitop fleet HOST
nvisel -i 99                              no such device
nvisel -n 2 -c 1                          --count cannot be combined
nvisel -f 20                              -f/--min-free-memory: '20' is 20 bytes; did you mean 20GiB?
nvisel -f 20XB                            -f/--min-free-memory: not a size such as 4GiB or 500M: '20XB'
nvisel -c 3 -C 2                          --max-count (2) is less than --min-count (3)
nvitop --scroll-back 2d                   from 0 to 1440 minutes, not '2d'
nvitop query --gpu=index --query-gpu=index   --gpu and --query-gpu cannot be combined
nvitop query --format=json,nounits        nounits cannot be combined with json
nvitop record --max-size=999k             must be at least 1M, not '999k'
nvitop record --mode=7                    expected permissions such as 640 or 644, not '7'
nvitop record -o - --format=sqlite        standard output takes only --format jsonl
nvitop fleet http://me:secret@host       PROMETHEUS_URL
nvitop fleet http://x --demo               --demo queries no server
nvitop fleet --demo --users --fail-on=warning   not to --users
nvitop fleet --demo --sort=utl            unknown column 'utl'
nvitop --demo run -- nvidia-smi -L        'run' must be the first argument
nvitop --ssh gpu07 record -o night.db     run it there: ssh gpu07 nvitop record ...
nvitop run --demo none-such true          unknown scenario 'none-such'
nvitop usage a.db --since -1h --until -2h   --since must be before --until
nvitop usage a.db --held --format json    omit --format
nvitop usage a.db --user ann --by gpu     --user needs rows of users
nvitop usage --prometheus http://h a.db   --prometheus takes no FILE
nvitop usage --match {a="b"}              need --prometheus
nvitop health --ignore nvlink             unknown kind 'nvlink'; did you mean 'nvlink_down'?
nvitop health --ignore x                  unknown kind 'x'; use missing, lost, not_responding
nvitop usage --by none,user               unknown column 'none'; use user, job,
nvitop exporter --names own,dgcm          unknown names 'dgcm'; did you mean 'dcgm'?
nvitop exporter --listen ::1:5   write an IPv6 address as [ADDRESS]:PORT
nvitop exporter --port 8000               use --listen [ADDRESS]:PORT
nvitop exporter --certfile c              --certfile and --keyfile need each other
nvitop exporter --client-cafile c         client certificates need
"""
#: Command line → status and part of its message, for what is wrong with files and machines.
FAILING = """
nvitop replay none.db                     1  none.db does not exist; run nvitop record first, or name a FILE
nvitop replay                             1  record.db does not exist; run nvitop record first, or name a FILE
nvitop query -f none/x.csv                1  cannot write to none/x.csv
nvitop record -o none/a.db                1  cannot write to none/a.db: No such file or directory
nvitop exporter --certfile none/c --keyfile none/k   1  none/c
nvisel -n 9                               4  9 required, 8 found
"""


@pytest.fixture(autouse=True)
def machine(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv('PROMETHEUS_URL', raising=False)
    for command in ('usage.command', 'gui.replay_command'):
        monkeypatch.setattr(f'nvitop.{command}.default_recording', lambda: 'record.db')
    (tmp_path / 'bad.toml').write_text('x = [')
    (tmp_path / 'wrong.toml').write_text('them = "dark"')


@pytest.fixture(scope='module', autouse=True)
def gpus() -> Iterator[None]:
    with simulation.machine('dgx-h100', processes='none', clock=lambda: 0.0):
        yield


def answer(line: str) -> CommandRun:
    program, *arguments = shlex.split(line)
    return CommandRun(cli.main if program == 'nvitop' else nvisel.main, *arguments)


@pytest.mark.parametrize('row', WRONG.strip().splitlines())
def test_wrong_arguments_are_an_error_that_says_what_to_do(row: str) -> None:
    line, _, message = row.partition('   ')
    ran = answer(line)
    assert ran.status == (3 if line.startswith('nvitop health') else 2)
    assert ran.out == ''
    first, *more = ran.err.splitlines()
    assert ': error: ' in first
    assert any(part in first for part in message.strip().split('|')), first
    assert not more
    assert 'secret' not in first


@pytest.mark.parametrize('row', FAILING.strip().splitlines())
def test_failures_exit_with_their_status(row: str) -> None:
    line, _, rest = row.partition('   ')
    status, message = rest.split(maxsplit=1)
    ran = answer(line)
    assert ran.status == int(status)
    assert message in ran.err


@pytest.mark.parametrize(
    ('line', 'name'),
    [('query', 'nvitop query'), ('record extra', 'nvitop record'), ('nvisel', 'nvisel')],
)
def test_help_word_shows_the_help_of_a_command(line: str, name: str) -> None:
    ran = CommandRun(cli.main, 'help', *line.split())
    assert ran.status == 0
    assert ran.out.startswith(f'usage: {name} ')


def test_file_can_be_recorded_to_without_an_option(tmp_path: pathlib.Path) -> None:
    ran = answer('nvitop record x.jsonl --duration 1ms')
    assert ran.status == 0
    assert (tmp_path / 'x.jsonl').exists()
