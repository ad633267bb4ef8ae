"""``nvitop``: output, messages and exit status of the report."""

from __future__ import annotations

import gc
import os
import pathlib
import re
import shlex
import subprocess
import sys
from typing import Iterator, Mapping

import pytest

from nvitop import Device, cli, simulation
from nvitop.api import host, libnvml
from nvitop.console.messages import Message
from nvitop.console.options import Options
from nvitop.console.terminal import stdout_width
from nvitop.gui import monitor, report_messages
from nvitop.gui.report_messages import warnings_about
from nvitop.sampling.source import LiveSource
from tests.gui.samples import SAMPLES
from tests.patience import PATIENCE

ROOT = pathlib.Path(__file__).parent.parent


def run(
    *arguments: str,
    module: str = 'nvitop',
    stdout: int = subprocess.PIPE,
    environment: Mapping[str, str] = {},
) -> subprocess.CompletedProcess[str]:
    """Run nvitop as a process without a terminal."""
    command = [sys.executable, '-m', module, *arguments]
    names = ('PATH', 'HOME', 'SYSTEMROOT', 'VIRTUAL_ENV', 'PYTHONPATH')
    kept = {name: os.environ[name] for name in names if name in os.environ}
    return subprocess.run(
        command,
        cwd=ROOT,
        env={**kept, 'PYTHONIOENCODING': 'utf-8', 'COLUMNS': '100', **environment},
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        encoding='utf-8',
        timeout=PATIENCE,
    )


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[simulation.Machine]:
    for name in ('NVITOP_MONITOR_MODE', 'NO_COLOR', 'FORCE_COLOR', 'CUDA_VISIBLE_DEVICES'):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv('COLUMNS', '100')
    with simulation.machine('dgx-h100', processes='fixed') as made:
        yield made


def report(*arguments: str) -> int:
    """Print the report of the simulated machine."""
    return cli.main(['-1', '--no-config', *arguments])


# The report


@pytest.mark.parametrize('module', ['nvitop', 'nvitop.cli'])
def test_a_report_goes_to_stdout_and_nothing_to_stderr(module: str) -> None:
    done = run('--demo', '-1', '--no-config', module=module)
    assert done.returncode == 0
    assert done.stderr == ''
    assert 'SIMULATED: dgx-h100' in done.stdout
    assert done.stdout.count('H100 80GB HBM3') == 8
    assert '\x1b' not in done.stdout


def test_failed_queries_are_reported_with_their_reason(
    machine: simulation.Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.fail('nvmlDeviceGetTemperature*', 'UNKNOWN')
    machine.fail('nvmlDeviceGetPowerUsage', 'NOT_SUPPORTED')
    machine.set(gpu=2, memory_used='2 TiB')
    assert report() == 0
    assert sorted(capsys.readouterr().err.splitlines()) == [
        'nvitop: warning: device 2: memory_percent, memory_used: 2.00TiB of 79.65GiB cannot be true',
        'nvitop: warning: devices 0-7: temperature: Unknown Error',
    ]


def test_implausible_processes_are_reported_with_their_gpu(
    capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path
) -> None:
    path = tmp_path / 'odd.toml'
    path.write_text(
        '[[gpu]]\ncount = 2\nmodel = "H100"\n\n'
        '[[process]]\ngpus = [1]\npid = 4294967295\nmemory = "1 GiB"\ncommand = ["x"]\n',
        encoding='utf-8',
    )
    with simulation.machine(str(path), processes='fixed'):
        assert report() == 0
    assert capsys.readouterr().err == (
        'nvitop: warning: device 1: processes: '
        '1 of 1 dropped: PID 4294967295 is outside the range of this system\n'
    )


def test_without_a_terminal_the_report_is_the_default(
    machine: simulation.Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(['--no-config']) == 0
    assert 'H100' in capsys.readouterr().out


@pytest.mark.parametrize(
    'environment',
    [
        {'PYTHONIOENCODING': 'ascii'},
        {
            'LC_ALL': 'C',
            'PYTHONUTF8': '0',
            'PYTHONCOERCECLOCALE': '0',
            'PYTHONIOENCODING': 'latin-1',
        },
    ],
)
def test_output_without_unicode_is_ascii(environment: dict[str, str]) -> None:
    done = run('--demo', '-1', '--no-config', environment=environment)
    assert done.returncode == 0
    assert done.stderr == ''
    assert done.stdout.isascii()
    assert '+----' in done.stdout


def test_colors_can_be_forced_and_disabled() -> None:
    assert '\x1b[' in run('--demo', '-1', '--force-color').stdout
    assert '\x1b[' in run('--demo', '-1', environment={'FORCE_COLOR': '1'}).stdout
    assert (
        '\x1b[' not in run('--demo', '-1', environment={'FORCE_COLOR': '1', 'NO_COLOR': '1'}).stdout
    )


# Filters


def lines_of(text: str) -> list[str]:
    """The rows of the process box."""
    box = text[text.index('Processes:') :]
    return [line for line in box.splitlines() if re.match(r'│ +\d', line)]


def test_only_takes_indices_and_uuids(
    machine: simulation.Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    from nvitop.api.device import Device

    uuid = str(Device(3).uuid())
    assert report('-o', '1', uuid[:12].lower().replace('gpu', 'GPU')) == 0
    out = capsys.readouterr().out
    assert out.count('H100 80GB') == 2
    assert '│   1  H100' in out
    assert '│   3  H100' in out


def test_an_unknown_device_is_an_error_next_to_known_ones(
    machine: simulation.Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    assert report('-o', '0', '99') == 1
    captured = capsys.readouterr()
    assert captured.out.count('H100 80GB') == 1
    assert captured.err == ("nvitop: error: unknown device '99': this machine has GPUs 0 to 7\n")


def test_without_a_known_device_there_is_no_report(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with simulation.machine('spark', processes='none'):
        assert report('-o', '5') == 1
    captured = capsys.readouterr()
    assert captured.out == ''
    assert captured.err == "nvitop: error: unknown device '5': this machine has GPU 0\n"


def test_only_takes_mig_devices(capsys: pytest.CaptureFixture[str]) -> None:
    with simulation.machine('mig', processes='fixed'):
        assert report('-o', '1:0') == 0
        out = capsys.readouterr().out
        assert re.findall(r'^│ +(\d+:\d+) .*GI/CI', out, re.MULTILINE) == ['1:0']


def test_only_visible(
    machine: simulation.Machine,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv('CUDA_VISIBLE_DEVICES', '2,5')
    monkeypatch.setenv('CUDA_DEVICE_ORDER', 'PCI_BUS_ID')
    assert report('-ov') == 0
    out = capsys.readouterr().out
    assert [line[2:5] for line in out.splitlines() if 'H100' in line] == ['  2', '  5']


def test_processes_are_filtered(
    machine: simulation.Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    assert report() == 0
    rows = lines_of(capsys.readouterr().out)
    pid = rows[0].split()[2]
    assert report('-p', pid) == 0
    kept = lines_of(capsys.readouterr().out)
    assert [row.split()[2] for row in kept] == [pid]
    assert report('-G') == 0
    assert lines_of(capsys.readouterr().out) == []
    assert report('-C') == 0
    assert len(lines_of(capsys.readouterr().out)) == len(rows)


def test_user_without_a_name_means_the_current_user(
    machine: simulation.Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[tuple[str, ...] | None] = []

    def show(options: Options, messages: list[Message]) -> int:
        shown.append(options.users)
        return 0

    monkeypatch.setattr(cli, 'show', show)
    monkeypatch.setattr(host, 'getuser', lambda: 'ann')
    for arguments in (['-u'], ['-u', 'bob', 'eve'], []):
        assert report(*arguments) == 0
    assert shown == [('ann',), ('bob', 'eve'), None]


@pytest.fixture
def garbage_collection() -> Iterator[None]:
    """Restore the settings of the garbage collector."""
    former = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*former)


@pytest.mark.usefixtures('garbage_collection')
def test_the_monitor_collects_no_garbage_among_old_objects(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found: list[tuple[bool, int, bool]] = []

    def run_monitor(*_: object, **__: object) -> monitor.MonitorExit:
        found.append((gc.isenabled(), gc.get_threshold()[0], gc.get_freeze_count() > 0))
        return monitor.MonitorExit(0, None, True, Options())

    monkeypatch.setattr(monitor, 'run_monitor', run_monitor)
    assert cli.show_monitor(LiveSource(), Options(), []) == 0
    assert found == [(True, cli.COLLECTED_AFTER, True)]


@pytest.mark.usefixtures('garbage_collection')
def test_leaving_the_monitor_prints_the_report_of_its_last_sample(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def run_monitor(*_: object, **__: object) -> monitor.MonitorExit:
        return monitor.MonitorExit(0, SAMPLES['lost'], True, Options())

    monkeypatch.setattr(monitor, 'run_monitor', run_monitor)
    messages: list[Message] = []
    assert cli.show_monitor(LiveSource(), Options(), messages) == 0
    assert 'NVITOP' in capsys.readouterr().out
    assert messages == [
        ('warning', 'GPU 1: GPU is lost'),
        ('warning', 'GPU 2: the driver has not answered for 12 s'),
    ]


def test_a_driver_that_does_not_respond_is_not_queried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(libnvml, 'missing_functions_report', lambda: 'it lacks much')
    texts = [
        [text for _, text in warnings_about(SAMPLES['h100x8'], driver_responds=responds)]
        for responds in (True, False)
    ]
    assert texts == [['it lacks much'], []]


def test_only_overrides_only_visible(
    machine: simulation.Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('CUDA_VISIBLE_DEVICES', '2')
    assert cli.find_devices(Options(only=('1',), only_visible=True), []) == (1,)


def test_the_reason_why_the_only_visible_mig_device_fails_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with simulation.machine('mig', processes='none') as machine:
        (gpu, *_) = [device for device in Device.all() if device.mig_devices()]
        monkeypatch.setenv('CUDA_VISIBLE_DEVICES', gpu.mig_devices()[0].uuid())
        machine.fail('nvmlDeviceGetMemoryInfo*', 'GPU_IS_LOST')
        assert report('--only-visible') == 1
    assert 'GPU is lost' in capsys.readouterr().err


@pytest.mark.parametrize(('columns', 'width'), [('0', 79), ('-5', 79), ('wide', 79), ('132', 132)])
def test_invalid_columns_are_ignored(
    monkeypatch: pytest.MonkeyPatch, columns: str, width: int
) -> None:
    def no_terminal(descriptor: int) -> os.terminal_size:
        raise OSError(descriptor)

    monkeypatch.setattr(os, 'get_terminal_size', no_terminal)
    monkeypatch.setenv('COLUMNS', columns)
    assert stdout_width() == width


def test_without_a_gpu_the_report_is_printed_on_a_terminal_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, 'isatty', lambda: True)
    with simulation.machine('empty'):
        assert cli.main(['--no-config']) == 1
    captured = capsys.readouterr()
    assert 'No GPU is visible' in captured.out
    assert captured.err.count('error:') == 1


# Errors


def test_no_driver_is_explained_in_one_message() -> None:
    done = run('-1', '--no-config', environment={'LD_LIBRARY_PATH': ''})
    if done.returncode == 0:
        pytest.fail('this machine has a GPU driver: the test cannot say what happens without one')
    assert done.returncode == 1
    assert done.stdout == ''
    assert done.stderr.count('nvitop: error: ') == 1
    assert 'libnvidia-ml' in done.stderr
    assert 'Traceback' not in done.stderr


def test_the_monitor_needs_a_terminal(
    machine: simulation.Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(['-m', '--no-config']) == 1
    captured = capsys.readouterr()
    assert 'H100' in captured.out
    assert captured.err == 'nvitop: error: the monitor needs a terminal for input and output\n'


def test_no_gpu_at_all(capsys: pytest.CaptureFixture[str]) -> None:
    with simulation.machine('empty'):
        assert report() == 1
    captured = capsys.readouterr()
    assert 'No GPU is visible' in captured.out
    assert captured.err.startswith('nvitop: error: no GPU found')


def test_a_lost_gpu_keeps_its_row_and_the_exit_status(
    machine: simulation.Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.set(gpu=3, lost=True)
    assert report() == 0
    captured = capsys.readouterr()
    assert captured.out.count('H100 80GB') == 7
    assert 'lost' in captured.out
    assert captured.err.startswith('nvitop: warning: GPU 3: ')


def test_all_gpus_lost_is_status_1(
    machine: simulation.Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.set(lost=True)
    assert report() == 1
    assert capsys.readouterr().err.count('warning: GPU ') == 8


def test_a_failure_to_count_gpus_is_not_reported_as_no_gpu(
    machine: simulation.Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.fail('nvmlDeviceGetCount_v2', 15)
    assert report() == 1
    captured = capsys.readouterr()
    assert 'No GPU is visible: GPU is lost' in captured.out
    assert captured.err.startswith('nvitop: error: no GPU can be read: GPU is lost')


@pytest.mark.parametrize('value', ['', '-1', 'garbage', '0,0', 'MIG-none'])
def test_visible_devices_without_a_gpu_are_explained(
    machine: simulation.Machine,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    value: str,
) -> None:
    monkeypatch.setenv('CUDA_VISIBLE_DEVICES', value)
    assert report('-ov') == 1
    captured = capsys.readouterr()
    assert 'H100' not in captured.out
    assert captured.err.startswith(f'nvitop: error: CUDA_VISIBLE_DEVICES is {value!r}, which')


def test_under_watch_the_report_ends_with_an_error(
    machine: simulation.Machine, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_messages, 'is_watched', lambda: True)
    assert report() == 1
    assert 'without watch' in capsys.readouterr().err


@pytest.mark.skipif(not os.path.exists('/proc/self/comm'), reason='needs names of processes')
@pytest.mark.parametrize('between', ['', 'sh -c '])
def test_watch_is_recognized(tmp_path: pathlib.Path, between: str) -> None:
    watch = tmp_path / 'watch'
    watch.symlink_to('/bin/sh')
    command = f'{shlex.quote(sys.executable)} -m nvitop --demo -1 --no-config; true'
    done = subprocess.run(
        [str(watch), '-c', f'{between}{shlex.quote(command)}; true' if between else command],
        cwd=ROOT,
        env={'PATH': os.environ['PATH']},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE,
    )
    assert done.stderr.count(b'without watch') == 1


def test_a_lost_gpu_is_reported_once_not_for_each_mig_device() -> None:
    sample = SAMPLES['mig']
    lost = tuple(device._replace(status='lost', reason='gone') for device in sample.devices)
    assert [text for _, text in warnings_about(sample._replace(devices=lost))] == [
        'GPU 0: gone',
        'GPU 1: gone',
    ]


def test_functions_that_the_driver_lacks_are_listed_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with simulation.machine('old-driver', processes='fixed') as machine:
        machine.hide('nvmlDeviceGetPowerUsage')
        machine.hide('nvmlDeviceGetUtilizationRates')
        assert report() == 0
    errors = capsys.readouterr().err
    assert errors.count('nvmlDeviceGetPowerUsage') == 1
    assert 'lacks: nvmlDeviceGetPowerUsage, nvmlDeviceGetUtilizationRates.' in errors
    assert "pip3 install 'nvitop[cuda10]'" in errors


def test_processes_of_another_namespace_are_explained_once() -> None:
    sample = SAMPLES['odd-processes']
    assert any(process.status == 'foreign' for process in sample.processes)
    hints = [text for kind, text in warnings_about(sample) if kind == 'hint']
    assert len(hints) == 1
    assert '--pid=host' in hints[0]


# Configuration


def test_an_invalid_setting_is_a_warning_and_the_others_are_used(
    machine: simulation.Machine, capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path
) -> None:
    path = tmp_path / 'config.toml'
    path.write_text('ascii = true\ntheme = "pink"\n', encoding='utf-8')
    assert cli.main(['-1', '--config', str(path)]) == 0
    captured = capsys.readouterr()
    assert captured.out.isascii()
    assert f'nvitop: warning: {path}:2: theme must be one of' in captured.err


def test_options_override_environment_overrides_file(
    capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / 'config.toml'
    path.write_text('mode = "full"\ntheme = "mono"\nreadonly = false\n', encoding='utf-8')
    monkeypatch.setenv('NVITOP_MONITOR_MODE', 'light,readonly')
    assert cli.main(['--config', str(path), '--print-config', '--no-readonly']) == 0
    out = capsys.readouterr().out
    assert '\nmode = "full"\n' in out
    assert '\ntheme = "light"\n' in out
    assert '\nreadonly = false\n' in out
