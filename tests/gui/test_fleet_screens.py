"""The screens of nvitop fleet."""

from __future__ import annotations

import threading
import time
from typing import Callable

import pytest

from nvitop.console.options import Options
from nvitop.fleet.demo import MIXED, Cluster, DemoServer
from nvitop.fleet.questions import Pace, Question, ask
from nvitop.fleet.response import CurrentValues, PastValues
from nvitop.fleet.types import Fleet, FleetError, FleetHost, totals
from nvitop.gui.fleet.app import FleetApp
from nvitop.gui.fleet.keys import FLEET_KEYS, FleetScreen, rebind
from nvitop.gui.fleet.state import FleetArrived, FleetFailed, FleetState, OpenHost, update
from nvitop.gui.fleet.view import draw_fleet
from nvitop.gui.state.events import KeyPressed, MousePressed, Pasted, Quit, Resized
from tests.gui.goldens import assert_golden
from tests.gui.headless import HeadlessTerminal
from tests.waiting import wait_until

pytestmark = pytest.mark.usefixtures('utc')
NOW = 1_795_000_000.0


def answered(state: FleetState, server: DemoServer) -> FleetState:
    fleet = ask(server, state.question, clock=lambda: NOW)
    event = FleetArrived(state.question, fleet, totals(fleet.hosts, NOW), Pace())
    return update(state, event)[0]


def screen(hosts: int, width: int, height: int, *keys: str, in_ascii: bool = False) -> FleetState:
    server = DemoServer(Cluster(hosts, dialects=MIXED), clock=lambda: NOW)
    state = FleetState(width, height, server='prometheus:9090', timestamp=NOW, ascii=in_ascii)
    state = answered(state, server)
    for key in keys:
        state, effects = update(state, KeyPressed(key))
        state = answered(state, server) if effects else state
    return state


@pytest.mark.parametrize(
    ('name', 'state'),
    [
        ('1', lambda: screen(1, 80, 8)),
        ('40', lambda: screen(40, 120, 30, 'Down', 'o', 'f')),
        ('40-narrow', lambda: screen(40, 50, 12)),
        ('40-ascii', lambda: screen(40, 80, 12, in_ascii=True)),
        ('40-gpus', lambda: screen(40, 80, 14, 'g', 'm')),
        ('40-problems', lambda: screen(40, 80, 24, '!')),
        ('40-help', lambda: screen(40, 90, 44, 'h')),
        ('1000', lambda: screen(1000, 160, 40, 'End')),
    ],
)
def test_fleet_goldens(name: str, state: Callable[[], FleetState]) -> None:
    assert_golden(f'fleet-{name}', draw_fleet(state()))


def test_users_are_listed_by_number_of_gpus() -> None:
    lines = draw_fleet(screen(40, 80, 12, 'U')).lines()
    assert lines[2].split()[:3] == ['USER', 'HOSTS', 'GPUS']
    assert lines[3].split() == ['alice', '7', '52', '0', '52', '1739', 'GiB']
    lines = draw_fleet(screen(1000, 80, 12, 'U')).lines()
    assert lines[3].split()[-1] == 'TiB'


def test_hostile_names_are_drawn_safely() -> None:
    host = FleetHost('a\x1b[31mb\u202ec', measured=NOW)
    state = FleetState(80, 10, fleet=Fleet((host,), timestamp=NOW), rows=(host,), query='\x1b[2J')
    text = '\n'.join(draw_fleet(state).lines())
    assert '\x1b' not in text
    assert '\u202e' not in text


def test_failure_keeps_the_last_hosts_and_shows_their_age() -> None:
    state = screen(3, 80, 10)
    failure = FleetFailed(state.question, 'no server at http://x', NOW)
    state = update(state, failure)[0]._replace(timestamp=NOW + 400)
    lines = draw_fleet(state).lines()
    assert lines[3].startswith('gpu0001')
    assert 'age 7 min' in lines[1]
    assert lines[-2].strip() == 'no server at http://x (since 7 min)'
    assert not answered(state, DemoServer(Cluster(3), clock=lambda: NOW)).error


def test_warning_of_the_server_hides_no_host() -> None:
    state = screen(40, 80, 10)
    fleet = state.fleet._replace(warnings=('a store is down',))
    state = update(state, FleetArrived(state.question, fleet, state.sums, Pace()))[0]
    lines = draw_fleet(update(state, KeyPressed('End'))[0]).lines()
    assert [line.split()[0] for line in lines[-3:-1]] == ['gpu0040', 'a']


def test_host_that_vanished_stays_with_the_time_since() -> None:
    state = screen(2, 80, 10)
    gone = FleetHost('gpu0002', gone_since=NOW - 180)
    fleet = state.fleet._replace(hosts=(state.fleet.hosts[0], gone))
    state = update(state, FleetArrived(state.question, fleet, totals(fleet.hosts, NOW), Pace()))[0]
    lines = draw_fleet(state).lines()
    assert lines[4].strip() == 'gpu0002 gone 3 min'
    assert '1 gone' in lines[1]


def test_filter_is_sent_to_the_server_on_enter() -> None:
    state = screen(40, 100, 20)
    for key in ('\\', *'0007'):
        state, effects = update(state, KeyPressed(key))
        assert not effects
    assert [host.name for host in state.rows] == ['gpu0007']
    state, effects = update(state, KeyPressed('Enter'))
    assert effects
    assert state.question.scope.filters == (('host', '0007'),)
    state, _ = update(state, KeyPressed('Esc'))
    assert state.question.scope.filters == ()
    assert len(state.rows) == 40


def test_line_of_the_filter_is_edited() -> None:
    state = screen(40, 100, 20, '\\', *'one two', 'Backspace', 'Ctrl-W')
    state = update(state, Pasted('a\nb'))[0]
    assert state.field == 'one a b'
    assert update(state, KeyPressed('Ctrl-U'))[0].field == ''
    assert update(state, KeyPressed('Ctrl-C'))[0].field is None


@pytest.mark.parametrize('key', ['', 'g', 'U', '!', 'h'])
def test_ctrl_c_quits_on_each_screen(key: str) -> None:
    assert update(screen(3, 80, 24, *key), KeyPressed('Ctrl-C'))[1] == (Quit(),)


def test_enter_opens_the_selected_host() -> None:
    state, effects = update(screen(40, 100, 20, 'Down', 'Down'), KeyPressed('Enter'))
    assert effects == (OpenHost(state.rows[1]),)


def test_clicks_select_and_open_hosts_and_press_hints() -> None:
    state = screen(40, 120, 30)
    state, effects = update(state, MousePressed(5, 6))
    assert (state.selected, effects) == (state.rows[3].name, ())
    _, effects = update(state, MousePressed(5, 6))
    assert effects == (OpenHost(state.rows[3]),)
    x = draw_fleet(state).lines()[-1].index('Problems')
    event = MousePressed(x, 29, keys=draw_fleet(state).keys_at(x, 29))
    assert update(state, event)[0].screen is FleetScreen.PROBLEMS


def test_keys_of_the_configuration_file_apply() -> None:
    state = screen(40, 120, 30)._replace(keys=rebind({'open-users': ['x'], 'freeze': ['o']}))
    assert update(state, KeyPressed('x'))[0].screen is FleetScreen.USERS
    assert update(state, KeyPressed('U'))[0] == state
    assert update(state, KeyPressed('o'))[0].frozen is not None
    assert ' x Users ' in draw_fleet(state).lines()[-1]
    assert rebind({'quit': []}) == FLEET_KEYS


def test_each_key_costs_little_with_1000_hosts() -> None:
    state = screen(1000, 160, 50)
    times = []
    for key in ('Down', 'End', 'PageUp', 'o', 'u', '/', 'Home', 'Down') * 4:
        started = time.thread_time()
        state, _ = update(state, KeyPressed(key))
        draw_fleet(state)
        times.append(time.thread_time() - started)
    times.sort()
    assert times[len(times) // 2] < 0.03  # of CPU time; usually 3 ms


class CountingServer:
    """A simulated server that counts requests and can fail or wait until it is canceled."""

    def __init__(self) -> None:
        self.server = DemoServer(Cluster(3))
        self.asked: list[str] = []
        self.canceled = threading.Event()
        self.waits = False

    def query(self, question: Question) -> tuple[CurrentValues, int]:
        self.asked.append(question.kind)
        if self.waits:
            self.canceled.wait(30)
            raise FleetError('canceled')
        return self.server.query(question)

    def query_range(
        self, question: Question, start: float, end: float, step: float
    ) -> list[PastValues]:
        self.asked.append('history')
        return self.server.query_range(question, start, end, step)

    def cancel(self) -> None:
        self.canceled.set()

    def close(self) -> None:
        pass


class Session:
    """An application on a terminal in memory."""

    def __init__(self, server: CountingServer) -> None:
        self.terminal = HeadlessTerminal(100, 30)
        state = FleetState(server='demo')
        self.app = FleetApp(self.terminal, state, server, Options(), interval=60)
        self.status: list[int] = []
        self._thread = threading.Thread(target=lambda: self.status.append(self.app.run()))

    def __enter__(self) -> Session:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.terminal.press('q', 'q')
        self._thread.join(30)
        assert self.status == [0]

    def wait_for(self, text: str) -> None:
        wait_until(lambda: text in '\n'.join(self.terminal.screen.lines()), text)


def test_each_screen_is_one_request_and_a_host_has_graphs() -> None:
    server = CountingServer()
    with Session(server) as session:
        session.wait_for('gpu0003')
        assert server.asked == ['hosts']
        session.terminal.press('Down', 'Enter')
        session.wait_for('[gpu0001]')
        session.wait_for('80GB')
        assert server.asked == ['hosts', 'host', 'history']
        session.terminal.press('q')
        session.wait_for('FLEET')
        session.terminal.press('U')
        wait_until(lambda: 'users' in server.asked, 'users')
        session.terminal.press('Esc')
    assert set(server.asked) == {'hosts', 'host', 'history', 'users'}
    assert len(server.asked) <= 6


def test_leaving_a_screen_cancels_its_request() -> None:
    server = CountingServer()
    with Session(server) as session:
        session.wait_for('gpu0003')
        server.waits = True
        session.terminal.press('g')
        session.wait_for('Waiting')
        wait_until(lambda: 'gpus' in server.asked, 'gpus')
        server.waits = False
        session.terminal.press('Esc')
        session.wait_for('gpu0001')
    assert server.canceled.is_set()


def test_refresh_during_a_request_shows_nothing() -> None:
    server = CountingServer()
    with Session(server) as session:
        session.wait_for('gpu0003')
        server.waits = True
        session.terminal.press('r')
        wait_until(lambda: len(server.asked) == 2, 'a request')
        server.waits = False
        session.terminal.press('r')
        wait_until(lambda: len(server.asked) == 3, 'another request')
        session.wait_for('gpu0003')
        assert not session.app.state.error


def test_refresh_is_rare_enough_for_the_server() -> None:
    before = Fleet((FleetHost('a', measured=NOW),))
    after = Fleet((FleetHost('a', measured=NOW + 15),), seconds=0.2)
    pace = Pace().after(before, after)
    assert (pace.seconds, pace.scrape_interval, pace.period) == (0.2, 15, 15)
    assert pace.after(after, after._replace(seconds=2.0)).period == 40
    assert Pace().period == 5


def test_small_terminal_shows_a_message() -> None:
    state, _ = update(FleetState(), Resized(20, 4))
    assert 'too small' in draw_fleet(state).lines()[0]
