"""Formats of values on the screen, at the limits of each rule."""

from __future__ import annotations

import inspect

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nvitop.gui.model import format as f
from nvitop.gui.model.device_columns import bar_pieces
from nvitop.gui.render.theme import Role, Style

KIB, MIB, GIB, DAY = 2**10, 2**20, 2**30, 86400.0


@pytest.mark.parametrize(
    ('result', 'expected'),
    [
        (f.format_bytes(80 * GIB), '80.00GiB'),
        (f.format_energy(0), '0.0 Wh'),
        (f.format_energy(3600 * 999.96), '1.0 kWh'),
        (f.format_energy(3600 * 2.5e9), '2500.0 MWh'),
        (f.format_percent(42.25), '42.2%'),
        (f.format_short_percent(100), 'MAX'),
        (f.format_cpu_percent(9999.5), '9999+'),
        (f.format_load(0.4249), '0.42'),
        (f.format_load(123456), '9999+'),
        (f.format_device_name('NVIDIA GeForce RTX 4090 Laptop GPU', 19), 'RTX 4090 Laptop GPU'),
        (f.format_device_name('Tesla V100-SXM2-32GB', 10), 'V100-SXM2'),
        (f.format_device_name('Quadro RTX 6000', 10), 'RTX 6000'),
        (f.format_device_name('evil\x1b]0;x\x07', 19), 'evil␛]0;x␇'),
        (f.format_switch('Enabled'), 'On'),
        (f.format_pcie_link(None, 8), 'Gen? x8'),
        (f.format_reasons(('sw_power_cap', 'gpu_idle')), 'SW power cap, GPU idle'),
        (f.join_labels(['2', '3', '5', '6', '7']), '2,3,5-7'),
        (f.join_labels(['0:2', '0:3', '1', '2', '3']), '0:2 0:3 1 2 3'),
        (f.format_process_type(None), '?'),
        (f.format_user('用户名字', 7), '用户 ..'),
        (f.format_gib_count(512 * MIB), '0.5'),
        (f.format_age(19 * 86400), '19d'),
        (f.format_bar(50.0, 5), '██▌'),
        (f.format_command('python train.py', 'gone'), '(not visible here)'),
        (f.format_command(None, 'zombie'), 'Zombie Process'),
        (f.format_command(None, 'zombie', name='py\nthon3'), 'py␤thon3 <defunct>'),
        (f.format_command('', name='kworker/0:1'), '[kworker/0:1]'),
        (f.format_age(0.4), '0s'),
        (f.format_idle_time(9.9), ''),
        (f.format_idle_time(3599, is_longer=True), '>59m'),
    ],
)
def test_formatted_value(result: str, expected: str) -> None:
    assert result == expected


def test_every_format_accepts_none_and_nan() -> None:
    formats = [g for name, g in vars(f).items() if name.startswith('format_')]
    formats = [function for function in formats if function.__module__ == f.__name__]
    assert len(formats) > 20
    for function in formats:
        if function in {
            f.format_bar,
            f.format_clock,
            f.format_timestamp,
            f.format_moment,
            f.format_measured,
            f.format_part,
        }:
            continue
        names = list(inspect.signature(function).parameters)
        width = {'width': 11} if 'width' in names else {}
        missing: list[float | None] = [None]
        if str(inspect.signature(function).parameters[names[0]].annotation).startswith('float'):
            missing.append(float('nan'))
        for value in missing:
            second = [value] if function is f.format_pcie_link else []
            text = function(value, *second, **width)
            texts = {f.format_process_type: '?', f.format_user: 'unknown'}
            expected = texts.get(function, 'N/A')
            assert text.strip() == expected, function


@given(st.one_of(st.integers(0, 10**19), st.floats(0, 1e19)))
def test_columns_never_overflow(value: float) -> None:
    assert len(f.format_cpu_percent(value)) <= 5
    assert len(f.format_load(value)) <= 5
    assert len(f.format_short_percent(value)) <= 3
    assert len(f.format_bytes(min(value, 1000 * 2**50 - 2**49))) <= 8


@pytest.mark.parametrize(
    ('command', 'width', 'brief'),
    [
        ('/opt/conda/bin/python3 -u train.py', 40, '/opt/conda/bin/python3 -u train.py'),
        ('/opt/conda/bin/python3 -u ./src/train.py --bf16', 30, 'train.py --bf16'),
        ('/opt/bin/python3.11 -m vllm.server', 30, 'vllm.server'),
        (
            'python3 -m vllm.entrypoints.openai.api_server -q',
            40,
            'vllm.entrypoints.openai.api_server -q',
        ),
        ('python3 -m vllm.entrypoints.openai.api_server -q', 30, 'vllm..api_server -q'),
        ('/bin/python3 ./a.b.c.py -q', 0, 'a.b.c.py -q'),
        ('/bin/bash -l', 4, 'bash'),
        ('/usr/lib/xorg/Xorg vt2 -auth x', 20, 'Xorg vt2 -auth x'),
        ('python3 -c "import /a/b"', 10, 'python3 -c "import /a/b"'),
        ('"/opt/My Games/game.x86_64" -full', 20, 'game.x86_64 -full'),
        ('"/opt/My Games/game"', 10, 'game'),
        ('/', 0, '/'),
    ],
)
def test_brief_command_names_what_runs(command: str, width: int, brief: str) -> None:
    assert f.brief_command(command, width) == brief


def test_commands_cut_at_the_same_place_show_what_differs() -> None:
    ranks = [f'/bin/python3 pretrain_gpt.py --bf16 --rank={rank}' for rank in (0, 12)]
    brief = f.brief_commands([*ranks, 'python3 -c pass'], 24)
    assert brief == ['pretrain_gpt.py ..rank=0', 'pretrain_gpt.py..rank=12', 'python3 -c pass']
    same = f.brief_commands([ranks[0]] * 2, 24)
    assert same == ['pretrain_gpt.py --bf16..'] * 2


@pytest.mark.parametrize(
    ('percent', 'width', 'cells'),
    [
        (88.8, 4, 3),
        (85.9, 4, 3),
        (98.9, 4, 3),
        (99.0, 4, 4),
        (84.1, 10, 8),
        (98.9, 10, 9),
        (50.0, 0, 0),
    ],
)
def test_a_bar_of_whole_cells_is_full_from_99_percent_on(
    percent: float, width: int, cells: int
) -> None:
    filled = bar_pieces(percent, width, Style(Role.MEMORY))[0][0]
    assert len(filled) == cells
