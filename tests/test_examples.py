"""Every example runs on a simulated machine and prints or writes the documented values."""

from __future__ import annotations

import csv
import importlib.util
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.programs import ROOT, run_program

EXAMPLES = ROOT / 'examples'

#: Example → packages that it needs in addition to nvitop.
NEEDS = {
    'collector_to_tensorboard': ('torch', 'tensorboard'),
    'keras_training': ('keras', 'torch'),
    'lightning_training': ('lightning', 'tensorboard'),
    'query_to_pandas': ('pandas',),
}


def run(
    name: str, *arguments: str, folder: Path, scenario: str = 'workstation', **environ: str
) -> str:
    """Run an example and return its output; skip it without its packages, except in test-callbacks."""
    missing = [need for need in NEEDS.get(name, ()) if importlib.util.find_spec(need) is None]
    if missing and not os.environ.get('NVITOP_TEST_FRAMEWORKS'):
        pytest.skip(f'NOT RUN: needs {", ".join(missing)}; see make test-callbacks')
    done = run_program(
        str(EXAMPLES / f'{name}.py'), *arguments, cwd=folder, NVITOP_DEMO=scenario, **environ
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_example_has_a_test() -> None:
    tests = ''.join(path.read_text(encoding='utf-8') for path in ROOT.glob('tests/**/test_*.py'))
    for path in EXAMPLES.glob('*.py'):
        assert f"'{path.stem}'" in tests, path


def test_minimal_monitor(tmp_path: Path) -> None:
    text = run('minimal_monitor', '1', folder=tmp_path)
    assert 'GPU 0: NVIDIA GeForce RTX 4090' in text
    assert '9870MiB python3 -m llama_cpp.server' in text


def test_colored_monitor(tmp_path: Path) -> None:
    text = run(
        'colored_monitor', '1', folder=tmp_path, scenario='mig', FORCE_COLOR='1', NO_COLOR=''
    )
    plain = run('colored_monitor', '1', folder=tmp_path, scenario='mig', NO_COLOR='1')
    assert len(text.splitlines()) == len(plain.splitlines()) == 8
    assert '\033[' in text
    assert '\033[' not in plain
    assert '(0, 2)  NVIDIA A100-SXM4-80GB MIG 1g' in plain


def test_snapshots(tmp_path: Path) -> None:
    document = json.loads(run('snapshots', folder=tmp_path, scenario='dgx-h100'))
    assert [device['index'] for device in document['devices']] == list(range(8))
    assert {process['device'] for process in document['processes']} <= set(range(8))


def test_select_in_training(tmp_path: Path) -> None:
    lines = run('select_in_training', folder=tmp_path, scenario='dgx-h100').splitlines()
    assert [line.split(' is ')[0] for line in lines] == ['cuda:0', 'cuda:1']


def test_collector_to_csv(tmp_path: Path) -> None:
    run('collector_to_csv', 'log.csv', folder=tmp_path)
    with open(tmp_path / 'log.csv', encoding='utf-8') as file:
        rows = list(csv.DictReader(file))
    assert [row['epoch'] for row in rows] == ['0', '1', '2']
    for row in rows:
        assert 0 <= float(row['train/epoch/cuda:0 (gpu:0)/gpu_utilization (%)/mean']) <= 100
        assert float(row['train/epoch/duration (s)']) >= 0.3


def test_collector_in_background(tmp_path: Path) -> None:
    lines = run('collector_in_background', folder=tmp_path).splitlines()
    metrics = [json.loads(line) for line in lines]
    assert not list(tmp_path.iterdir())
    assert len(metrics) == 3
    assert all('metrics-daemon/gpu:0/power_usage (W)/mean' in one for one in metrics)
    assert any('pid:' in key for key in metrics[-1])


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Log of two query results."""
    path = tmp_path / 'gpus.jsonl'
    command = ['--gpu=index,utilization.gpu,power.draw', '--format=jsonl', '-f', str(path)]
    run_program('-m', 'nvitop', 'query', *command, NVITOP_DEMO='dgx-h100')
    line = path.read_text(encoding='utf-8')
    later = {**json.loads(line), 'timestamp': '2999-01-01T00:00:00.000+00:00'}
    for constant in ('schema', 'hostname', 'driver_version', 'simulated', 'units'):
        del later[constant]
    path.write_text(f'{line}{json.dumps(later)}\n', encoding='utf-8')
    return path


def test_rows_of_a_log_have_timestamps(log: Path) -> None:
    path = EXAMPLES / 'query_to_pandas.py'
    names = {'__name__': 'example'}
    exec(compile(path.read_text(encoding='utf-8'), str(path), 'exec'), names)
    rows_of_log: Any = names['rows_of_log']
    rows = list(rows_of_log(log.read_text(encoding='utf-8').splitlines()))
    assert [row['index'] for row in rows] == [*range(8), *range(8)]
    assert len({row['timestamp'] for row in rows}) == 2
    columns = {'timestamp', 'index', 'gpu_utilization', 'power_usage'}
    assert all(set(row) == columns for row in rows)


def test_query_to_pandas(tmp_path: Path, log: Path) -> None:
    text = run('query_to_pandas', folder=tmp_path, scenario='dgx-h100')
    assert 'memory (GiB)' in text.splitlines()[0]
    text = run('query_to_pandas', str(log), folder=tmp_path)
    assert text.startswith('2 results since ')
    assert 'power_usage' in text


def test_collector_to_tensorboard(tmp_path: Path) -> None:
    run('collector_to_tensorboard', 'events', folder=tmp_path)
    (file,) = (tmp_path / 'events').iterdir()
    assert b'resources/epoch/batch/cuda:0 (gpu:0)/gpu_utilization (%)/mean' in file.read_bytes()


def test_keras_training(tmp_path: Path) -> None:
    text = run('keras_training', 'logs', folder=tmp_path, KERAS_BACKEND='torch')
    assert 'gpu_id: 0/utilization.gpu (%)' in text
    lines = (tmp_path / 'logs' / 'log.csv').read_text(encoding='utf-8').splitlines()
    assert len(lines) == 3
    assert 'gpu_id: 0/temperature.gpu (C)' in lines[0]


def test_lightning_training(tmp_path: Path) -> None:
    run('lightning_training', 'logs', folder=tmp_path)
    files = list((tmp_path / 'logs').rglob('events.out.tfevents.*'))
    assert any(b'gpu_id: 0/utilization.gpu (%)' in file.read_bytes() for file in files)
    (metrics,) = (tmp_path / 'logs').rglob('metrics.csv')
    assert 'batch_time/inter_step (ms)' in metrics.read_text(encoding='utf-8')


@pytest.mark.parametrize(
    'name',
    ['colored_monitor', 'from_igpu', 'from_pynvml_smi', 'minimal_monitor', 'snapshots'],
)
def test_examples_survive_lost_gpus(name: str, tmp_path: Path) -> None:
    arguments = ('1',) if name.endswith('monitor') else ()
    assert 'H100' in run(name, *arguments, folder=tmp_path, scenario='faults')
