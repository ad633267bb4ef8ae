# SPDX-License-Identifier: Apache-2.0
"""The life of NVML in this process: which library, initialised or not, and leaving it safely."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Callable

from nvitop.api.libnvml._binding import BINDING, NVMLError, NVMLError_LibraryNotFound
from nvitop.api.libnvml._errors import FUNCTION_NOT_FOUND, IN_USE, UNINITIALIZED
from nvitop.api.libnvml._explanation import explain_init_error
from nvitop.api.libnvml._log import LOGGER
from nvitop.platforms.kernel import at_fork
from nvitop.platforms.nvidia_files import nvml_elsewhere

if TYPE_CHECKING:
    from types import FrameType

#: Leaving waits so long for calls of other threads to come back from the driver.
LEAVE_TIMEOUT_SECONDS = 0.5
_POLL_SECONDS = 0.002

_PACKAGE = __name__.rpartition('.')[0]


class Session:
    """Whether NVML is initialised, and over which library. There is one: :data:`SESSION`."""

    def __init__(self) -> None:
        """Nothing is loaded before the first use."""
        #: Read without the lock by every query.
        self.ready = False
        #: Flags of the initialisations that have not been shut down, the newest last.
        self.flags: list[int] = []
        self._lock = threading.RLock()
        self._is_prepared = False
        self._is_hooked = False
        self._is_leaving = False
        self._is_reported = False
        self._is_replaced = False
        self._real_library: object = None
        self._contexts = 0
        self._is_context_owner = False
        self._forgetters: list[Callable[[], None]] = []

    @property
    def has_real_library(self) -> bool:
        """Whether the driver that answers is no replacement, such as a simulated one."""
        return not self._is_replaced

    def on_new_library(self, forget: Callable[[], None]) -> None:
        """Have ``forget`` called when another library is installed: it drops what was learnt."""
        self._forgetters.append(forget)

    def init(self, flags: int = 0) -> None:
        """Initialise NVML with ``flags``; where it is with just these already, only count it."""
        with self._lock:
            if self.flags[-1:] != [flags]:
                self._initialise(flags)
            self.flags.append(flags)
            self.ready = True

    def _initialise(self, flags: int) -> None:
        self._prepare()
        try:
            _start_driver(flags)
        except (NVMLError_LibraryNotFound, AttributeError) as error:
            if not self._is_reported:
                self._is_reported = True
                LOGGER.critical('%s', explain_init_error(error))
            raise
        LOGGER.debug('NVML is initialised with flags %d.', flags)

    def ensure(self) -> bool:
        """Initialise NVML if it is not. False when the process is ending: nothing must start then.

        The main thread may still ask, as functions registered with :mod:`atexit` do.
        """
        if self._is_leaving and threading.current_thread() is not threading.main_thread():
            return False
        if not self.ready:
            with self._lock:
                if not self.ready:  # by the thread that was waited for
                    self.init()
        return True

    def recover(self) -> bool:
        """Initialise again after somebody else in this process has shut NVML down.

        False when the process is ending, see :meth:`ensure`.
        """
        with self._lock:
            if self.ready and _is_initialised():  # by the thread that was waited for
                return True
            flags = self.flags[-1] if self.flags else 0
            self.flags.clear()
            self.ready = False
            if not self._is_leaving:
                self.init(flags)
            return self.ensure()

    def shutdown(self) -> None:
        """Undo the last initialisation.

        Raises:
            NVMLError_InUse: Another thread was still inside a call after half a second.
            NVMLError_Uninitialized: NVML is not initialised.
        """
        with self._lock:
            if len(self.flags) > 1:
                self._undo_last()
                return
            self._stop_calls()
            self.flags.clear()
            BINDING.nvmlShutdown()

    def restart(self) -> None:
        """Shut NVML down however often it was initialised, and initialise it just so again.

        Raises:
            NVMLError_InUse: Another thread was still inside a call after half a second.
            NVMLError: NVML cannot be initialised any more.
        """
        with self._lock:
            self._stop_calls()
            flags = [*self.flags] or [0]
            self._shut_down_all()
            for each in flags:
                self.init(each)

    def close(self) -> None:
        """Shut NVML down as the process ends: never longer than half a second, never under a call.

        A call that is still inside the driver then keeps NVML from being shut down: the system
        gives back what it holds.
        """
        deadline = time.monotonic() + LEAVE_TIMEOUT_SECONDS
        self._is_leaving = True
        self.ready = False
        if not self._lock.acquire(timeout=LEAVE_TIMEOUT_SECONDS):
            return
        try:
            self.ready = False
            if self._wait_until_idle(deadline):
                self._shut_down_all()
        finally:
            self._lock.release()

    def use_library(self, library: object | None) -> None:
        """Put ``library`` where the binding keeps its loaded one; ``None``: the real one again."""
        with self._lock:
            if library is None and not self._is_replaced:
                return
            if not self._is_replaced:
                self._real_library = BINDING.nvmlLib
                if self._wait_until_idle(time.monotonic() + LEAVE_TIMEOUT_SECONDS):
                    self._shut_down_all()
            self.ready = False
            self.flags.clear()
            self._is_replaced = library is not None
            with BINDING.libLoadLock:
                BINDING.nvmlLib = self._real_library if library is None else library
                BINDING._nvmlGetFunctionPointer_cache.clear()
            for forget in self._forgetters:
                forget()

    def enter(self) -> None:
        """Begin a ``with`` block: NVML is initialised inside it."""
        with self._lock:
            if not self.ready:
                self.init()
                self._is_context_owner = True
            self._contexts += 1

    def exit(self) -> None:
        """End a ``with`` block: the last one to end shuts NVML down if a block initialised it."""
        with self._lock:
            self._contexts -= 1
            if self._contexts == 0 and self._is_context_owner:
                self._is_context_owner = False
                if self.ready:
                    try:
                        self.shutdown()
                    except NVMLError as error:
                        LOGGER.debug('NVML was not shut down: %s', error)

    def calls_in_flight(self) -> dict[int, str]:
        """The NVML function in which each other thread is right now, by thread identifier.

        Read from the stacks of the threads, so that calls cost nothing for being counted here.
        """
        own = threading.get_ident()
        frames = sys._current_frames()
        inside = {ident: _driver_function(frame) for ident, frame in frames.items() if ident != own}
        return {ident: name for ident, name in inside.items() if name}

    def _prepare(self) -> None:
        """What the first initialisation does once: the hooks of the process, the demonstration."""
        if not self._is_hooked:
            self._is_hooked = True
            atexit.register(self.close)
            at_fork(after_in_child=self._after_fork)
        scenario = '' if self._is_prepared else os.environ.get('NVITOP_DEMO', '')
        if scenario and not self._is_replaced:
            from nvitop import simulation  # never loaded where nothing is simulated

            simulation.install(scenario)
        # Not before: a scenario that cannot be installed must not lead to the real driver.
        self._is_prepared = True

    def _after_fork(self) -> None:
        # The thread that held the lock does not exist in the child.
        self._lock = threading.RLock()

    def _stop_calls(self) -> None:
        """Let no call begin without initialising, and wait for those of other threads."""
        was_ready, self.ready = self.ready, False
        if not self._wait_until_idle(time.monotonic() + LEAVE_TIMEOUT_SECONDS):
            self.ready = was_ready
            raise NVMLError(IN_USE)

    def _undo_last(self) -> None:
        undone = self.flags.pop()
        if self.flags[-1:] != [undone]:  # else it was only counted
            BINDING.nvmlShutdown()

    def _shut_down_all(self) -> None:
        self.ready = False
        while self.flags:
            try:
                self._undo_last()
            except NVMLError as error:
                LOGGER.debug('NVML was not shut down: %s', error)

    def _wait_until_idle(self, deadline: float) -> bool:
        """Whether no other thread is inside a call, by the deadline at the latest."""
        while self.calls_in_flight():
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_SECONDS)
        return True


def _start_driver(flags: int) -> None:
    try:
        BINDING.nvmlInitWithFlags(flags)
    except NVMLError_LibraryNotFound:
        if not _load_from_elsewhere():
            raise
        BINDING.nvmlInitWithFlags(flags)


def _is_initialised() -> bool:
    """Whether NVML answers, however it does."""
    try:
        BINDING.nvmlDeviceGetCount()
    except NVMLError as error:
        return error.value not in (UNINITIALIZED, FUNCTION_NOT_FOUND)
    return True


def _load_from_elsewhere(load: Callable[[str], object] = ctypes.CDLL) -> bool:
    """Load NVML from the first place that has it and the loader does not look into.

    Loaded it is found by everybody who asks for it by its name alone, the binding too.
    """
    for path in nvml_elsewhere():
        with contextlib.suppress(OSError):  # for another processor, or broken
            load(path)
            return True
    return False


def _driver_function(frame: FrameType | None) -> str:
    """The NVML function a stack is in, ``''`` if it is in none or only waits to initialise."""
    name = ''
    while frame is not None:
        module = frame.f_globals.get('__name__', '')
        if module == __name__:
            return name
        if module == BINDING.__name__ or module.startswith(_PACKAGE):
            function = frame.f_code.co_name
            if not name or (function.startswith('nvml') and function != 'nvmlQuery'):
                name = function
        frame = frame.f_back
    return name


SESSION = Session()
