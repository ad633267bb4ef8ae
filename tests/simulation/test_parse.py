"""Scenario files: what they mean, and how clearly mistakes are told."""

from __future__ import annotations

import pathlib

import pytest

from nvitop import simulation
from nvitop.simulation.parse import read_scenario
from nvitop.simulation.waveforms import Signal


def parse(text: str) -> simulation.Scenario:
    return simulation.parse_scenario(text, name='test', source='test.toml')


GPU = '[[gpu]]\ncount = 2\n'
PROCESS = GPU + '[[process]]\ncommand = ["a"]\n'

MISTAKES = {
    'syntax': ('[[gpu]\n', 'test.toml:1: is not valid TOML: '),
    'unknown table': ('[grafics]\n', 'test.toml:1: grafics: unknown key (allowed: description'),
    'unknown key': (
        '[[gpu]]\n\ntemprature = 3\n',
        "test.toml:3: gpu[0].temprature: unknown key; did you mean 'temperature'? (allowed: ",
    ),
    'unknown key of the second GPU': (
        '[[gpu]]\n[[gpu]]\nfoo = 1\n',
        'test.toml:3: gpu[1].foo: unknown key',
    ),
    'unknown key of the driver': (
        '[driver]\nversoin = "1"\n',
        "test.toml:2: driver.versoin: unknown key; did you mean 'version'?",
    ),
    'not a table': ('gpu = 3\n', 'test.toml:1: gpu: 3 is not an array of tables: write [[gpu]]'),
    'a list of numbers': ('gpu = [3]\n', 'test.toml:1: gpu: is not an array of tables'),
    'model': ('[[gpu]]\nmodel = "H10"\n', "test.toml:2: gpu[0].model: 'H10' is none of H100, "),
    'count': ('[[gpu]]\ncount = 0\n', 'test.toml:2: gpu[0].count: 0 is not between 1 and '),
    'a flag for a number': (
        '[[gpu]]\ntemperature = true\n',
        'test.toml:2: gpu[0].temperature: True is not a number',
    ),
    'a number for a flag': (
        '[[gpu]]\nlost = 1\n',
        'test.toml:2: gpu[0].lost: 1 is not true or false',
    ),
    'a number for a text': (
        '[[gpu]]\nname = 1\n',
        'test.toml:2: gpu[0].name: 1 is not a string',
    ),
    'unit of a size': (
        '[[gpu]]\nmemory_total = "80 Gigs"\n',
        'test.toml:2: gpu[0].memory_total: \'80 Gigs\' is not a size such as "80 GiB"',
    ),
    'text for a number': (
        '[[gpu]]\npower_limit = "80 W"\n',
        'test.toml:2: gpu[0].power_limit: \'80 W\' is not a number, a wave or "N/A"',
    ),
    'choice': (
        '[[gpu]]\nbrand = "gforce"\n',
        "test.toml:2: gpu[0].brand: 'gforce' is none of ",
    ),
    'names': (
        '[[gpu]]\nclock_event_reasons = ["hot"]\n',
        "test.toml:2: gpu[0].clock_event_reasons: 'hot' is none of gpu-idle, ",
    ),
    'wave above 100 %': (
        '[[gpu]]\ngpu_utilization = { mean = 90, amplitude = 20 }\n',
        'test.toml:2: gpu[0].gpu_utilization: goes from 70 to 110, allowed is 0 to 100',
    ),
    'wave below 0': (
        '[[gpu]]\npower_usage = { mean = 90, amplitude = 20, noise = 80 }\n',
        'test.toml:2: gpu[0].power_usage: goes from -10 to 190, allowed is at least 0',
    ),
    'wave without mean': (
        '[[gpu]]\nfan_speed = { amplitude = 20 }\n',
        'test.toml:2: gpu[0].fan_speed.mean: missing: a wave has a mean, or steps',
    ),
    'key of a wave': (
        '[[gpu]]\nfan_speed = { mean = 20, perod = 3 }\n',
        "test.toml:2: gpu[0].fan_speed.perod: unknown key; did you mean 'period'?",
    ),
    'shape': (
        '[[gpu]]\nfan_speed = { mean = 20, shape = "round" }\n',
        "test.toml:2: gpu[0].fan_speed.shape: 'round' is none of sine, square, triangle, saw",
    ),
    'period': (
        '[[gpu]]\nfan_speed = { mean = 20, period = 0 }\n',
        'test.toml:2: gpu[0].fan_speed.period: must be above 0',
    ),
    'steps': (
        '[[gpu]]\nfan_speed = { steps = [[0, 1], [2]] }\n',
        'test.toml:2: gpu[0].fan_speed.steps: [2] is not [seconds, value]',
    ),
    'order of steps': (
        '[[gpu]]\nfan_speed = { steps = [[5, 1], [2, 3]] }\n',
        'test.toml:2: gpu[0].fan_speed.steps: [2, 3] does not come after the step before it',
    ),
    'steps and a wave': (
        '[[gpu]]\nfan_speed = { mean = 1, steps = [[5, 1]] }\n',
        'test.toml:2: gpu[0].fan_speed.steps: does not go with other keys of a wave',
    ),
    'profile': (
        '[[gpu]]\n[[gpu.mig]]\nprofile = "huge"\n',
        'test.toml:3: gpu[0].mig[0].profile: \'huge\' is not one such as "1g.10gb"',
    ),
    'a second MIG device': (
        '[[gpu]]\n[[gpu.mig]]\nprofile = "1g.10gb"\n[[gpu.mig]]\nprofile = "1g.10gb"\nsize = 3\n',
        'test.toml:6: gpu[0].mig[1].size: unknown key',
    ),
    'no such GPU': (
        GPU + '[[process]]\ncommand = ["a"]\ngpus = [2]\n',
        'test.toml:5: process[0].gpus: there is no GPU 2 (there are 2)',
    ),
    'no command': (GPU + '[[process]]\n', 'test.toml:3: process[0].command: missing'),
    'no such MIG device': (
        PROCESS + 'mig = 0\n',
        'test.toml:5: process[0].mig: GPU 0 has no MIG device 0',
    ),
    'type of a process': (
        PROCESS + 'type = "X"\n',
        "test.toml:5: process[0].type: 'X' is none of C, G, C+G, M",
    ),
    'a PID no system has': (
        PROCESS + 'pid = 4294967296\n',
        'test.toml:5: process[0].pid: 4294967296 is not between 0 and 4294967295',
    ),
    'unknown key of a process': (PROCESS + 'mem = 1\n', 'test.toml:5: process[0].mem: unknown key'),
    'time of an event': (GPU + '[[event]]\n', 'test.toml:3: event[0].at: missing'),
    'end of an event': (
        GPU + '[[event]]\nat = 9\nuntil = 9\n',
        'test.toml:5: event[0].until: not after at',
    ),
    'key of an event': (
        GPU + '[[event]]\nat = 1\nset = { losd = true }\n',
        "test.toml:5: event[0].set.losd: unknown key; did you mean 'lost'?",
    ),
    'fault without effect': (
        GPU + '[[fault]]\ncall = "nvmlInit*"\n',
        'test.toml:3: fault[0]: does nothing: give error, delay or hang',
    ),
    'fault without call': (
        GPU + '[[fault]]\nerror = "UNKNOWN"\n',
        'test.toml:3: fault[0].call: missing',
    ),
    'code of a fault': (
        GPU + '[[fault]]\ncall = "nvmlInit*"\nerror = "LOST"\n',
        "test.toml:5: fault[0].error: 'LOST' is none of UNINITIALIZED, ",
    ),
    'GPU of a fault': (
        GPU + '[[fault]]\ncall = "nvmlInit*"\ngpu = 4\ndelay = 1\n',
        'test.toml:5: fault[0].gpu: there is no GPU 4',
    ),
    'version of CUDA': (
        '[driver]\ncuda = "twelve"\n',
        'test.toml:2: driver.cuda: is not a version such as "12.4"',
    ),
}


@pytest.mark.parametrize('mistake', MISTAKES)
def test_a_mistake_is_told_with_file_line_and_key(mistake: str) -> None:
    text, message = MISTAKES[mistake]
    with pytest.raises(simulation.ScenarioError) as caught:
        parse(text)
    assert str(caught.value).startswith(message)


def test_numbers_get_the_units_of_the_driver() -> None:
    values = (
        parse(
            '[[gpu]]\nmemory_total = "1.5 GiB"\npower_limit = 250\npcie_tx = "2 MB/s"\n'
            'temperature = "N/A"\nbrand = "geforce"\n'
            'clock_event_reasons = ["gpu-idle", "sw-power-cap"]\n'
        )
        .gpus[0]
        .values
    )
    assert values['memory_total'] == Signal(1.5 * 2**30)
    assert values['power_limit'] == Signal(250_000.0)
    assert values['pcie_tx'] == Signal(2e6)
    assert values['temperature'] is None
    assert values['brand'] == 5
    assert values['clock_event_reasons'] == 0x5


def test_a_process_is_one_for_each_gpu_unless_it_is_shared() -> None:
    text = '[[gpu]]\ncount = 3\n[[process]]\ngpus = [1, 2]\ncommand = ["a", "{rank}", "{gpu}"]\n'
    assert [(spec.gpus, spec.command) for spec in parse(text).processes] == [
        ((1,), ('a', '0', '1')),
        ((2,), ('a', '1', '2')),
    ]
    assert [spec.gpus for spec in parse(text + 'shared = true\n').processes] == [(1, 2)]
    many = parse(text + 'count = 2\n').processes
    assert [(spec.gpus, spec.command[1]) for spec in many] == [
        ((1,), '0'),
        ((2,), '1'),
        ((1,), '2'),
        ((2,), '3'),
    ]


def test_a_gpu_with_mig_devices_is_in_mig_mode_unless_it_says_otherwise() -> None:
    text = '[[gpu]]\n{}[[gpu.mig]]\nprofile = "1c.3g.40gb"\n'
    gpu = parse(text.format('')).gpus[0]
    assert gpu.values['mig_mode'] is True
    assert (gpu.migs[0].gpu_slices, gpu.migs[0].compute_slices) == (3, 1)
    assert parse(text.format('mig_mode = false\n')).gpus[0].values['mig_mode'] is False


def test_gpus_of_one_table_move_apart() -> None:
    first, second = parse('[[gpu]]\ncount = 2\nfan_speed = { mean = 50, amplitude = 9 }\n').gpus
    assert first.values['fan_speed'] != second.values['fan_speed']


def test_a_scenario_is_loaded_by_path(tmp_path: pathlib.Path) -> None:
    path = tmp_path / 'mine.toml'
    path.write_text('[[gpu]]\nname = "Größe"\n', encoding='utf-8')
    scenario = simulation.load(path)
    assert scenario.name == 'mine'
    assert scenario.gpus[0].values['name'] == 'Größe'
    assert simulation.load(str(path)) == scenario
    assert simulation.load(scenario) is scenario


def test_a_scenario_that_is_not_there_is_told_with_those_that_are(tmp_path: pathlib.Path) -> None:
    with pytest.raises(simulation.ScenarioError, match="no scenario 'dgx-h10': use dgx-h100, "):
        simulation.load('dgx-h10')
    with pytest.raises(simulation.ScenarioError, match=r'gone\.toml: No such file'):
        simulation.load(tmp_path / 'gone.toml')
    latin = tmp_path / 'latin.toml'
    latin.write_bytes(b'name = "\xe9"')
    with pytest.raises(simulation.ScenarioError, match=r'latin\.toml: not UTF-8 text'):
        simulation.load(latin)


def test_a_byte_order_mark_before_the_text_is_no_part_of_it(tmp_path: pathlib.Path) -> None:
    path = tmp_path / 'mine.toml'
    path.write_bytes(b'\xef\xbb\xbf[[gpu]]\r\nname = "Mine"\r\n')
    (gpu,) = read_scenario(path).gpus
    assert gpu.values['name'] == 'Mine'
    path.write_bytes(b'\xef\xbb\xbf[[gpu]]\nnome = "Mine"\n')
    with pytest.raises(simulation.ScenarioError, match=r'mine.toml:2: gpu\[0\].nome: unknown key'):
        read_scenario(path)


def test_mig_devices_and_their_instances_are_numbered_one_after_the_other() -> None:
    part = '[[gpu.mig]]\nprofile = "1g.10gb"\n'
    scenario = parse(f'[[gpu]]\nmodel = "H100"\n{part}{part}')
    numbers = [(m.mig_index, m.gpu_instance, m.compute_instance) for m in scenario.gpus[0].migs]
    assert numbers == [(0, 1, 0), (1, 2, 0)]
