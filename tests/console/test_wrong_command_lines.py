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
nvitop --config                           --config needs a value
nvitop --config a --no-config             --config and --no-config cannot be combined|--no-config and --config cannot be combined
nvitop --gpu-util-thresh 90 10            the lower percentage must come first, not '90 10'
nvitop --gpu-util-thresh 0 10             must be two whole numbers from 1 to 99
nvitop --gpu-util-thresh 10               --gpu-util-thresh needs 2 values
nvitop --mem-util-thresh a b              must be two whole numbers
nvitop help nosuch                        unknown command 'nosuch'
nvitop top                                run nvitop (without a command)
nvitop kill 123                           press T or K
nvitop list                               run nvitop -1
nvitop ps                                 run nvitop query --processes
nvitop json                               run nvitop query --all --format=json
nvitop version                            run nvitop --version
nvitop pick                               run nvisel
nvitop serve                              run nvitop exporter
nvitop ssh gpu07                          run nvitop --ssh HOST
nvitop qeury                              did you mean 'query'?
nvitop --demo record                      nvitop record --demo
nvitop -1 query                           'query' must be the first argument
nvitop 0                                  nvitop -i 0
nvitop check                              run nvitop health
nvitop wait                               run nvitop run COMMAND
nvitop python train.py                    run nvitop run COMMAND
nvitop users                              run nvitop usage
nvitop -a                                 use nvitop query --all
nvitop -x                                 use nvitop query --all --format=json
nvitop -q                                 use nvitop query --all --format=json
nvitop --json                             use nvitop query --all --format=json
nvitop --watch 1                          use --interval TIME
nvitop -d 1                               use --interval TIME
nvitop -n 1                               use --interval TIME
nvitop --no-color                         use --theme mono
nvitop --dark                             use --theme dark
nvitop --gpus 0                           use -o DEVICE
nvitop --loop 5                           did you mean 'nvitop query --loop'?
nvitop -l 5                               did you mean 'nvitop query -l'?
nvitop --gpu index                        did you mean 'nvitop query --gpu'?
nvitop --colorfull                        did you mean '--colorful'?
nvitop --once=1                           --once takes no value, not '1'
nvitop -1=1                               -1 takes no value, not '1'
nvitop --monochrome                       use --theme mono
nvitop --sort memory                      use the keys o (sort)
nvitop query --sort memory.used           pipe the output to sort
nvitop query --watch 1                    use -l TIME
nvitop run                                no command given; put -- before it
nvitop run -i python3 train.py            put -- before the command
nvitop run --wait abc true                --wait: must be a duration
nvitop run --gpus 2 true                  use -n N
nvitop run --timeout 5 true               use --wait TIME
nvitop claims --json                      use --format=json
nvitop claims --release GPU-1             a claim ends with its command
nvitop health --watch                     use watch nvitop health
nvitop usage --since tomorrow             --since: not a time: 'tomorrow'
nvitop usage --from yesterday             use --since TIME
nvitop health --nagios                    use --format=nagios
nvitop run --time 8h true                 use --wait TIME
nvitop exporter --port 9                  use --listen :PORT
nvitop fleet --demo --host dgx01          use --filter host:NAME
nvisel --free 20GiB                       use -f SIZE
nvisel --timeout 5                        use --wait TIME
nvisel -G 200                             must be a whole number from 0 to 100
nvisel -M 101                             must be a whole number from 0 to 100
nvisel python train.py                    to start a command: nvitop run
nvisel -n 2 -- python train.py            use nvitop run
nvitop -1 -m                              -m and -1 cannot be combined|-1 and -m cannot be combined
nvitop -m wide                            -m must be one of auto, full, compact, not 'wide'
nvitop --theme drak                       did you mean 'dark'?
nvitop --interval                         --interval needs a value
nvitop --interval 0                       --interval: must be from 0.25
nvitop --interval abc                     --interval: must be a duration
nvitop --columns pid,usr -1               not 'usr'; did you mean 'user'?
nvitop -o                                 -o needs at least one value
nvitop -o x                               -o: expected an index
nvitop -o 9 -1                            unknown device '9': this machine has GPUs 0 to 7
nvitop -o 0:1 -1                          GPU 0 has no MIG devices
nvitop -p abc                             -p: must be a whole number
nvitop -C -G                              exclude each other
nvitop --demo mgi -1                      unknown scenario 'mgi'; did you mean 'mig'?
nvitop --demo dgx -1                      unknown scenario 'dgx'; did you mean 'dgx-h100'?
nvitop --demo bad.toml -1                 bad.toml:1: not valid TOML
nvitop --owner-names all                  must be one of files, sockets, none, not 'all'
nvitop --ssh                              --ssh needs a value
nvitop query --gpu index memory.used      separate names with commas: --gpu=index,memory.used
nvitop query --gpu=index, memory.used     separate names with commas: --gpu=index,memory.used
nvitop query --processes pid user         separate names with commas: --processes=pid,user
nvitop query --gpu memory.usd             did you mean 'memory.used'
nvitop query --gpu ''                     no field given
nvitop query json                         did you mean '--format=json'?
nvitop query --format csv noheader        separate names with commas: --format=csv,noheader
nvitop query --output x.csv               use -f FILE
nvitop query -q -x                        use --all --format=json
nvitop query index                        nvitop query --gpu=index
nvitop query 0                            nvitop query -i 0
nvitop query --format xml                 unknown format 'xml'; use csv
nvitop query --gpu --processes            CSV holds one table
nvitop query -l 0                         -l: must be from 0.001
nvitop query -i 99                        unknown device '99': this machine has GPUs 0 to 7
nvitop query -i nosuch                    -i: expected an index
nvitop query --ssh gpu07                  '--ssh' must be the first argument
nvitop query --format=prometheus          needs --all
nvitop record --demo x.db                 nvitop record --demo -o x.db
nvitop record x.csv                       'nvitop replay FILE --export csv' makes a table
nvitop record x.db -i 99                  unknown device '99': this machine has GPUs 0 to 7
nvitop record x.db -l 5                   use --interval TIME
nvitop record --interval 0                --interval: must be from 0.25
nvitop record --format xml                --format must be one of sqlite, jsonl
nvitop record a.db -o b.db                FILE and --output cannot be combined
nvitop replay --at noon x.db              not a time: 'noon'
nvitop replay --until=12:00 x.db          --until needs --export or --events
nvitop replay --processes x.db            --processes needs --export csv, without --events
nvitop exporter --names dcmg              did you mean 'dcgm'?
nvitop exporter --listen :99999           --listen: must be a whole number from 0 to 65535
nvitop exporter --interval 0              --interval: must be from 0.1
nvitop fleet                              use nvitop fleet URL
nvitop fleet --config none.toml --demo    none.toml: file not found
nvitop fleet --format xml --demo          must be one of table, json, csv
nvisel -i 99                              no such device
nvisel -i 0,99,1                          CUDA would ignore '99,1'
nvisel 2                                  nvisel -n 2
nvisel -n                                 -n needs a value
nvisel -n 2 -c 1                          --count cannot be combined
nvisel -f 20                              -f: '20' is 20 bytes; did you mean 20GiB?
nvisel -f 20XB                            -f: not a size such as 4GiB
nvisel -G 10%                             -G: must be a whole number
nvisel -O name                            -O must be one of index, uuid
nvisel -c 3 -C 2                          --max-count (2) is less than --min-count (3)
nvisel --min-free 2GiB                    did you mean '--min-free-memory'?
nvitop --interval 0.249                   must be from 0.25 to 1000000 seconds
nvitop --interval nan                     not a possible duration: 'nan'
nvitop --interval inf                     not a possible duration: 'inf'
nvitop --interval 1e7                     from 0.25 to 1000000 seconds
nvitop --scroll-back 2d                   from 0 to 1440 minutes, not '2d'
nvitop --gpu-util-thresh 50 100           from 1 to 99
nvitop -o -1                              -o needs at least one value
nvitop -g -C                              --only-compute and --graphics exclude each other
nvitop -c -G                              --compute and --only-graphics exclude each other
nvitop query --processes=pids             --processes: unknown field 'pids'; did you mean 'pid'
nvitop query --query-gpu=                 --query-gpu: no field given
nvitop query --query-compute-apps=pidd    --query-compute-apps: unknown field 'pidd'
nvitop query --gpu=index --query-gpu=index   --gpu and --query-gpu cannot be combined
nvitop query --format=csv,json            --format: csv and json cannot be combined
nvitop query --format=json,nounits        nounits cannot be combined with json
nvitop query -l nan                       -l: not a possible duration: 'nan'
nvitop query -lms x                       -lms: must be a duration such as '90s', '1h30m' or '14d', not 'x'
nvitop query -l 1 -lms 5                  -lms and -l cannot be combined
nvitop query --query-retired-pages=x      --query-retired-pages: unknown field 'x'
nvitop query --query-retired-page=address   did you mean '--query-retired-pages'?
nvitop query --query-supported-clocks=memory --query-retired-pages=cause   --query-supported-clocks and --query-retired-pages cannot be combined
nvitop query --query-supported-clocks=memory --gpu=index   CSV holds one table
nvitop query --query-remapped-rows=uuid --query-gpu=uuid   --query-gpu and --query-remapped-rows cannot be combined
nvitop record --duration=soon             must be a duration such as '90s', '1h30m' or '14d', not 'soon'
nvitop record --max-size=999k             must be at least 1M, not '999k'
nvitop record --mode=7                    expected permissions such as 640 or 644, not '7'
nvitop record -o - --format=sqlite        standard output takes only --format jsonl
nvitop fleet --prometheus http://me:secret@host   PROMETHEUS_URL
nvitop fleet --demo --prometheus=x        --demo queries no server
nvitop fleet --demo --match={a="b"}       --demo queries no server
nvitop fleet --demo --host-label=a        --demo queries no server
nvitop fleet --demo 0                     from 1 to 10000
nvitop fleet --interval 500ms --prometheus x   from 1 to 3600 seconds
nvitop fleet --prometheus x y             two servers given
nvitop fleet --demo --users --fail-on=warning   not to --users
nvitop fleet --demo --users --filter=free:4   free: applies to hosts
nvitop fleet --demo --sort=utl            unknown column 'utl'
nvitop fleet --demo --jobs --gpus         cannot be combined
nvisel -c -1                              -c needs a value
nvisel -c ²                               -c: must be a whole number
nvisel -f much                            -f: not a size
nvisel --tol -1                           --tol needs a value
nvisel --newline -0                       cannot be combined
nvisel -n 1 -c 0                          cannot be combined
nvisel -n 1 -C 3                          cannot be combined
nvitop zzz                                unknown command 'zzz'; run nvitop --help for a list
nvitop --dmeo                             unknown option '--dmeo'; did you mean '--demo'?
nvitop --zzzzzz=1                         unknown option '--zzzzzz'
nvitop --onc                              unknown option '--onc'; did you mean '--once'?
nvitop --demo=mig query --gpu=index       'query' must be the first argument: nvitop query ...
nvitop --demo run -- nvidia-smi -L        'run' must be the first argument
nvitop -1 extra                           unexpected argument 'extra'
nvitop query --gpu --ssh=gpu07            '--ssh' must be the first argument: nvitop --ssh HOST query ...
nvitop record --ssh=gpu07                 'record' does not take --ssh; run it there: ssh HOST nvitop record ...
nvitop --ssh gpu07 record -o night.db     run it there: ssh gpu07 nvitop record ...
nvitop query gpu                          unexpected argument 'gpu'; did you mean '--gpu'?
nvitop query --form=json                  unknown option '--form'; did you mean '--format'?
nvitop query -i GPU-0000                  unknown device 'GPU-0000'
nvitop run -n 0 true                      must be a whole number
nvitop run --demo none-such true          unknown scenario 'none-such'
nvitop usage a.db --since -1h --until -2h   --since must be before --until
nvitop usage a.db --held --format json    omit --format
nvitop usage a.db --held --since -7d      omit --since
nvitop usage a.db --user ann --by gpu     --user needs rows of users
nvitop usage --by users                   unknown column 'users'
nvitop usage --prometheus http://h a.db   --prometheus takes no FILE
nvitop usage --prometheus http://h --by gpu   --by user,job,host
nvitop usage --match {a="b"}              need --prometheus
nvitop usage --prometheus http://h --since now   --since must be before
nvitop usage --prometheus http://me:secret@h   PROMETHEUS_URL
nvitop usage --since 'last moon'          not a time: 'last moon'; expected '2026-11-01',
nvitop health --ignore nvlink             unknown kind 'nvlink'; expected missing, lost, not_responding
nvitop health --expect some               must be a whole number from 0 to 1024, not 'some'
nvitop health --timeout 0                 must be from 0.1 to 3600 seconds, not '0'
nvitop exporter --listen ::1:5   write an IPv6 address as [ADDRESS]:PORT
nvitop exporter --listen h:x   not 'x'
nvitop exporter --listen http://h:1   must be HOST:PORT or :PORT, not 'http://h:1'
nvitop exporter --listen=     must be HOST:PORT or :PORT, not ''
nvitop exporter --interval 2h             from 0.1 to 3600 seconds
nvitop exporter --certfile c              --certfile and --keyfile need each other
nvitop exporter --client-cafile c         client certificates need
nvisel everything                         unexpected argument 'everything'; to start a command: nvitop run
"""
#: Command line → status and part of its message, for what is wrong with files and machines.
FAILING = """
nvitop replay none.db                     1  cannot read none.db: No such file or directory
nvitop replay                             1  record.db does not exist; run nvitop record first, or name a FILE
nvitop usage                              1  does not exist; run nvitop record first, or name a FILE
nvitop replay bad.toml                    1  bad.toml
nvitop query -f none/x.csv                1  cannot write to none/x.csv
nvitop record -o none/a.db                1  cannot write to none/a.db: No such file or directory
nvitop exporter --certfile none/c --keyfile none/k   1  none/c
nvitop exporter --textfile none/x.prom    1  cannot write
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


@pytest.mark.parametrize('value', ['', '-1', '0,1'])
def test_nvisel_accepts_values_of_cuda_visible_devices(value: str) -> None:
    assert answer(f'nvisel --inherit={value}').status == 0


def test_file_can_be_recorded_to_without_an_option(tmp_path: pathlib.Path) -> None:
    ran = answer('nvitop record x.jsonl --duration 1ms')
    assert ran.status == 0
    assert (tmp_path / 'x.jsonl').exists()
