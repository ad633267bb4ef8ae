# SPDX-License-Identifier: Apache-2.0
"""The state of NVML in this process: its library, initialization, and a safe shutdown."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import sys
import threading
import time
from types import FrameType
from typing import Callable

from nvitop.api.libnvml._binding import BINDING, NVMLError, NVMLError_LibraryNotFound
from nvitop.api.libnvml._errors import FUNCTION_NOT_FOUND, IN_USE, UNINITIALIZED
from nvitop.basics import lazy
from nvitop.basics.log import critical, debug
from nvitop.platforms.kernel import renew_in_child

#: Maximum time that a shutdown waits for driver calls of other threads, and that at exit.
SHUTDOWN_TIMEOUT_SECONDS, EXIT_TIMEOUT_SECONDS = 0.5, 0.1
_POLL_SECONDS = 0.002

_PACKAGE = __name__.rpartition('.')[0]


class Session:
    """The library in use and how often it is initialized. The only instance is :data:`SESSION`."""

    def __init__(self) -> None:
        #: Whether NVML is initialized. Every query reads this without the lock.
        self.ready = False
        #: Number of initializations of the driver so far.
        self.epoch = 0
        #: Flags of the initializations that have not been shut down, the newest last.
        self.flags: list[int] = []
        self._lock = threading.RLock()
        renew_in_child(self, _lock=threading.RLock)
        self._is_prepared = False
        self._is_hooked = False
        self._is_leaving = False
        self._is_reported = False
        self._is_replaced = False
        self._real_library: object = None
        self._forgetters: list[Callable[[], None]] = []

    @property
    def has_real_library(self) -> bool:
        """Whether the library in use is the driver's, not a replacement such as the simulated one."""
        return not self._is_replaced

    def on_new_library(self, forget: Callable[[], None]) -> None:
        """Call ``forget`` when the library is replaced, to drop what is known about the old one."""
        self._forgetters.append(forget)

    def init(self, flags: int = 0) -> None:
        """Initialize NVML. If it is initialized with the same flags already, only count the call.

        As in the binding, NVML stays initialized until it has been shut down as often. Queries with
        :func:`nvmlQuery` do not need this call. NVML is shut down when the process exits.

        Args:
            flags: A sum of ``NVML_INIT_FLAG_…``.

        Raises:
            NVMLError: NVML cannot be initialized; :func:`explain_init_error` explains the error.
            NVMLError_LibraryNotFound: There is no NVML library; this is also logged once.
        """
        with self._lock:
            if self.flags[-1:] != [flags]:
                self._initialize(flags)
            self.flags.append(flags)
            self.ready = True

    def _initialize(self, flags: int) -> None:
        self._prepare()
        try:
            _start_driver(flags)
        except (NVMLError_LibraryNotFound, AttributeError) as error:
            from nvitop.api.libnvml._explanation import LibraryNotFound, explain_init_error

            if not self._is_reported:
                self._is_reported = True
                critical('%s', explain_init_error(error))
            if isinstance(error, AttributeError):
                raise
            raise LibraryNotFound from None
        self.epoch += 1
        debug('Initialized NVML with flags %d.', flags)

    def ensure(self) -> bool:
        """Initialize NVML if necessary. Return False if the process is exiting.

        The main thread may still make queries then, in functions registered with :mod:`atexit`.
        """
        if self._is_leaving and threading.current_thread() is not threading.main_thread():
            return False
        if not self.ready:
            with self._lock:
                if not self.ready:  # no other thread has done it meanwhile
                    self.init()
        return True

    def recover(self, epoch: int) -> bool:
        """Initialize NVML again after other code in this process has shut it down.

        Return False if the process is exiting; see :meth:`ensure`.

        Args:
            epoch: The value of :attr:`epoch` before the call that failed. If it has changed, another
                thread has initialized NVML meanwhile.
        """
        with self._lock:
            if self.ready and (self.epoch != epoch or _is_initialized()):
                return True
            flags = self.flags[-1] if self.flags else 0
            self.flags.clear()
            self.ready = False
            if not self._is_leaving:
                self.init(flags)
            return self.ensure()

    def shutdown(self) -> None:
        """Undo the last initialization.

        Raises:
            NVMLError_InUse: Another thread was still inside a driver call after half a second.
            NVMLError_Uninitialized: NVML is not initialized.
        """
        with self._lock:
            if len(self.flags) > 1:
                self._undo_last()
                return
            self._stop_calls()
            self.flags.clear()
            BINDING.nvmlShutdown()

    def restart(self) -> None:
        """Shut NVML down and initialize it again as often as before, with the same flags.

        This is necessary after the driver was reloaded.

        Raises:
            NVMLError_InUse: Another thread was still inside a driver call after half a second.
            NVMLError: NVML can no longer be initialized.
        """
        with self._lock:
            self._stop_calls()
            flags = [*self.flags] or [0]
            self._shut_down_all()
            for init_flags in flags:
                self.init(init_flags)

    def close(self) -> None:
        """Shut NVML down when the process exits, within 0.1 s and never during a call.

        If a thread is still inside a driver call, NVML is not shut down. The operating system
        releases its resources.
        """
        deadline = time.monotonic() + EXIT_TIMEOUT_SECONDS
        self._is_leaving = True
        self.ready = False
        if not self._lock.acquire(timeout=EXIT_TIMEOUT_SECONDS):
            return
        try:
            self.ready = False
            if self._wait_until_idle(deadline):
                self._shut_down_all()
        finally:
            self._lock.release()

    def use_library(self, library: object | None) -> None:
        """Replace the driver's library by an object with Python functions; None restores it.

        The binding calls the attributes of the object as it calls the functions of the library.
        Everything known about the previous library is dropped, and the next query initializes NVML.
        """
        with self._lock:
            if library is None and not self._is_replaced:
                return
            if not self._is_replaced:
                self._real_library = BINDING.nvmlLib
                if self._wait_until_idle(time.monotonic() + SHUTDOWN_TIMEOUT_SECONDS):
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
        """Begin a ``with`` block, in which NVML is initialized."""
        with self._lock:
            self.init(*self.flags[-1:])

    def exit(self) -> None:
        """End a ``with`` block, and shut NVML down if nothing else has initialized it."""
        with contextlib.suppress(NVMLError):
            self.shutdown()

    def calls_in_flight(self) -> dict[int, str]:
        """Return the NVML function that each other thread is inside, by thread identifier.

        They are read from the stacks of the threads, so calls need no bookkeeping.
        """
        own = threading.get_ident()
        frames = sys._current_frames()
        inside = {ident: _driver_function(frame) for ident, frame in frames.items() if ident != own}
        return {ident: name for ident, name in inside.items() if name}

    def cover_binding(self) -> None:
        """Call the hook also before other code initializes NVML with the binding."""
        load = BINDING._LoadNvmlLibrary

        def prepare_and_load() -> None:
            with self._lock:
                self._prepare()
            load()

        BINDING._LoadNvmlLibrary = prepare_and_load

    def _prepare(self) -> None:
        """Install the hooks of the process, and call the hook before the first initialization."""
        if not self._is_hooked:
            self._is_hooked = True
            atexit.register(self.close)
        if lazy.before_first_init and not self._is_prepared and not self._is_replaced:
            lazy.before_first_init()
        # Set last: if the hook fails, the next initialization must call it again.
        self._is_prepared = True

    def _stop_calls(self) -> None:
        """Make new calls wait for the lock, and wait for the running calls of other threads."""
        was_ready, self.ready = self.ready, False
        if not self._wait_until_idle(time.monotonic() + SHUTDOWN_TIMEOUT_SECONDS):
            self.ready = was_ready
            raise NVMLError(IN_USE)

    def _undo_last(self) -> None:
        undone = self.flags.pop()
        if self.flags[-1:] != [undone]:  # otherwise it was only counted
            BINDING.nvmlShutdown()

    def _shut_down_all(self) -> None:
        self.ready = False
        while self.flags:
            try:
                self._undo_last()
            except NVMLError as error:
                debug('Could not shut NVML down: %s', error)

    def _wait_until_idle(self, deadline: float) -> bool:
        """Wait until no other thread is inside a call. Return False at the deadline."""
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


def _is_initialized() -> bool:
    try:
        BINDING.nvmlDeviceGetCount()
    except NVMLError as error:
        return error.value not in (UNINITIALIZED, FUNCTION_NOT_FOUND)
    return True


def _load_from_elsewhere() -> bool:
    """Load NVML from the first directory that has it and that the loader does not search.

    Once it is loaded, the binding finds it by its name alone.
    """
    from nvitop.platforms.nvidia import nvml_elsewhere

    for path in nvml_elsewhere():
        with contextlib.suppress(OSError):  # for another architecture, or broken
            ctypes.CDLL(path)
            return True
    return False


def _driver_function(frame: object) -> str:
    """Return the NVML function on a stack, ``''`` if there is none or it waits for the session."""
    name = ''
    # Python 3.11 may return other objects while a thread starts or ends.
    while isinstance(frame, FrameType):
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
# The binding holds its lock whenever it looks for a function.
renew_in_child(BINDING, libLoadLock=threading.Lock)
