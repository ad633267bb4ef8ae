# SPDX-License-Identifier: Apache-2.0
"""The process around a command: how it starts and how it ends."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable

#: The binding imports ``ctypes.util``, which imports these for looking where a library is, and
#: nobody looks: a tenth of the time of a report.
_SELDOM_USED = ('shutil', 'subprocess', 'tempfile')


def run_command(name: str, load: Callable[[], Callable[[], int]]) -> NoReturn:
    """Run a command as a whole process.

    Args:
        name: What messages begin with.
        load: Imports the command: gives the function that runs it and returns the exit status.
    """
    # Nothing that is made while modules are imported is garbage: looking for it takes a tenth of
    # the time of a report.
    gc.disable()
    for module in _SELDOM_USED:
        sys.modules.setdefault(module, _ModuleOnUse(module))
    status = 1
    try:
        _open_closed_streams()
        status = load()()
    except SystemExit as leaving:
        status = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    except KeyboardInterrupt:
        status = 130
    except ImportError as error:
        # Above all a module pynvml that is not the binding: the text says what to do.
        _say_error(name, error)
    finally:
        status = _flush(name) or status
    # Taking the interpreter apart piece by piece takes as long as reading eight GPUs; the system
    # does it at once. The driver lets go of a process that has ended by itself.
    os._exit(status)


def nvisel() -> NoReturn:
    """Run the command ``nvisel``."""

    def load() -> Callable[[], int]:
        from nvitop.select import main

        return main

    run_command('nvisel', load)


class _ModuleOnUse(ModuleType):
    """Stands for a module that is imported when something of it is used."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        module = importlib.import_module(self.__name__)
        vars(self).update(vars(module))
        return getattr(module, name)


def _open_closed_streams() -> None:
    """Put something in the place of standard streams that are closed, as by ``nvitop >&-``.

    The next file to be opened, be it a library's, would take their number. Writing to standard
    output fails, as it should.
    """
    for name, mode in (('stdin', os.O_RDONLY), ('stdout', os.O_RDONLY), ('stderr', os.O_RDWR)):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, mode)
            setattr(sys, name, os.fdopen(descriptor, 'r' if name == 'stdin' else 'w'))


def _flush(name: str) -> int:
    """Write what is still kept back; the exit status where that fails, 0 where it does not."""
    status = 0
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        pass
    except OSError as error:
        status = 1
        _say_error(name, f'standard output cannot be written: {error.strerror}')
    with contextlib.suppress(OSError):
        sys.stderr.flush()
    return status


def _say_error(name: str, error: object) -> None:
    with contextlib.suppress(OSError):
        print(f'{name}: ERROR: {error}', file=sys.stderr)
