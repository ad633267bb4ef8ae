"""nvitop without POSIX modules, functions, signals and ``/proc``, as on Windows."""

from __future__ import annotations

import json
import pathlib
import sys

import pytest

from tests.programs import run_program

PROGRAM = pathlib.Path(__file__).parent / 'program_on_windows.py'
SCENARIO = """\
[driver]
version = "580.88"
cuda = "13.0"

[[gpu]]
model = "RTX 4090"
current_driver_model = "wddm"

[[process]]
gpus = [0]
type = "C+G"
command = ["C:\\\\Program Files\\\\Blender\\\\blender.exe", "a scene.blend"]
memory = "3120 MiB"
"""

pytestmark = pytest.mark.skipif(sys.platform != 'linux', reason='emulates Windows on Linux')


@pytest.fixture
def scenario(tmp_path: pathlib.Path) -> str:
    path = tmp_path / 'windows.toml'
    path.write_text(SCENARIO)
    return str(path)


def run(*arguments: str, demo: str = '') -> str:
    """Run a program in the emulation; return its output and fail on any other message."""
    program = ('-W', 'error', str(PROGRAM))
    done = run_program(*program, *arguments, NVITOP_DEMO=demo, PYTHONUTF8='1')
    errors = done.stderr.splitlines()
    expected = ('nvitop: simulating ', 'CUDA_VISIBLE_DEVICES=')
    others = [line for line in errors if not line.startswith(expected)]
    assert (done.returncode, others) == (0, []), done.stderr
    return done.stdout


def test_report_shows_the_user(scenario: str) -> None:
    text = run('nvitop.cli', '--no-config', '--demo', scenario, '-1', '--user')
    assert 'in use: ada' in text
    # The user name of the process has no domain and matches the current user.
    assert any(' ada ' in line for line in text.splitlines()[2:]), text
    assert 'DESKTOP' not in text


def test_query_returns_the_driver_model_and_the_user(scenario: str) -> None:
    text = run('nvitop.cli', 'query', '--demo', scenario, '--all', '--format=json')
    result = json.loads(text)
    assert [device['current_driver_model'] for device in result['devices']] == ['WDDM']
    assert [process['user'] for process in result['processes']] == ['ada']


def test_nvisel_chooses_the_gpu(scenario: str) -> None:
    assert run('nvitop.select', '-f', '1GiB', demo=scenario).strip() == '0'


LIBRARY = """
import sys
from nvitop import Device, ResourceMetricCollector, host, take_snapshots
from nvitop.compat.pynvml_smi import nvidia_smi
import nvitop.callbacks.utils, nvitop.compat.igpu, nvitop.gui.monitor, nvitop.console.lifecycle

assert host.WSL is None and host.getuser() == 'ada' and host.hostname()
assert host.uptime() > 0 and host.cpu_seconds().whole > 0 and host.memory_usage().total > 0
processes = take_snapshots().gpu_processes
assert [process.username for process in processes] == ['ada'], processes
assert Device(0).current_driver_model() == 'WDDM'
collector = ResourceMetricCollector(interval=0.1)
with collector('here'):
    assert any(name.startswith('here/cuda:0') or 'gpu:0' in name for name in collector.collect())
assert nvidia_smi.getInstance().DeviceQuery('index')['gpu']
assert 'nvitop.gui.term.posix' not in sys.modules
print('done')
"""


def test_library_works(scenario: str) -> None:
    assert run('-c', LIBRARY, demo=scenario) == 'done\n'


SIGNALS = """
import threading
from nvitop.gui.effects import signal_number
from nvitop.gui.state.events import KeyPressed
from nvitop.gui.term.windows import WindowsInput
import signal

assert signal_number('SIGKILL') == signal_number('SIGTERM') == signal.SIGTERM
read = WindowsInput(lambda milliseconds: None, lambda: (80, 24), {})
with read.signals_caught():
    signal.raise_signal(signal.SIGINT)
    print(read.wait(100))
"""


def test_ctrl_c_in_the_console_is_a_key() -> None:
    assert run('-c', SIGNALS).strip() == "[KeyPressed(key='Ctrl-C')]"
