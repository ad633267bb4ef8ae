# SPDX-License-Identifier: GPL-3.0-only
"""Carries out effects off the UI thread: signals and environments, by identity and never by row."""

from __future__ import annotations

import os
import queue
import threading
from typing import Callable, Iterable, Iterator, Union

from nvitop.api import host
from nvitop.api.process.observed import start_time_of
from nvitop.gui.model.effects import ReadEnvironment, SendSignal
from nvitop.gui.signals import START_TIME_TOLERANCE, is_zombie, send_signal
from nvitop.gui.state.events import EnvironmentRead, Event, SignalSent

#: What the runner carries out.
Job = Union[SendSignal, ReadEnvironment]


class EffectRunner:
    """Daemon threads that do what may block, and post what came of it as events.

    Signals and environments have one each: reading from a process that is stuck in the kernel can
    take for ever, and shall not keep it from being killed.
    """

    def __init__(self, post: Callable[[Event], None]) -> None:
        self._post = post
        self._lanes: dict[type, queue.Queue[Job]] = {}

    def run(self, effect: Job) -> None:
        """Carry out an effect, some time soon; nothing is raised."""
        lane = self._lanes.get(type(effect))
        if lane is None:
            lane = queue.Queue()
            thread = threading.Thread(
                target=self._work, args=(lane,), name='nvitop-effects', daemon=True
            )
            try:
                thread.start()
            except RuntimeError as error:  # the system has no thread for us
                self._fail(effect, error)
                return
            self._lanes[type(effect)] = lane
        lane.put(effect)

    def _work(self, lane: queue.Queue[Job]) -> None:
        while True:
            effect = lane.get()
            try:
                for event in carry_out(effect):
                    self._post(event)
            except Exception as error:
                # Whatever it is, it has to be told, and what is asked for next to be done.
                self._fail(effect, error)

    def _fail(self, effect: Job, error: Exception) -> None:
        for event in failures(effect, str(error) or type(error).__name__):
            self._post(event)


def carry_out(effect: Job) -> Iterator[Event]:
    """Do it; what came of it, as it comes."""
    if isinstance(effect, SendSignal):
        for key in effect.targets:
            yield send_signal(key, effect.signal)
    else:
        yield read_environment(effect.pid, effect.start_time)


def failures(effect: Job, reason: str) -> Iterator[Event]:
    """What is to be told of an effect that could not be carried out."""
    if isinstance(effect, SendSignal):
        for key in effect.targets:
            yield SignalSent(key, effect.signal, 'failed', reason)
    else:
        error = f'cannot be read: {reason}'
        yield EnvironmentRead(effect.pid, effect.start_time, error=error)


def read_environment(pid: int, start_time: float) -> EnvironmentRead:
    """The environment of a process as it was at its start, sorted by name; PID 0: of nvitop."""
    if pid == 0:
        return EnvironmentRead(0, start_time, _sorted(os.environ.items()))
    if start_time < 0:
        return EnvironmentRead(pid, start_time, error='nothing is known of the process here')
    try:
        if abs(start_time_of(pid) - start_time) > START_TIME_TOLERANCE:
            return EnvironmentRead(pid, start_time, error='the process is gone, its PID is another')
        return EnvironmentRead(pid, start_time, _sorted(host.Process(pid).environ().items()))
    except (ProcessLookupError, host.NoSuchProcess):
        # psutil 5.6 says of zombies, too, that they are gone.
        zombie = 'a zombie has none: it has ended, and waits for its parent'
        error = zombie if is_zombie(pid) else 'the process is gone'
        return EnvironmentRead(pid, start_time, error=error)
    except (PermissionError, host.AccessDenied):
        return EnvironmentRead(pid, start_time, error='no permission to read it')
    except (OSError, OverflowError, ValueError, host.PsutilError) as error:
        return EnvironmentRead(pid, start_time, error=f'cannot be read: {error}')


def _sorted(items: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(items))
