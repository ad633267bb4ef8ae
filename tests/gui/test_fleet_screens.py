"""The screens of nvitop fleet."""

from __future__ import annotations

import pathlib
import re
import threading
import time
from typing import Callable

import pytest

from nvitop.console.options import Options
from nvitop.fleet.demo import DemoSource
from nvitop.fleet.reading import host_of_sample
from nvitop.fleet.source import HostSource, period
from nvitop.fleet.types import NOT_RESPONDING, Fleet, FleetError, FleetHost
from nvitop.gui.fleet import command
from nvitop.gui.fleet.command import begin_with, main, state_of
from nvitop.gui.fleet.data import FleetState
from nvitop.gui.fleet.screens import FLEET, FLEET_KEYS
from nvitop.gui.fleet.state import fleet_of, listed, selected, update_fleet
from nvitop.gui.model.choices import Screen, ViewState
from nvitop.gui.model.device_rows import device_rows
from nvitop.gui.monitor import first_state
from nvitop.gui.render.theme import DIM, WARNING, Role
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.bindings import ALL_SCREENS, USUAL
from nvitop.gui.state.events import (
    FleetArrived,
    FleetFailed,
    KeyPressed,
    MousePressed,
    OpenHost,
    SampleArrived,
)
from nvitop.gui.state.keymap import rebind
from nvitop.gui.state.lists import list_sort
from nvitop.gui.state.update import update
from nvitop.gui.view.frame import draw_frame
from nvitop.health import findings
from nvitop.sampling.history import History
from nvitop.sampling.types import Demand, DeviceStatus, HostSample, Sample
from tests.fleet.session import Session
from tests.gui.drawing import assert_is_drawn_inside
from tests.gui.driving import texts
from tests.gui.goldens import assert_golden
from tests.waiting import wait_until

pytestmark = pytest.mark.usefixtures('utc')
NOW = 1_795_000_000.0


def arrived(state: AppState, fleet: Fleet) -> AppState:
    return update_fleet(state, FleetArrived(fleet, 5.0))[0]


def names(state: AppState) -> list[str]:
    return [host.name for host in listed(state)]


def screen(hosts: int, width: int, height: int, *keys: str, in_ascii: bool = False) -> AppState:
    state = AppState(
        FLEET,
        width,
        height,
        screen=Screen.HOSTS,
        view=ViewState(ascii=in_ascii, hints=True),
        fleet=FleetState(server='prometheus:9090'),
        timestamp=NOW,
        version='1.0.0',
    )
    state = arrived(state, DemoSource(hosts, lambda: NOW).read())
    for key in keys:
        state, _ = update_fleet(state, KeyPressed(key))
    return state


def frame(state: AppState) -> list[str]:
    return draw_frame(state, History()).lines()


@pytest.mark.parametrize(
    ('name', 'state'),
    [
        ('40', lambda: screen(40, 120, 30, 'Down', 'o', 'f')),
        ('40-smallest', lambda: screen(40, 40, 12, in_ascii=True)),
        ('40-gpus', lambda: screen(40, 100, 24, 'g')),
        ('40-problems', lambda: screen(40, 80, 24, '!')),
        ('1000', lambda: screen(1000, 160, 40, 'End')),
    ],
)
def test_fleet_goldens(name: str, state: Callable[[], AppState]) -> None:
    assert_golden(f'fleet-{name}', draw_frame(state(), History()))


def test_gpus_without_a_known_user_are_below_the_users_in_any_order() -> None:
    for keys in ('', 'ogR'):
        state = screen(40, 120, 40, 'U', *keys)
        assert [(row.name, row.gpus) for row in listed(state)][6:] == [
            ('unknown', 56),
            ('free', 88),
        ]
    lines = frame(update_fleet(state, KeyPressed('End'))[0])
    assert lines[1].startswith('╭─ Users 6 ')
    assert re.search('free +88 +0% +gpu', lines[10])
    assert '├─ free · 88 × H100' in lines[11]
    buf = draw_frame(state, History())
    styles = {text: style for _, text, style in buf.row(9) if text.isalnum()}
    assert styles.pop('4') == WARNING  # held, by whomever
    assert {*styles.values()} == {DIM}
    hosts, _ = update_fleet(screen(40, 120, 40, 'U', 'End', 'Up'), KeyPressed('Enter'))
    assert (hosts.query, fleet_of(hosts).sums.gpus) == ('user:unknown', 56)


def test_users_and_jobs_are_listed_with_their_gpus_below() -> None:
    lines = frame(screen(40, 100, 30, 'U'))
    assert lines[0].startswith(' fleet › users ')
    assert lines[2].split()[1:7] == ['USER', '▼GPUS', 'HELD', 'UTIL', 'PROCS', 'MEM']
    assert lines[3].split()[1:4] == ['alice', '56', '70%']
    assert ' gpu[0001,0003-0004,0025-0028] ' in lines[3]
    assert '─ alice · 56 × H100 80GB HBM3 ─' in lines[11]
    assert [line.split()[1:4] for line in lines[13:20]] == [
        [f'gpu{number:04}', '0-7', 'busy'] for number in (1, 3, 4, 25, 26, 27, 28)
    ]
    lines = frame(screen(40, 100, 26, 'J', 'Down'))  # too many to list each GPU
    assert ' gpu0013  0,2,4,6 ' in '\n'.join(lines)
    assert re.search(r'─ slurm 41034 · 32 × H100 80GB HBM3 ─', '\n'.join(lines))
    lines = frame(screen(40, 100, 30, 'J', 'End'))  # one of two with this name
    assert '─ nb try.ipynb · 4 × H100 80GB HBM3 · from dcgm-exporter ─' in '\n'.join(lines)
    assert [line.split()[2] for line in lines if ' gpu0023 ' in line][-4:] == ['4', '5', '6', '7']


def test_tables_have_what_is_free_and_the_time_above_and_mark_unknown_users(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv('COLUMNS', '80')
    assert main(['--demo', '4', '-1', '--problems', '--ascii']) == 0
    text = capsys.readouterr().out
    assert text.isascii()
    assert 'Nothing wrong is known' in text
    assert main(['--demo', '40', '-1', '--problems']) == 0
    text = capsys.readouterr().out
    assert 'GPU 3: not responding. Stop its processes.' in text
    assert '● critical' in text
    monkeypatch.setenv('COLUMNS', '')  # for other programs the severity is one word
    assert main(['--demo', '40', '-1', '--problems']) == 0
    assert '\ncritical  gpu0007  3 ' in capsys.readouterr().out
    fleet = DemoSource(40, lambda: NOW).read()
    monkeypatch.setattr(DemoSource, 'read', lambda _: fleet)
    for columns in ('', '80'):
        monkeypatch.setenv('COLUMNS', columns)
        assert main(['--demo', '40', '-1']) == 0
        lines = [line.strip('│ ') for line in capsys.readouterr().out.splitlines()]
        assert lines[0].startswith('88 free: gpu[0037-0040')
        assert '  16 held  5 problems' in lines[0]
        assert f'  {time.ctime(NOW)}  [SIM' in lines[1]
        assert [line.endswith('unknown') for line in lines if line.startswith('gpu0002')] == [True]
        assert next(line for line in lines if line.startswith('gpu0032')).endswith(' for 11m')
        old = next(line for line in lines if line.startswith('gpu0018'))
        assert old.endswith('values 3m old')
        assert '%' not in old  # it is not idle: nothing is known about now
        frame = [line for line in lines if line[0] in '╭╰']
        assert [len(line) for line in frame] == ([80, 80] if columns else [])
    found = [line for line in lines if line.startswith(('critical ', 'warning '))]
    assert [line[: line.index('.')].split(maxsplit=1) for line in found] == [
        ['critical', 'gpu0007 GPU 3: not responding'],
        ['critical', 'gpu0022 GPU 1: lost'],
        ['critical', 'gpu0032: not responding'],
        ['warning', 'gpu0013 GPU 5: too hot'],
        ['warning', 'gpu0018: values 3m old'],
    ]
    monkeypatch.setattr(command, 'stdout_height', lambda: 50)
    assert main(['--demo', '40', '-1']) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].startswith('╭─ Hosts 40 in 36 rows ─')
    assert lines[4].split()[1:5] == ['gpu[0037-0040]', '4', '×', '8']


def test_free_gpus_and_problems_come_before_what_is_less_important() -> None:
    simulated = Sample(NOW, simulated='H100')
    for keys, width, text in (
        ('', 40, '88 free  5 problems'),
        ('', 80, '88 free: gpu[0037-0040] ..   16 held   5 problems'),
        ('', 100, '88 free: gpu[0037-0040] ..   16 held   5 problems: gpu0007 ..'),
        ('U', 140, '88 free: gpu[0037-0040,0019-0020,0017] ..   16 held   5 problems: gpu[0007,'),
        ('U', 200, '88 free: gpu[0037-0040,0019-0020,0017,0009-0012,0033-0036]   16 held'),
    ):
        line = frame(screen(40, width, 24, *keys)._replace(sample=simulated))[0]
        assert f']{" " * (2 + (width >= 80))}{text}' in line
        assert line.endswith('11:06:40') == (width >= 80)
    least = frame(screen(40, 80, 24, '\\', *'gpu0013', 'Enter'))[0]
    assert ' 0 held   1 problem   4 problems hidden ' in least
    for width in (40, 60, 80):
        lines = frame(screen(40, width, 24, 'o', 'f'))
        assert lines[0].replace(':', '').split()[:3] == ['fleet', '88', 'free']
        assert ' PROBLEMS' in lines[2]
        assert 'GPU 3 not resp' in '\n'.join(lines)


def test_narrow_screens_show_what_matters_most() -> None:
    for width in (80, 100):
        lines = frame(screen(40, width, 24, 'o', 'f'))
        assert ' not responding for 11m ' in '\n'.join(lines)
        assert ' GPU 3 not responding ' in '\n'.join(lines)
    below = '\n'.join(frame(screen(40, 80, 24, 'o', 'f', 'Down'))[14:])
    assert '─ gpu0013 · 8 × H100 80GB HBM3 · from nvitop exporter ─' in below
    assert re.search(r'\n.*  5 +busy .* too hot ', below)
    below = '\n'.join(frame(screen(40, 80, 24, 'Down', 'Down'))[14:])
    assert ' · from dcgm-exporter ─' in below
    assert ' slurm 41005 ' in frame(screen(40, 80, 24, 'U'))[13]
    assert frame(screen(40, 40, 12, 'U'))[3].split()[1:4] == ['alice', '56', '70%']


def test_wide_screen_has_advice_for_all_problems() -> None:
    lines = frame(screen(40, 120, 24, '!'))
    assert lines[3].split()[3:8] == ['gpu0007', '3', 'not', 'responding', 'Stop']


def test_state_of_a_broken_gpu_is_red_and_no_problem_again() -> None:
    lost, silent = (
        screen(40, 120, 30, 'g', '\\', *f'host:{name}', 'Enter') for name in ('gpu0022', 'gpu0007')
    )
    for state, words in ((lost, 'lost'), (silent, 'not responding')):
        buf = draw_frame(state, History())
        y = next(y for y, line in enumerate(buf.lines()) if f' {words} ' in line)
        assert buf.lines()[y].count(words) == 1
        assert 'N/A' in buf.lines()[y]
        assert [style.role for _, text, style in buf.row(y) if text == words] == [Role.ERROR]


@pytest.mark.parametrize('status', ['lost', 'timed out', 'error', 'not permitted'])
def test_a_gpu_has_the_same_words_in_the_fleet_and_on_one_machine(status: DeviceStatus) -> None:
    sample = DemoSource(1, lambda: NOW).sample(FleetHost('gpu0001'))
    sample = sample._replace(devices=(sample.devices[0]._replace(status=status),))
    (gpu,) = host_of_sample('gpu0001', sample, 0.0).gpus
    (row,) = device_rows(sample, findings(sample))
    assert gpu.word.startswith(row.word)


def test_a_host_has_its_keys_below_and_no_name_without_a_user() -> None:
    source = HostSource(DemoSource(2), DemoSource(2).read().hosts[0])
    state = first_state(Options(), origin=source.origin)._replace(width=120, height=30)
    state = state._replace(sample=Sample(NOW, host=HostSample(hostname='gpu0001')), timestamp=NOW)
    lines = frame(state)
    assert '├─ gpu0001 ─' not in '\n'.join(lines)  # nothing is known about its CPU
    assert lines[0].count('gpu0001') == 1
    assert '@' not in lines[0]
    assert lines[-1].endswith('q Back')


def test_hostile_names_are_drawn_safely() -> None:
    names = 'a\x1b[31mb\u202ec', '\ufe01d'
    known = DemoSource(9).read().hosts[-2:]
    hosts = tuple(host._replace(name=name) for host, name in zip(known, names))
    state = screen(1, 80, 10)._replace(fleet=FleetState(server='\x1b[1m'))
    state = arrived(state, Fleet(hosts, timestamp=NOW))
    for shown in (state, state.filtered('\x1b[2J')):
        assert_is_drawn_inside(draw_frame(shown, History()), shown)


def test_failure_keeps_the_last_hosts_and_shows_their_age() -> None:
    state = screen(9, 110, 14)
    assert ' 4 free: gpu0009 ' in frame(state)[0]
    for seconds in (0, 400):
        failure = FleetFailed('no server at http://x', NOW + seconds)
        state = update_fleet(state, failure)[0]._replace(timestamp=NOW + seconds)
    lines = frame(state)
    assert ' 0 free ' in lines[0]  # no longer known
    assert lines[3].split()[1] == 'gpu0007'
    assert ' values 6m old ' in lines[4]
    assert lines[-2].strip('│ ') == 'no server at http://x (since 6m)'
    assert not fleet_of(arrived(state, DemoSource(3).read())).error


def test_warning_of_the_server_hides_no_host() -> None:
    state = screen(40, 80, 10)
    state = arrived(state, fleet_of(state).reading._replace(warnings=('a store is down',)))
    lines = frame(update_fleet(state, KeyPressed('End'))[0])
    assert [line.split()[1] for line in lines[-3:-1]] == ['gpu0031', 'a']


def test_host_without_values_is_listed_with_their_age() -> None:
    state = screen(2, 140, 10)
    silent = FleetHost('gpu0002', findings=(NOT_RESPONDING,), age_seconds=180.0, is_silent=True)
    shown = fleet_of(state).reading
    state = arrived(state, shown._replace(hosts=(shown.hosts[0], silent)))
    lines = frame(state)
    assert lines[3].split()[1:-1] == ['gpu0002', *['not', 'responding', 'for', '3m']]
    below = '\n'.join(frame(state._replace(height=30)))
    assert 'gpu0002 · not responding for 3m' in below
    assert 'ADVICE   Check whether the host is up' in below
    assert '1 problem: gpu0002 ' in lines[0]
    state, effects = update_fleet(update_fleet(state, KeyPressed('Home'))[0], KeyPressed('Enter'))
    assert not [effect for effect in effects if isinstance(effect, OpenHost)]
    assert [notice.text for notice in state.notices] == ['gpu0002 is not responding']


def test_filter_applies_while_you_type() -> None:
    state = screen(40, 100, 20)
    for key in ('\\', *'user:bob'):
        state, _ = update_fleet(state, KeyPressed(key))
    assert 'gpu0006' in names(state)
    assert {name for host in listed(state) for name in host.users} == {'bob'}
    state, _ = update_fleet(state, KeyPressed('Enter'))
    state, _ = update_fleet(state, KeyPressed('Esc'))
    assert len(names(state)) == 36
    state = screen(40, 100, 20, 'J', '\\', *'nosuch', 'Enter')
    assert 'Nothing matches the filter' in '\n'.join(draw_frame(state, History()).lines())


def test_command_line_chooses_list_filter_and_order() -> None:
    state, fleet = state_of(FleetState(server='demo'), Options()), DemoSource(12).read()
    hosts = arrived(begin_with(state, 'hosts', 'user:carol', 'free_gpus'), fleet)
    assert list_sort(hosts, Screen.HOSTS).order == 'free_gpus'
    assert names(hosts) == ['gpu0009', 'gpu0010', 'gpu0012']
    jobs = arrived(begin_with(state, 'jobs', 'gpu000', ''), fleet)
    assert jobs.screen is Screen.JOBS
    assert listed(jobs)
    assert update_fleet(jobs, KeyPressed('q'))[0].screen is Screen.HOSTS


def test_free_gpus_are_filtered_and_findings_are_counted() -> None:
    state = screen(40, 120, 40, '\\', *'free:8', 'Enter')
    assert {host.free for host in listed(state)} == {8}
    head = frame(state)[0]
    where = '56 free: gpu[0037-0040] ..'
    assert f'{where}   0 held   5 problems hidden   7 of 40 hosts ' in head
    assert len(listed(update_fleet(state, KeyPressed('!'))[0])) == 5
    gpus = screen(40, 120, 40, 'g')
    rows = [(row.name, len(row.gpus), row.gpus[0].word) for row in listed(gpus)]
    assert rows[4:10] == [
        ('gpu[0037-0040]', 32, 'free'),
        ('gpu0007', 1, 'not responding'),
        ('gpu0013', 1, 'busy'),
        ('gpu0022', 1, 'lost'),
        ('gpu[0021-0022]', 8, 'held'),
        ('gpu0023', 4, 'held'),
    ]
    assert '─ GPUs 312 in 39 rows · 1-25 of 39 ' in frame(gpus)[1]
    (row,) = listed(screen(40, 120, 40, 'g', '/', *'gpu0039', 'Enter'))[4:5]
    assert selected(screen(40, 120, 40, 'g', '/', *'gpu0039', 'Enter')) == row
    state, _ = update_fleet(state, KeyPressed('Esc'))
    assert fleet_of(state).sums == fleet_of(state).everything


def test_free_neighbors_share_a_line_if_hosts_have_too_little_room() -> None:
    state = screen(40, 100, 30)
    assert names(state)[:4] == ['gpu[0037-0040]', 'gpu[0019-0020]', 'gpu0017', 'gpu0009']
    lines = frame(state)
    assert '─ Hosts 40 in 36 rows · 1-16 of 36 · prom' in lines[1]
    assert lines[3].split()[1:6] == ['gpu[0037-0040]', '4', '×', '8', '32']
    # Its hosts are all the same: the list has the rows of the detail. After free hosts come those
    # with problems or old values.
    places = ' '.join(line.split()[1] for line in lines[14:19])
    assert places == 'gpu0007 gpu0013 gpu0018 gpu0022 gpu0032'
    assert lines[16].split()[2] == '????????'
    assert '├─ gpu0017 · 8 × H100' in '\n'.join(frame(screen(40, 100, 30, 'Down', 'Down')))
    assert selected(
        update_fleet(screen(40, 100, 30, '/', *'gpu0039'), KeyPressed('Enter'))[0]
    ).members
    opened = update_fleet(state, KeyPressed('Enter'))[1][0]
    assert isinstance(opened, OpenHost)
    assert opened.host.name == 'gpu0037'
    for other in (screen(40, 100, 30, 'o', 'r', 'R'), screen(40, 100, 100)):
        assert len(names(other)) == 40


def test_enter_opens_the_selected_host() -> None:
    state, effects = update_fleet(screen(40, 100, 20, 'Down', 'Down'), KeyPressed('Enter'))
    assert effects == (OpenHost(listed(state)[2]),)
    state, effects = update_fleet(screen(40, 100, 20, 'g', 'Down'), KeyPressed('Enter'))
    assert [each.host.name for each in effects if isinstance(each, OpenHost)] == ['gpu0017']


def test_clicks_select_and_open_hosts_and_press_hints() -> None:
    state = screen(40, 120, 30)
    state, effects = update_fleet(state, MousePressed(5, 6))
    host = listed(state)[3]
    assert (selected(state), effects) == (host, ())
    state, effects = update_fleet(state, MousePressed(5, 6))  # the second click of a double click
    assert effects == (OpenHost(host),)
    x = draw_frame(state, History()).lines()[-1].index('Problems')
    event = MousePressed(x, 29, hit=draw_frame(state, History()).hit_at(x, 29))
    assert update_fleet(state, event)[0].screen is Screen.PROBLEMS


def test_search_and_order_of_hosts() -> None:
    state = screen(40, 120, 30, '/', *'23', 'Enter', 'n')
    assert '23' in selected(state).name
    nothing = screen(40, 120, 30, '\\', *'gpu00', 'Enter', '/', *'zzz', 'Enter')
    assert texts(nothing) == ['Not found: zzz among the filtered hosts']
    state = screen(40, 120, 30, 'o', 'u', 'R')
    assert texts(state) == ['Order: UTIL, lowest first']
    for keys, words in (('gos', 'STATE, free first'), ('!osR', 'SEVERITY, critical last')):
        assert texts(screen(40, 120, 30, *keys)) == [f'Order: {words}']
    clicked, _ = update_fleet(state, MousePressed(0, 0, hit=('column', 'host')))
    assert names(clicked) == sorted(names(state))  # a click on a heading sorts by it
    users = screen(40, 120, 30, 'u')
    heading = next(hit for _, hit in draw_frame(users, History()).hits if hit[0] == 'column')
    clicked, _ = update_fleet(users, MousePressed(0, 1, hit=heading))
    assert heading == ('column', 'user')
    assert names(clicked) == ['alice', 'bob', 'carol', 'dave', 'erin', 'frank', 'unknown', 'free']
    for key in ('Down', 'g', 'u', 'J', '!'):  # with the GPUs of the current line below
        state = screen(40, 160, 40, key)
        for _, heading in draw_frame(state, History()).hits:
            if heading[0] == 'column':
                clicked, _ = update_fleet(state, MousePressed(0, 0, hit=heading))
                assert list_sort(clicked, state.screen).order == heading[1]
    gpus = listed(screen(40, 120, 30, 'g', 'o', 'u'))
    assert len(gpus) == 312  # one by one
    values = [row.utilization_percent for row in gpus if row.utilization_percent is not None]
    assert values == sorted(values, reverse=True)
    jobs = screen(40, 120, 30, 'J', 'o', 'j', 'R')
    assert names(jobs) == sorted(names(jobs), reverse=True)
    assert ' JOB▲' in frame(jobs)[2] or ' JOB▼' in frame(jobs)[2]
    problems = listed(screen(40, 120, 30, '!', 'o', 'h'))
    assert [problem.host for problem in problems] == sorted(problem.host for problem in problems)


def test_keys_of_the_configuration_file_apply() -> None:
    keymap, _ = rebind({'open-users': ['x'], 'freeze': ['o']}, FLEET_KEYS)
    state = screen(40, 120, 30)._replace(keys=keymap)
    assert update_fleet(state, KeyPressed('x'))[0].screen is Screen.USERS
    assert update_fleet(state, KeyPressed('U'))[0].screen is Screen.HOSTS
    frozen = update_fleet(state, KeyPressed('o'))[0]
    assert arrived(frozen, Fleet(timestamp=NOW)) == frozen
    assert frozen.frozen is not None
    assert ' x Users ' in draw_frame(state, History()).lines()[-1]
    assert rebind({'quit': []}, FLEET_KEYS)[0] is FLEET_KEYS
    # Keys of the fleet's own screens are not among those of the monitor.
    assert not [each.name for each in USUAL.bindings if not each.screens <= ALL_SCREENS]


def test_saved_choices_apply_and_a_host_page_saves_its_own(tmp_path: pathlib.Path) -> None:
    config = tmp_path / 'config.toml'
    config.write_text('theme = "light"\n')
    (tmp_path / 'saved.toml').write_text('theme = "mono"\n')
    arguments = command.make_parser().parse(['--demo', '--config', str(config), '--no-hints'])
    options = command._options(arguments)
    assert (options.theme, options.hints, options.config_path) == ('mono', False, str(config))


class CountingSource(DemoSource):
    """A simulated cluster that counts requests, fails or waits."""

    def __init__(self) -> None:
        super().__init__(3)
        self.asked: list[str] = []
        self.failure: Exception | None = None
        self.go_on = threading.Event()
        self.go_on.set()

    def read(self) -> Fleet:
        self.asked.append('hosts')
        self.go_on.wait(30)
        if self.failure is not None:
            raise self.failure
        return super().read()

    def sample(self, host: FleetHost) -> Sample:
        self.asked.append('host')
        return super().sample(host)

    def past(self, host: FleetHost, sample: Sample) -> list[tuple[float, Sample]]:
        self.asked.append('history')
        return super().past(host, sample)


def test_all_lists_are_one_request_and_a_host_has_graphs() -> None:
    source = CountingSource()
    with Session(source) as session:
        session.wait_for('gpu0003')
        for key, text in (('g', '─ GPUs '), ('U', '─ Users '), ('J', '─ Jobs '), ('!', 'SEVERITY')):
            session.terminal.press(key)
            session.wait_for(text)
        session.terminal.press('q', 'q', 'q', 'q')
        session.wait_for('─ Hosts ')
        assert source.asked == ['hosts']
        session.terminal.press('Enter')
        session.wait_for(' fleet › gpu0001 ')
        session.wait_for('driver 580')
        session.wait_for('[SIMULATED]')
        assert source.asked == ['hosts', 'host', 'history']
        session.terminal.press('q')
        session.wait_for('─ Hosts ')


@pytest.mark.parametrize(
    ('failure', 'text'),
    [
        (FleetError('no server', 'check the URL'), 'no server; check the URL'),
        (ZeroDivisionError('a defect'), 'unexpected error: ZeroDivisionError: a defect'),
    ],
)
def test_failures_are_shown_and_reading_goes_on(failure: Exception, text: str) -> None:
    source = CountingSource()
    with Session(source) as session:
        session.wait_for('gpu0003')
        source.failure = failure
        session.terminal.press('r')
        session.wait_for(text)
        source.failure = None
        session.terminal.press('r')
        wait_until(lambda: not fleet_of(session.app.state).error, 'hosts')


def test_server_that_hangs_neither_blocks_keys_nor_the_end() -> None:
    source = CountingSource()
    with Session(source) as session:
        session.wait_for('gpu0003')
        source.go_on.clear()
        session.terminal.press('r')
        wait_until(lambda: len(source.asked) == 2, 'a request')
        session.terminal.press('g')
        session.wait_for('─ GPUs ')
        session.terminal.press('q')
    source.go_on.set()


def test_refresh_is_rare_enough_for_the_server() -> None:
    assert [period(5.0, seconds) for seconds in (0.0, 0.2, 2.0)] == [5, 5, 40]


def test_past_of_a_host_is_read_once() -> None:
    cluster = DemoSource(1)
    source = HostSource(cluster, cluster.read().hosts[0])
    assert source.past() == ()  # there is no sample yet
    source.sample(Demand())
    assert [source.past() != (), source.past()] == [True, ()]


def test_past_of_a_host_is_whole_on_a_machine_that_has_just_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = DemoSource(1)
    source = HostSource(cluster, cluster.read().hosts[0])
    monkeypatch.setattr(time, 'monotonic', lambda: 60.0)
    last = source.sample(Demand())
    times = [sample.monotonic for sample in source.past()]
    assert times == sorted(times)
    assert min(times) > 0.0
    assert 3500.0 < last.monotonic - min(times) < 3700.0
    assert last.processes_monotonic == last.monotonic


def test_enter_opens_the_host_of_a_problem() -> None:
    state, effects = update_fleet(screen(40, 80, 24, '!'), KeyPressed('Enter'))
    assert [effect.host.name for effect in effects if isinstance(effect, OpenHost)] == ['gpu0007']
    state, effects = update_fleet(screen(3, 80, 24, '!'), KeyPressed('Enter'))
    assert effects == ()
    assert 'Nothing wrong is known' in '\n'.join(frame(state))


def test_enter_shows_the_hosts_of_the_last_user_and_of_a_job() -> None:
    users = screen(40, 100, 30, 'U', 'End', 'Up', 'Up')
    name = selected(users).name
    state, _ = update_fleet(users, KeyPressed('Enter'))
    assert (state.screen, state.query) == (Screen.HOSTS, f'user:"{name}"')
    assert all(name in host.users for host in listed(state))
    jobs = screen(40, 100, 30, 'J', 'Down')
    job = listed(jobs)[1]
    state, _ = update_fleet(jobs, KeyPressed('Enter'))
    assert (state.screen, state.query) == (Screen.HOSTS, job.filter)
    assert tuple(names(state)) == job.hosts


def test_a_host_with_old_values_has_no_free_gpus_on_its_page(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hosts = {host.name: host for host in DemoSource(18).read().hosts}
    source = HostSource(DemoSource(18), hosts['gpu0018'])
    lines = page(source)
    assert re.match(r' fleet › gpu0018 +\[values 3m old\] +8 unknown ', lines[0])
    assert len(re.findall(r'(?m)^│ +\d  unknown ', '\n'.join(lines))) == 8
    assert re.search(r'\d:\d\d:\d\d◆', lines[2])
    assert 'No process' not in '\n'.join(lines)
    buf = draw_frame(page_of(source), History())
    old = [style for y in range(1, 38) for _, text, style in buf.row(y) if '%' in text]
    assert set(old) == {DIM}  # also in the title
    assert lines[0].count('old') == 1
    assert 0 <= source.sample(Demand()).monotonic - source.past()[-1].monotonic < 20
    cluster = DemoSource(18)
    source = HostSource(cluster, hosts['gpu0017'], interval=0.0)
    assert ' 8 free: GPU 0-7 ' in page(source)[0]
    monkeypatch.setattr(cluster, 'sample', lambda host: Sample(time.time()))
    assert re.match(r' fleet › gpu0017 +\[not responding\] +8 unknown ', page(source)[0])


def test_a_host_of_dcgm_exporter_has_unknown_users_on_its_page() -> None:
    cluster = DemoSource(2)
    lines = page(HostSource(cluster, cluster.read().hosts[1]))
    assert ' 8 busy: unknown 0-7 ' in lines[0]
    assert ' processes are not reported ' in '\n'.join(lines)


def test_a_gpu_that_is_held_in_the_list_is_held_on_its_page_until_it_is_busy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = DemoSource(24, lambda: NOW)
    source = HostSource(cluster, cluster.read().hosts[22])
    monkeypatch.setattr(time, 'time', lambda: NOW + 20)
    held = ' 4 held: unknown 4-7'
    assert held in page(source)[0]
    idle = cluster.sample(cluster.read().hosts[22])
    busy = [d._replace(gpu_utilization_percent=50) for d in idle.devices]
    monkeypatch.setattr(cluster, 'sample', lambda _: idle._replace(devices=tuple(busy)))
    assert held not in page(source)[0]
    monkeypatch.setattr(cluster, 'sample', lambda _: idle)
    assert ' 4 in use: unknown' in page(source)[0]


def page(source: HostSource) -> list[str]:
    """Return the lines of the page of a host with its next sample."""
    return frame(page_of(source))


def page_of(source: HostSource) -> AppState:
    state = first_state(Options(), origin=source.origin)._replace(width=120, height=40)
    source.refresh()
    sample = source.sample(Demand())
    return update(state, SampleArrived(sample, source.origin))[0]
