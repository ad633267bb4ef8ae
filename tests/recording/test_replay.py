"""Replaying recordings: the screens of the past, and ways through time."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import sys
import time
from pathlib import Path
from typing import Callable, Iterable

import pytest

from nvitop.basics.units import format_time
from nvitop.console.options import Options
from nvitop.gui.app import App
from nvitop.gui.model.choices import Screen, ViewState
from nvitop.gui.monitor import first_state
from nvitop.gui.monitor_screens import MONITOR
from nvitop.gui.replay_command import main
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.events import ClockTicked, Event, KeyPressed, SampleArrived, Travel
from nvitop.gui.state.update import update
from nvitop.gui.view.frame import draw_frame
from nvitop.recording.frames import LineWriter
from nvitop.recording.reader import Recording
from nvitop.recording.recorder import Recorder
from nvitop.recording.replay import NO_SIGNALS, SPEEDS, ReplaySource
from nvitop.recording.store import RecordingError
from nvitop.sampling.history import History
from nvitop.sampling.types import LIVE, Demand, Sample
from tests.clock import Clock
from tests.command_run import CommandRun
from tests.gui.driving import update_all
from tests.gui.headless import HeadlessTerminal
from tests.recording.virtual_clock import (
    START,
    SimpleMachine,
    gpu,
    mig,
    record,
    rows_below_first,
    simulated_samples,
)
from tests.sampling.conftest import ClockedMachine

INTERVAL = 2.0
#: Keys that lead to each screen.
KEYS_OF_SCREENS = ('', 't', 'U', '!', 'Down Enter', 'd')
Row = object


class Viewer:
    """The state and the history of a monitor, without a terminal."""

    def __init__(self, size: tuple[int, int], keys: str = '') -> None:
        self.state = AppState(MONITOR, *size, view=ViewState(readonly=True))
        self.history = History(INTERVAL, INTERVAL)
        self.keys = keys

    def show(self, event: SampleArrived) -> list[Row]:
        """Draw a sample; return all rows but the first, which has the clock and the badges."""
        self.history = event.history or self.history
        self.history.record(event.sample)
        stamp = float(int(event.sample.timestamp))
        events: list[Event] = [event, ClockTicked(event.sample.monotonic, stamp)]
        events += map(KeyPressed, self.keys.split())
        self.keys = ''
        self.state, _ = update_all(self.state, events)
        buffer = draw_frame(self.state, self.history)
        return rows_below_first(buffer)


class Replay:
    """A replay on a manual clock."""

    def __init__(self, path: Path, at: float | None = None, *, stands_still: bool = False) -> None:
        self.clock = Clock(0.0)
        self.recording = Recording(str(path))
        self.source = ReplaySource(
            self.recording, at=at, stands_still=stands_still, clock=self.clock
        )

    def next(self, seconds: float = 0.0) -> SampleArrived:
        """Return what the source shows ``seconds`` later."""
        self.clock.turn(seconds)
        sample = self.source.sample(Demand())
        news = self.source.take_delivery()
        return SampleArrived(
            sample, news.origin, (), news.history, news.message, news.gpu_times, news.events
        )

    def travel(self, unit: str, amount: float) -> SampleArrived:
        """Return what the source shows after a step."""
        self.source.travel(unit, amount)
        return self.next()

    def close(self) -> None:
        self.recording.close()


def ticks(machine: SimpleMachine, count: int, seconds: float = 10.0) -> Iterable[Sample]:
    """Yield samples whose power is the number of the sample in W."""
    for tick in range(count):
        machine.set(0, power_usage_mw=1000 * tick)
        yield machine.sample(seconds)


def tick_of(event: SampleArrived) -> int:
    """Return the number of a sample of :func:`ticks`."""
    return (event.sample.devices[0].power_usage_mw or 0) // 1000


@pytest.fixture(scope='module')
def hour(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a recording of an hour, with a lost GPU from minute 30 to minute 40."""
    machine, path = SimpleMachine(2), tmp_path_factory.mktemp('hour') / 'hour.db'

    def samples() -> Iterable[Sample]:
        for tick, sample in enumerate(ticks(machine, 361)):
            machine.set(1, status='lost' if 180 <= tick + 1 < 240 else 'ok')
            yield sample

    record(path, list(samples()))
    return path


@pytest.mark.parametrize(
    'bench', ['cluster-node', 'mig', 'old-driver', 'spark', 'workstation'], indirect=True
)
def test_replayed_screens_equal_the_live_ones(bench: ClockedMachine, tmp_path: Path) -> None:
    samples = list(simulated_samples(bench, 4, INTERVAL))
    path = tmp_path / 'a.db'
    record(path, samples, interval_seconds=INTERVAL, commands='full')
    for keys in KEYS_OF_SCREENS:
        live, past = (Viewer((120, 60), keys) for _ in range(2))
        replay = Replay(path)
        for number, sample in enumerate(samples):
            expected = live.show(SampleArrived(sample, LIVE._replace(no_signals=NO_SIGNALS)))
            replayed = replay.travel('frame', 1) if number else replay.next()
            assert replayed.sample._replace(sequence=sample.sequence) == sample
            assert past.show(replayed) == expected, (keys, number)
        replay.close()


def test_a_replay_keeps_the_pace_of_the_recording(hour: Path) -> None:
    replay = Replay(hour)
    assert tick_of(replay.next()) == 0
    assert [tick_of(replay.next(5.0)) for _ in range(4)] == [0, 1, 1, 2]
    assert replay.travel('speed', 1).origin.speed == 2.0
    assert [tick_of(replay.next(5.0)) for _ in range(2)] == [3, 4]
    assert replay.travel('pause', 0).origin.is_paused
    assert tick_of(replay.next(1000.0)) == 4
    replay.travel('pause', 0)
    for _ in SPEEDS:
        replay.travel('speed', 1)
    # At 64 times the speed, a late frame skips those that are over.
    assert tick_of(replay.next(1.0)) in (10, 11)
    assert replay.source.origin.speed == 64.0
    times = f'{format_time(START + 10)} to {format_time(START + 3610)}'
    messages = [replay.next(60.0).message for _ in range(3)]
    assert messages == [f'end of the recording: {times}', '', '']
    replay.close()


def test_a_replay_ends_after_damaged_frames(tmp_path: Path) -> None:
    record(tmp_path / 'a.db', list(ticks(SimpleMachine(), 4)))
    with contextlib.closing(sqlite3.connect(str(tmp_path / 'a.db'))) as db, db:
        db.execute('UPDATE frame SET z = zeroblob(9) WHERE id > 2')
    replay = Replay(tmp_path / 'a.db')
    replay.next()
    events = [replay.next(10.0) for _ in range(6)]
    assert [tick_of(event) for event in events] == [1] * 6
    messages = [event.message for event in events if event.message]
    assert len(messages) == 1
    assert messages[0].endswith(f'end of the recording: {replay.recording.span()}')
    replay.close()


def test_ways_through_time(hour: Path) -> None:
    replay = Replay(hour, at=START + 1800)
    assert tick_of(replay.next()) == 179
    assert [tick_of(replay.travel('frame', step)) for step in (1, 1, -1)] == [180, 181, 180]
    assert replay.source.origin.is_paused
    assert tick_of(replay.travel('seconds', -60)) == 174
    assert tick_of(replay.travel('seconds', 3600)) == 360
    assert tick_of(replay.travel('time', START + 100)) == 9
    assert tick_of(replay.travel('end', -1)) == 0
    assert replay.travel('frame', -1).message == 'no earlier sample'
    lost = replay.travel('event', 1)
    assert tick_of(lost) == 180
    assert lost.message == f'{format_time(START + 1810)} GPU 1: lost'
    assert tick_of(replay.travel('event', 1)) == 240
    assert replay.travel('event', 1).message == 'no later event'
    assert tick_of(replay.travel('event', -1)) == 180
    replay.close()


def test_a_recording_that_grows_is_followed(tmp_path: Path) -> None:
    machine, path = SimpleMachine(), tmp_path / 'a.db'
    record(path, [machine.sample(10)])
    replay = Replay(path)
    first = replay.next()
    assert replay.next(10.0).sample is first.sample
    record(path, [machine.sample(10)])
    last = replay.next(10.0).sample
    assert last.timestamp > first.sample.timestamp
    assert replay.next(10.0).sample is last
    replay.close()


def test_starts_of_the_system_share_one_time_line(tmp_path: Path) -> None:
    machine = SimpleMachine()
    samples = [*ticks(machine, 3)]
    machine.monotonic = 5.0
    samples += [*ticks(machine, 3)]
    record(tmp_path / 'a.db', samples)
    replay = Replay(tmp_path / 'a.db', at=samples[-1].timestamp)
    arrived = replay.next()
    assert arrived.history is not None
    arrived.history.record(arrived.sample)
    key = arrived.sample.devices[0].key
    values = arrived.history.values(key, 'power_usage', 60.0, 6)
    assert [value for value in values if value is not None][-5:] != []
    assert arrived.sample.monotonic == pytest.approx(samples[0].monotonic + 50)
    replay.close()


def change_mig(machine: SimpleMachine) -> None:
    """Divide GPU 0, on which a process then runs, and let it start another one."""
    machine.devices[1:] = [mig(machine.devices[0], 0), mig(machine.devices[0], 1), gpu(1)]
    machine.processes.clear()
    machine.run(2, device=2)


def lose_gpus(machine: SimpleMachine) -> None:
    """Let one GPU be lost, and another one not respond."""
    machine.set(0, status='timed out', reason='no response for 9s')
    machine.set(1, status='lost', reason='GPU is lost')


@pytest.mark.parametrize(
    ('step', 'change', 'event'),
    [
        (-50.0, None, 'clock set back by 50s'),
        (1800.0, None, 'clock 30m ahead'),
        (0.0, change_mig, 'GPU 0:0: added, and 1 more'),
        (0.0, lose_gpus, 'GPU 0: no response for 9s, and 1 more'),
    ],
    ids=['clock set back', 'clock set ahead', 'mig', 'lost'],
)
def test_changes_of_the_machine_are_replayed_as_they_were_live(
    tmp_path: Path, step: float, change: Callable[[SimpleMachine], None] | None, event: str
) -> None:
    machine = SimpleMachine(2)
    machine.run(1)
    samples = [*ticks(machine, 10)]
    if change is not None:
        change(machine)
    samples.append(machine.sample(10.0, step=step))
    samples += ticks(machine, 9)
    path = tmp_path / 'a.db'
    record(path, samples)
    live, past, replay = Viewer((120, 40)), Viewer((120, 40)), Replay(path)
    live.history = History(10.0, 10.0)
    origin = LIVE._replace(no_signals=NO_SIGNALS)
    for number, sample in enumerate(samples):
        expected = live.show(SampleArrived(sample, origin))
        assert past.show(replay.next(10.0 if number else 0.0)) == expected, number
    past.show(replay.travel('frame', -1))
    assert past.show(replay.travel('frame', 1)) == expected
    replay.travel('end', -1)
    found = replay.travel('event', 1)
    assert event in found.message
    assert found.sample.timestamp == samples[10].timestamp
    replay.close()


def test_keys_of_a_replay(hour: Path) -> None:
    replay = Replay(hour, at=START + 1800)
    terminal = HeadlessTerminal(120, 40)
    app = App(terminal, AppState(MONITOR), travel=replay.source.travel)
    app._handle(replay.next())

    def press(keys: str) -> int:
        for key in keys.split():
            app._handle(KeyPressed(key))
        app._handle(replay.next())
        return tick_of(SampleArrived(app.state.sample))

    assert [press(keys) for keys in ('(', ')', '{', '}', 'E', 'B')] == [178, 179, 173, 179, 360, 0]
    assert press('n') == 180
    assert app.state.notices[-1].text.endswith('GPU 1: lost')
    time_of_day = format_time(START + 600)[11:]
    assert press(f'b {" ".join(time_of_day)} Enter') == 59
    assert press('b - 1 m Enter') == 53
    assert press('V Home Down Enter') == 180
    assert app.state.screen is Screen.MAIN
    assert app.state.notices[-1].text.endswith('GPU 1: lost')
    assert app.state.origin.is_paused
    assert press('q') == 180  # back to the events
    assert app.state.spec.lines(app.state) == app.state.events
    assert press('q V Up Enter') == 0  # the list begins at the last event up to now
    assert press(f'b {" ".join(format_time(START + 540)[11:])} Enter') == 53
    assert press('b x Enter') == 53
    assert "Not a time: 'x'" in app.state.notices[-1].text
    app._handle(KeyPressed('Esc'))
    assert app.state.origin.is_paused
    assert press('S') == 53
    assert app.state.origin.speed == 2.0
    assert press('z') == 53
    assert app.state.origin.is_paused
    assert app.state.frozen is None
    assert press('Down T') == 53
    assert app.state.dialog is None
    replay.close()


def test_events_are_the_first_page_of_a_replay_which_stands_still_behind_them(hour: Path) -> None:
    replay = Replay(hour, stands_still=True)
    state = first_state(Options(), origin=replay.source.origin, shows_events=True)
    state, _ = update(state, replay.next())
    lines = draw_frame(state, History()).lines()
    assert lines[1].startswith('╭─ Events')
    assert 'recording begins' in '\n'.join(lines)
    quiet, effects = update(state._replace(events=()), KeyPressed('Enter'))
    assert (quiet.screen, effects) == (Screen.EVENTS, ())
    assert [tick_of(replay.next(1000.0)) for _ in range(2)] == [0, 0]
    state, effects = update(state, KeyPressed('q'))
    assert (state.screen, effects) == (Screen.MAIN, (Travel('pause', -1),))
    assert not replay.travel('pause', -1).origin.is_paused
    assert tick_of(replay.next(5.0)) == 0
    assert tick_of(replay.next(5.0)) == 1
    # Reading the events again and leaving them does not end a pause of the user, whose key ends both.
    for amount in (0, 1, -1):
        assert replay.travel('pause', amount).origin.is_paused
    assert replay.travel('pause', 1).origin.is_paused
    assert not replay.travel('pause', 0).origin.is_paused
    replay.close()


@pytest.mark.skipif(sys.platform == 'win32', reason='needs a pseudoterminal')
def test_signal_ends_a_replay_with_its_status(hour: Path) -> None:
    from tests.e2e.program import NVITOP, Program

    with Program([*NVITOP[:3], 'replay', '--no-config', str(hour)]) as program:
        program.wait_for('GPU 1: lost')
        program.process.terminate()
        assert program.wait_for_exit() == 143
        assert 'continue with --at' in program.errors()


def test_reports_and_exports_of_a_recording(hour: Path) -> None:
    ran = CommandRun(main, str(hour), '-1', '--no-config', '--at=-30m')
    assert ran.status == 0
    assert '180 W' in ran.out
    span = ('--at', format_time(START + 60), '--until', format_time(START + 80))
    table = CommandRun(main, str(hour), '--export=csv', *span)
    lines = table.out.splitlines()
    assert lines[0].startswith('timestamp, index, mig_index')
    assert len(lines) == 1 + 3 * 2
    samples = CommandRun(main, str(hour), '--export=jsonl', *span)
    assert len([json.loads(line) for line in samples.out.splitlines()]) == 3


def test_events_and_processes_are_exported(tmp_path: Path) -> None:
    machine = SimpleMachine(2)
    machine.run(7, command='python3 x.py 2')
    path = tmp_path / 'a.db'
    first = machine.sample(10)
    machine.set(1, status='lost', reason='\x1b[31m=lost, again')
    record(path, [first, machine.sample(10), machine.sample(100)])
    lost = format_time(machine.wall - 100)

    def lines(*arguments: str) -> list[str]:
        ran = CommandRun(main, str(path), *arguments)
        assert ran.status == 0, ran.err
        return ran.out.splitlines()

    kinds = [line.split()[2] for line in lines('--events')]
    assert kinds == ['start', 'lost', 'gap', 'stop']
    (line,) = lines('--events', '--at', lost, '--until', lost)
    assert line == f'{lost}  lost       GPU 1: \ufffd[31m=lost, again'
    (header, row) = lines('--events', '--export=csv', '--at', lost, '--until', lost)
    assert header == 'timestamp, kind, gpu, code, text'
    stamp = lost.replace('-', '/')
    assert row.startswith(f'{stamp}.')
    assert row.endswith(', lost, GPU-1, lost,"GPU 1: \x1b[31m=lost, again"')
    events = [json.loads(line) for line in lines('--events', '--export=jsonl')]
    assert [event['kind'] for event in events] == kinds
    (header, row) = lines('--processes', '--export=csv', '--at', lost, '--until', lost)
    assert header.startswith('timestamp, gpu_index, mig_index, gpu_uuid, pid, user, command')
    assert ', 7, ann, python3 x.py, C, ' in row
    empty = CommandRun(main, str(path), '--events', '--at=2001-01-01', '--until=2001-01-02')
    assert (empty.status, empty.out) == (0, '')
    assert empty.err.startswith('nvitop replay: hint: no events of that time; the recording is ')


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (['-1', '--at=2001-01-01'], 'the recording begins after 2001-01-01'),
        (['--export=csv', '--until=2001-01-01'], 'no sample of that time; the recording is'),
    ],
)
def test_times_outside_of_a_recording(hour: Path, arguments: list[str], message: str) -> None:
    ran = CommandRun(main, str(hour), *arguments)
    assert (ran.status, ran.err.count('\n')) == (1, 1)
    assert ran.err.startswith(f'nvitop replay: error: {message}')


@pytest.mark.parametrize('name', ['a.db', 'a.jsonl'])
def test_a_file_that_cannot_be_reopened_is_closed_once(tmp_path: Path, name: str) -> None:
    (tmp_path / 'old').mkdir()
    sink = (Recorder if name == 'a.db' else LineWriter)(str(tmp_path / 'old' / name))
    (tmp_path / 'old').rename(tmp_path / 'new')
    with pytest.raises(RecordingError, match='No such file or directory'):
        sink.reopen()
    # They get the numbers of the descriptors that the sink had.
    others = [(tmp_path / f'{number}').open('wb') for number in range(3)]
    for other in others:
        other.write(b'important')
        other.flush()
    sink.close()
    for other in others:
        other.close()
        assert Path(other.name).read_bytes() == b'important'


def test_a_replay_has_the_hours_since_midnight(tmp_path: Path) -> None:
    midnight = time.mktime((2026, 11, 22, 0, 0, 0, 0, 0, -1))
    machine = SimpleMachine(1, start=midnight - 600)
    machine.run(1)
    record(tmp_path / 'a.db', (machine.sample(10) for _ in range(240)))
    recording = Recording(str(tmp_path / 'a.db'))
    source = ReplaySource(recording, at=midnight + 1200)
    source.sample(Demand())
    times = source.take_delivery().gpu_times
    recording.close()
    assert times == {'ann': (1200.0, 0.0)}
