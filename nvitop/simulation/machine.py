# SPDX-License-Identifier: Apache-2.0
"""A simulated machine: its world, its drivers and processes, and what tests can change on it."""

from __future__ import annotations

import os
import pathlib
import re
import sys
import threading
import time
from collections import Counter
from typing import Callable, Sequence

from nvitop.api import libcuda, libnvml
from nvitop.api.system import use_system
from nvitop.basics.toml import unknown
from nvitop.platforms.kernel import renew_in_child
from nvitop.simulation.abi import NVML_ERRORS
from nvitop.simulation.capture import read_xml, scenario_values
from nvitop.simulation.cuda import cuda_driver
from nvitop.simulation.driver.nvml import nvml_driver
from nvitop.simulation.parse import TomlTable, read_scenario, scenario_of
from nvitop.simulation.physics import GPU_RULES, MIG_RULES
from nvitop.simulation.scenario import Fault, Scenario, ScenarioError
from nvitop.simulation.schema import GPU_KEYS_BY_NAME
from nvitop.simulation.simulated_system import Children, FixedPids, SimulatedHost, SimulatedSystem
from nvitop.simulation.world import Node, Pids, World

DEFAULT_SCENARIO = 'dgx-h100'
SCENARIOS = pathlib.Path(__file__).parent / 'scenarios'
#: Begin other outputs of nvidia-smi: ``-q``, the table, CSV with a header, ``-L``, CSV without a header,
#: ``dmon`` and ``pmon``. A scenario, in which something is wrong, may have similar comments and lists.
_OTHER_OUTPUT = re.compile(
    rb'^=+NVSMI LOG=|^\| NVIDIA-SMI |^[a-z_.]+( \[\S+\])?, ?[a-z_.]+ *(\[|,|\r?$)|\AGPU \d+: |'
    rb'\A(\d+|\d{4}/\d\d/\d\d [\d:.]+|(GPU-|NVIDIA )[^,\n]*), |^# ?(gpu|Date|Time) .*\n# ?(Idx|YYYY|HH)',
    re.MULTILINE,
)

#: The machines that are active in this process, the newest last.
_running: list[Machine] = []
_running_lock = threading.RLock()
renew_in_child(sys.modules[__name__], _running_lock=threading.RLock)


def scenario_names() -> tuple[str, ...]:
    """Names of the scenarios that come with nvitop."""
    return tuple(sorted(path.stem for path in SCENARIOS.glob('*.toml')))


def load(scenario: str | os.PathLike[str] | Scenario = DEFAULT_SCENARIO) -> Scenario:
    """Read and check a scenario, given by name, by the path of a file, or ready-made.

    A file is a scenario, or, as its first character says, the output of ``nvidia-smi -q -x``.

    Raises:
        ScenarioError: There is no such scenario, or the file has a mistake; the message names file,
            line and key, and what is allowed.
    """
    if isinstance(scenario, Scenario):
        return scenario
    path = pathlib.Path(scenario)
    if isinstance(scenario, str) and scenario in scenario_names():
        path = SCENARIOS / f'{scenario}.toml'
    elif path.suffix not in ('.toml', '.xml') and not path.exists():
        text = unknown('scenario', str(scenario), scenario_names())
        files = 'a scenario, or the output of "nvidia-smi -q -x"'
        raise ScenarioError(text if text.endswith('?') else f'{text}, or a file: {files}')
    try:
        with path.open('rb') as file:
            head = file.peek(1 << 12).replace(b'\0', b'')
            is_xml = path.suffix == '.xml' or head.strip(b'\xef\xbb\xbf\xff\xfe \t\r\n').startswith(
                b'<'
            )
            if is_xml or b'<nvidia_smi_log' in head:
                origin = 'from the output of "nvidia-smi -q -x"'
                values = scenario_values(read_xml(file, path), origin)
                return scenario_of(values, name=path.stem, source=str(path))
            return read_scenario(file, path)
    except OSError as error:
        raise ScenarioError(f'{path}: {error.strerror}') from error
    except ScenarioError as error:
        if _OTHER_OUTPUT.search(head):
            message = (
                'not a scenario; save the output of "nvidia-smi -q -x", which can be simulated'
            )
            raise ScenarioError(f'{path}: {message}') from error
        raise


class Machine:
    """A simulated machine. In a ``with`` block it replaces NVML and the CUDA driver.

    Args:
        scenario: A name from :func:`scenario_names`, the path of a ``.toml`` file, or a
            :class:`Scenario`.
        processes: ``'real'`` starts a lightweight child for each process of the scenario.
            ``'fixed'`` lists PIDs that do not exist. A list of PIDs assigns these to the first
            processes; the others do not exist. ``'none'`` lists no processes.
        clock: Returns the machine's time in seconds. With ``lambda: 0.0``, time only moves by
            :meth:`Machine.advance`.
        wall_clock: Returns seconds since the epoch, for the timestamps of the driver.
        sleep: Sleeps for a number of seconds during slow calls.

    Raises:
        ScenarioError: The scenario does not exist or has a mistake.
    """

    def __init__(
        self,
        scenario: str | os.PathLike[str] | Scenario = DEFAULT_SCENARIO,
        *,
        processes: str | Sequence[int] = 'real',
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.scenario = load(scenario)
        #: The state that the drivers work on.
        self.world = World(
            self.scenario,
            clock=clock,
            wall_clock=wall_clock,
            sleep=sleep,
            gpu_rules=GPU_RULES,
            mig_rules=MIG_RULES,
        )
        self._processes = processes
        self._children: Children | None = None
        #: The NVML driver: an object with one plain function per symbol.
        self.driver = nvml_driver(self.world)
        #: The CUDA driver: an object with one plain function per symbol.
        self.cuda = cuda_driver(self.world)
        #: The operating system, as far as it is simulated.
        self.system = SimulatedSystem(self.world)
        if self.scenario.host is not None:
            self.system = SimulatedHost(self.world, self.scenario.host)
        for fault in self.scenario.faults:
            self.world.faults.add(fault)

    # Life

    def __enter__(self) -> Machine:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start the processes of the scenario, and replace the drivers in this process."""
        world = self.world
        world.is_closed = False
        if isinstance(self._processes, str):
            if self._processes == 'real':
                world.pids = self._children = Children(world)
                try:
                    for task in world.tasks:
                        self._children.pid(task)
                except OSError as error:
                    self._children.close()
                    reason = error.strerror or str(error)
                    raise ScenarioError(
                        f'cannot start the processes of the scenario: {reason}'
                    ) from error
            elif self._processes == 'fixed':
                world.pids = FixedPids()
            elif self._processes != 'none':
                raise ValueError(f'processes={self._processes!r}: real, fixed, none or PIDs')
        else:
            world.pids = Pids(self._processes)
        with _running_lock:
            _running.append(self)
            _use(self)

    def stop(self) -> None:
        """Release hanging calls, restore the previous drivers, and end the processes."""
        self.world.faults.clear()
        self.world.close()
        with _running_lock:
            if self in _running:
                _running.remove(self)
                _use(_running[-1] if _running else None)
        self.end_processes()

    def end_processes(self) -> None:
        """End the processes of the scenario."""
        if self._children is not None:
            self._children.close()

    # Changes by tests

    @property
    def calls(self) -> Counter[str]:
        """A copy of the number of calls of each function of the drivers, by name."""
        return self.world.faults.counts

    def reset_calls(self) -> None:
        """Set the number of calls of all functions to 0."""
        self.world.faults.reset_counts()

    def advance(self, seconds: float) -> None:
        """Move the machine's clock forward."""
        self.world.advance(seconds)

    def set(self, *, gpu: int | tuple[int, int] | None = None, **values: object) -> None:
        """Change keys of a GPU from now on, with the names and units of a scenario file.

        ``machine.set(gpu=3, temperature=95, lost=True)``. Without *gpu*, all GPUs change;
        ``(gpu, mig)`` is a MIG device.
        """
        nodes = self.world.gpus if gpu is None else [self._node(gpu)]
        table = TomlTable(values, source='Machine.set')
        table.check(GPU_KEYS_BY_NAME.values())
        for node in nodes:
            for name in table.content:
                node.change(name, table.gpu_value(GPU_KEYS_BY_NAME[name], node.spec.position))

    def _node(self, gpu: int | tuple[int, int]) -> Node:
        position, mig = gpu if isinstance(gpu, tuple) else (gpu, None)
        count = len(self.world.gpus)
        if not 0 <= position < count:
            raise ValueError(f'there is no GPU {position}; the machine has {count}, from index 0')
        parent = self.world.gpus[position]
        if mig is None:
            return parent
        device = next((node for node in parent.migs if node.key == gpu), None)
        if device is None:
            known = ', '.join(f'{node.key}' for node in parent.migs) or 'none'
            raise ValueError(f'there is no MIG device {gpu}; GPU {position} has {known}')
        return device

    def _add(self, fault: Fault) -> None:
        if fault.gpu is not None:
            self._node(fault.gpu)
        self.world.faults.add(fault)

    def fail(
        self,
        name: str,
        code: int | str,
        *,
        gpu: int | tuple[int, int] | None = None,
        after: int = 0,
        every: int = 1,
        times: int | None = None,
    ) -> None:
        """Make calls fail with a return code.

        Args:
            name: A function of NVML or of the CUDA driver; ``*`` and ``?`` are wildcards.
            code: The return code. For NVML, its name without ``NVML_ERROR_`` works too.
            gpu: Affect only calls for this GPU and its MIG devices, or for the MIG device
                ``(gpu, mig)``.
            after: Number of calls that succeed first.
            every: Then every N-th call fails.
            times: Maximum number of calls that fail.

        Raises:
            ValueError: There is no such function, return code or GPU.
        """
        if isinstance(code, str):
            word = code[len('NVML_ERROR_') :] if code.startswith('NVML_ERROR_') else code
            if word not in NVML_ERRORS:
                raise ValueError(unknown('return code', word, NVML_ERRORS))
            code = NVML_ERRORS[word][0]
        self._add(Fault(name, gpu, int(code), after=after, every=every, times=times))

    def delay(self, name: str, seconds: float, *, gpu: int | tuple[int, int] | None = None) -> None:
        """Make calls take longer."""
        self._add(Fault(name, gpu, delay=seconds))

    def hang(self, name: str, *, gpu: int | tuple[int, int] | None = None) -> None:
        """Make calls hang until :meth:`release`, or until the machine stops."""
        self._add(Fault(name, gpu, hang=True))

    def release(self) -> None:
        """Let hanging calls return, and remove the faults that made them hang."""
        self.world.faults.release()

    def heal(self) -> None:
        """Remove all faults, including those of the scenario."""
        self.world.faults.clear()
        self.world.growth.clear()

    def hide(self, name: str) -> None:
        """Remove a function, as in an older driver; ``*`` and ``?`` are wildcards."""
        owner = self.cuda if name.startswith('cu') else self.driver
        owner.hide(name)
        with _running_lock:
            if _running and _running[-1] is self:
                _use(self)

    def grow(self, count: int, *, gpu: int | None = None) -> None:
        """Let processes start between a query for the size of a process list and one for the list."""
        if gpu is not None:
            self._node(gpu)
        self.world.growth.append((gpu, count))


def _use(machine: Machine | None) -> None:
    """Connect NVML, the CUDA driver and the system to a machine, or to the real ones."""
    libnvml.use_library(None if machine is None else machine.driver)
    libcuda.use_library(None if machine is None else machine.cuda)
    use_system(None if machine is None else machine.system)


def simulated() -> str:
    """Name of the scenario of the active machine; ``''`` if there is none."""
    with _running_lock:
        return _running[-1].scenario.name if _running else ''
