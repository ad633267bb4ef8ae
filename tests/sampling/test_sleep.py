"""GPUs that sleep: they are not woken, and idle ones are left alone, so that they can fall asleep.

The trees of ``/sys`` and ``/proc`` are made here; the simulated driver counts the calls.
"""

from __future__ import annotations

import pathlib
import random
import sys
from typing import Iterator

import pytest

from nvitop import simulation
from nvitop.api.device.handles import start_nvml
from nvitop.api.libnvml._session import SESSION
from nvitop.api.system import System, system
from nvitop.claims import run as run_command
from nvitop.console.device_names import match_devices
from nvitop.health.check import check_health
from nvitop.health.command import format_npd, format_text, judge
from nvitop.query import command as query_command
from nvitop.sampling.gpu_reader import ASLEEP, HELD_AWAKE
from nvitop.sampling.source import LiveSource
from nvitop.sampling.types import Demand, Sample, Sleep
from nvitop.select import command as select_command
from tests.clock import Clock
from tests.sampling.conftest import statuses

pytestmark = pytest.mark.skipif(sys.platform == 'win32', reason='folders are named like bus IDs')

#: Paths that were opened, while a test records them.
OPENED: list[str] = []
_is_recording = False

BUS_IDS = ('0000:1b:00.0', '0000:43:00.0')


def _note_open(event: str, arguments: tuple[object, ...]) -> None:
    if _is_recording and event == 'open':
        OPENED.append(str(arguments[0]))


sys.addaudithook(_note_open)


class Tree:
    """A tree of the files of two GPUs."""

    def __init__(self, root: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root, self.monkeypatch = root, monkeypatch
        for index, bus_id in enumerate(BUS_IDS):
            functions = root / 'sys/bus/pci/devices' / bus_id
            driver = root / 'proc/driver/nvidia/gpus' / bus_id
            (functions / 'power').mkdir(parents=True)
            driver.mkdir(parents=True)
            for name in ('config', 'current_link_speed'):
                (functions / name).write_text('reading this wakes the GPU')
            (functions / 'vendor').write_text('0x10de\n')
            (functions / 'class').write_text('0x030000\n')
            (functions / 'power_state').write_text('D3cold\n')
            (driver / 'information').write_text(
                'Model: \t\t NVIDIA GeForce RTX 4070 Laptop GPU\nIRQ:   \t\t 181\n'
                f'GPU UUID: \t GPU-????????-????-????-????-????????????\nDevice Minor: \t {index}\n'
            )
            (root / 'dev').mkdir(exist_ok=True)
            (root / f'dev/nvidia{index}').touch()
            self.set(index, 'active')
            self.allow(index, 'auto', 'Enabled (fine-grained)')

    def set(self, index: int, status: str) -> None:
        path = self.root / 'sys/bus/pci/devices' / BUS_IDS[index] / 'power/runtime_status'
        path.write_text(f'{status}\n')

    def allow(self, index: int, control: str, rtd3: str) -> None:
        folder = self.root / 'sys/bus/pci/devices' / BUS_IDS[index]
        (folder / 'power/control').write_text(f'{control}\n')
        power = self.root / 'proc/driver/nvidia/gpus' / BUS_IDS[index] / 'power'
        power.write_text(f'Runtime D3 status:          {rtd3}\nVideo Memory:               Off\n')

    def use(self) -> None:
        actual = System()
        actual.root = str(self.root)
        names = 'expected_gpus gpu_powers runtime_status sleep_info driver_version'
        for name in names.split():
            self.monkeypatch.setattr(system(), name, getattr(actual, name))


class Bench:
    """Two GPUs, whose driver counts calls, and a source that samples them."""

    def __init__(self, tree: Tree) -> None:
        self.tree, self.clock = tree, Clock()
        gpu = '[[gpu]]\nmodel = "RTX 4090"\nbus_id = "0000{}"\n'
        path = tree.root / 'two.toml'
        path.write_text(''.join(map(gpu.format, BUS_IDS)))
        self.machine = simulation.machine(str(path), clock=self.clock, processes='fixed')

    def source(self, wake: str = 'never', only: list[int | str] | None = None) -> LiveSource:
        self.tree.use()
        return LiveSource(
            clock=self.clock,
            wall_clock=lambda: 1.7e9 + self.clock.now,
            sleep=self.clock.turn,
            wake=wake,
            only=only,
        )

    def sample(self, source: LiveSource, seconds: float = 1.0) -> Sample:
        self.clock.turn(seconds)
        return source.sample(Demand())

    def queried(self) -> list[bool]:
        """Return which GPUs the driver was asked about since the last time."""
        gpus = self.machine.world.gpus
        found = [gpu.queried_at > float('-inf') for gpu in gpus]
        for gpu in gpus:
            gpu.queried_at = float('-inf')
        return found


@pytest.fixture
def bench(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    bench = Bench(Tree(tmp_path, monkeypatch))
    with bench.machine:
        yield bench


def record(*, start: bool) -> list[str]:
    global _is_recording
    _is_recording = start
    found = OPENED.copy()
    OPENED.clear()
    return found


@pytest.mark.parametrize('asleep', [(0, 1), (1,)])
def test_a_sleeping_gpu_is_never_touched(bench: Bench, asleep: tuple[int, ...]) -> None:
    for index in asleep:
        bench.tree.set(index, 'suspended')
    source = bench.source()
    start_nvml()
    record(start=True)
    first = bench.sample(source)
    files = record(start=True)
    for _ in range(200):
        last = bench.sample(source, 5.0)
        if len(asleep) == 1:
            bench.machine.set(gpu=0, memory_base='1 GiB', gpu_utilization=50)
        assert [bench.machine.world.gpus[i].queried_at for i in asleep] == [float('-inf')] * len(
            asleep
        )
    ticks = record(start=False)
    # By index, some drivers attach all GPUs up to it.
    assert bench.machine.calls['nvmlDeviceGetHandleByIndex_v2'] == 0
    assert bench.machine.calls['nvmlDeviceGetHandleByPciBusId_v2'] == 2 - len(asleep)
    assert [d.status == 'asleep' for d in last.devices] == [i in asleep for i in (0, 1)]
    assert first.devices[1].reason == last.devices[1].reason == 'asleep (D3cold)'
    assert first.devices[1].sleep == last.devices[1].sleep == Sleep('D3cold')
    assert last.devices[1].info.name == 'NVIDIA GeForce RTX 4070 Laptop GPU'
    assert last.devices[1].key.uuid == ''  # /proc shows question marks
    assert last.devices[1].info.bus_id == '00000000:43:00.0'
    assert last.devices[1].memory_used_bytes is None
    assert [p.reason for p in last.problems if p.device == last.devices[1].key] == [ASLEEP]
    assert last.missing_gpus == ()
    opened = [path for path in files + ticks if any(BUS_IDS[i] in path for i in asleep)]
    assert not [path for path in opened if path.endswith(('config', 'current_link_speed'))]
    assert not [path for path in files + ticks if '/dev/nvidia' in path]
    # One small read per sample and GPU.
    of_tree = [path for path in ticks if path.startswith(str(bench.tree.root))]
    assert {pathlib.Path(path).name for path in of_tree} == {'runtime_status'}
    assert len(of_tree) == 400


@pytest.mark.parametrize('arguments', [['-L'], [], ['--id=0']])
def test_nvml_is_not_initialized_while_all_gpus_sleep(
    bench: Bench, capfd: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    for index in (0, 1):
        bench.tree.set(index, 'suspended')
    bench.machine.reset_calls()
    bench.tree.use()
    query_command.main(arguments)
    output = capfd.readouterr()
    is_selected = bool(arguments) and 'id' in arguments[0]
    assert bool(bench.machine.calls['nvmlInitWithFlags']) == is_selected
    assert ('GPU 0: asleep (D3cold)' in output.err) != is_selected
    assert 'NVIDIA GeForce RTX 40' in output.out


def test_gpus_follow_transitions_at_random_times(bench: Bench) -> None:
    source, random_ = bench.source(), random.Random(31)
    bench.machine.set(gpu_utilization=50)
    now = ['active', 'active']
    for _ in range(400):
        for index in (0, 1):
            if random_.random() < 0.2:
                now[index] = random_.choice(['active', 'suspended', 'suspending', 'resuming'])
                bench.tree.set(index, now[index])
        bench.queried()
        sample = bench.sample(source, random_.choice([1.0, 2.0, 5.0]))
        sleeping = [status in ('suspended', 'suspending') for status in now]
        assert not any(map(bool.__and__, sleeping, bench.queried()))
        assert [status == 'asleep' for status in statuses(sample)] == sleeping
        for device in sample.devices:
            assert (device.temperature_celsius is None) == (device.status == 'asleep')


def test_an_idle_gpu_is_left_alone_until_it_is_used(bench: Bench) -> None:
    bench.machine.set(gpu=0, gpu_utilization=50)
    source = bench.source()
    assert {tuple(statuses(bench.sample(source))) for _ in range(4)} == {('ok', 'ok')}
    bench.sample(source)
    bench.queried()
    resting = bench.sample(source)
    assert statuses(resting) == ['ok', 'asleep']
    assert resting.devices[1].reason.startswith('idle; not queried')
    assert resting.devices[1].sleep is None
    assert bench.queried() == [True, False]
    bench.tree.set(1, 'suspended')
    assert bench.sample(source, 60.0).devices[1].reason == 'asleep (D3cold)'
    sample = bench.sample(source, 300.0)
    assert sample.devices[1].reason == 'asleep (D3cold) for 5m'
    assert sample.devices[1].sleep == Sleep('D3cold', 300.0)
    # Another program wakes it.
    bench.tree.set(1, 'active')
    sample = bench.sample(source)
    assert statuses(sample) == ['ok', 'ok']
    assert sample.devices[1].info.name == 'NVIDIA GeForce RTX 4090'
    assert not [p for p in sample.problems if p.reason == HELD_AWAKE]


def test_a_gpu_that_only_nvitop_keeps_awake_is_reported(bench: Bench) -> None:
    bench.machine.set(gpu=0, gpu_utilization=50)
    source = bench.source()
    for _ in range(15):
        bench.sample(source)
    sample = bench.sample(source, 2.0)
    assert statuses(sample) == ['ok', 'ok']
    assert [p.device for p in sample.problems if p.reason == HELD_AWAKE] == [sample.devices[1].key]
    for _ in range(30):  # it is not left alone again
        assert statuses(bench.sample(source)) == ['ok', 'ok']
    bench.machine.set(gpu=1, gpu_utilization=5)
    assert not [p for p in bench.sample(source).problems if p.reason == HELD_AWAKE]


def test_nvml_lets_go_of_the_last_gpu(bench: Bench) -> None:
    source = bench.source()
    start_nvml()
    for _ in range(5):
        bench.sample(source)
    bench.queried()
    shutdowns = bench.machine.calls['nvmlShutdown']
    counts = bench.machine.calls['nvmlDeviceGetCount_v2']
    for _ in range(4):
        assert statuses(bench.sample(source)) == ['asleep', 'asleep']
    assert bench.queried() == [False, False]
    assert bench.machine.calls['nvmlShutdown'] == shutdowns + 1
    assert bench.machine.calls['nvmlDeviceGetCount_v2'] == counts + 1
    # Something else keeps them awake.
    sample = bench.sample(source, 10.0)
    assert statuses(sample) == ['ok', 'ok']
    assert not [p for p in sample.problems if p.reason == HELD_AWAKE]


def test_gpus_that_may_not_sleep_are_always_queried(bench: Bench) -> None:
    bench.tree.allow(0, 'on', 'Enabled (fine-grained)')
    bench.tree.allow(1, 'auto', 'Not supported')
    source = bench.source()
    for _ in range(30):
        assert statuses(bench.sample(source)) == ['ok', 'ok']
    assert bench.machine.calls['nvmlDeviceGetHandleByPciBusId_v2'] == 0
    bench.tree.allow(1, 'auto', 'Enabled (fine-grained)')
    source = bench.source()
    assert {statuses(bench.sample(source))[0] for _ in range(30)} == {'ok'}


def test_wake_decides_and_a_named_gpu_is_woken(bench: Bench) -> None:
    for index in (0, 1):
        bench.tree.set(index, 'suspended')
    asking = bench.source('ask')
    asleep = bench.sample(asking)
    assert statuses(asleep) == ['asleep', 'asleep']
    assert asleep.devices[0].sleep == Sleep('D3cold', wakes_on_refresh=True)
    asking.refresh()
    assert statuses(bench.sample(asking)) == ['ok', 'ok']
    assert statuses(bench.sample(asking)) == ['asleep', 'asleep']  # the files still say so
    never = bench.source()
    never.refresh()
    assert statuses(bench.sample(never)) == ['asleep', 'asleep']
    assert statuses(bench.sample(bench.source('always'))) == ['ok', 'ok']
    bench.queried()
    assert statuses(bench.sample(bench.source(only=[1]))) == ['ok']
    assert bench.queried() == [False, True]


def test_a_gpu_is_found_by_its_bus_id_without_waking_others(bench: Bench) -> None:
    for index in (0, 1):
        bench.tree.set(index, 'suspended')
    bench.source()
    bench.queried()
    assert match_devices([BUS_IDS[1]])[0] == (1,)
    assert bench.queried() == [False, False]
    uuid = bench.machine.world.gpus[1].value('uuid')  # unknown without the driver
    assert match_devices([uuid])[0] == (1,)


@pytest.mark.parametrize(
    ('arguments', 'out', 'queried'),
    [
        ('nvisel -S -n 1', '1\n', [False, True]),
        ('nvisel -S -n 2', '0,1\n', [True, True]),
        ('nvisel -S', '0,1\n', [True, True]),
    ],
)
def test_only_chosen_gpus_are_woken_and_by_their_bus_id(
    bench: Bench, capsys: pytest.CaptureFixture[str], arguments: str, out: str, queried: list[bool]
) -> None:
    bench.tree.set(0, 'suspended')
    bench.source()
    bench.queried()
    program, *words = arguments.split()
    main = run_command.main if program == 'run' else select_command.main
    assert main(['--ignore-claims', *words]) == 0
    assert capsys.readouterr().out.endswith(out)
    assert bench.queried() == queried
    assert SESSION.flags == [2]
    # By index, some drivers attach all GPUs up to it.
    assert bench.machine.calls['nvmlDeviceGetHandleByIndex_v2'] == 0


def test_health_and_query_of_a_sleeping_gpu_are_fine(bench: Bench) -> None:
    for index in (0, 1):
        bench.tree.set(index, 'suspended')
    bench.source()
    check = check_health()
    assert (check.findings, check.gpus, check.expected, check.error) == ((), 2, 2, '')
    assert format_text(judge(check)) == 'ok: 2 GPUs (2 asleep)\n'
    assert format_npd(judge(check)) == '2 GPUs healthy (2 asleep)\n'
    named = check_health([BUS_IDS[1]])
    assert (named.findings, named.gpus) == ((), 1)
    (unknown,) = check_health(['GPU-1']).findings
    assert unknown.evidence.endswith('; asleep, so that only the bus ID is known: GPU 0, 1')
    assert query_command.main(['--gpu=index,memory.used']) == 0
    assert bench.queried() == [False, False]
