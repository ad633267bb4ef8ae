"""Scenario files: their meaning, and the messages about mistakes."""

from __future__ import annotations

import math
import pathlib

import pytest

from nvitop import simulation
from nvitop.simulation.scenario import SHAPES, Pulse, Signal

GPU = '[[gpu]]\n'
TWO_GPUS = '[[gpu]]\ncount = 2\n'
PROCESS = TWO_GPUS + '[[process]]\ncommand = ["a"]\n'
FAULT = TWO_GPUS + '[[fault]]\ncall = "nvmlInit*"\n'

#: Text of a file, and how the message begins.
MISTAKES = [
    ('[[gpu]\n', '1: not valid TOML: '),
    ('[grafics]\n', "1: grafics: unknown key 'grafics'; use description, seed, driver, host, "),
    (GPU + '\ntemprature = 3\n', "3: gpu[0].temprature: unknown key 'temprature'; did you mean 'temperature'?"),
    (GPU + GPU + 'foo = 1\n', '3: gpu[1].foo: unknown key'),
    ('[driver]\nversoin = "1"\n', "2: driver.versoin: unknown key 'versoin'; did you mean 'version'?"),
    ('gpu = 3\n', '1: gpu: expected an array of tables: [[gpu]], got 3'),
    ('gpu = [3]\n', '1: gpu: expected an array of tables: [[gpu]], got [3]'),
    ('driver = 3\n', '1: driver: expected a table: [driver], got 3'),
    (GPU + 'model = "H10"\n', "2: gpu[0].model: unknown value 'H10'; did you mean 'H100'?"),
    (GPU + 'count = 0\n', '2: gpu[0].count: expected a number of at least 1, got 0'),
    (GPU + 'count = 1.5\n', '2: gpu[0].count: expected a whole number, got 1.5'),
    (GPU + 'temperature = true\n', '2: gpu[0].temperature: expected a number or a wave, got True'),
    (GPU + 'lost = 1\n', '2: gpu[0].lost: expected true or false, got 1'),
    (GPU + 'name = 1\n', '2: gpu[0].name: expected a string, got 1'),
    (GPU + 'memory_total = "80 Gigs"\n', '2: gpu[0].memory_total: expected a size such as "80 GiB", "512 MiB" or "1.5 GB", got '),
    (GPU + 'power_limit = "80 W"\n', "2: gpu[0].power_limit: expected a number or a wave, got '80 W'"),
    (GPU + 'compute_mode = "off"\n', "2: gpu[0].compute_mode: unknown value 'off'; use default, exclusive-thread, "),
    (GPU + 'clock_event_reasons = ["hot"]\n', "2: gpu[0].clock_event_reasons: unknown value 'hot'; use gpu-idle, "),
    (GPU + 'clock_event_reasons = "gpu-idle"\n', "2: gpu[0].clock_event_reasons: expected a list of strings, got 'gpu-idle'"),
    # waves
    (GPU + 'gpu_utilization = { mean = 90, amplitude = 20 }\n', '2: gpu[0].gpu_utilization: expected values from 0 to 100, got 70 to 110'),
    (GPU + 'power_usage = { mean = 90, amplitude = 20, noise = 80 }\n', '2: gpu[0].power_usage: expected values of at least 0, got -10 to 190'),
    (GPU + 'fan_speed = { amplitude = 20 }\n', '2: gpu[0].fan_speed.mean: required key is missing: a wave needs mean or steps'),
    (GPU + 'fan_speed = { mean = 20, perod = 3 }\n', "2: gpu[0].fan_speed.perod: unknown key 'perod'; did you mean 'period'?"),
    (GPU + 'fan_speed = { mean = 20, shape = "round" }\n', "2: gpu[0].fan_speed.shape: unknown value 'round'; use sine, square, saw"),
    (GPU + 'fan_speed = { mean = 20, period = 0 }\n', '2: gpu[0].fan_speed.period: expected a number above 0'),
    (GPU + 'fan_speed = { steps = [] }\n', '2: gpu[0].fan_speed.steps: expected [[seconds, value], …], got []'),
    (GPU + 'fan_speed = { steps = [[0, 1], [2]] }\n', '2: gpu[0].fan_speed.steps: expected [seconds, value], got [2]'),
    (GPU + 'fan_speed = { steps = [[5, 1], [2, 3]] }\n', '2: gpu[0].fan_speed.steps: [2, 3] is not later than the step before it'),
    (GPU + 'fan_speed = { mean = 1, steps = [[5, 1]] }\n', '2: gpu[0].fan_speed.steps: cannot be combined with other keys of a wave'),
    # MIG devices
    (GPU + '[[gpu.mig]]\nprofile = "huge"\n', '3: gpu[0].mig[0].profile: expected a profile such as "1g.10gb", got \'huge\''),
    (GPU + '[[gpu.mig]]\nprofile = "1g.10gb"\n[[gpu.mig]]\nprofile = "1g.10gb"\nsize = 3\n', '6: gpu[0].mig[1].size: unknown key'),
    # processes
    (PROCESS + 'gpus = [2]\n', '5: process[0].gpus: there is no GPU 2; the scenario has 2'),
    (PROCESS + 'gpus = "0"\n', '5: process[0].gpus: expected "all" or a list of GPU indices, got '),
    (TWO_GPUS + '[[process]]\n', '3: process[0].command: required key is missing: program and '),
    (TWO_GPUS + '[[process]]\ncommand = []\n', '4: process[0].command: expected at least the name of the program'),
    (PROCESS + 'mig = 0\n', '5: process[0].mig: GPU 0 has no MIG device 0'),
    (PROCESS + 'type = "X"\n', "5: process[0].type: unknown value 'X'; use C, G, C+G, M"),
    (PROCESS + 'pid = 4294967296\n', '5: process[0].pid: expected a number from 0 to 4294967295, got 4294967296'),
    (PROCESS + 'sm = "N/A"\n', "5: process[0].sm: expected a number or a wave, got 'N/A'"),
    (PROCESS + 'sm = { mean = 50, pulses = [[60, 5, -40]] }\n', '5: process[0].sm.pulses: expected [period, duration, change, start], got [60, 5, -40]'),
    (PROCESS + 'sm = { mean = 50, pulses = [[60, 70, -40, 0]] }\n', '5: process[0].sm.pulses: [60, 70, -40, 0] needs a duration above 0, up to the period'),
    (PROCESS + 'started = "3weeks"\n', "5: process[0].started: must be a duration such as '90s', '1h30m' or '14d', not '3weeks'"),
    (PROCESS + 'from = 5\nstarted = "1h"\n', '6: process[0].started: cannot be combined with "from"'),
    (PROCESS + 'from = -1\n', '5: process[0].from: expected a number of seconds, at least 0, got -1'),
    (PROCESS + 'mem = 1\n', "5: process[0].mem: unknown key 'mem'; did you mean 'memory'?"),
    # events and faults
    (FAULT + 'times = 0\n', '5: fault[0].times: expected a number of at least 1, got 0'),
    (TWO_GPUS + '[[event]]\n', '3: event[0].at: required key is missing: time of the event'),
    (TWO_GPUS + '[[event]]\nat = 9\nuntil = 9\n', '5: event[0].until: expected a time later than "at"'),
    (TWO_GPUS + '[[event]]\nat = 1\nset = { losd = true }\n', "5: event[0].set.losd: unknown key 'losd'; did you mean 'lost'?"),
    (FAULT, '3: fault[0]: a fault needs error, delay or hang'),
    (TWO_GPUS + '[[fault]]\nerror = "UNKNOWN"\n', '3: fault[0].call: required key is missing'),
    (FAULT + 'error = "LOST"\n', "5: fault[0].error: unknown value 'LOST'"),
    (FAULT + 'gpu = 4\ndelay = 1\n', '5: fault[0].gpu: there is no GPU 4; the scenario has 2'),
    ('[driver]\ncuda = "twelve"\n', '2: driver.cuda: expected a version such as "13.0", got \'twelve\''),
]  # fmt: skip


def parse(text: str) -> simulation.Scenario:
    return simulation.parse_scenario(text, name='test', source='test.toml')


@pytest.mark.parametrize(('text', 'message'), MISTAKES, ids=[text for _, text in MISTAKES])
def test_message_about_a_mistake_names_file_line_and_key(text: str, message: str) -> None:
    with pytest.raises(simulation.ScenarioError) as caught:
        parse(text)
    assert str(caught.value).startswith(f'test.toml:{message}')


def test_numbers_have_the_units_of_the_driver() -> None:
    text = (
        '[[gpu]]\nmemory_total = "1.5 GiB"\npower_limit = 250\npcie_tx_throughput = "2 MB/s"\n'
        'temperature = "N/A"\nbrand = "geforce"\n'
        'clock_event_reasons = ["gpu-idle", "sw-power-cap"]\n'
    )
    (gpu,) = parse(text).gpus
    assert gpu.values['memory_total'] == Signal(1.5 * 2**30)
    assert gpu.values['power_limit'] == Signal(250_000.0)
    assert gpu.values['pcie_tx_throughput'] == Signal(2e6)
    assert gpu.values['temperature'] is None
    assert gpu.values['brand'] == 5
    assert gpu.values['clock_event_reasons'] == 0x5


def test_process_runs_once_on_each_gpu_unless_it_is_shared() -> None:
    text = '[[gpu]]\ncount = 3\n[[process]]\ngpus = [1, 2]\ncommand = ["a", "{rank}", "{gpu}"]\n'
    assert [(spec.gpus, spec.command) for spec in parse(text).processes] == [
        ((1,), ('a', '0', '1')),
        ((2,), ('a', '1', '2')),
    ]
    assert [spec.gpus for spec in parse(text + 'shared = true\n').processes] == [(1, 2)]
    copies = parse(text + 'count = 2\n').processes
    assert [(spec.gpus, spec.command[1]) for spec in copies] == [
        ((1,), '0'),
        ((2,), '1'),
        ((1,), '2'),
        ((2,), '3'),
    ]


def test_message_about_a_missing_scenario_names_the_known_ones(tmp_path: pathlib.Path) -> None:
    with pytest.raises(
        simulation.ScenarioError, match=r"^unknown scenario 'dgx-h10'; did you mean 'dgx-h100'\?$"
    ):
        simulation.load('dgx-h10')
    with pytest.raises(simulation.ScenarioError, match=r"'x'; use cluster-node, .* or a file"):
        simulation.load('x')
    with pytest.raises(simulation.ScenarioError, match=r'gone\.toml: No such file'):
        simulation.load(tmp_path / 'gone.toml')
    latin = tmp_path / 'latin.toml'
    latin.write_bytes(b'name = "\xe9"')
    with pytest.raises(simulation.ScenarioError, match=r'latin\.toml: not UTF-8 text'):
        simulation.load(latin)


SIGNALS = [
    Signal(5.0),
    *(Signal(50.0, 20.0, period=7.0, phase=0.3, shape=shape) for shape in SHAPES),
    Signal(50.0, 20.0, period=11.0, noise=9.0, noise_phase=0.7),
    Signal(50.0, 9.0, period=7.0, pulses=(Pulse(10.0, 3.0, -40.0, 2.0),)),
    Signal(0.0, steps=((0.0, 1.0), (2.0, 5.0), (9.5, 0.0))),
    Signal(0.0, steps=((3.0, 4.0), (6.0, 2.0))),
]


def area(signal: Signal, start: float, stop: float) -> float:
    """The integral by the midpoint rule."""
    count = 20_000
    width = (stop - start) / count
    return width * math.fsum(signal.value(start + (i + 0.5) * width) for i in range(count))


@pytest.mark.parametrize('signal', SIGNALS)
@pytest.mark.parametrize(('start', 'stop'), [(0.0, 13.0), (-6.0, 0.0), (2.2, 40.0)])
def test_integral_is_the_area_under_the_value(signal: Signal, start: float, stop: float) -> None:
    exact = signal.integral(stop) - signal.integral(start)
    assert exact == pytest.approx(area(signal, start, stop), rel=2e-3, abs=0.02)
