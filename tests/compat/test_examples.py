"""Scripts for other libraries run with nvitop.compat."""

from __future__ import annotations

from pathlib import Path

from tests.examples import run


def test_script_for_pynvml_smi_runs(tmp_path: Path) -> None:
    lines = run('from_pynvml_smi', folder=tmp_path).splitlines()
    assert lines[0].startswith('NVIDIA GeForce RTX 4090: ')
    assert lines[0].endswith(' of 24564.0 MiB free')
    assert [line.split()[1:] for line in lines[1:]] == [
        ['blender', '3120', 'MiB'],
        ['python3', '9870', 'MiB'],
    ]


def test_script_for_igpu_runs(tmp_path: Path) -> None:
    text = run('from_igpu', folder=tmp_path, scenario='dgx-h100', CUDA_VISIBLE_DEVICES='0,3')
    lines = text.splitlines()
    assert lines[0] == 'driver 580.65, 8 GPUs'
    assert [line.split(':')[0] for line in lines[1:3]] == ['NVIDIA H100 80GB HBM3'] * 2
    assert 'GPU UTILIZATION:' in lines
    assert 'PROCESSES' in lines
